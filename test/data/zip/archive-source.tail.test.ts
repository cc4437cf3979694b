import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { createTail } from "../../../src/data/zip/archive-source.js";

const MIB = 1024 * 1024;

describe("the tail of an archive", () => {
  it("is the whole archive where that is small", async () => {
    const tail = createTail();
    for (const text of ["abc", "", "defg"]) {
      tail.push(Buffer.from(text));
    }
    const bytes = tail.bytes();
    expect(bytes.size).toBe(7);
    expect((await bytes.read(0, 7)).toString()).toBe("abcdefg");
    expect((await bytes.read(2, 3)).toString()).toBe("cde");
    expect((await bytes.read(7, 0)).length).toBe(0);
  });

  it("is nothing where nothing passed", () => {
    expect(createTail().bytes().size).toBe(0);
  });

  /** The signature of an entry in the directory (APPNOTE 4.3.12). */
  const signature = Buffer.from("PK\x01\x02", "latin1");

  it("is the longest end record where no directory has begun", async () => {
    const tail = createTail();
    tail.push(Buffer.from("first"));
    tail.push(Buffer.alloc(65_577, 7));
    const bytes = tail.bytes();
    expect(await bytes.read(5, 65_577)).toEqual(Buffer.alloc(65_577, 7));
    await expect(bytes.read(4, 1)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it.each([1, 2, 3, 4, 7, 1000])("has the directory, in pieces of %d bytes", async (size) => {
    const tail = createTail();
    const archive = Buffer.concat([Buffer.alloc(100_000, 5), signature, Buffer.alloc(200_000, 7)]);
    for (let at = 0; at < archive.length; at += size) {
      tail.push(archive.subarray(at, at + size));
    }
    expect(await tail.bytes().read(100_000, 200_004)).toEqual(archive.subarray(100_000));
  });

  it("keeps the last MiB, and no piece before it", async () => {
    const tail = createTail();
    tail.push(signature);
    tail.push(Buffer.from("f"));
    tail.push(Buffer.from("second"));
    tail.push(Buffer.alloc(MIB - 4, 7));
    tail.push(Buffer.from("last"));
    const bytes = tail.bytes();
    expect(bytes.size).toBe(11 + MIB);
    expect((await bytes.read(11, MIB)).subarray(-5).toString("latin1")).toBe("\x07last");
    for (const [position, length] of [
      [10, 1],
      [0, 5],
    ] as const) {
      await expect(bytes.read(position, length)).rejects.toMatchObject({
        code: Code.ResourceExhausted,
        summary: "the archive is too large: its directory exceeds 1048576 bytes",
        message: expect.stringContaining("No export has that many files"),
      });
    }
  });

  it("keeps a piece that is needed in part", async () => {
    const tail = createTail();
    tail.push(signature);
    tail.push(Buffer.from("f"));
    tail.push(Buffer.from("second"));
    tail.push(Buffer.alloc(MIB - 1, 7));
    const bytes = tail.bytes();
    expect((await bytes.read(5, 6)).toString()).toBe("second");
    await expect(bytes.read(4, 1)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  it("cannot be read beyond the archive", async () => {
    const tail = createTail();
    tail.push(Buffer.from("abc"));
    expect((await tail.bytes().read(1, 2)).toString()).toBe("bc");
    await expect(tail.bytes().read(1, 3)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });
});
