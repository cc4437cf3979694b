import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { duckdbSink } from "tradewire/sync";
import { batchOf } from "../../support/units.js";
import {
  ask,
  columnsOf,
  fetchOf,
  opening,
  plainly,
  rowOf,
  unitAt,
  withDuckdb,
  withFolder,
} from "../sinks/support/units.js";

const { signal } = new AbortController();

/** Writes a number with decimals by moving its point. */
function moved(value: bigint, decimals: number): string {
  const digits = String(value < 0n ? -value : value);
  const whole = decimals > 0 ? digits.padStart(decimals + 1, "0") : digits;
  const at = whole.length - Math.max(0, decimals);
  const text =
    decimals > 0 ? `${whole.slice(0, at)}.${whole.slice(at)}` : value === 0n ? "0" : digits + "0".repeat(-decimals);
  return value < 0n ? `-${text}` : text;
}

const LARGEST = 10n ** 38n - 1n;
const amounts = fc.oneof(
  fc.bigInt({ min: -LARGEST, max: LARGEST }),
  fc.bigInt({ min: -(2n ** 53n) - 2n, max: 2n ** 53n + 2n }),
  fc.bigInt({ min: -1000n, max: 1000n }),
);

it("the views of DuckDB have the nearest number and its exact text, with any decimals", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    await using sink = duckdbSink(path);
    await sink.open(opening(["blocks"]));
    await sink.createViews?.(signal);
    await sink.close();
    await withDuckdb(path, async (query) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.tuple(amounts, fc.integer({ min: -5, max: 40 })), { minLength: 50 }),
          async (list) => {
            const scale = (decimals: number) =>
              decimals >= 0 && decimals <= 22 ? `1e${decimals}::DOUBLE` : "NULL::DOUBLE";
            const rows = list.map(
              ([value, decimals]) => `('${value}'::DECIMAL(38,0), ${decimals}, ${scale(decimals)})`,
            );
            const found = await query(
              `SELECT tradewire_decimal_text(v::VARCHAR, d), tradewire_amount(v, d, s), tradewire_decimal(v::VARCHAR, d) FROM (VALUES ${rows.join(", ")}) AS t(v, d, s)`,
            );
            const wanted = list.map(([value, decimals]) => {
              const text = moved(value, decimals);
              return [text, Number(text) + 0, Number(text) + 0];
            });
            expect(found).toEqual(wanted);
          },
        ),
        { numRuns: 20 },
      );
      expect(
        await query(
          "SELECT tradewire_decimal(v, 2), tradewire_decimal_text(v, 2) FROM (VALUES ('x'), ('NaN'), ('1.5'), (NULL)) AS t(v)",
        ),
      ).toEqual([
        [null, "x"],
        ["NaN", "NaN"],
        [0.015, "0.015"],
        [null, null],
      ]);
    });
  });
});

it("the views of DuckDB are left out if they are not wanted, and replace nothing that someone else has made", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    await connection.run("CREATE MACRO candles(x) AS TABLE SELECT x AS mine");
    connection.closeSync();
    instance.closeSync();
    const sink = duckdbSink(path);
    await sink.open(opening(["trades"]));
    await expect(sink.createViews?.(signal)).rejects.toThrow('"candles" exists but was not created by tradewire sync');
    await sink.close();
    expect(duckdbSink(path, { views: "none" })).not.toHaveProperty("createViews");
    expect(await ask("SELECT view_name FROM duckdb_views() WHERE NOT internal", path)).toEqual([]);
    expect(await ask("FROM candles(7)", path)).toEqual([[7]]);
  });
});

it("the views of DuckDB have the columns that a newer node sends", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const sink = duckdbSink(path);
    await sink.open(opening(["blocks"]));
    await sink.createViews?.(signal);
    const fetch = fetchOf([...columnsOf("blocks"), 'new "x"'], [[...rowOf("blocks", {}), "y"]]);
    await sink.load(unitAt("blocks", 1), fetch, plainly());
    await sink.createViews?.(signal);
    await sink.close();
    expect(await ask('SELECT height, "new ""x""" FROM blocks_v', path)).toEqual([["1", "y"]]);
  });
});

it("one number that is too large to be added up leaves the sums of other markets and days", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const sink = duckdbSink(path);
    await sink.open(opening(["trades"]));
    await sink.createViews?.(signal);
    const huge = "9".repeat(38);
    const trade = (seq: string, market: string, price: string, fee: string) =>
      rowOf("trades", {
        seq_num: seq,
        market_id: market,
        price,
        size: "1000",
        buyer_maker_fee: fee,
        seller_maker_fee: fee,
      });
    const rows = [trade("1", "\\xaa", "5", "7"), trade("2", "\\xbb", huge, huge), trade("3", "\\xbb", "5", "7")];
    await sink.load(unitAt("trades", 1), fetchOf(columnsOf("trades"), rows), plainly());
    await sink.storeListed?.(
      "tradewire_markets",
      batchOf(
        ...["aa", "bb"].map((id) => ({
          market_id: id,
          code: id,
          name: id,
          price_decimals: 1,
          size_decimals: 2,
          asset_id: "cc",
        })),
      ),
    );
    await sink.storeListed?.("tradewire_assets", batchOf({ asset_id: "cc", code: "C", name: "C", decimals: 1 }));
    await sink.close();
    const candles = "SELECT market, high_text, volume_text, notional_text, trades FROM candles_1m ORDER BY market";
    expect(await ask(candles, path)).toEqual([
      ["aa", "0.5", "10.00", "5.000", "1"],
      ["bb", `${"9".repeat(37)}.9`, "20.00", null, "2"],
    ]);
    expect(await ask("SELECT market, maker_text, trades FROM fees_by_day ORDER BY market", path)).toEqual([
      ["aa", "1.4", "1"],
      ["bb", null, "2"],
    ]);
  });
});

it("functions of a block fail over an empty table, too, and the book fails without such a market", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const sink = duckdbSink(path);
    await sink.open(opening(["blocks", "orders"]));
    await sink.createViews?.(signal);
    await sink.load(unitAt("blocks", 1), fetchOf(columnsOf("blocks"), [rowOf("blocks", {})]), plainly());
    await sink.load(unitAt("orders", 1), fetchOf(columnsOf("orders"), []), plainly());
    const twin = (id: string) => ({
      market_id: id,
      code: "TWIN",
      name: id,
      price_decimals: 1,
      size_decimals: 2,
      asset_id: "cc",
    });
    await sink.storeListed?.("tradewire_markets", batchOf(twin("aa"), twin("bb")));
    await sink.close();
    expect(await ask("FROM book_at('bb', 1)", path)).toEqual([]);
    await expect(ask("FROM book_at('TWIN', 1)", path)).rejects.toThrow(
      "several markets have the code TWIN: use an identifier",
    );
    expect(await ask("FROM orders_at(1)", path)).toEqual([]);
    await expect(ask("FROM orders_at(2)", path)).rejects.toThrow("block 2 is not loaded into orders");
    await expect(ask("FROM book_at('BTC', 1)", path)).rejects.toThrow(
      "no market has the code or the identifier BTC: see market_versions",
    );
  });
});
