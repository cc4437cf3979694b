import { crc32, deflateRawSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  checkMeasures,
  createSizeLimiter,
  type EntryLimits,
  readContent,
} from "../../../src/data/zip/entry-content.js";
import { cutEvery, noise } from "../../support/archives.js";
import { standsStill } from "../../support/eventually.js";
import { given, taken } from "../../support/taken.js";
import { createByteReader, type EntryMeasures, type LocalHeader } from "./inside.js";

const MIB = 1024 * 1024;
const DATA = Buffer.from("a,b\n1,2\n".repeat(50));
const PACKED = deflateRawSync(DATA);
/** What stands behind the content. */
const BEHIND = "PK\x01\x02 and the directory behind it";

function measuresOf(data: Buffer, compressedSize: number): EntryMeasures {
  return { compressedSize, size: data.length, crc32: crc32(data) };
}

function descriptor({ compressedSize, size, crc32 }: EntryMeasures): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.write("504b0708", "hex");
  bytes.writeUInt32LE(crc32, 4);
  bytes.writeUInt32LE(compressedSize, 8);
  bytes.writeUInt32LE(size, 12);
  return bytes;
}

interface Reading {
  readonly method?: LocalHeader["method"];
  readonly measures?: EntryMeasures | undefined;
  readonly listed?: EntryMeasures | undefined;
  readonly limits?: Partial<EntryLimits>;
  readonly total?: number;
  readonly end?: () => unknown;
}

/** Read content that begins at byte 100. */
async function read(pieces: readonly Buffer[], { method = "deflate", measures, listed, end, ...rest }: Reading) {
  const reader = createByteReader(given(pieces, end), { position: 100 });
  const header = { offset: 60, name: "a.csv", rawName: Buffer.from("a.csv"), method, measures };
  const limits = { maxSize: 1e12, maxRatio: 1e6, ...rest.limits };
  let measured: EntryMeasures | undefined;
  async function* content() {
    const limiter = createSizeLimiter(limits, rest.total);
    measured = yield* readContent(reader, header, { ...(listed === undefined ? {} : { listed }), limiter });
  }
  const { values, error } = await taken(content());
  return { data: Buffer.concat(values), error, measured, reader, position: reader.position };
}

async function behind(reader: { peek(size: number): Promise<Uint8Array> }): Promise<string> {
  return Buffer.from(await reader.peek(BEHIND.length)).toString("latin1");
}

/** The ways in which content stands in an archive. */
const ways: readonly (readonly [string, Buffer, Reading])[] = (["stored", "deflate"] as const).flatMap((method) => {
  const bytes = method === "stored" ? DATA : PACKED;
  const measures = measuresOf(DATA, bytes.length);
  const described = Buffer.concat([bytes, descriptor(measures)]);
  return [
    [`${method}, measured before`, bytes, { method, measures }],
    [`${method}, measured before and listed`, bytes, { method, measures, listed: measures }],
    [`${method}, listed and described`, described, { method, listed: measures }],
    [`${method}, described`, described, { method }],
  ] as const;
});

