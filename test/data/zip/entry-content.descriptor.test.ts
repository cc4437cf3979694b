import { crc32 } from "node:zlib";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readDescriptor, scanStored } from "../../../src/data/zip/entry-content.js";
import { cutEvery, noise } from "../../support/archives.js";
import { given, taken } from "../../support/taken.js";
import { createByteReader } from "./inside.js";

const SCAN_SIZE = 64 * 1024;
const DATA = Buffer.from("a,b\n1,2\n");
const forms = [
  { signed: true, wide: false },
  { signed: false, wide: false },
  { signed: true, wide: true },
  { signed: false, wide: true },
];
const local = Buffer.concat([Buffer.from("PK\x03\x04"), Buffer.alloc(26)]);
const central = Buffer.concat([Buffer.from("PK\x01\x02"), Buffer.alloc(42)]);

interface Said {
  readonly crc: number;
  readonly compressedSize: number;
  readonly size: number;
}

function saidOf(data: Buffer): Said {
  return { crc: crc32(data), compressedSize: data.length, size: data.length };
}

function descriptor({ crc, compressedSize, size }: Said, { signed, wide }: (typeof forms)[number]): Buffer {
  const rest = Buffer.alloc(wide ? 20 : 12);
  rest.writeUInt32LE(crc);
  if (wide) {
    rest.writeBigUInt64LE(BigInt(compressedSize), 4);
    rest.writeBigUInt64LE(BigInt(size), 12);
  } else {
    rest.writeUInt32LE(compressedSize, 4);
    rest.writeUInt32LE(size, 8);
  }
  return signed ? Buffer.concat([Buffer.from("PK\x07\x08"), rest]) : rest;
}

describe("readDescriptor", () => {
  const measured = { compressedSize: 5, size: 9, crc32: 0xabcdef01 };
  const said = { crc: 0xabcdef01, compressedSize: 5, size: 9 };
  /** Reads a descriptor at byte 7. Gives what stands behind it. */
  async function read(bytes: Buffer): Promise<string> {
    const reader = createByteReader(given(cutEvery(bytes, 5)), { position: 7 });
    await readDescriptor(reader, "a.csv", measured);
    expect(reader.position).toBe(7 + bytes.indexOf("PK", 4));
    return Buffer.from(await reader.peek(4)).toString("latin1", 0, 4);
  }

  it.each(forms)("takes the form %j, before a file and before the directory", async (form) => {
    expect(await read(Buffer.concat([descriptor(said, form), local]))).toBe("PK\x03\x04");
    expect(await read(Buffer.concat([descriptor(said, form), central]))).toBe("PK\x01\x02");
  });

  it.each(forms)("refuses other sizes and another CRC-32 in the form %j", async (form) => {
    for (const other of [{ compressedSize: 6 }, { size: 8 }]) {
      await expect(read(Buffer.concat([descriptor({ ...said, ...other }, form), central]))).rejects.toThrow(
        'the archive is corrupt: the sizes of "a.csv" differ from those that the archive declares',
      );
    }
    await expect(read(Buffer.concat([descriptor({ ...said, crc: 7 }, form), central]))).rejects.toThrow(
      'the CRC-32 of "a.csv" is abcdef01, but the archive declares 00000007',
    );
  });

  it.each(forms)("refuses the form %j where no record stands behind it", async (form) => {
    const other = Buffer.concat([descriptor(said, form), Buffer.from("PK\x05\x06"), Buffer.alloc(30)]);
    await expect(read(other)).rejects.toThrow('the sizes of "a.csv" differ from those that the archive declares');
  });

  it("refuses a record where the descriptor should stand", async () => {
    await expect(read(central)).rejects.toThrow("but the archive declares 02014b50");
  });

  it.each(forms)("refuses the form %j behind other bytes", async (form) => {
    const other = Buffer.concat([Buffer.alloc(4, 1), descriptor(said, { ...form, signed: false }), central]);
    await expect(read(other)).rejects.toThrow("declares 01010101");
  });

  it("is told where the archive ends in it", async () => {
    const whole = Buffer.concat([descriptor(said, { signed: true, wide: true }), central]);
    for (const size of [0, 3, 4, 12, 20, 27]) {
      await expect(read(whole.subarray(0, size))).rejects.toThrow(
        `the archive is truncated: the stream ended after ${7 + size} bytes`,
      );
    }
    // As many bytes as the longest form has, and the record behind it.
    expect(await read(whole.subarray(0, 28))).toBe("PK\x01\x02");
    const wrong = Buffer.concat([descriptor({ ...said, crc: 7 }, { signed: true, wide: true }), central]);
    await expect(read(wrong.subarray(0, 28))).rejects.toThrow("declares 00000007");
  });
});

