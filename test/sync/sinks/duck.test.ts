// Slow, and worth it: what DuckDB makes of nasty rows shows only where it reads them, in files of up to 160 MB.
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ConnectionError, type TableName, tableSchema, type UnknownPart } from "tradewire";
import { duckdbSink, parquetSink, type Sink, SinkError } from "tradewire/sync";
import { isFull, sample } from "../../support/tier.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

/** A sink, and how DuckDB reads a table of it. */
interface Kind {
  readonly name: string;
  make(folder: string): Sink;
  rows(folder: string, columns: string, table: TableName): Promise<unknown[][]>;
}

const kinds: Kind[] = [
  {
    name: "duckdb",
    make: (folder) => duckdbSink(join(folder, "a 'b'.duckdb")),
    rows: (folder, columns, table) => ask(`SELECT ${columns} FROM ${table} ORDER BY ALL`, join(folder, "a 'b'.duckdb")),
  },
  {
    name: "parquet",
    make: (folder) => parquetSink(join(folder, "out")),
    rows: (folder, columns, table) =>
      ask(`SELECT ${columns} FROM read_parquet('${folder}/out/data/table=${table}/*/*.parquet') ORDER BY ALL`),
  },
];

const blocks = columnsOf("blocks");
const block = (height: number) => rowOf("blocks", { height: String(height) });

