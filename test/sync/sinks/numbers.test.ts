import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { type TableName, tableNames } from "tradewire";
import { duckdbSink, parquetSink, type Sink, sinkColumns } from "tradewire/sync";
import { layoutOf } from "./inside.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const signal = new AbortController().signal;
/** What `libs/num/uint.go` holds at most. An order with this price was rejected for its margin, and recorded. */
const LARGEST = String(2n ** 256n - 1n);

/** Check that the columns of numbers have types of numbers. */
function assertNumbers(table: TableName, described: readonly unknown[][]): void {
  const numbers = sinkColumns(table).filter(({ holds }) => ["whole", "decimal", "number"].includes(holds));
  for (const { name } of numbers) {
    const [, type] = described.find(([column]) => column === name) ?? [];
    expect([table, name, type]).toEqual([
      table,
      name,
      expect.stringMatching(/^(SMALLINT|INTEGER|BIGINT|DOUBLE|DECIMAL\(38,0\))$/),
    ]);
  }
}

interface Kind {
  readonly kind: string;
  /** How a negative zero is read. DuckDB's own tables merge it with the zero beside it. */
  readonly negativeZero: string;
  make(folder: string): Sink;
  read(folder: string, table: TableName, columns: string, more?: string): Promise<unknown[][]>;
}

const KINDS: readonly Kind[] = [
  {
    kind: "duckdb",
    negativeZero: "0.0",
    make: (folder) => duckdbSink(join(folder, "out.duckdb")),
    read: (folder, table, columns, more = "") =>
      ask(`SELECT ${columns} FROM ${table} ${more}`, join(folder, "out.duckdb")),
  },
  {
    kind: "parquet",
    negativeZero: "-0.0",
    make: (folder) => parquetSink(join(folder, "out")),
    read: (folder, table, columns, more = "") =>
      ask(`SELECT ${columns} FROM read_parquet('${folder}/out/data/table=${table}/**/*.parquet') ${more}`),
  },
];

describe.each(KINDS)("the numbers of $kind", ({ make, read, negativeZero }) => {
  it("compares amounts as numbers", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["trades", "positions"]));
      const prices = ["9", "10", "123456789012345678901234567890"];
      const trades = prices.map((price, seq) => rowOf("trades", { price, seq_num: String(seq) }));
      await sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), trades), plainly());
      const losses = ["9.5", "-10.000000000000000001", "10.25", "NaN", "-Infinity", `1${"0".repeat(400)}`];
      const positions = losses.map((loss) => rowOf("positions", { loss }));
      await sink.load(unitAt("positions", 1), fetchOf(columnsOf("positions"), positions), plainly());
      const [entry] = await entriesOf(sink, "positions");
      const same = entry && (await sink.compareRows(entry, fetchOf(columnsOf("positions"), positions), signal));
      expect(same).toEqual({ missing: 0n, extra: 0n });
      await sink[Symbol.asyncDispose]();
      expect(await read(folder, "trades", "max(price), sum(price), any_value(typeof(price))")).toEqual([
        [prices[2], "123456789012345678901234567909", "DECIMAL(38,0)"],
      ]);
      expect(await read(folder, "positions", "loss, loss_text", "ORDER BY loss")).toEqual([
        ["-Infinity", "-Infinity"],
        [-10, "-10.000000000000000001"],
        [9.5, "9.5"],
        [10.25, "10.25"],
        ["Infinity", losses[5]],
        ["NaN", "NaN"],
      ]);
    });
  });

  // PostgreSQL keeps such numbers as they are; IEEE 754 has none between 0 and 4.9e-324, and rounds to the nearest.
  it("makes the nearest number of one that is too small for a DOUBLE, with its sign, and keeps the text", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["positions"]));
      const zeros = (count: number) => "0".repeat(count);
      const losses = [
        `0.${zeros(309)}1`,
        `-0.${zeros(309)}1`,
        `0.${zeros(400)}1`,
        `-0.${zeros(400)}1`,
        `0.${zeros(20)}`,
      ];
      const rows = losses.map((loss) => rowOf("positions", { loss }));
      await sink.load(unitAt("positions", 1), fetchOf(columnsOf("positions"), rows), plainly());
      await sink[Symbol.asyncDispose]();
      const found = await read(folder, "positions", "CAST(loss AS VARCHAR), loss_text");
      const nearest = ["1e-310", "-1e-310", "0.0", negativeZero, "0.0"].map((loss, index) => [loss, losses[index]]);
      expect(new Set(found.map(String))).toEqual(new Set(nearest.map(String)));
    });
  });

  it("refuses an unknown column with the name of a column for exact texts", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["orders"]));
      const fetch = fetchOf([...columnsOf("orders"), "price_TEXT"], [[...rowOf("orders", {}), "1"]]);
      await expect(sink.load(unitAt("orders", 1), fetch, plainly())).rejects.toThrow(
        'the column "price_TEXT" of orders has the same name as another column',
      );
      await sink.load(unitAt("orders", 1), fetchOf(columnsOf("orders"), [rowOf("orders", {})]), plainly());
      const [entry] = await entriesOf(sink, "orders");
      await expect(entry && sink.compareRows(entry, fetch, signal)).rejects.toThrow("the same name");
      await sink[Symbol.asyncDispose]();
    });
  });

  it("takes market data with the price of a resting order of any size", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["market_data"]));
      const rows = ["best_offer_price", "best_static_offer_price", "mid_price", "static_mid_price"].map((name, seq) =>
        rowOf("market_data", { [name]: LARGEST, seq_num: String(seq) }),
      );
      const loading = sink.load(unitAt("market_data", 1), fetchOf(columnsOf("market_data"), rows), plainly());
      expect(await loading).toMatchObject({ outcome: "loaded" });
      await sink[Symbol.asyncDispose]();
    });
  });

  it("takes prices of orders of any size, which anyone may send, and refuses other amounts beyond 38 digits by name", async () => {
    await withFolder(async (folder) => {
      const sink = make(folder);
      await sink.open(opening(["orders", "trades"]));
      const orders = ["9", "10", LARGEST].map((price, seq) => rowOf("orders", { price, seq_num: String(seq) }));
      await sink.load(unitAt("orders", 1), fetchOf(columnsOf("orders"), orders), plainly());
      const largest = "9".repeat(38);
      const load = (price: string) =>
        sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), [rowOf("trades", { price })]), plainly());
      await expect(load(`1${"0".repeat(38)}`)).rejects.toThrow(
        /the column price has 10+, which has more than .* in the row with synthetic_time 2023-10-19 08:13:00.* PostgreSQL/,
      );
      await expect(load("9".repeat(39))).rejects.toThrow("the column price has 9999"); // Beyond 128 bits.
      expect(await entriesOf(sink, "trades")).toEqual([]);
      expect(await load(largest)).toMatchObject({ outcome: "loaded" });
      await sink[Symbol.asyncDispose]();
      expect(await read(folder, "orders", "arg_max(price_text, price), typeof(max(price))")).toEqual([
        [LARGEST, "DOUBLE"],
      ]);
      expect(await read(folder, "trades", "max(price)::VARCHAR")).toEqual([[largest]]);
    });
  });
});

