import { describe, expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { type ArchiveFile, csvFiles, csvHeads } from "../../../src/data/archive/archive-files.js";
import { rawZip } from "../../support/raw-zip.js";
import { given, taken } from "../../support/taken.js";
import { archiveEntries, type Entry, inMemory, UNLIMITED } from "./inside.js";
import { usedFiles } from "./used-files.js";

const one = { name: "c-trades-2-1-10.csv", content: "a,b\n1,\n" };
const two = { name: "x.csv", content: "a\n2\n" };

const entriesOf = (...files: Parameters<typeof rawZip>[0]) =>
  archiveEntries(inMemory(rawZip(files)), { limits: UNLIMITED });

/** An entry whose content comes in pieces. It tells what becomes of it. */
function watched(name: string, pieces: readonly string[], end?: () => unknown) {
  const state = { taken: 0, closed: false };
  const entry: Entry = {
    name,
    listed: undefined,
    async *content() {
      try {
        for (const piece of pieces) {
          state.taken += 1;
          yield Buffer.from(piece);
        }
        await end?.();
        return { compressedSize: 0, size: 0, crc32: 0 };
      } finally {
        state.closed = true;
      }
    },
  };
  return { entry, state };
}

describe("the files of an archive", () => {
  it("tell the parts of their names, their columns and their measures", async () => {
    const files = (await taken(csvFiles(entriesOf(one), {}))).values.map(({ rows, batches, content, ...file }) => file);
    expect(files).toEqual([
      {
        name: one.name,
        chainId: "c",
        table: "trades",
        schemaVersion: 2n,
        fromBlock: 1n,
        toBlock: 10n,
        columns: ["a", "b"],
        size: 7,
        compressedSize: expect.any(Number),
        crc32: expect.any(Number),
      },
    ]);
    const [other] = (await taken(csvFiles(entriesOf(two), {}))).values;
    expect([other?.name, other?.chainId, other?.columns]).toEqual(["x.csv", undefined, ["a"]]);
    const unknown = watched("x.csv", ["a\n"]);
    const measuresOf = ({ size, compressedSize, crc32 }: ArchiveFile) => [size, compressedSize, crc32];
    const arrived: ArchiveFile[] = [];
    for await (const file of csvFiles(given([unknown.entry]), {})) {
      expect(measuresOf(file)).toEqual([undefined, undefined, undefined]);
      arrived.push(file);
    }
    expect(arrived.map(measuresOf)).toEqual([[0, 0, 0]]);
  });

  it("give their rows as records and as batches", async () => {
    const rows: unknown[] = [];
    await usedFiles(entriesOf(one, two), async (file) => rows.push((await taken(file.rows())).values));
    expect(rows).toEqual([[{ a: "1", b: null }], [{ a: "2" }]]);
    const pieces = watched("x.csv", ["a\n", "1\n2\n", "3", "\n4\n"]);
    const many: unknown[] = [];
    await usedFiles(given([pieces.entry]), async (file) => many.push(...(await taken(file.rows())).values));
    expect(many).toEqual([{ a: "1" }, { a: "2" }, { a: "3" }, { a: "4" }]);
    const batches: unknown[] = [];
    await usedFiles(entriesOf(one, two), async (file) => {
      for await (const { columns, rows } of file.batches()) {
        batches.push([columns, rows]);
      }
    });
    expect(batches.flat(1)).toEqual(expect.arrayContaining([["a", "b"], [["1", null]], ["a"], [["2"]]]));
  });

  it("are decoded by the options, and named in what is wrong with them", async () => {
    const nulls: unknown[] = [];
    await usedFiles(
      entriesOf({ ...one, content: "a,b\n1,N\n" }),
      async (file) => nulls.push(...(await taken(file.rows())).values),
      {
        nullString: "N",
      },
    );
    expect(nulls).toEqual([{ a: "1", b: null }]);
    const { error } = await usedFiles(entriesOf({ ...one, content: "a,b\n1\n" }), () => undefined);
    expect(error).toMatchObject({ summary: expect.stringContaining("c-trades-2-1-10.csv, line 2") });
    expect((await usedFiles(entriesOf({ ...one, content: "" }), () => undefined)).error).toMatchObject({
      summary: expect.stringContaining("the file is empty"),
    });
  });

  it("are those that were asked for", async () => {
    const exported = { table: "trades", fromBlock: 1n, toBlock: 20n } as const;
    const { names, error } = await usedFiles(entriesOf(one), () => undefined, { exported });
    expect([names, error]).toEqual([
      [one.name],
      expect.objectContaining({ summary: expect.stringContaining("rows are missing") }),
    ]);
  });

  it("are checked to their end where their rows are not taken", async () => {
    const broken = watched("a.csv", ["a\n1\n", "2\n", "3,3\n"]);
    const next = watched("b.csv", ["b\n"]);
    const passedOver = await usedFiles(given([broken.entry, next.entry]), () => undefined);
    expect(passedOver.names).toEqual(["a.csv"]);
    expect(passedOver.error).toMatchObject({ summary: expect.stringContaining("a.csv, line 4") });
    expect(next.state.taken).toBe(0);
    const left = watched("a.csv", ["a\n1\n", "2\n", "3,3\n"]);
    const leftEarly = await usedFiles(given([left.entry, next.entry]), async (file) => {
      for await (const row of file.rows()) {
        expect(row).toEqual({ a: "1" });
        break;
      }
    });
    expect(leftEarly.error).toMatchObject({ summary: expect.stringContaining("a.csv, line 4") });
  });

  it("are read no further than they are taken", async () => {
    const { entry, state } = watched("a.csv", ["a\n1\n", "2\n", "3\n"]);
    const files = csvFiles(given([entry]), {});
    const file = (await files.next()).value;
    const batches = file?.batches();
    await batches?.next();
    expect(state).toEqual({ taken: 1, closed: false });
    await files.return();
    expect(state).toEqual({ taken: 1, closed: true });
  });

  it("do not go on behind a failure that was caught", async () => {
    const broken = new Error("broken");
    const first = watched("a.csv", ["a\n1\n"], () => Promise.reject(broken));
    const next = watched("b.csv", ["b\n"]);
    let caught: unknown;
    const { names, error } = await usedFiles(given([first.entry, next.entry]), async (file) => {
      caught = (await taken(file.rows())).error;
    });
    expect([names, error, caught]).toEqual([["a.csv"], broken, broken]);
    expect(next.state.taken).toBe(0);
  });
});

describe("the rows of a file", () => {
  const said = (what: string) => `"a.csv" can no longer be read: ${what}`;
  const files = () => csvFiles(given([watched("a.csv", ["a\n1\n", "2\n"]).entry, watched("b.csv", ["b\n"]).entry]), {});

  it("can be taken once", async () => {
    for await (const file of files()) {
      file.rows();
      for (const again of [() => file.rows(), () => file.batches()]) {
        expect(again).toThrow(RequestError);
        expect(again).toThrow(`"${file.name}" can no longer be read: its rows were already read\nRead each file once`);
      }
    }
  });

  it("can be taken before the next file is asked for", async () => {
    const reading = files();
    const first = (await reading.next()).value;
    await reading.next();
    expect(() => first?.rows()).toThrow(said("the next file was requested before"));
    await reading.return();
  });

  it("end where the next file is asked for", async () => {
    const reading = files();
    const batches = (await reading.next()).value?.batches();
    expect((await batches?.next())?.done).toBe(false);
    await reading.next();
    await expect(batches?.next()).rejects.toThrow(said("the next file was requested before its rows were read"));
    await reading.return();
  });
});

describe("csvHeads", () => {
  it("gives the header rows, and reads no more", async () => {
    const first = watched("c-trades-2-1-10.csv", ["a,b\n1,", "1,1,1\n"]);
    const second = watched("x.csv", ["a\n"]);
    const folder = watched("folder/", []);
    const heads = await csvHeads(given([folder.entry, first.entry, second.entry]), {});
    expect(heads.map(({ entry, name, columns }) => [entry.name, name?.toBlock, columns])).toEqual([
      ["c-trades-2-1-10.csv", 10n, ["a", "b"]],
      ["x.csv", undefined, ["a"]],
    ]);
    expect(first.state).toEqual({ taken: 1, closed: true });
  });

  it("fails where a header row is broken, or the files are not those that were asked for", async () => {
    await expect(csvHeads(given([watched("x.csv", ["a,a\n"]).entry]), {})).rejects.toThrow("x.csv, line 1");
    const exported = { table: "orders", fromBlock: 1n, toBlock: 10n } as const;
    const asked = csvHeads(given([watched("c-trades-1-10.csv", ["a\n"]).entry]), { exported });
    await expect(asked).rejects.toThrow("orders was requested");
    const decoded = csvHeads(given([watched("x.csv", ["a".repeat(200)]).entry]), { maxRowBytes: 100 });
    await expect(decoded).rejects.toThrow("x.csv, line 1");
  });
});
