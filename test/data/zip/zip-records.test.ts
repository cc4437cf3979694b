import { crc32 } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import { checkName, readLocalHeader, readMethod } from "../../../src/data/zip/zip-records.js";
import { cutEvery } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";
import { given } from "../../support/taken.js";
import { createByteReader, LOCAL_HEADER, signatureBytes } from "./inside.js";

const one: RawEntry = { name: "a.csv", content: "a\n1\n", stored: true };

/** The header that stands at the beginning of bytes, and the bytes behind it. */
async function headerOf(bytes: Buffer, position = 0) {
  const reader = createByteReader(given(cutEvery(bytes, 16)), { position });
  const header = await readLocalHeader(reader);
  const rest = Buffer.concat([await reader.peek(4)]).subarray(0, 4);
  return { header, position: reader.position, rest: rest.toString() };
}

/** The header of an entry, in which the bytes from `at` on are replaced. */
function patched(entry: RawEntry, at: number, hex: string): Buffer {
  const bytes = rawZip([entry]);
  bytes.write(hex, at, "hex");
  return bytes;
}

/** A header with extra fields. Sizes are those that stand in the header itself. */
function withExtra(extra: Buffer, { compressedSize = 4, size = 4, flags = 0 } = {}): Buffer {
  const head = Buffer.alloc(30);
  head.write("504b0304", "hex");
  head.writeUInt16LE(flags, 6);
  head.writeUInt32LE(compressedSize, 18);
  head.writeUInt32LE(size, 22);
  head.writeUInt16LE(5, 26);
  head.writeUInt16LE(extra.length, 28);
  return Buffer.concat([head, Buffer.from("a.csv"), extra, Buffer.from("data")]);
}

function field(id: number, ...numbers: bigint[]): Buffer {
  const bytes = Buffer.alloc(4 + 8 * numbers.length);
  bytes.writeUInt16LE(id, 0);
  bytes.writeUInt16LE(8 * numbers.length, 2);
  for (const [index, number] of numbers.entries()) {
    bytes.writeBigUInt64LE(number, 4 + 8 * index);
  }
  return bytes;
}

describe("the header of a file", () => {
  it("gives its position, name, method and measures, and ends where the content begins", async () => {
    const { header, position, rest } = await headerOf(rawZip([one]), 100);
    expect(header).toEqual({
      offset: 100,
      name: "a.csv",
      rawName: Buffer.from("a.csv"),
      method: "stored",
      measures: { compressedSize: 4, size: 4, crc32: crc32("a\n1\n") },
    });
    expect([position, rest]).toEqual([135, "a\n1\n"]);
    expect((await headerOf(rawZip([{ ...one, stored: false }]))).header.method).toBe("deflate");
  });

  it("gives no measures where a descriptor will", async () => {
    const { header } = await headerOf(rawZip([{ ...one, descriptor: { signed: true, wide: false } }]));
    expect(header.measures).toBeUndefined();
  });

  it("does not share its name's memory with the archive", async () => {
    const bytes = rawZip([one]);
    const { header } = await headerOf(bytes);
    bytes.fill(0);
    expect(header.rawName.toString()).toBe("a.csv");
  });

  it("is truncated where the archive ends in it", async () => {
    const bytes = rawZip([one]);
    for (const size of [0, 3, 29, 30, 34]) {
      await expect(headerOf(bytes.subarray(0, size), 7)).rejects.toThrow(
        `truncated: the stream ended after ${7 + size} bytes`,
      );
    }
    expect((await headerOf(bytes.subarray(0, 35))).rest).toBe("");
    // One without a name is not cut, but wrong.
    await expect(headerOf(rawZip([{ ...one, name: "" }]).subarray(0, 30))).rejects.toThrow('has the invalid name ""');
  });

  it("is none where another record stands", async () => {
    await expect(headerOf(patched(one, 0, "504b0102"), 9)).rejects.toThrow("there is no file at");
  });

  it("is read with its extra fields, which do not belong to the content", async () => {
    const { header, position, rest } = await headerOf(withExtra(field(0x7777, 1n)));
    expect([header.name, position, rest]).toEqual(["a.csv", 47, "data"]);
    await expect(headerOf(withExtra(Buffer.from("0100ffff", "hex")))).rejects.toThrow("the archive is corrupt: ");
  });

  it("names the file by the field for UTF-8 names, where there is one", async () => {
    const utf8 = Buffer.from("é.csv");
    const extra = Buffer.alloc(9 + utf8.length);
    extra.writeUInt16LE(0x7075, 0);
    extra.writeUInt16LE(5 + utf8.length, 2);
    extra.writeUInt8(1, 4);
    extra.writeUInt32LE(crc32("a.csv"), 5);
    utf8.copy(extra, 9);
    expect((await headerOf(withExtra(extra))).header.name).toBe("é.csv");
  });

  it("names the file in UTF-8 or code page 437, as its flag says", async () => {
    const name = { ...one, name: "é.csv" };
    expect((await headerOf(rawZip([{ ...name, flags: 0x800 }]))).header.name).toBe("é.csv");
    expect((await headerOf(rawZip([name]))).header.name).toBe("├⌐.csv");
  });

  it("is refused with a name that is not safe, and where it is encrypted", async () => {
    await expect(headerOf(rawZip([{ ...one, name: "../a.csv" }]))).rejects.toThrow("invalid relative path");
    await expect(headerOf(rawZip([{ ...one, name: "a\\b.csv" }]))).rejects.toThrow("invalid characters");
    await expect(headerOf(rawZip([{ ...one, flags: 1 }]))).rejects.toThrow('"a.csv" is encrypted');
  });
});