describe("content", () => {
  it.each(ways)("is read: %s", async (_, bytes, reading) => {
    const all = Buffer.concat([bytes, Buffer.from(BEHIND, "latin1")]);
    for (const pieces of [[all], cutEvery(all, 1), cutEvery(all, 13), cutEvery(all, bytes.length)]) {
      const { data, error, measured, reader, position } = await read(pieces, reading);
      expect(error).toBeUndefined();
      expect(data.equals(DATA)).toBe(true);
      expect(measured).toEqual(measuresOf(DATA, reading.method === "stored" ? DATA.length : PACKED.length));
      expect(position).toBe(100 + bytes.length);
      expect(await behind(reader)).toBe(BEHIND);
    }
  });

  it.each(ways)("is truncated where the archive ends in it: %s", async (_, bytes, reading) => {
    for (const size of [0, 1, PACKED.length - 1]) {
      const { error } = await read(size === 0 ? [] : [bytes.subarray(0, size)], reading);
      const unknown = reading.method === "stored" && reading.measures === undefined && reading.listed === undefined;
      expect(error).toMatchObject({
        summary: unknown
          ? expect.stringContaining('the data descriptor of "a.csv" does not match the size')
          : `the archive is truncated: the stream ended after ${100 + size} bytes`,
      });
    }
  });

  it.each(ways)("comes before the error of its source: %s", async (_, bytes, reading) => {
    const broken = new Error("broken");
    const end = () => Promise.reject(broken);
    const half = deflateRawSync(DATA, { level: 0 });
    const given = reading.method === "stored" ? DATA.subarray(0, 100) : half.subarray(0, 105);
    expect(bytes.length).toBeGreaterThan(0);
    const said = measuresOf(DATA, reading.method === "stored" ? DATA.length : half.length);
    const { data, error } = await read([given], {
      ...reading,
      ...(reading.measures === undefined ? {} : { measures: said }),
      ...(reading.listed === undefined ? {} : { listed: said }),
      end,
    });
    expect(error).toBe(broken);
    expect(data.toString()).toBe(DATA.toString("latin1", 0, 100));
  });

  it("may be empty", async () => {
    for (const [method, bytes] of [
      ["stored", Buffer.alloc(0)],
      ["deflate", deflateRawSync(Buffer.alloc(0))],
    ] as const) {
      const all = Buffer.concat([bytes, Buffer.from(BEHIND, "latin1")]);
      const measures = measuresOf(Buffer.alloc(0), bytes.length);
      const { data, error, reader } = await read([all], { method, measures });
      expect([data.length, error, await behind(reader)]).toEqual([0, undefined, BEHIND]);
    }
  });

  it("is inflated in pieces where it is large", async () => {
    const large = noise(700_000);
    const packed = deflateRawSync(large);
    const all = Buffer.concat([packed, Buffer.from(BEHIND, "latin1")]);
    for (const measures of [measuresOf(large, packed.length), undefined]) {
      const described = measures ?? measuresOf(large, packed.length);
      const bytes =
        measures === undefined ? Buffer.concat([packed, descriptor(described), all.subarray(packed.length)]) : all;
      const { data, error, reader } = await read(cutEvery(bytes, 50_000), { measures });
      expect([data.equals(large), error, await behind(reader)]).toEqual([true, undefined, BEHIND]);
    }
  });

  it("ends when the caller stops, and the inflating with it", async () => {
    const packed = deflateRawSync(noise(MIB));
    const reader = createByteReader(given(cutEvery(packed, 1000)));
    const header = { offset: 0, name: "a.csv", rawName: Buffer.from("a.csv"), method: "deflate", measures: undefined };
    const limits = { maxSize: 1e12, maxRatio: 1e6 };
    const content = readContent(reader, { ...header, method: "deflate" }, { limiter: createSizeLimiter(limits) });
    expect((await content.next()).done).toBe(false);
    await content.return({ compressedSize: 0, size: 0, crc32: 0 });
    await new Promise(setImmediate);
    const { position } = reader;
    await standsStill(() => reader.position);
    expect(reader.position).toBe(position);
    expect(position).toBeLessThan(packed.length);
  });
});

