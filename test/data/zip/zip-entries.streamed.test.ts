import { crc32 } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError } from "tradewire";
import { streamedEntries } from "../../../src/data/zip/zip-entries.js";
import { cutAt, cutEvery, noise } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";
import { given, taken, textOf } from "../../support/taken.js";
import type { Entry, EntryOptions } from "./inside.js";

const MIB = 1024 * 1024;
const limits = { maxSize: 1e9, maxRatio: 1e6 };
const a: RawEntry = { name: "a.csv", content: "a\n1\n" };
const b: RawEntry = { name: "b.csv", content: "b\n2,3\n", stored: true, descriptor: { signed: true, wide: false } };
const archive = rawZip([a, b]);

/** The files of an archive with their content, and the error behind them. */
async function read(source: AsyncIterable<Uint8Array>, reading: Partial<EntryOptions> = {}) {
  const files: Record<string, string> = {};
  async function* entries() {
    for await (const entry of streamedEntries(source, { limits, ...reading })) {
      files[entry.name] = await textOf(entry.content());
      yield entry;
    }
  }
  const { values, error } = await taken<Entry>(entries());
  const summary = error instanceof Error && "summary" in error ? error.summary : error;
  return { files, error, summary, entries: values };
}

/** A file without content, up to the next one. */
function emptyFile(name: string): Buffer {
  const rawName = Buffer.from(name);
  const header = Buffer.alloc(30);
  header.write("504b0304", "hex");
  header.writeUInt16LE(0x800, 6);
  header.writeUInt16LE(rawName.length, 26);
  return Buffer.concat([header, rawName]);
}

const both = { "a.csv": "a\n1\n", "b.csv": "b\n2,3\n" };

describe("the files of an archive that arrives", () => {
  it("are read however it is cut", async () => {
    for (const size of [1, 5, 30, 1000]) {
      const { files, error } = await read(given(cutEvery(archive, size)));
      expect([size, error, files]).toEqual([size, undefined, both]);
    }
  });

  it("have measures once they have been read", async () => {
    const sizes: unknown[] = [];
    for await (const entry of streamedEntries(given([archive]), { limits })) {
      sizes.push(entry.listed);
      const content = entry.content();
      let result = await content.next();
      while (result.done !== true) {
        result = await content.next();
      }
      sizes.push(result.value.size);
    }
    expect(sizes).toEqual([undefined, 4, undefined, 6]);
  });

  it("are to be read each before the next", async () => {
    const reading = (async () => {
      for await (const entry of streamedEntries(given([archive]), { limits })) {
        expect(entry.name).toBe("a.csv");
      }
    })();
    await expect(reading).rejects.toThrow("the next entry was requested before this one was read");
  });

  it("are held to the limits all together", async () => {
    expect((await read(given([archive]), { limits: { ...limits, maxSize: 10 } })).error).toBeUndefined();
    const { error, files } = await read(given([archive]), { limits: { ...limits, maxSize: 9 } });
    expect([error, files]).toEqual([expect.objectContaining({ code: Code.ResourceExhausted }), { "a.csv": "a\n1\n" }]);
  });

  it("have names of which none comes twice, and not too many", async () => {
    const twice = await read(given([rawZip([a, a])]));
    expect(twice.summary).toBe('the archive is corrupt: it contains "a.csv" twice');
    expect(twice.entries).toHaveLength(1);
    async function* many() {
      for (let number = 0; number < 10_001; number += 1) {
        yield emptyFile(`${number}`);
      }
    }
    const files = await read(many());
    expect(files.summary).toBe("the archive is too large: it exceeds the limit of 10000 files and folders");
    expect(Object.keys(files.files)).toHaveLength(10_000);
  });

  it("are not waited for where the signal is aborted", async () => {
    const controller = new AbortController();
    async function* silent() {
      yield archive.subarray(0, 20);
      controller.abort("enough");
      await new Promise(() => undefined);
    }
    const { error } = await read(silent(), { signal: controller.signal });
    expect(error).toBeInstanceOf(CanceledError);
    expect(error).toMatchObject({ cause: "enough" });
  });

  it("leave the source when the caller stops", async () => {
    const done: string[] = [];
    async function* source() {
      try {
        yield* cutEvery(archive, 10);
      } finally {
        done.push("closed");
      }
    }
    for await (const entry of streamedEntries(source(), { limits, onClose: () => done.push("told") })) {
      expect(entry.name).toBe("a.csv");
      break;
    }
    expect(done).toEqual(["told", "closed"]);
  });
});

