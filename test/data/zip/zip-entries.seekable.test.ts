import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError, FileError } from "tradewire";
import { listEntries, type SeekableOptions, seekableEntries } from "../../../src/data/zip/zip-entries.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";
import { taken, textOf } from "../../support/taken.js";
import { inMemory } from "./inside.js";

const limits = { maxSize: 1e9, maxRatio: 1e6 };
const a: RawEntry = { name: "a.csv", content: "a\n1\n" };
const b: RawEntry = { name: "b.csv", content: "b\n2,3\n", stored: true, descriptor: { signed: true, wide: true } };
const c: RawEntry = { name: "c.csv", content: "c\n", descriptor: { signed: false, wide: false } };
const archive = rawZip([a, b, c]);

function summaryOf(error: unknown): unknown {
  return error instanceof Error && "summary" in error ? error.summary : error;
}

async function read(bytes: Buffer, reading: Partial<SeekableOptions> = {}) {
  const files: Record<string, string> = {};
  async function* entries() {
    for await (const entry of seekableEntries(inMemory(bytes), { limits, ...reading })) {
      files[entry.name] = await textOf(entry.content());
      yield entry;
    }
  }
  const { values, error } = await taken(entries());
  return { files, error, summary: summaryOf(error), measures: values.map(({ listed }) => listed?.size) };
}

describe("the files of a seekable archive", () => {
  it("are read by the directory, which gives their measures", async () => {
    const { files, error, measures } = await read(archive);
    expect([error, files]).toEqual([undefined, { "a.csv": "a\n1\n", "b.csv": "b\n2,3\n", "c.csv": "c\n" }]);
    expect(measures).toEqual([4, 6, 2]);
    for await (const { listed } of seekableEntries(inMemory(archive), { limits })) {
      expect(listed?.crc32).toEqual(expect.any(Number));
    }
  });

  it("may be passed over", async () => {
    const names: string[] = [];
    for await (const { name } of seekableEntries(inMemory(archive), { limits })) {
      names.push(name);
    }
    expect(names).toEqual(["a.csv", "b.csv", "c.csv"]);
  });

  it("are held to the limits all together", async () => {
    expect((await read(archive, { limits: { ...limits, maxSize: 12 } })).error).toBeUndefined();
    const { error, files } = await read(archive, { limits: { ...limits, maxSize: 11 } });
    expect(error).toMatchObject({ code: Code.ResourceExhausted });
    expect(Object.keys(files)).toEqual(["a.csv", "b.csv"]);
  });

  it("are not read where the signal is aborted", async () => {
    const { error, files } = await read(archive, { signal: AbortSignal.abort("enough") });
    expect(error).toBeInstanceOf(CanceledError);
    expect([error, files]).toEqual([expect.objectContaining({ cause: "enough" }), {}]);
  });

  it.each<[string, readonly RawEntry[], string]>([
    ["another name before it", [a, { ...b, localName: "x.csv" }], 'the header of "b.csv" does not match'],
    ["another CRC-32", [a, { ...b, crc: 7 }], 'the CRC-32 of "b.csv" is'],
    ["another size", [{ ...a, listed: { size: 7 } }, b], '"a.csv" has 4 bytes (6 compressed),'],
    ["another size in the archive", [{ ...a, listed: { compressedSize: 1 } }, b], "has 4 bytes (6 compressed),"],
    [
      "nothing where it should start",
      [a, { ...b, listed: { offset: 40 } }],
      "should start at 40 according to the directory",
    ],
    [
      "another file in its place",
      [
        { ...a, listed: { offset: 0 } },
        { ...b, listed: { offset: 0 } },
      ],
      "should start",
    ],
    ["a file before it that is not listed", [a, { ...a, name: "x.csv", unlisted: true }, b], "should start at"],
    ["a file behind it that is not listed", [a, b, { ...a, name: "x.csv", unlisted: true }], "should start at"],
  ])("are refused with %s", async (_, entries, message) => {
    expect((await read(rawZip(entries))).summary).toContain(message);
  });

  it("begin where the archive does", async () => {
    const files: string[] = [];
    const reading = (async () => {
      for await (const { name } of seekableEntries(inMemory(rawZip([a], { before: "xyz" })), { limits })) {
        files.push(name);
      }
    })();
    await expect(reading).rejects.toThrow("the part at byte 0 should start at 3 according to the directory");
    expect(files).toEqual([]);
  });

  it("are read with as few bytes as they have", async () => {
    const seekable = inMemory(archive);
    const wanted: (number | undefined)[][] = [];
    const watched = {
      ...seekable,
      stream: (position: number, size?: number) => {
        wanted.push([position, size]);
        return seekable.stream(position, size);
      },
    };
    for await (const entry of seekableEntries(watched, { limits })) {
      await textOf(entry.content());
    }
    const starts = [0, archive.indexOf("PK\x03\x04", 1), archive.lastIndexOf("PK\x03\x04")];
    const ends = [...starts.slice(1), archive.indexOf("PK\x01\x02")];
    // What stands behind a file tells how its descriptor is written.
    expect(wanted).toEqual(starts.map((start, index) => [start, (ends[index] ?? 0) - start + 64]));
  });

  it("leave the archive when the caller stops, and where they are broken", async () => {
    const seekable = inMemory(rawZip([a, { ...b, crc: 7 }]));
    let closed = 0;
    const watched = {
      ...seekable,
      async *stream(position: number) {
        try {
          yield* seekable.stream(position);
        } finally {
          closed += 1;
        }
      },
    };
    for await (const entry of seekableEntries(watched, { limits })) {
      await textOf(entry.content()).catch(() => undefined);
    }
    expect(closed).toBe(2);
  });
});

