import { randomUUID } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { FileError, openArchive, RequestError } from "tradewire";
import { archiveOutcome, streamOf } from "../../support/archive-outcome.js";
import { noise, zipOf } from "../../support/archives.js";
import { type RawEntry, rawZip } from "../../support/raw-zip.js";

const A = "chain-1-trades-1-1-1000.csv";
const B = "chain-1-trades-2-1001-2000.csv";
const contents: Readonly<Record<string, string>> = {
  [A]: 'id,note\n1,\n2,""\n3,"x,""y""\nz"\n',
  [B]: `id,note,more\n${Array.from({ length: 400 }, (_, n) => `${n},note ${n},\n`).join("")}`,
};
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tradewire-archive-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const raw = (more: Partial<RawEntry>) =>
  rawZip(Object.entries(contents).map(([name, content]) => ({ name, content, ...more })));
const buffers = Object.fromEntries(Object.entries(contents).map(([name, content]) => [name, Buffer.from(content)]));

describe("openArchive", () => {
  it("tells what the names and the directory say", async () => {
    const archive = await zipOf(buffers);
    const named = [];
    for await (const { rows: _r, batches: _b, content: _c, columns: _n, ...file } of openArchive(archive).files()) {
      named.push(file);
    }
    const common = {
      chainId: "chain-1",
      table: "trades",
      crc32: expect.any(Number),
      compressedSize: expect.any(Number),
    };
    expect(named).toEqual([
      { name: A, ...common, schemaVersion: 1n, fromBlock: 1n, toBlock: 1000n, size: contents[A]?.length },
      { name: B, ...common, schemaVersion: 2n, fromBlock: 1001n, toBlock: 2000n, size: contents[B]?.length },
    ]);
  });

  it("reports names that do not parse as unknown, and knows sizes after the file was read from a stream", async () => {
    const archive = await zipOf({ "dir/other.csv": Buffer.from("a\n1\n") }, { streamed: true });
    for await (const file of openArchive(streamOf(archive)).files()) {
      expect(file.size).toBeUndefined();
      expect({ chainId: file.chainId, table: file.table, from: file.fromBlock }).toEqual({});
      for await (const row of file.rows()) {
        expect(row).toEqual({ a: "1" });
      }
      expect(file.size).toBe(4);
    }
  });

  it("reads an empty table, which is a header alone", async () => {
    const archive = await zipOf({ "c-trades-1-1000.csv": Buffer.from("a,b\n") });
    const empty = [{ name: "c-trades-1-1000.csv", columns: ["a", "b"], rows: [] }];
    expect(await archiveOutcome(archive)).toEqual({ files: empty, error: undefined });
    expect(await archiveOutcome(streamOf(archive, 3))).toEqual({ files: empty, error: undefined });
  });

  describe("gives the rows of all files", () => {
    const archive = () =>
      rawZip([
        { name: "c-trades-1-1-10.csv", content: "a,gone\n1,x\n" },
        { name: "c-trades-2-11-20.csv", content: "a,new\n2,\n" },
      ]);
    const rowsOf = async (rows: AsyncIterable<unknown>) => {
      const all = [];
      for await (const row of rows) {
        all.push(row);
      }
      return all;
    };

    it("with the columns of their file", async () => {
      const own = [
        { a: "1", gone: "x" },
        { a: "2", new: null },
      ];
      expect(await rowsOf(openArchive(archive()).rows())).toEqual(own);
      expect(await rowsOf(openArchive(streamOf(archive())).rows({ columns: "own" }))).toEqual(own);
    });

    it("with the columns of all files", async () => {
      const path = join(folder, "union.zip");
      writeFileSync(path, archive());
      for (const source of [path, archive(), streamOf(archive(), 5)]) {
        expect(await rowsOf(openArchive(source).rows({ columns: "union" }))).toEqual([
          { a: "1", gone: "x", new: null },
          { a: "2", gone: null, new: null },
        ]);
      }
    });

    it("with the columns of all files from a temporary file, which is removed with the last row", async () => {
      const bytes = rawZip([{ name: "a.csv", content: `a\n1\n${randomUUID()}\n` }]);
      /** The temporary folders in which this archive stands. */
      const folders = () =>
        readdirSync(tmpdir()).filter((name) => {
          const path = join(tmpdir(), name, "archive.zip");
          return name.startsWith("tradewire-") && existsSync(path) && readFileSync(path).equals(bytes);
        });
      const rows = openArchive(streamOf(bytes)).rows({ columns: "union" })[Symbol.asyncIterator]();
      expect((await rows.next()).value).toEqual({ a: "1" });
      expect(folders()).toHaveLength(1);
      await rows.return?.();
      expect(folders()).toEqual([]);
    });

    it("into memory", async () => {
      const zip = await openArchive(streamOf(archive())).toZip();
      expect(await zip.file("c-trades-2-11-20.csv")?.async("string")).toBe("a,new\n2,\n");
    });
  });

  it("checks files that are passed over", async () => {
    const archive = rawZip([
      { name: "a.csv", content: `a\n${"1\n".repeat(50_000)}`, crc: 1 },
      { name: "b.csv", content: "b\n" },
    ]);
    for (const source of [archive, streamOf(archive)]) {
      const names: string[] = [];
      const reading = (async () => {
        for await (const { name } of openArchive(source).files()) {
          names.push(name);
        }
      })();
      await expect(reading).rejects.toThrow('the CRC-32 of "a.csv" is');
      expect(names).toEqual(["a.csv"]);
    }
  });

  it("does not go on behind a file that failed", async () => {
    const archive = rawZip([
      { name: "a.csv", content: "a\n1,2\n" },
      { name: "b.csv", content: "b\n" },
    ]);
    for (const source of [archive, streamOf(archive)]) {
      const seen: string[] = [];
      const reading = (async () => {
        for await (const file of openArchive(source).files()) {
          try {
            for await (const row of file.rows()) {
              expect(row).toBeUndefined();
            }
          } catch {
            seen.push(file.name);
          }
        }
      })();
      await expect(reading).rejects.toThrow("the row has more than 1 field");
      expect(seen).toEqual(["a.csv"]);
    }
  });

  it("gives the rows of a file once, while it is its turn", async () => {
    let last: { rows(): AsyncIterable<unknown> } | undefined;
    for await (const file of openArchive(raw({})).files()) {
      if (last !== undefined) {
        expect(() => last?.rows()).toThrow("the next file was requested before");
      }
      last = file;
      if (file.name === A) {
        continue;
      }
      file.rows();
      expect(() => file.rows()).toThrow(RequestError);
    }
  });

  it("ends the source when the reader stops, and reads no more than it needs", async () => {
    const archive = await zipOf(
      { "a.csv": Buffer.concat([Buffer.from("a\n1\n"), Buffer.from("2\n".repeat(2_000_000))]) },
      { stored: true },
    );
    let read = 0;
    let ended = false;
    async function* source() {
      try {
        for await (const piece of streamOf(archive, 10_000)) {
          read += piece.length;
          yield piece;
        }
      } finally {
        ended = true;
      }
    }
    for await (const row of openArchive(source()).rows()) {
      expect(row).toEqual({ a: "1" });
      break;
    }
    expect(ended).toBe(true);
    expect(read).toBeLessThan(100_000);
  });

  it("does not wait for a source that gives nothing more when the reader stops", async () => {
    const archive = await zipOf({ "a.csv": Buffer.from("a\n1\n2\n") }, { stored: true });
    let closed = false;
    async function* source() {
      yield archive.subarray(0, 41);
      await new Promise(() => undefined);
    }
    const opened = openArchive(source(), {
      onClose: () => {
        closed = true;
      },
    });
    for await (const row of opened.rows()) {
      expect(row).toEqual({ a: "1" });
      break;
    }
    expect(closed).toBe(true);
  });

  it("ends when the signal is aborted", async () => {
    const controller = new AbortController();
    async function* source() {
      yield rawZip([{ name: "a.csv", content: "a\n1\n" }]).subarray(0, 20);
      await new Promise(() => undefined);
    }
    const reading = archiveOutcome(source(), { signal: controller.signal });
    controller.abort();
    expect((await reading).error?.code).toBe(Code.Canceled);
    expect((await archiveOutcome(raw({}), { signal: controller.signal })).error?.code).toBe(Code.Canceled);
  });

  it("closes a silent source when the signal is aborted", async () => {
    const controller = new AbortController();
    let asked = () => {};
    const isAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    let closed = false;
    const source: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next() {
          asked();
          return new Promise(() => undefined);
        },
        async return() {
          closed = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const reading = archiveOutcome(source, { signal: controller.signal });
    await isAsked;
    controller.abort();
    expect((await reading).error?.code).toBe(Code.Canceled);
    expect(closed).toBe(true);
  });

  it("says where there is no file", async () => {
    const missing = await archiveOutcome(join(folder, "none.zip"));
    expect(missing.error).toBeInstanceOf(FileError);
    expect(missing.error?.code).toBe(Code.NotFound);
    expect((await archiveOutcome(folder)).error?.summary).toContain("is a folder");
  });
});

const one = { name: "c-trades-1-10.csv", content: "a\n1\n" };
const two = { name: "c-trades-11-20.csv", content: "a\n2\n" };
const named = (name: string) => rawZip([{ ...one, name }]);

/** What is refused, and what the error says of it, from bytes and from a stream alike. */
const refusals: Readonly<Record<string, readonly [Buffer, RegExp]>> = {
  "an encrypted file": [rawZip([{ ...one, flags: 1 }]), /is encrypted/],
  "a strongly encrypted file": [rawZip([{ ...one, flags: 0x41 }]), /encrypt/],
  "an unknown method": [rawZip([{ ...one, method: 12 }]), /method 12/],
  "an absolute path": [named("/c.csv"), /absolute path/],
  "a drive": [named("C:c.csv"), /absolute path/],
  "a way out": [named("a/../../c.csv"), /invalid relative path/],
  "a backslash": [named("a\\c.csv"), /invalid characters/],
  "a control character": [named("a\nc.csv"), /has the invalid name "a\\nc.csv"/],
  "an empty name": [named(""), /has the invalid name ""/],
  "a name twice": [rawZip([one, one]), /contains "c-trades-1-10\.csv" twice/],
  "another name in the directory": [
    rawZip([{ ...one, listed: { name: "x-trades-1-10.csv" } }]),
    /does not match the directory/,
  ],
  "another CRC-32": [
    rawZip([{ ...one, crc: 7 }]),
    /the CRC-32 of "c-trades-1-10.csv" is \w{8}, but the archive declares 00000007/,
  ],
  "another CRC-32 in a descriptor": [
    rawZip([{ ...one, crc: 7, descriptor: { signed: true, wide: false } }]),
    /the CRC-32 of .* declares 00000007/,
  ],
  "another CRC-32 in the directory": [rawZip([{ ...one, listed: { crc: 7 } }]), /the CRC-32 of .* declares 00000007/],
  "another size in the directory": [
    rawZip([{ ...one, listed: { size: 3 } }]),
    /has 4 bytes \(6 compressed\), but the archive declares 3/,
  ],
  "a file elsewhere": [
    rawZip([one, { ...two, listed: { offset: 30 } }]),
    /according to the directory|does not fit|no file and no directory/,
  ],
  "files that overlap": [rawZip([one, { ...two, listed: { offset: 0 } }]), /according to the directory|does not fit/],
  "a file that the directory leaves out": [
    rawZip([one, { ...two, unlisted: true }]),
    /according to the directory|its directory lists 1/,
  ],
  "something before the archive": [
    rawZip([one], { before: "x" }),
    /at byte 0|should start at|no file and no directory|bytes before/,
  ],
  "something between the files": [
    rawZip([one, two], { between: "xxxx" }),
    /according to the directory|no file and no directory/,
  ],
  "no file": [rawZip([]), /contains no files/],
  "something that is no archive": [Buffer.from("a,b\n1,2\n"), /no file and no directory|truncated/],
  nothing: [Buffer.alloc(0), /truncated: the stream ended after 0 bytes/],
  "something behind it": [Buffer.concat([rawZip([one]), noise(30)]), /^30 bytes follow the archive's end/],
  "an error object behind it": [
    Buffer.concat([rawZip([one]), Buffer.from('{"error":{"code":13,"message":"no segment","details":[]}}')]),
    /the node answered INTERNAL: no segment/,
  ],
  "a file without a header": [rawZip([{ ...one, content: "" }]), /c-trades-1-10.csv, line 1, .*the file is empty/],
  "a row that is cut": [rawZip([{ ...one, content: "a\n1" }]), /the file ends in the middle of a row/],
  "a gap between the ranges": [
    rawZip([one, { ...two, name: "c-trades-12-20.csv" }]),
    /starts at block 12, but the previous file ends at block 10/,
  ],
  "ranges that overlap": [rawZip([one, { ...two, name: "c-trades-10-20.csv" }]), /starts at block 10/],
  "ranges in reverse": [rawZip([two, one]), /starts at block 1, but/],
  "a reversed range": [named("c-trades-10-1.csv"), /is reversed/],
  "two tables": [rawZip([one, { ...two, name: "c-orders-11-20.csv" }]), /a different table or chain/],
  "two chains": [rawZip([one, { ...two, name: "d-trades-11-20.csv" }]), /a different table or chain/],
};

describe("openArchive refuses", () => {
  it.each(Object.entries(refusals))("%s", async (_, [archive, message]) => {
    const outcomes = [await archiveOutcome(archive), await archiveOutcome(streamOf(archive, 11))];
    for (const { error } of outcomes) {
      expect(error?.summary).toMatch(message);
    }
    expect(outcomes[0]?.error?.code).toBe(outcomes[1]?.error?.code);
    expect(outcomes[0]?.error?.name).toBe(outcomes[1]?.error?.name);
  });

  it("more than the limits", async () => {
    const archive = rawZip([{ name: "a.csv", content: `a\n${`${"1".repeat(2000)}\n`.repeat(10_000)}` }]);
    for (const source of [archive, streamOf(archive)]) {
      const { error } = await archiveOutcome(source, { maxSize: 1_000_000 });
      expect(error?.code).toBe(Code.ResourceExhausted);
      expect(error?.summary).toBe("the archive is too large: its files exceed the limit of 1000000 bytes");
    }
    for (const source of [archive, streamOf(archive)]) {
      const { error } = await archiveOutcome(source, { maxRatio: 100 });
      expect(error?.summary).toContain('"a.csv" exceeds the limit of 100 times its compressed size');
    }
    await expect(openArchive(archive).toZip()).rejects.toThrow("the limit of 200 times");
    // Without limits of the caller's own, deflate's best is read.
    expect((await archiveOutcome(archive)).error).toBeUndefined();
  });

  it.each([
    ["begins late", { fromBlock: 0n, toBlock: 20n }, /must start at block 0/],
    ["ends early", { fromBlock: 1n, toBlock: 30n }, /rows are missing/],
    ["is of another table", { fromBlock: 1n, toBlock: 20n, table: "orders" as const }, /orders was requested/],
  ])("one that %s for what was exported", async (_, range, message) => {
    const { error } = await archiveOutcome(rawZip([one, two]), {
      exported: async () => ({ table: "trades", ...range }),
    });
    expect(error?.summary).toMatch(message);
  });
});
