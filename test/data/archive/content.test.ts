import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type ArchiveFile, openArchive, RequestError } from "tradewire";
import { cuts, encoded, split, table } from "../../support/csv.js";
import { rawZip } from "../../support/raw-zip.js";
import { given, taken } from "../../support/taken.js";
import { runs } from "../../support/tier.js";
import { csvFiles, type Entry } from "./inside.js";
import { usedFiles } from "./used-files.js";

/** An entry whose parts come in one buffer, which is used again. */
function entryOf(name: string, parts: Iterable<Buffer>, end?: () => unknown): Entry {
  return {
    name,
    listed: undefined,
    async *content() {
      const room = Buffer.alloc(1024 * 1024);
      for (const part of parts) {
        part.copy(room);
        yield room.subarray(0, part.length);
        room.fill("#");
      }
      await end?.();
      return { compressedSize: 0, size: 0, crc32: 0 };
    },
  };
}

const partsOf = (...parts: string[]) => parts.map((part) => Buffer.from(part));

/** The bytes of a file, each part copied when it comes, and what was counted. */
async function contentOf(file: ArchiveFile) {
  const content = file.content();
  const parts: Uint8Array[] = [];
  for (;;) {
    const part = await content.next();
    if (part.done === true) {
      return { text: Buffer.concat(parts).toString(), ...part.value };
    }
    parts.push(Buffer.from(part.value));
  }
}

async function contents(entries: AsyncIterable<Entry>, options: { readonly maxRowBytes?: number } = {}) {
  const all: Awaited<ReturnType<typeof contentOf>>[] = [];
  for await (const file of csvFiles(entries, options)) {
    all.push(await contentOf(file));
  }
  return all;
}

/** Two files, of which the first is broken in its third row, and each is used in one way. */
function used(use: (file: ArchiveFile) => unknown) {
  return usedFiles(given([entryOf("a.csv", partsOf("a\n1\n", "2\n", '3"\n')), entryOf("b.csv", partsOf("b\n"))]), use);
}

describe("the content of a file", () => {
  it("is its own bytes, header row included, with what was counted", async () => {
    const one = '"a",b\r\n"1\n2",\r\n,""\r\n';
    const names = ["c-trades-2-1-10.csv", "c-trades-2-11-20.csv"] as const;
    const zip = rawZip([
      { name: names[0], content: one },
      { name: names[1], content: "a\n1\n" },
    ]);
    for (const source of [zip, given([zip.subarray(0, 50), zip.subarray(50)])]) {
      const seen: unknown[] = [];
      for await (const file of openArchive(source).files()) {
        seen.push([file.columns, await contentOf(file), file.size]);
      }
      expect(seen).toEqual([
        [["a", "b"], { text: one, rows: 2, bytes: 20 }, 20],
        [["a"], { text: "a\n1\n", rows: 1, bytes: 4 }, 4],
      ]);
    }
  });

  it("is whole wherever it is split, also in the header row, and where the buffer is used again", async () => {
    await fc.assert(
      fc.asyncProperty(table, cuts, async (written, parts) => {
        const bytes = await encoded(written);
        const text = bytes.toString();
        expect(await contents(given([entryOf("x.csv", split(bytes, parts))]))).toEqual([
          { text, rows: written.rows.length, bytes: bytes.length },
        ]);
        const each = Array.from(bytes, (byte) => Buffer.of(byte));
        expect((await contents(given([entryOf("x.csv", each)])))[0]?.text).toBe(text);
      }),
      { numRuns: runs(300) },
    );
  });

  it("leaves fields to whoever loads it, and checks the rest", async () => {
    const loose = 'a,b\n1\n1,2,3\nx"y"z,"1"2\nx\ry,\n';
    expect(await contents(given([entryOf("x.csv", partsOf(loose))]))).toMatchObject([{ text: loose, rows: 4 }]);
    const failing = (...parts: string[]) => contents(given([entryOf("x.csv", partsOf(...parts))]), { maxRowBytes: 9 });
    await expect(failing("a,a\n")).rejects.toThrow('x.csv, line 1, field 2 (column "a"): duplicate column');
    await expect(failing("a,", "\n")).rejects.toThrow("x.csv, line 1, field 2: a column without a name");
    await expect(failing()).rejects.toThrow("the file is empty");
    await expect(failing("a\n1\n2")).rejects.toThrow("x.csv, row 2: the file ends in the middle of a row");
    await expect(failing("a\n1\n", "1234567890")).rejects.toThrow("x.csv, row 2: the row exceeds 9 bytes");
  });

  it("is followed by the error where the archive is broken", async () => {
    const zip = rawZip([{ name: "x.csv", content: "a\n1\n2\n", stored: true }]);
    zip[zip.indexOf("1\n2\n")] = 0x37;
    for (const source of [zip, given([zip])]) {
      const seen: string[] = [];
      const reading = (async () => {
        for await (const file of openArchive(source).files()) {
          for await (const bytes of file.content()) {
            seen.push(Buffer.from(bytes).toString());
          }
        }
      })();
      await expect(reading).rejects.toThrow("CRC-32");
    }
  });
});

describe("the content of a file, as its rows,", () => {
  it("is checked to its end where it is left early", async () => {
    const left = await used(async (file) => {
      for await (const bytes of file.content()) {
        expect(Buffer.from(bytes).toString()).toBe("a\n1\n");
        break;
      }
    });
    expect(left.names).toEqual(["a.csv"]);
    expect(left.error).toMatchObject({ summary: "a.csv, row 3: the file ends inside a quoted field" });
    const never = await used((file) => void file.content());
    expect(never.error).toMatchObject({ summary: "a.csv, row 3: the file ends inside a quoted field" });
  });

  it("does not go on behind a failure that was caught", async () => {
    let caught: unknown;
    const { names, error } = await used(async (file) => {
      caught = (await taken(file.content())).error;
    });
    expect([names, error]).toEqual([["a.csv"], caught]);
    expect(caught).toMatchObject({ summary: "a.csv, row 3: the file ends inside a quoted field" });
  });

  it("can be taken once, in place of rows", async () => {
    const files = () => csvFiles(given([entryOf("a.csv", partsOf("a\n1\n"))]), {});
    for await (const file of files()) {
      file.content();
      for (const again of [() => file.content(), () => file.rows(), () => file.batches()]) {
        expect(again).toThrow(RequestError);
        expect(again).toThrow('"a.csv" can no longer be read: its content was already read\nRead each file once');
      }
    }
    for await (const file of files()) {
      file.rows();
      expect(() => file.content()).toThrow("its rows were already read");
    }
  });

  it("can be taken before the next file is asked for, and ends there", async () => {
    const files = csvFiles(
      given([entryOf("a.csv", partsOf("a\n1\n", "2\n")), entryOf("b.csv", partsOf("b\n")), entryOf("c.csv", [])]),
      {},
    );
    const first = (await files.next()).value;
    const content = first?.content();
    await content?.next();
    const second = (await files.next()).value;
    await expect(content?.next()).rejects.toThrow(
      '"a.csv" can no longer be read: the next file was requested before its content was read',
    );
    await expect(files.next()).rejects.toThrow("c.csv, line 1, field 1: the file is empty");
    expect(() => second?.content()).toThrow('"b.csv" can no longer be read: the next file was requested before');
  });
});
