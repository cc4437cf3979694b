import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, it } from "@jest/globals";
import fc from "fast-check";
import { duckdbSink } from "tradewire/sync";
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
    await using sink = duckdbSink(path, { views: "all" });
    await sink.open(opening(["blocks"]));
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
    const sink = duckdbSink(path, { views: "all" });
    await expect(sink.open(opening(["trades"]))).rejects.toThrow(
      '"candles" exists but was not created by tradewire sync',
    );
    await sink.close();
    const plain = duckdbSink(path);
    await plain.open(opening(["trades"]));
    await plain.close();
    expect(await ask("SELECT view_name FROM duckdb_views() WHERE NOT internal", path)).toEqual([]);
    expect(await ask("FROM candles(7)", path)).toEqual([[7]]);
  });
});

it("the views of DuckDB have the columns that a newer node sends", async () => {
  await withFolder(async (folder) => {
    const path = join(folder, "a.duckdb");
    const sink = duckdbSink(path, { views: "all" });
    await sink.open(opening(["blocks"]));
    const fetch = fetchOf([...columnsOf("blocks"), 'new "x"'], [[...rowOf("blocks", {}), "y"]]);
    await sink.load(unitAt("blocks", 1), fetch, plainly());
    await sink.close();
    expect(await ask('SELECT height, "new ""x""" FROM blocks_v', path)).toEqual([["1", "y"]]);
  });
});
