import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { expect, it } from "@jest/globals";
import { tableNames } from "tradewire";
import { parquetSink, sinkColumns } from "tradewire/sync";
import { layoutOf } from "./inside.js";
import { ask, columnsOf, entriesOf, fetchOf, opening, plainly, rowOf, unitAt, withFolder } from "./support/units.js";

const signal = new AbortController().signal;
/** What `libs/num/uint.go` holds at most. An order with this price was rejected for its margin, and recorded. */
const LARGEST = String(2n ** 256n - 1n);

it("compares amounts as numbers", async () => {
  await withFolder(async (folder) => {
    const sink = parquetSink(join(folder, "out"));
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
    const of = (table: string) => `read_parquet('${folder}/out/data/table=${table}/**/*.parquet')`;
    expect(await ask(`SELECT max(price), sum(price), any_value(typeof(price)) FROM ${of("trades")}`)).toEqual([
      [prices[2], "123456789012345678901234567909", "DECIMAL(38,0)"],
    ]);
    expect(await ask(`SELECT loss, loss_text FROM ${of("positions")} ORDER BY loss`)).toEqual([
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
    const sink = parquetSink(join(folder, "out"));
    await sink.open(opening(["positions"]));
    const zeros = (count: number) => "0".repeat(count);
    const losses = [`0.${zeros(309)}1`, `-0.${zeros(309)}1`, `0.${zeros(400)}1`, `-0.${zeros(400)}1`, `0.${zeros(20)}`];
    const rows = losses.map((loss) => rowOf("positions", { loss }));
    await sink.load(unitAt("positions", 1), fetchOf(columnsOf("positions"), rows), plainly());
    await sink[Symbol.asyncDispose]();
    const table = `read_parquet('${folder}/out/data/table=positions/**/*.parquet')`;
    const found = await ask(`SELECT CAST(loss AS VARCHAR), loss_text FROM ${table}`);
    const nearest = ["1e-310", "-1e-310", "0.0", "-0.0", "0.0"].map((loss, index) => [loss, losses[index]]);
    expect(new Set(found.map(String))).toEqual(new Set(nearest.map(String)));
  });
});

it("takes market data with the price of a resting order of any size", async () => {
  await withFolder(async (folder) => {
    const sink = parquetSink(join(folder, "out"));
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
    const sink = parquetSink(join(folder, "out"));
    await sink.open(opening(["orders", "trades"]));
    const orders = ["9", "10", LARGEST].map((price, seq) => rowOf("orders", { price, seq_num: String(seq) }));
    await sink.load(unitAt("orders", 1), fetchOf(columnsOf("orders"), orders), plainly());
    const largest = "9".repeat(38);
    const load = (price: string) =>
      sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), [rowOf("trades", { price })]), plainly());
    await expect(load(`1${"0".repeat(38)}`)).rejects.toThrow("the column price has 1000");
    await expect(load("9".repeat(39))).rejects.toThrow("the column price has 9999"); // Beyond 128 bits.
    expect(await entriesOf(sink, "trades")).toEqual([]);
    expect(await load(largest)).toMatchObject({ outcome: "loaded" });
    await sink[Symbol.asyncDispose]();
    const glob = `read_parquet('${folder}/out/data/table=orders/**/*.parquet')`;
    expect(await ask(`SELECT arg_max(price_text, price), typeof(max(price)) FROM ${glob}`)).toEqual([
      [LARGEST, "DOUBLE"],
    ]);
    expect(
      await ask(`SELECT max(price)::VARCHAR FROM read_parquet('${folder}/out/data/table=trades/**/*.parquet')`),
    ).toEqual([[largest]]);
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
      const numbers = sinkColumns(table).filter(({ holds }) => ["whole", "decimal", "number"].includes(holds));
      for (const { name } of numbers) {
        const [, type] = full.find(([column]) => column === name) ?? [];
        expect([table, name, type]).toEqual([
          table,
          name,
          expect.stringMatching(/^(SMALLINT|INTEGER|BIGINT|DOUBLE|DECIMAL\(38,0\))$/),
        ]);
      }
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