describe.each(kinds)("the sink of $name", ({ name, make, rows }) => {
  const use = async (
    tables: readonly TableName[],
    act: (sink: Sink, folder: string) => Promise<void>,
    changes: Parameters<typeof opening>[1] = {},
    look: (folder: string) => Promise<void> = async () => undefined,
  ) =>
    await withFolder(async (folder) => {
      const sink = make(folder);
      try {
        await sink.open(opening(tables, changes));
        await act(sink, folder);
      } finally {
        await sink[Symbol.asyncDispose]();
      }
      await look(folder);
    });

  it("takes prices of orders of a thousand digits", async () => {
    const prices = [`1${"0".repeat(999)}`, "9".repeat(999), "1"];
    const all = prices.map((price, seq) => rowOf("orders", { price, seq_num: String(seq) }));
    await use(
      ["orders"],
      async (sink) => {
        expect((await sink.load(unitAt("orders", 1), fetchOf(columnsOf("orders"), all), plainly())).outcome).toBe(
          "loaded",
        );
      },
      {},
      async (folder) => {
        const found = await rows(folder, "price_text", "orders");
        expect(found.flat().sort()).toEqual([...prices].sort());
      },
    );
  });

  it("keeps the sign of a zero", async () => {
    const names = columnsOf("rewards");
    const zeros = ["-0", "0", "1.5"];
    const all = Array.from({ length: 300 }, (_, number) =>
      rowOf("rewards", { seq_num: String(number), percent_of_total: zeros[number % 3] ?? "" }),
    );
    await use(
      ["rewards"],
      async (sink) => {
        expect(await sink.load(unitAt("rewards", 1), fetchOf(names, all), plainly())).toMatchObject({
          outcome: "loaded",
        });
      },
      {},
      async (folder) => {
        const texts = (await rows(folder, "CAST(percent_of_total AS VARCHAR)", "rewards")).map(([text]) =>
          String(text),
        );
        expect([texts.filter((text) => text === "-0.0").length, texts.filter((text) => text === "0.0").length]).toEqual(
          [100, 100],
        );
      },
    );
  });

  it("reads line breaks in quotes as what they are", async () => {
    // Each text looks like rows, so that a reader that begins in the middle is misled.
    const names = columnsOf("orders");
    const line = `${names.map(() => "1").join(",")}\n`;
    const tricky = (number: number) => (number % 2 === 0 ? `${line}"",\r\n"x",\r` : line.repeat(number % 17));
    const row = (number: number) => rowOf("orders", { seq_num: String(number), reference: tricky(number) });
    const all = Array.from({ length: 3000 }, (_, number) => row(number));
    await use(
      ["orders"],
      async (sink) => {
        const loaded = await sink.load(unitAt("orders", 1), fetchOf(names, all), plainly());
        expect(loaded.outcome).toBe("loaded");
        const [entry] = await entriesOf(sink, "orders");
        expect(entry?.rows).toBe(3000n);
        if (entry !== undefined) {
          const signal = new AbortController().signal;
          const changed = [...all.slice(1), row(50_000)];
          expect(await sink.countRows(entry)).toBe(3000n);
          expect(await sink.compareRows(entry, fetchOf(names, all), signal)).toEqual({ missing: 0n, extra: 0n });
          expect(await sink.compareRows(entry, fetchOf(names, changed), signal)).toEqual({ missing: 1n, extra: 1n });
        }
      },
      {},
      async (folder) => {
        expect(await rows(folder, "count(*), sum(length(reference)), min(length(reference))", "orders")).toEqual([
          ["3000", String(all.reduce((sum, _, number) => sum + tricky(number).length, 0)), "0"],
        ]);
      },
    );
  });

  // Both read the file by the same statement: in the quick tier, one tries it with all that is alike, the other with some.
  const itOnce = isFull() ? it : undefined;
  const some = <T>(all: readonly T[]) => (name === "duckdb" ? [...all] : sample(all, 4));
  itOnce?.(
    "reads a file that DuckDB cuts for several threads, where line breaks stand in quotes",
    async () => {
      // From 160 MB on, threads begin in the middle: there, each text looks like rows.
      const names = columnsOf("orders");
      const reference = `${names.map(() => "1").join(",")}\n`.repeat(2000);
      const all = Array.from({ length: 1600 }, (_, number) => rowOf("orders", { seq_num: String(number), reference }));
      await use(
        ["orders"],
        async (sink) => {
          const { outcome } = await sink.load(unitAt("orders", 1), fetchOf(names, all), plainly());
          expect(outcome).toBe("loaded");
        },
        {},
        async (folder) => {
          const columns = "count(*), count(DISTINCT seq_num), min(length(reference)), max(length(reference))";
          const length = String(reference.length);
          expect(await rows(folder, columns, "orders")).toEqual([["1600", "1600", length, length]]);
        },
      );
    },
    60_000,
  );

  it("takes a row of 6 MB", async () => {
    const column = tableSchema("markets", 116).columns.find(({ holds }) => holds === "json")?.name ?? "";
    const long = `{"a": "${"x".repeat(6_000_000)}"}`;
    const fetch = fetchOf(columnsOf("markets"), [rowOf("markets", { [column]: long })]);
    await use(
      ["markets"],
      async (sink) => {
        expect((await sink.load(unitAt("markets", 1), fetch, plainly())).outcome).toBe("loaded");
      },
      {},
      async (folder) => {
        expect(await rows(folder, `length(${column}::VARCHAR)`, "markets")).toEqual([[String(long.length)]]);
      },
    );
  });

  it.each(
    some([
      ["height", "1.5", "which is not a 64-bit integer"],
      ["height", "99999999999999999999", "which is not a 64-bit integer"],
      ["height", " 7", "which is not a 64-bit integer"],
      ["vega_time", "garbage", "which is not a UTC time"],
      ["vega_time", "0044-03-15 12:00:00+00 BC", "which is not a UTC time"],
      ["vega_time", "2023-10-19 08:13:00.1234567+00", "which is not a UTC time"],
      ["hash", "zz00", "which is not \\x and pairs"],
      ["hash", "\\x0", "which is not \\x and pairs"],
    ] as const),
  )("refuses %s = %j, of which DuckDB would make something else", async (column, value, said) => {
    await use(["blocks"], async (sink) => {
      const bad = block(2).map((known, index) => (blocks[index] === column ? value : known));
      const load = sink.load(unitAt("blocks", 1), fetchOf(blocks, [block(1), bad]), plainly());
      await expect(load).rejects.toThrow(SinkError);
      await expect(load).rejects.toThrow(said);
      await expect(load).rejects.toThrow("blocks of blocks 1 to 10");
      expect(await entriesOf(sink, "blocks")).toEqual([]);
      // Nothing is left behind that is in the way of the right one.
      expect((await sink.load(unitAt("blocks", 1), fetchOf(blocks, [block(1)]), plainly())).outcome).toBe("loaded");
    });
  });

  it.each(some(["1.5", ".5", "5.", " 5", "5 ", "1e3", "0x1F", "1_000", "NaN", "-", ""]))(
    "refuses %j as a huge whole number",
    async (value) => {
      const names = columnsOf("trades");
      await use(["trades"], async (sink) => {
        const load = sink.load(unitAt("trades", 1), fetchOf(names, [rowOf("trades", { price: value })]), plainly());
        await expect(load).rejects.toThrow("which is not an integer");
        expect(await entriesOf(sink, "trades")).toEqual([]);
      });
    },
  );

  it("loads units side by side, also where some bring a new column or replace others", async () => {
    await use(
      ["blocks"],
      async (sink) => {
        const old = { ...unitAt("blocks", 7), segmentId: "old" };
        await sink.load(old, fetchOf(blocks, [block(1007)]), plainly());
        const loads = Array.from({ length: 24 }, (_, index) => {
          const isWide = index % 5 === 4;
          const row = isWide ? [...block(index + 1), "new"] : block(index + 1);
          const fetch = fetchOf(isWide ? [...blocks, "added"] : blocks, [row]);
          return sink.load(unitAt("blocks", index + 1), fetch, plainly(true));
        });
        expect((await Promise.all(loads)).map(({ outcome }) => outcome)).toEqual(loads.map(() => "loaded"));
        const entries = await entriesOf(sink, "blocks");
        expect(entries.map(({ segmentId }) => segmentId)).toEqual(loads.map((_, index) => `id-${index + 1}`));
        for (const entry of entries) {
          expect(await sink.countRows(entry)).toBe(1n);
        }
      },
      {},
      async (folder) => {
        expect(await rows(folder, "count(*), sum(height)", "blocks")).toEqual([["24", "300"]]);
      },
    );
  });

  it("keeps nothing of a unit whose end fails, or that has another number of rows", async () => {
    await use(["blocks"], async (sink) => {
      const error = new ConnectionError("cut", { code: 14, advice: "again" });
      const unit = unitAt("blocks", 1);
      await expect(sink.load(unit, fetchOf(blocks, [block(1)], { error }), plainly())).rejects.toBe(error);
      await expect(sink.load(unit, fetchOf(blocks, [block(1)], { counted: 2 }), plainly())).rejects.toThrow(
        "read 1 rows, but the file has 2",
      );
      expect(await entriesOf(sink, "blocks")).toEqual([]);
    });
  });

  it("keeps what it does not know as text, and tells of it", async () => {
    const reported: UnknownPart[] = [];
    const columns = [...blocks, 'new "x"'];
    await use(
      ["blocks"],
      async (sink) => {
        await sink.load(unitAt("blocks", 1), fetchOf(blocks, [block(1)]), plainly());
        await sink.load(unitAt("blocks", 2), fetchOf(columns, [[...block(11), "y"]]), plainly());
      },
      { onUnknown: (unknown) => reported.push(unknown) },
      async (folder) => {
        expect(reported).toEqual([{ file: "blocks of blocks 11 to 20", table: "blocks", column: 'new "x"' }]);
        if (make(folder).name.startsWith("duckdb")) {
          expect(await rows(folder, 'height, "new ""x"""', "blocks")).toEqual([
            ["1", null],
            ["11", "y"],
          ]);
        }
      },
    );
    await use(
      ["blocks"],
      async (sink) => {
        const load = sink.load(unitAt("blocks", 2), fetchOf(columns, [[...block(11), "y"]]), plainly());
        await expect(load).rejects.toThrow('the column "new \\"x\\"" is unknown');
        const cased = sink.load(unitAt("blocks", 2), fetchOf([...blocks, "HEIGHT"], [[...block(11), "y"]]), plainly());
        await expect(cased).rejects.toThrow("has the same name as another column");
      },
      { unknownColumns: "fail" },
    );
  });

  it("replaces units of other segments, whole", async () => {
    await use(
      ["blocks"],
      async (sink) => {
        for (const segment of [1, 2, 3]) {
          await sink.load(unitAt("blocks", segment), fetchOf(blocks, [block(segment)]), plainly());
        }
        const other = { ...unitAt("blocks", 2), segmentId: "other" };
        expect((await sink.load(other, fetchOf(blocks, []), plainly())).outcome).toBe("there");
        expect((await sink.load(other, fetchOf(blocks, [block(22)]), plainly(true))).outcome).toBe("loaded");
        expect((await sink.load(other, fetchOf(blocks, [block(23)]), plainly(true))).outcome).toBe("there");
        const wide = { ...unitAt("blocks", 2), toBlock: 30n, segmentId: "wide" };
        expect((await sink.load(wide, fetchOf(blocks, [block(222)]), plainly(true))).outcome).toBe("loaded");
        const [first, second] = await entriesOf(sink, "blocks");
        expect([first?.segmentId, second?.segmentId]).toEqual(["id-1", "wide"]);
        await (first && sink.remove(first));
        await (first && sink.remove(first));
        expect(await entriesOf(sink, "blocks")).toEqual([second]);
      },
      {},
      async (folder) => expect(await rows(folder, "height", "blocks")).toEqual([["222"]]),
    );
  });
});