it("has no column of a number that is text in DuckDB, and multiplies amounts exactly", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out.duckdb");
    const sink = duckdbSink(path);
    await sink.open(opening(tableNames));
    const trade = rowOf("trades", { price: "123456789012345678901234567890", size: "3" });
    await sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), [trade]), plainly());
    await sink[Symbol.asyncDispose]();
    for (const table of tableNames) {
      assertNumbers(table, await ask(`DESCRIBE ${table}`, path));
    }
    expect(await ask("SELECT CAST(sum(price * size) AS VARCHAR) FROM trades", path)).toEqual([
      ["370370367037037036703703703670"],
    ]);
  });
});

it("has no column of a number that is text, and the types do not depend on the rows", async () => {
  await withFolder(async (folder) => {
    const sink = parquetSink(join(folder, "out"));
    await sink.open(opening(tableNames));
    for (const table of tableNames) {
      await sink.load(unitAt(table, 1), fetchOf(columnsOf(table), []), plainly());
      await sink.load(unitAt(table, 2), fetchOf(columnsOf(table), [rowOf(table, {})]), plainly());
    }
    await sink[Symbol.asyncDispose]();
    for (const table of tableNames) {
      const types = (segment: string) =>
        ask(
          `DESCRIBE FROM read_parquet('${folder}/out/data/table=${table}/from=${segment}/*.parquet', hive_partitioning = false)`,
        );
      const [empty, full] = [await types("0000000001"), await types("0000000011")];
      expect(empty).toEqual(full);
      assertNumbers(table, full);
    }
  });
});

it("leaves a folder alone whose amounts are text", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "out");
    const first = parquetSink(path);
    await first.open(opening(["blocks"]));
    await first[Symbol.asyncDispose]();
    await writeFile(layoutOf(path).about, '{"format":1,"chain_id":"chain"}\n');
    const refused = { name: "SinkError", code: Code.FailedPrecondition };
    await expect(parquetSink(path).open(opening(["blocks"]))).rejects.toMatchObject(refused);
    await expect(parquetSink(path).inspect(signal)).rejects.toThrow("has the format 1, in which amounts are text");
    await writeFile(layoutOf(path).about, '{"format":4,"chain_id":"chain"}\n');
    await expect(parquetSink(path).open(opening(["blocks"]))).rejects.toThrow("has the format 4, which this release");
  });
});
