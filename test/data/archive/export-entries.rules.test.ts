import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  checkFolder,
  createExportRules,
  type Exported,
  exportEntries,
  isFolder,
} from "../../../src/data/archive/export-entries.js";
import { given, taken } from "../../support/taken.js";
import type { Entry, ExportedRange } from "./inside.js";

const exported: ExportedRange = { table: "trades", fromBlock: 1n, toBlock: 20n };

/** Take names in turn, to the end; what is wrong with them, if anything. */
function wrong(names: readonly string[], asked?: ExportedRange): string | undefined {
  const rules = createExportRules(asked);
  try {
    for (const name of names) {
      rules.take(name);
    }
    rules.end();
    return undefined;
  } catch (reason) {
    return reason instanceof Error ? reason.message.split("\n")[0] : String(reason);
  }
}

describe("the files of an export", () => {
  it("have names that give their parts", () => {
    const rules = createExportRules(undefined);
    expect(rules.take("c-trades-2-1-10.csv")).toEqual({
      chainId: "c",
      table: "trades",
      schemaVersion: 2n,
      fromBlock: 1n,
      toBlock: 10n,
    });
    expect(rules.take("data.csv")).toBeUndefined();
  });

  it("are of adjacent ranges, of one chain and one table", () => {
    expect(wrong(["c-trades-1-10.csv", "c-trades-11-20.csv", "c-trades-21-21.csv"])).toBeUndefined();
    expect(wrong(["c-trades-1-10.csv", "c-trades-12-20.csv"])).toBe(
      'the archive is corrupt: "c-trades-12-20.csv" starts at block 12, but the previous file ends at block 10',
    );
    expect(wrong(["c-trades-1-10.csv", "c-trades-10-20.csv"])).toContain("starts at block 10, but");
    expect(wrong(["c-trades-11-20.csv", "c-trades-1-10.csv"])).toContain("starts at block 1, but");
    for (const other of ["d-trades-11-20.csv", "c-orders-11-20.csv"]) {
      expect(wrong(["c-trades-1-10.csv", other])).toBe(
        `the archive is rejected: "${other}" belongs to a different table or chain than the previous file`,
      );
    }
    expect(wrong(["c-trades-10-9.csv"])).toBe(
      'the archive is corrupt: the range in the name "c-trades-10-9.csv" is reversed',
    );
    expect(wrong(["c-trades-9-9.csv"])).toBeUndefined();
  });

  it("may have names of another form, which say nothing", () => {
    expect(wrong([])).toBeUndefined();
    expect(wrong([], exported)).toBeUndefined();
    expect(wrong(["x.csv", "c-trades-1-10.csv", "y.csv", "c-trades-11-20.csv"], exported)).toBeUndefined();
    expect(wrong(["x.csv"], exported)).toBeUndefined();
  });

  it("make up what was asked for", () => {
    expect(wrong(["c-trades-1-10.csv", "c-trades-11-20.csv"], exported)).toBeUndefined();
    expect(wrong(["c-trades-2-20.csv"], exported)).toBe(
      "the archive is corrupt: its first file starts at block 2, but the export must start at block 1",
    );
    expect(wrong(["x.csv", "c-trades-0-20.csv"], exported)).toContain("its first file starts at block 0, but");
    expect(wrong(["c-trades-1-10.csv"], exported)).toBe(
      "the archive is corrupt: its last file ends at block 10, but the export must end at block 20: rows are missing",
    );
    expect(wrong(["c-trades-1-30.csv"], exported)).toContain("its last file ends at block 30, but");
    expect(wrong(["c-orders-1-20.csv"], exported)).toBe(
      'the archive is corrupt: "c-orders-1-20.csv" contains the table orders, but trades was requested',
    );
  });

  it("are of the chain that the archive is named after, where it is", () => {
    const named = { ...exported, chainId: "c" };
    expect(wrong(["c-trades-1-20.csv"], named)).toBeUndefined();
    expect(wrong(["d-trades-1-20.csv"], named)).toBe(
      'the archive is corrupt: "d-trades-1-20.csv" belongs to chain "d", but the name of the archive has chain "c"',
    );
  });
});

describe("a folder", () => {
  it("is what ends with a slash", () => {
    expect([isFolder("a/"), isFolder("a/b"), isFolder("/a"), isFolder("")]).toEqual([true, false, false, false]);
  });

  it("is empty", () => {
    expect(() => checkFolder("a/", 0)).not.toThrow();
    expect(() => checkFolder("a/", 1)).toThrow('the archive is corrupt: "a/" is a folder that is not empty');
  });
});

function entry(name: string, ...pieces: readonly string[]): Entry {
  return {
    name,
    listed: undefined,
    async *content() {
      yield* given(pieces.map((piece) => Buffer.from(piece)));
      return { compressedSize: 0, size: 0, crc32: 0 };
    },
  };
}

describe("exportEntries", () => {
  const read = async (entries: readonly Entry[], asked: Exported) => {
    const { values, error } = await taken(exportEntries(given(entries), asked));
    return { names: values.map(({ entry, name }) => [entry.name, name?.toBlock]), error };
  };

  it("gives the files with the parts of their names, and leaves folders out", async () => {
    expect(await read([entry("c/"), entry("c-trades-1-10.csv", "a\n"), entry("x.csv")], undefined)).toEqual({
      names: [
        ["c-trades-1-10.csv", 10n],
        ["x.csv", undefined],
      ],
      error: undefined,
    });
  });

  it("refuses a folder with content", async () => {
    expect((await read([entry("c/", "", "a")], undefined)).error).toMatchObject({
      code: Code.DataLoss,
      summary: 'the archive is corrupt: "c/" is a folder that is not empty',
    });
    expect((await read([entry("c/", "")], undefined)).error).toBeUndefined();
  });

  it("holds the files to what was asked for, which may be known only once they arrive", async () => {
    let asked = 0;
    const later = async () => {
      asked += 1;
      return exported;
    };
    const files = [entry("c-trades-1-10.csv"), entry("c-trades-11-20.csv")];
    for (const range of [exported, () => exported, later]) {
      expect((await read(files, range)).error).toBeUndefined();
      expect((await read(files.slice(0, 1), range)).error).toMatchObject({
        summary: expect.stringContaining("rows are missing"),
      });
      expect((await read(files.slice(1), range)).error).toMatchObject({
        summary: expect.stringContaining("its first file starts at block 11"),
      });
    }
    expect(asked).toBe(3);
    expect((await read([], later)).error).toBeUndefined();
    expect(asked).toBe(3);
  });

  it("passes the errors of the entries on", async () => {
    const broken = new Error("broken");
    const entries = given([entry("c-trades-1-10.csv")], () => Promise.reject(broken));
    const { values, error } = await taken(exportEntries(entries, exported));
    expect([values.length, error]).toEqual([1, broken]);
  });
});