describe("an archive that arrives", () => {
  it("begins with a file or, where it has none, with its end", async () => {
    for (const bytes of [Buffer.from("a,b\n1,2\n"), archive.subarray(archive.indexOf("PK\x01\x02"))]) {
      const padded = Buffer.concat([bytes, rawZip([])]);
      const { summary } = await read(given([padded]));
      expect(summary).toMatch(/^the archive is (corrupt|truncated): /);
    }
    expect((await read(given([Buffer.concat([Buffer.from("what is this?"), archive])]))).summary).toMatch(
      "there is no file and no directory at byte 0",
    );
    expect((await read(given([rawZip([])]))).summary).toBe("the archive is corrupt: it contains no files");
    expect((await read(given([]))).summary).toContain("truncated: the stream ended after 0 bytes");
  });

  it("is truncated where it ends before its end", async () => {
    for (let size = 0; size < archive.length; size += 1) {
      const { summary } = await read(given(cutAt(archive.subarray(0, size), [size >> 1])));
      expect([size, summary]).toEqual([
        size,
        expect.stringMatching(
          new RegExp(`truncated: the stream ended after ${size} bytes|nothing behind "b.csv" says the size`),
        ),
      ]);
    }
  });

  it("has nothing but files before its directory", async () => {
    const { summary } = await read(given([rawZip([a, { ...a, name: "b.csv" }], { between: "more" })]));
    expect(summary).toContain("no file and no directory at byte");
    const one = rawZip([a]);
    const noDirectory = Buffer.concat([one.subarray(0, one.indexOf("PK\x01\x02")), one.subarray(-22)]);
    noDirectory.writeUInt32LE(0, noDirectory.length - 10);
    noDirectory.writeUInt32LE(noDirectory.length - 22, noDirectory.length - 6);
    expect((await read(given([noDirectory]))).summary).toContain("no file and no directory at byte");
  });

  it("is refused with bytes behind it", async () => {
    const { summary, files } = await read(given([archive, Buffer.from("abc")]));
    expect([summary, files]).toEqual(['3 bytes follow the archive\'s end: "abc"', both]);
  });

  it("is compared with its directory, file by file", async () => {
    const refused: readonly (readonly [RawEntry[], string])[] = [
      [[a, { ...b, unlisted: true }], "it contains 2 files, but its directory lists 1"],
      [[a, { ...b, listed: { name: "c.csv" } }], 'the header of "c.csv" does not match the directory'],
      [[a, { ...b, listed: { crc: 7 } }], 'the CRC-32 of "b.csv" is'],
      [
        [{ ...a, listed: { size: 7 } }, b],
        '"a.csv" has 4 bytes (6 compressed), but the archive declares 7 (6 compressed)',
      ],
      [
        [{ ...a, listed: { compressedSize: 7 } }, b],
        '"a.csv" has 4 bytes (6 compressed), but the archive declares 4 (7 compressed)',
      ],
      [[a, { ...b, listed: { offset: 1 } }], "should start at"],
      [[{ ...a, listed: { offset: 1 } }, b], "should start at 1 according to the directory"],
    ];
    for (const [entries, message] of refused) {
      const { summary, files } = await read(given([rawZip(entries)]));
      expect(summary).toContain(message);
      expect(files).toEqual(both);
    }
  });

  it("has a directory where it says", async () => {
    const at = archive.indexOf("PK\x01\x02");
    const end = archive.lastIndexOf("PK\x05\x06");
    const moved = Buffer.from(archive);
    moved.writeUInt32LE(at - 1, end + 16);
    expect((await read(given([moved]))).summary).toMatch(/^the archive is (corrupt|truncated): /);
    // The size makes up for it, so that the end is where its own fields place it.
    moved.writeUInt32LE(end - at + 1, end + 12);
    expect((await read(given([moved]))).summary).toMatch(/^the archive is corrupt: /);
    const early = Buffer.from(archive);
    early.writeUInt32LE(0, end + 16);
    early.writeUInt32LE(end, end + 12);
    expect((await read(given([early]))).summary).toMatch(/^the archive is corrupt: /);
  });

  it("has no directory that leaves out its first file, or goes on behind its end record", async () => {
    const at = archive.indexOf("PK\x01\x02");
    const second = archive.lastIndexOf("PK\x01\x02");
    const end = archive.lastIndexOf("PK\x05\x06");
    const less = Buffer.from(archive);
    less.writeUInt32LE(0x00010001, end + 8);
    less.writeUInt32LE(end - second, end + 12);
    less.writeUInt32LE(second, end + 16);
    expect((await read(given([less]))).summary).toBe(
      `the archive is corrupt: its directory starts at byte ${at}, but its end record declares ${second}`,
    );
    const longer = Buffer.from(archive);
    longer.writeUInt16LE(1000, second + 32);
    expect((await read(given([longer]))).summary).toBe(
      "the archive is corrupt: its end record does not match its directory",
    );
  });

  it("is truncated where a file goes over its end", async () => {
    for (const left of [0, 3]) {
      const over = rawZip([{ ...a, stored: true }]);
      const content = over.subarray(35, over.length - left);
      over.writeUInt32LE(crc32(content), 14);
      over.writeUInt32LE(content.length, 18);
      over.writeUInt32LE(content.length, 22);
      expect((await read(given([over]))).summary).toContain(`truncated: the stream ended after ${over.length} bytes`);
    }
  });

  it("has no directory that memory should not hold", async () => {
    const files = rawZip([a]);
    const at = files.indexOf("PK\x01\x02");
    async function* source() {
      yield files.subarray(0, at);
      yield Buffer.from("PK\x01\x02");
      for (let number = 0; number < 33; number += 1) {
        yield Buffer.alloc(MIB);
      }
    }
    expect((await read(source())).summary).toBe(
      "the archive is too large: its directory exceeds the limit of 33554432 bytes",
    );
  });
});

describe("a mistake in an archive that arrives", () => {
  const wrong = rawZip([{ ...a, stored: true, crc: 7 }]);

  it("is told, unless the source fails behind it with an error of its own", async () => {
    const broken = new Error("broken");
    expect((await read(given([wrong]))).summary).toContain('the CRC-32 of "a.csv" is');
    expect((await read(given([wrong, noise(100)], () => Promise.reject(broken)))).error).toBe(broken);
  });

  it("is told after 1 MiB at most", async () => {
    let given = 0;
    async function* endless() {
      yield wrong.subarray(0, wrong.indexOf("PK\x01\x02"));
      for (; given < 100 * MIB; given += 1024) {
        yield Buffer.alloc(1024);
      }
    }
    expect((await read(endless())).summary).toContain('the CRC-32 of "a.csv" is');
    expect(given).toBe(MIB - 1024);
  });
});
