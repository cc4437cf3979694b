// Slow, and worth it: each promise of a sink opens a DuckDB of its own, as a process that begins anew would.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "@jest/globals";
import type { TableName } from "tradewire";
import { duckdbSink, parquetSink } from "tradewire/sync";
import { type SinkHost, sinkContract } from "tradewire/sync/contract";
import { isFull, sample } from "../../support/tier.js";
import { type Ask, withDuckdb } from "./support/units.js";

/** Read a table as `COPY` writes it: bytes, flags and times are not what DuckDB makes of them as texts. */
async function readAll(ask: Ask, from: string) {
  const described = await ask(`DESCRIBE SELECT * FROM ${from}`);
  const names = described.map(([name]) => String(name));
  // The exact text of a number stands beside it.
  const own = described.filter(
    ([name]) => !names.includes(String(name).replace(/_text$/, "")) || !/_text$/.test(String(name)),
  );
  const values = own.map(([name, type]) => {
    const exact = `${name}_text`;
    const column = `"${(names.includes(exact) ? exact : String(name)).replaceAll('"', '""')}"`;
    if (names.includes(exact)) {
      return column;
    }
    switch (type) {
      case "BLOB":
        return `'\\x' || lower(hex(${column}))`;
      case "DOUBLE":
        return `replace(replace(CAST(${column} AS VARCHAR), 'inf', 'Infinity'), 'nan', 'NaN')`;
      case "BOOLEAN":
        return `left(CAST(${column} AS VARCHAR), 1)`;
      default:
        return `CAST(${column} AS VARCHAR)`;
    }
  });
  const rows = await ask(`SELECT ${values.join(", ")} FROM ${from}`);
  return rows.map((row) =>
    Object.fromEntries(row.map((value, index) => [String(own[index]?.[0]), value === null ? null : String(value)])),
  );
}

const kinds: [string, (folder: string) => SinkHost][] = [
  [
    "duckdb",
    (folder) => {
      const path = join(folder, "a.duckdb");
      return {
        makeSink: () => duckdbSink(path),
        readRows: (table: TableName) =>
          withDuckdb(path, async (ask) => {
            const there = await ask(`SELECT 1 FROM duckdb_tables() WHERE table_name = '${table}'`);
            return there.length === 0 ? null : await readAll(ask, table);
          }),
      };
    },
  ],
  [
    "parquet",
    (folder) => ({
      makeSink: () => parquetSink(join(folder, "out")),
      readRows: async (table: TableName) => {
        const files = await readdir(join(folder, "out", "data", `table=${table}`), { recursive: true }).catch(
          () => null,
        );
        const glob = `${folder}/out/data/table=${table}/**/*.parquet`;
        return files?.some((name) => name.endsWith(".parquet"))
          ? await withDuckdb(":memory:", (ask) =>
              readAll(ask, `read_parquet('${glob}', union_by_name = true, hive_partitioning = false)`),
            )
          : files && [];
      },
    }),
  ],
];

/**
 * What all sinks promise. The slower tier tries the values of most tables, as three have all kinds of columns, and each
 * promise over Parquet too.
 */
const promises = sinkContract.filter(
  ({ name }) => isFull() || !/^keeps all values of (?!(liquidity_provisions|markets|orders),)/.test(name),
);

describe.each(kinds)("the sink of %s keeps the contract", (kind, makeHost) => {
  const tried = kind === "duckdb" ? promises : sample(promises, 2);
  it.each(tried.map((promise) => [promise.name, promise] as const))(
    "%s",
    async (_, { run }) => {
      const folder = await mkdtemp(join(tmpdir(), "tradewire-contract-"));
      try {
        await run(makeHost(folder));
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },
    60_000,
  );
});