describe("content that is not what the archive says", () => {
  const right = measuresOf(DATA, PACKED.length);

  it("cannot be inflated", async () => {
    const { data, error } = await read([Buffer.concat([Buffer.alloc(200, 0xff)])], { measures: right });
    expect(data.length).toBe(0);
    expect(error).toMatchObject({
      summary: 'the archive is corrupt: the compressed data of "a.csv" is invalid',
      cause: expect.objectContaining({ code: "Z_DATA_ERROR" }),
    });
  });

  it("goes on, or ends early", async () => {
    const all = Buffer.concat([PACKED, Buffer.from(BEHIND)]);
    for (const pieces of [[all], cutEvery(all, 5)]) {
      const on = await read(pieces, { measures: { ...right, compressedSize: PACKED.length - 1 } });
      expect(on.error).toMatchObject({ summary: expect.stringContaining("is invalid") });
      const early = await read(pieces, { measures: { ...right, compressedSize: PACKED.length + 1 } });
      expect(early.error).toMatchObject({
        summary: expect.stringContaining(`400 bytes (${PACKED.length} compressed), but`),
      });
    }
  });

  it.each(["measures", "listed"] as const)("has other measures than those: %s", async (which) => {
    const both = { measures: right, listed: right };
    const all = Buffer.concat([PACKED, Buffer.from(BEHIND)]);
    const size = await read([all], { ...both, [which]: { ...right, size: 7 } });
    expect(size.error).toMatchObject({
      summary: `the archive is corrupt: "a.csv" has 400 bytes (${PACKED.length} compressed), but the archive declares 7 (${PACKED.length} compressed)`,
    });
    const crc = await read([all], { ...both, [which]: { ...right, crc32: 7 } });
    expect(crc.error).toMatchObject({ summary: expect.stringMatching(/CRC-32 of "a\.csv" is .*declares 00000007$/) });
    expect(crc.data.equals(DATA)).toBe(true);
    const listed = await read([all], { ...both, listed: { ...right, compressedSize: 9 } });
    expect(listed.error).toMatchObject({ summary: expect.stringContaining("declares 400 (9 compressed)") });
  });

  it("has another descriptor", async () => {
    const all = Buffer.concat([PACKED, descriptor({ ...right, crc32: 7 }), Buffer.from(BEHIND)]);
    const { error } = await read([all], { listed: right });
    expect(error).toMatchObject({ summary: expect.stringMatching(/CRC-32 of "a\.csv" is .*declares 00000007$/) });
  });

  it("is compared field by field", () => {
    expect(() => checkMeasures("a.csv", right, { ...right })).not.toThrow();
    for (const other of [{ compressedSize: 1 }, { size: 1 }, { crc32: 1 }]) {
      expect(() => checkMeasures("a.csv", right, { ...right, ...other })).toThrow(/but the archive declares/);
    }
  });
});

describe("the limits of content", () => {
  const measures = measuresOf(DATA, PACKED.length);

  it("count the bytes of all files together", async () => {
    const limits = { maxSize: 1000 };
    expect((await read([PACKED], { measures, limits, total: 600 })).error).toBeUndefined();
    const { data, error } = await read([PACKED], { measures, limits, total: 601 });
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      summary: "the archive is too large: its files exceed the limit of 1000 bytes",
      message: expect.stringContaining("raise maxSize"),
    });
    expect(data.length).toBe(0);
    const stored = { method: "stored", measures: measuresOf(DATA, DATA.length), limits } as const;
    expect((await read([DATA], { ...stored, total: 601 })).error).toMatchObject({
      code: Code.ResourceExhausted,
    });
  });

  it("leave files of up to 16 MiB alone, and hold larger ones to the ratio", async () => {
    const zeros = (size: number) => {
      const data = Buffer.alloc(size);
      const packed = deflateRawSync(data, { level: 1 });
      return { data, packed, measures: measuresOf(data, packed.length) };
    };
    const floor = zeros(16 * MIB);
    const limits = { maxRatio: 10 };
    expect((await read([floor.packed], { measures: floor.measures, limits })).error).toBeUndefined();
    const beyond = zeros(16 * MIB + 1);
    const { data, error } = await read([beyond.packed], { measures: beyond.measures, limits });
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      summary: 'the archive is too large: "a.csv" exceeds the limit of 10 times its compressed size',
      message: expect.stringContaining("If this ratio"),
    });
    expect(data.length).toBe(16 * MIB);
    const ratio = Math.ceil(beyond.data.length / beyond.packed.length);
    const fitting = await read([beyond.packed], { measures: beyond.measures, limits: { maxRatio: ratio } });
    expect(fitting.error).toBeUndefined();
  });

  it("let a file that is stored be as large as it is", async () => {
    const data = Buffer.alloc(17 * MIB);
    const stored = { method: "stored", measures: measuresOf(data, data.length) } as const;
    expect((await read(cutEvery(data, MIB), { ...stored, limits: { maxRatio: 1 } })).error).toBeUndefined();
  });
});