describe("the sizes in the header of a file", () => {
  const NONE = 0xffffffff;
  const sizesOf = async (extra: Buffer, said: { compressedSize?: number; size?: number }) => {
    const { measures } = (await headerOf(withExtra(extra, said))).header;
    return [measures?.compressedSize, measures?.size];
  };

  it("are those of ZIP64's field where they do not fit, the file's first", async () => {
    expect(await sizesOf(field(1, 7n, 5n), { compressedSize: NONE, size: NONE })).toEqual([5, 7]);
    expect(await sizesOf(field(1, 2n ** 40n, 2n ** 33n), { compressedSize: NONE, size: NONE })).toEqual([
      2 ** 33,
      2 ** 40,
    ]);
    expect(await sizesOf(field(1, 7n), { compressedSize: 3, size: NONE })).toEqual([3, 7]);
    expect(await sizesOf(field(1, 7n), { compressedSize: NONE, size: 3 })).toEqual([7, 3]);
  });

  it("are those of the header where they fit, and where the field is missing or too short", async () => {
    expect(await sizesOf(field(1, 7n, 5n), { compressedSize: 3, size: 2 })).toEqual([3, 2]);
    expect(await sizesOf(field(2, 7n, 5n), { compressedSize: NONE, size: NONE })).toEqual([NONE, NONE]);
    expect(await sizesOf(field(1, 7n), { compressedSize: NONE, size: NONE })).toEqual([NONE, NONE]);
    expect(await sizesOf(field(1), { compressedSize: 3, size: NONE })).toEqual([3, NONE]);
    expect(await sizesOf(Buffer.concat([field(2, 9n), field(1, 7n)]), { size: NONE })).toEqual([4, 7]);
  });

  it("are refused where no file has them", async () => {
    const least = 2n ** 53n;
    for (const numbers of [
      [least, 5n],
      [5n, least],
    ]) {
      await expect(sizesOf(field(1, ...numbers), { compressedSize: NONE, size: NONE })).rejects.toThrow(
        '"a.csv" has an impossible size',
      );
    }
    const most = Number.MAX_SAFE_INTEGER;
    expect(await sizesOf(field(1, BigInt(most), BigInt(most)), { compressedSize: NONE, size: NONE })).toEqual([
      most,
      most,
    ]);
  });
});

describe("checkName", () => {
  const check = (name: string, rawName = Buffer.from(name)) => checkName(name, rawName);

  it.each(["a.csv", "a/b.csv", "a b.csv", ".a", "a.", "...", "Ω.csv", "a/", "x".repeat(4096), "\u00a0", " "])(
    "accepts %j",
    (name) => {
      expect(() => check(name)).not.toThrow();
    },
  );

  it.each([
    "",
    ".",
    "./a.csv",
    "a/./b.csv",
    "a/.",
    "a\0b",
    "a\nb",
    "a\x1fb",
    "a\x7fb",
    "a\u0085b",
    "x".repeat(4097),
    "/a.csv",
    "C:/a.csv",
    "..",
    "a/../b",
    "a\\b",
  ])("refuses %j", (name) => {
    expect(() => check(name)).toThrow(/^the archive is corrupt: /);
  });

  it("refuses control characters that code page 437 shows as others, and shows them as they are", () => {
    expect(() => check("a◙b.csv", Buffer.from("a\nb.csv"))).toThrow('a file in it has the invalid name "a\\nb.csv"');
    expect(() => check("a b", Buffer.from("a b"))).not.toThrow();
    expect(() => check("a▼b", Buffer.from("a\x1fb"))).toThrow('has the invalid name "a\\u001fb"');
  });

  it("shows a name without control characters as it was decoded", () => {
    expect(() => check("Ω/.", Buffer.from([0xea, 0x2f, 0x2e]))).toThrow('a file in it has the invalid name "Ω/."');
  });
});

describe("readMethod", () => {
  it("knows stored and deflated files", () => {
    expect([readMethod("a", 0, 0), readMethod("a", 0x808, 8)]).toEqual(["stored", "deflate"]);
  });

  it.each([1, 0x40, 0x2000, 0x2041])("refuses what is encrypted: flags %i", (flags) => {
    expect(() => readMethod("a.csv", flags, 0)).toThrow('the archive is rejected: "a.csv" is encrypted');
  });

  it.each([1, 7, 9, 12, 93])("refuses method %i", (method) => {
    expect(() => readMethod("a.csv", 0, method)).toThrow(
      `"a.csv" has the compression method ${method}; only deflate (8)`,
    );
  });
});

describe("signatureBytes", () => {
  it("begins with the letters PK", () => {
    expect(signatureBytes(LOCAL_HEADER)).toEqual(Buffer.from("PK\x03\x04"));
  });
});