describe("a seekable archive without a directory that can be read", () => {
  it("is truncated where its end is missing", async () => {
    for (const size of [0, 10, archive.length - 1]) {
      expect((await read(archive.subarray(0, size))).summary).toContain(`truncated: the stream ended after ${size}`);
    }
  });

  it("is refused with bytes behind it", async () => {
    expect((await read(Buffer.concat([archive, Buffer.from("abc")]))).summary).toBe(
      '3 bytes follow the archive\'s end: "abc"',
    );
  });

  it("is refused by the error that a server wrote behind it", async () => {
    const broken = new Error("no segment");
    async function* withoutError(source: AsyncIterable<Uint8Array>) {
      yield* source;
      throw broken;
    }
    expect((await read(archive.subarray(0, 50), { withoutError })).error).toBe(broken);
    expect((await read(archive, { withoutError })).error).toBeUndefined();
  });

  it("is refused by what is wrong with its directory, where its end is right", async () => {
    expect((await read(rawZip([{ ...a, flags: 1 }]))).summary).toBe('the archive is rejected: "a.csv" is encrypted');
    expect((await read(rawZip([]))).summary).toBe("the archive is corrupt: it contains no files");
  });
});

describe("listEntries", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "tradewire-list-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function list(bytes: Buffer) {
    const path = join(folder, "a.zip");
    writeFileSync(path, bytes);
    return listEntries(path);
  }

  it("gives the files with their measures, without reading them", async () => {
    const wrong = { ...b, crc: 7 };
    expect(await list(rawZip([a, wrong, c]))).toEqual([
      { name: "a.csv", size: 4, compressedSize: expect.any(Number), crc32: expect.any(Number) },
      { name: "b.csv", size: 6, compressedSize: 6, crc32: 7 },
      { name: "c.csv", size: 2, compressedSize: expect.any(Number), crc32: expect.any(Number) },
    ]);
  });

  it("lets a descriptor of up to 24 bytes stand between the files, and nothing before the first", async () => {
    const two: RawEntry[] = [a, { ...a, name: "b.csv" }];
    const between = (size: number) => list(rawZip(two, { between: "x".repeat(size) }));
    expect(await between(24)).toHaveLength(2);
    await expect(between(25)).rejects.toThrow(/"b\.csv" starts at byte \d+, but the previous part ends at \d+/);
    await expect(list(rawZip([a], { before: "x" }))).rejects.toThrow('"a.csv" starts at byte 1, but the previous part');
    expect(await list(rawZip([a], { between: "x".repeat(24) }))).toHaveLength(1);
    await expect(list(rawZip([a], { between: "x".repeat(25) }))).rejects.toThrow("the directory starts at byte");
  });

  it("counts the names and extra fields before the content", async () => {
    const long: RawEntry = { ...a, name: "x".repeat(300), stored: true, zip64: true };
    expect(await list(rawZip([long, b]))).toHaveLength(2);
  });

  it("refuses files that overlap, and a directory in them", async () => {
    const overlapping = rawZip([{ ...a, listed: { compressedSize: 99 } }, b]);
    await expect(list(overlapping)).rejects.toThrow('"b.csv" starts at byte');
    await expect(list(rawZip([a, { ...c, listed: { compressedSize: 99 } }]))).rejects.toThrow(
      "the directory starts at",
    );
    const by1 = a.content.length;
    const exact = rawZip([{ ...a, stored: true, listed: { size: by1 + 1, compressedSize: by1 + 1 } }, b]);
    await expect(list(exact)).rejects.toThrow('"b.csv" starts at byte 39, but the previous part ends at 40');
  });

  it("refuses a file that does not begin where it should", async () => {
    const other = Buffer.from(archive);
    other.write("504b0102", archive.indexOf("PK\x03\x04", 1), "hex");
    await expect(list(other)).rejects.toThrow(/"b\.csv" does not start at byte \d+/);
    // One that would begin less than a header before the archive's end.
    const offset = rawZip([a, c]).length - 10;
    const late = rawZip([
      { ...a, listed: { compressedSize: offset - 35 } },
      { ...c, listed: { offset } },
    ]);
    await expect(list(late)).rejects.toThrow(`"c.csv" does not start at byte ${offset}`);
    const first = rawZip([a]);
    const short = Buffer.from(first.subarray(first.indexOf("PK\x01\x02")));
    short.writeUInt32LE(0, short.length - 6);
    await expect(list(short)).rejects.toThrow('"a.csv" does not start at byte 0');
  });

  it("refuses what is truncated, and what is no file", async () => {
    await expect(list(archive.subarray(0, -1))).rejects.toThrow("the archive is truncated");
    await expect(listEntries("/dev/null")).rejects.toThrow("the archive is corrupt: not a regular file");
    await expect(listEntries(join(folder, "none.zip"))).rejects.toBeInstanceOf(FileError);
  });
});
