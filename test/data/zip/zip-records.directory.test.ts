import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { checkListing, readDirectory } from "../../../src/data/zip/zip-records.js";
import { noise, zipOf } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";
import { inMemory, type RandomAccess } from "./inside.js";

const a: RawEntry = { name: "a.csv", content: "a\n1\n", stored: true };
const b: RawEntry = { name: "b.csv", content: "b\n2\n" };
const archive = rawZip([a, b]);
const wide = () => zipOf({ "a.csv": Buffer.from("a\n1\n") }, { forceZip64: true });

/** An archive in which bytes are replaced, counted from the beginning of its end record. */
function patched(bytes: Buffer, at: number, hex: string): Buffer {
  const copy = Buffer.from(bytes);
  copy.write(hex, copy.lastIndexOf("PK\x05\x06") + at, "hex");
  return copy;
}

const read = (bytes: Buffer) => readDirectory(inMemory(bytes));

describe("the directory of an archive", () => {
  it("gives where it begins, and the files with their measures", async () => {
    const { start, entries } = await read(archive);
    expect(start).toBe(archive.indexOf("PK\x01\x02"));
    expect(entries).toEqual([
      {
        name: "a.csv",
        rawName: Buffer.from("a.csv"),
        method: "stored",
        compressedSize: 4,
        size: 4,
        crc32: archive.readUInt32LE(14),
        offset: 0,
      },
      expect.objectContaining({ name: "b.csv", method: "deflate", size: 4, offset: 39 }),
    ]);
  });

  it("gives the files in the order in which they stand in the archive", async () => {
    // The directory lists b.csv first.
    const end = archive.lastIndexOf("PK\x05\x06");
    const start = archive.indexOf("PK\x01\x02");
    const second = archive.lastIndexOf("PK\x01\x02");
    const turned = Buffer.concat([
      archive.subarray(0, start),
      archive.subarray(second, end),
      archive.subarray(start, second),
      archive.subarray(end),
    ]);
    expect((await read(turned)).entries.map(({ name }) => name)).toEqual(["a.csv", "b.csv"]);
  });

  it("may be empty of content, but not of files", async () => {
    await expect(read(rawZip([]))).rejects.toThrow("the archive is corrupt: it contains no files");
    expect((await read(rawZip([{ name: "a/", content: "", stored: true }]))).entries).toHaveLength(1);
  });

  it("lists no name twice", async () => {
    await expect(read(rawZip([a, { ...b, listed: { name: "a.csv" } }]))).rejects.toThrow('it contains "a.csv" twice');
  });

  it("lists no unsafe name, and nothing that cannot be read", async () => {
    for (const [entry, message] of [
      [{ name: "../a.csv" }, "invalid relative path"],
      [{ name: "a\\b" }, "invalid characters"],
      [{ name: "a/./b" }, 'has the invalid name "a/./b"'],
      [{ stored: false, flags: 1 }, "is encrypted"],
      [{ method: 12 }, "the compression method 12"],
    ] as const) {
      await expect(read(rawZip([{ ...a, ...entry }]))).rejects.toThrow(message);
    }
  });

  it("does not share memory with what it was read from", async () => {
    const bytes = Buffer.from(archive);
    const { entries } = await read(bytes);
    bytes.fill(0);
    expect(entries[0]?.rawName.toString()).toBe("a.csv");
  });

  it("is behind a comment's end", async () => {
    const comment = "x".repeat(65_535);
    expect((await read(rawZip([a], { comment }))).entries).toHaveLength(1);
    await expect(read(Buffer.concat([rawZip([a], { comment: "abc" }), Buffer.from("d")]))).rejects.toThrow(
      /^the archive is corrupt: /,
    );
  });

  it("says what it was read from does not give", async () => {
    const broken = new Error("broken");
    const failing = (reason: unknown): RandomAccess => ({ size: 100, read: () => Promise.reject(reason) });
    await expect(readDirectory(failing(broken))).rejects.toMatchObject({
      summary: "the archive is corrupt: broken",
      cause: broken,
    });
    await expect(readDirectory(failing("no error"))).rejects.toThrow("the archive is corrupt: no error");
  });

  it("passes errors of its own unchanged", async () => {
    const bytes = inMemory(rawZip([{ ...b, flags: 1 }]));
    await expect(readDirectory(bytes)).rejects.toMatchObject({
      summary: 'the archive is rejected: "b.csv" is encrypted',
    });
  });

  it("is no more than memory should hold", async () => {
    for (const [count, size] of [
      [10_000, 0],
      [0, 32 * 1024 * 1024],
    ] as const) {
      expect(() => checkListing(count, size)).not.toThrow();
    }
    expect(() => checkListing(10_001, 0)).toThrow("it exceeds the limit of 10000 files and folders");
    expect(() => checkListing(0, 32 * 1024 * 1024 + 1)).toThrow("its directory exceeds the limit of 33554432 bytes");
    const many = patched(archive, 8, "11271127"); // 10,001 of them, it says.
    await expect(read(many)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    // One that is said to begin far before the end is not read at all.
    const large = Buffer.concat([Buffer.alloc(33 * 1024 * 1024), archive]);
    await expect(read(large)).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });
});

/** An archive with a directory far behind its beginning. */
const far = rawZip([a], { before: "\0".repeat(17 * 1024 * 1024) });

describe("the end record of a directory", () => {
  it("may stand anywhere", async () => {
    expect((await read(far)).start).toBe(far.lastIndexOf("PK\x01\x02"));
    // 0 files begin behind the end.
    await expect(read(patched(rawZip([]), 16, "17000000"))).rejects.toThrow(
      "the start of its directory is outside the archive",
    );
  });

  it("does not stand in the directory", async () => {
    const over = Buffer.from(archive);
    over.writeUInt16LE(22, over.lastIndexOf("PK\x01\x02") + 32);
    await expect(read(over)).rejects.toThrow("its directory continues after the 2 files that it declares");
  });

  it("stands straight behind the directory", async () => {
    const at = archive.lastIndexOf("PK\x05\x06");
    const end = archive.subarray(at);
    // A reader that looks from behind would take the last one, which says the same.
    await expect(read(Buffer.concat([archive, end]))).rejects.toThrow("that it declares");
    const commented = patched(archive, 20, "1600");
    expect((await read(Buffer.concat([commented, end]))).entries).toHaveLength(2);
    const unsigned = Buffer.concat([commented.fill(0, at, at + 4), end]);
    await expect(read(unsigned)).rejects.toThrow("that it declares");
  });

  it.each([
    ["the number of files on this disk", 8, "0100"],
    ["the number of files", 10, "0300"],
    ["the size", 12, "00000000"],
    ["the size by one", 12, "67000000"],
    ["the position", 16, "01000000"],
    ["the length of the comment", 20, "0100"],
    ["the number of files, without ZIP64", 8, "ffff"],
    ["the size, without ZIP64", 12, "ffffffff"],
  ])("fits it: otherwise refused by %s", async (_, at, hex) => {
    await expect(read(patched(archive, at, hex))).rejects.toThrow(/^the archive is corrupt: /);
  });

  it("is all that stands behind it", async () => {
    const at = archive.lastIndexOf("PK\x05\x06");
    for (const between of ["PK", "PK\x01\x02", "x".repeat(60)]) {
      const bytes = Buffer.concat([archive.subarray(0, at), Buffer.from(between), archive.subarray(at)]);
      await expect(read(bytes)).rejects.toThrow(/^the archive is corrupt: /);
    }
  });

  it("leaves no file out", async () => {
    // The directory holds two files, the end record says one.
    const one = patched(archive, 8, "01000100");
    await expect(read(one)).rejects.toThrow("its directory continues after the 1 files that it declares");
    const hidden = rawZip([a, { ...b, unlisted: true }]);
    expect((await read(hidden)).entries).toHaveLength(1); // The files themselves are compared by who reads them.
  });

  it("is not as far behind it as a megabyte", async () => {
    const at = archive.lastIndexOf("PK\x05\x06");
    const far = Buffer.concat([archive.subarray(0, at), noise(300_000), archive.subarray(at)]);
    await expect(read(far)).rejects.toThrow("its directory does not end at the end record");
  });
});

describe("the ZIP64 records of a directory", () => {
  it("hold what does not fit the end record", async () => {
    const bytes = await wide();
    const { start, entries } = await read(bytes);
    expect([start, entries[0]?.name]).toEqual([bytes.indexOf("PK\x01\x02"), "a.csv"]);
  });

  /** The archive, with a number of its ZIP64 record or locator replaced. */
  async function changed(at: number, hex: string): Promise<Buffer> {
    const bytes = await wide();
    bytes.write(hex, bytes.lastIndexOf("PK\x06\x06") + at, "hex");
    return bytes;
  }

  it.each([
    ["the size of the record", 4, "2d00"],
    ["a size of the record that no file has", 4, "ffffffffffffff7f"],
    ["the number of files on this disk", 24, "02"],
    ["the number of files", 32, "02"],
    ["the size", 40, "00"],
    ["the position", 48, "00"],
    ["the locator", 56, "00"],
    ["the position in the locator", 56 + 8, "00"],
  ])("fit it: otherwise refused by %s", async (_, at, hex) => {
    await expect(read(await changed(at, hex))).rejects.toThrow(
      at === 4 ? "its ZIP64 records contradict each other" : /^the archive is corrupt: /,
    );
  });

  it("are refused without their locator, and where that leads to another record", async () => {
    const bytes = await repeating(Buffer.alloc(56));
    const record = bytes.lastIndexOf("PK\x06\x06");
    const copy = bytes.indexOf("\0".repeat(56));
    bytes.copy(bytes, copy, record, record + 56);
    expect((await read(bytes)).entries).toHaveLength(1);
    const elsewhere = Buffer.from(bytes);
    elsewhere.writeBigUInt64LE(BigInt(copy), record + 56 + 8);
    await expect(read(elsewhere)).rejects.toThrow("its ZIP64 records contradict each other");
    const missing = Buffer.from(bytes).fill(0, record + 56, record + 60);
    await expect(read(missing)).rejects.toThrow("its ZIP64 records contradict each other");
  });

  it("may have an extension, which is not longer than 256 KiB with the records", async () => {
    const bytes = await wide();
    const at = bytes.lastIndexOf("PK\x06\x07");
    const extended = (size: number) => {
      bytes.writeUInt32LE(44 + size, bytes.lastIndexOf("PK\x06\x06") + 4);
      return Buffer.concat([bytes.subarray(0, at), noise(size), bytes.subarray(at)]);
    };
    const most = 256 * 1024 - 56 - 20 - 22;
    for (const size of [1, 9, most]) {
      expect((await read(extended(size))).entries).toHaveLength(1);
    }
    await expect(read(extended(most + 1))).rejects.toThrow("its directory does not end at the end record");
  });

  it("may say again what the end record says, which then must be right", async () => {
    const bytes = await repeating(Buffer.from("a\n1\n"));
    expect((await read(bytes)).entries).toHaveLength(1);
    for (const at of [8, 10, 12, 16]) {
      await expect(read(patched(bytes, at, "0200"))).rejects.toThrow("its end record does not match its directory");
    }
  });
});

/** An archive whose end record says what its ZIP64 record does. */
async function repeating(content: Buffer): Promise<Buffer> {
  const bytes = await zipOf({ "a.csv": content }, { forceZip64: true, stored: true });
  const end = bytes.lastIndexOf("PK\x05\x06");
  const record = bytes.lastIndexOf("PK\x06\x06");
  bytes.writeUInt16LE(1, end + 8);
  bytes.writeUInt16LE(1, end + 10);
  bytes.writeUInt32LE(Number(bytes.readBigUInt64LE(record + 40)), end + 12);
  bytes.writeUInt32LE(Number(bytes.readBigUInt64LE(record + 48)), end + 16);
  return bytes;
}