describe("scanStored", () => {
  const scan = (pieces: Iterable<Buffer>, end?: () => unknown) => {
    const reader = createByteReader(given(pieces, end));
    const sum = { size: 0, crc32: 0 };
    async function* content() {
      for await (const bytes of scanStored(reader, "a.csv", sum)) {
        sum.size += bytes.length;
        sum.crc32 = crc32(bytes, sum.crc32);
        yield bytes;
      }
    }
    return { reader, content: content() };
  };

  it.each(forms)("ends before a descriptor of the form %j", async (form) => {
    for (const next of [local, central]) {
      for (const data of [DATA, Buffer.alloc(0)]) {
        const { reader, content } = scan(cutEvery(Buffer.concat([data, descriptor(saidOf(data), form), next]), 7));
        const { values, error } = await taken(content);
        expect([Buffer.concat(values).toString(), error]).toEqual([data.toString(), undefined]);
        expect(reader.position).toBe(data.length);
      }
    }
  });

  it.each(forms)("ends at any place of a long stream, in the form %j", async (form) => {
    for (const size of [SCAN_SIZE - 30, SCAN_SIZE - 28, SCAN_SIZE - 5, SCAN_SIZE, SCAN_SIZE + 1, 2 * SCAN_SIZE + 99]) {
      const data = noise(size, size);
      const whole = Buffer.concat([data, descriptor(saidOf(data), form), central, Buffer.alloc(SCAN_SIZE)]);
      const { reader, content } = scan([whole]);
      const { values, error } = await taken(content);
      expect([size, error, Buffer.concat(values).equals(data), reader.position]).toEqual([size, undefined, true, size]);
    }
  });

  it.each(forms)("ends right however the stream is cut, in the form %j", async (form) => {
    const cuts = fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 1, maxLength: 30 });
    const content = fc.array(fc.oneof(fc.uint8Array({ maxLength: 90 }), fc.constantFrom(local, central)), {
      maxLength: 5,
    });
    const property = fc.asyncProperty(content, cuts, async (parts, sizes) => {
      const data = Buffer.concat(parts);
      const rest = Buffer.concat([descriptor(saidOf(data), form), central]);
      let left = Buffer.concat([data, rest]);
      const pieces: Buffer[] = [];
      for (let index = 0; left.length > 0; index += 1) {
        const size = sizes[index % sizes.length] ?? 1;
        pieces.push(left.subarray(0, size));
        left = left.subarray(size);
      }
      const { reader, content: scanned } = scan(pieces);
      const { values, error } = await taken(scanned);
      expect([error, Buffer.concat(values).equals(data), reader.position]).toEqual([undefined, true, data.length]);
      const behind: Uint8Array[] = [];
      for (let bytes = await reader.next(); bytes !== undefined; bytes = await reader.next()) {
        behind.push(bytes);
      }
      expect(Buffer.concat(behind).equals(rest)).toBe(true);
    });
    await fc.assert(property);
  });

  it("takes a time that grows with the content, whatever that holds", async () => {
    // Records in small pieces; and descriptors with the right sizes and a wrong CRC-32, each before a record.
    const records = Buffer.alloc(300 * 1024, "PK\x01\x02");
    const periods = Buffer.alloc(8 * 1024 * 1024);
    for (let at = 0; at < periods.length; at += 16) {
      periods.writeUInt32LE(0x0a0a0a0a, at);
      periods.writeUInt32LE(at, at + 4);
      periods.writeUInt32LE(at, at + 8);
      periods.write("PK\x01\x02", at + 12, "latin1");
    }
    for (const [content, pieces] of [
      [records, cutEvery(records, 27)],
      [periods, [periods]],
    ] as const) {
      const rest = Buffer.concat([descriptor(saidOf(content), { signed: true, wide: false }), central]);
      const { values, error } = await taken(scan([...pieces, rest]).content);
      expect([error, Buffer.concat(values).equals(content)]).toEqual([undefined, true]);
    }
  });

  it("does not hold more of a long stream than it needs", async () => {
    const { content } = scan(cutEvery(noise(10 * SCAN_SIZE), SCAN_SIZE));
    const first = await content.next();
    expect(first.value?.length).toBe(SCAN_SIZE - 27);
    await content.return();
  });

  it("passes over records in the content, whose descriptor says another size or CRC-32", async () => {
    for (const form of forms) {
      const right = saidOf(DATA);
      for (const other of [{ crc: 7 }, { size: 9 }, { compressedSize: 9 }]) {
        for (const next of [local, central]) {
          const data = Buffer.concat([DATA, descriptor({ ...right, ...other }, form), next, DATA]);
          const whole = Buffer.concat([data, descriptor(saidOf(data), form), central]);
          const { values, error } = await taken(scan([whole]).content);
          expect([Buffer.concat(values).equals(data), error]).toEqual([true, undefined]);
        }
      }
    }
  });

  it("takes no other bytes for the signature of a descriptor", async () => {
    for (const form of forms.filter(({ signed }) => signed)) {
      const other = descriptor(saidOf(DATA), form).fill(1, 0, 4);
      const data = Buffer.concat([DATA, other, central]);
      const whole = Buffer.concat([data, descriptor(saidOf(data), form), central]);
      const { values, error } = await taken(scan([whole]).content);
      expect([Buffer.concat(values).equals(data), error]).toEqual([true, undefined]);
    }
  });

  it("says that no descriptor came, where the stream ends", async () => {
    for (const bytes of [DATA, Buffer.alloc(0), Buffer.concat([DATA, local]), noise(SCAN_SIZE + 100)]) {
      const { error } = await taken(scan([bytes]).content);
      expect(error).toMatchObject({
        summary:
          'the archive is corrupt: the data descriptor of "a.csv" does not match the size and CRC-32 of its content',
      });
    }
  });

  describe("where the source fails", () => {
    const broken = new Error("broken");
    const fail = () => Promise.reject(broken);
    const cameFrom = async (...pieces: Buffer[]) => {
      const { values, error } = await taken(scan(pieces, fail).content);
      expect(error).toBe(broken);
      return Buffer.concat(values).toString("latin1");
    };

    it("gives the content that came, and then the error", async () => {
      expect(await cameFrom(DATA)).toBe("a,b\n1,2\n");
      expect(await cameFrom(Buffer.from("a"), Buffer.from(",b\n"))).toBe("a,b\n");
      expect(await cameFrom()).toBe("");
      const long = noise(SCAN_SIZE + 500);
      expect(await cameFrom(long)).toBe(long.toString("latin1"));
    });

    it("gives what ends before its descriptor, and then the error of what follows", async () => {
      const { values, error } = await taken(
        scan([Buffer.concat([DATA, descriptor(saidOf(DATA), { signed: true, wide: false }), central])], fail).content,
      );
      expect([Buffer.concat(values).toString(), error]).toEqual(["a,b\n1,2\n", undefined]);
    });

    it.each(forms)("gives nothing of a descriptor that has begun, in the form %j", async (form) => {
      const begun = Buffer.concat([descriptor(saidOf(DATA), form), central.subarray(0, 3)]);
      for (let size = 1; size <= begun.length; size += 1) {
        expect([size, await cameFrom(Buffer.concat([DATA, begun.subarray(0, size)]))]).toEqual([size, "a,b\n1,2\n"]);
      }
    });

    it.each(forms)("gives nothing of one behind content that was given before, in the form %j", async (form) => {
      const long = noise(SCAN_SIZE + 1000, 3);
      const begun = descriptor(saidOf(long), form).subarray(0, 9);
      expect((await cameFrom(Buffer.concat([long, begun]))) === long.toString("latin1")).toBe(true);
    });

    it("gives nothing behind the beginning of a record", async () => {
      for (const record of ["PK\x03\x04", "PK\x01\x02", "PK\x07\x08"]) {
        expect(await cameFrom(Buffer.concat([DATA, Buffer.from(`${record}more`)]))).toBe("a,b\n1,2\n");
        expect(await cameFrom(Buffer.from(`${record}more`))).toBe("");
      }
      expect(await cameFrom(Buffer.from("aPK\x01\x02bPK\x03\x04c"))).toBe("a");
      expect(await cameFrom(Buffer.from("aPK\x05\x06b"))).toBe("aPK\x05\x06b");
    });
  });
});
