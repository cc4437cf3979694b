import type { DuckDBConnection } from "@duckdb/node-api";
import { assertKnownKeys, assertOneOf, assertText } from "../../../base/input/assert.js";
import { unixMs } from "../../../base/runtime/index.js";
import type { Sink, SinkOpening, UnitCsv } from "../../sink.js";
import { FROM_BLOCK, identifier } from "../../sink-columns.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { storeListedSql } from "../../views/version-views.js";
import {
  type ColumnPlan,
  missingColumns,
  planColumns,
  reportAddedColumns,
  reportUnknownValues,
  rowsSql,
  type SpooledCsv,
  unitName,
  withSpooled,
} from "./csv-columns.js";
import { type DuckdbFile, notOpenError, openDuckdbFile } from "./duckdb-file.js";
import {
  changeMarks,
  createLedger,
  insertEntry,
  overlappingEntries,
  readAsked,
  readEntries,
  readLedgerChain,
  removeOrphanRows,
  removeUnit,
} from "./duckdb-ledger.js";
import {
  addColumn,
  assertCount,
  countDifferences,
  createTable,
  isEntryOf,
  tableColumns,
  unitClaimedError,
} from "./duckdb-tables.js";
import { createViews } from "./duckdb-views.js";
import { comparedSql, typedSql } from "./number-columns.js";

/** Options of a DuckDB sink. */
export interface DuckdbSinkOptions {
  /** Whether a sync creates views such as `trades_v` and `candles_1h`, and macros such as `orders_at`; `all` by default. */
  readonly views?: "all" | "none" | undefined;
  /** DuckDB's memory limit, in its syntax; `1GiB` by default. The process needs some 300 MiB in addition. */
  readonly memoryLimit?: string | undefined;
}

/** DuckDB's default memory limit. */
export const MEMORY_LIMIT = "1GiB";

interface Opened {
  readonly database: DuckdbFile;
  /** `undefined` if the sink was only inspected. */
  readonly rules: SinkOpening | undefined;
}

/**
 * Creates a sink that stores history in a DuckDB file. The package `@duckdb/node-api` must be installed.
 *
 * Only one process at a time can open the file. Sinks of one process share it, also with code that opens the file with
 * `DuckDBInstance.fromCache` without settings.
 *
 * @param path the path of the file, which is created if it does not exist; its folder must exist
 * @param options views, and DuckDB's memory limit
 * @returns the sink
 * @throws `RequestError` if the path is not a string, or an option is unknown or invalid
 *
 * @example
 * await syncHistory(client, { sink: duckdbSink("history.duckdb") });
 */
export function duckdbSink(path: string, options: DuckdbSinkOptions = {}): Sink {
  assertKnownKeys("options", options, { views: true, memoryLimit: true });
  const { views = "all", memoryLimit = MEMORY_LIMIT } = options;
  assertText("the path of a DuckDB file", path, "history.duckdb");
  assertText("memoryLimit", memoryLimit, MEMORY_LIMIT);
  assertOneOf("views", views, ["all", "none"]);
  const name = `duckdb:${path}`;
  let state: Opened | undefined;

  const opened = (): Opened => {
    if (state === undefined) {
      throw notOpenError(name);
    }
    return state;
  };
  const database = (): DuckdbFile => opened().database;
  const fetched = async <T>(
    unit: Unit,
    csv: UnitCsv,
    signal: AbortSignal,
    use: (plan: ColumnPlan, spooled: SpooledCsv) => Promise<T>,
  ): Promise<T> => {
    const plan = planColumns(unit, csv.columns);
    return await withSpooled(database().folder, csv, signal, (spooled) => use(plan, spooled));
  };

  return {
    name,
    async open(settings) {
      const file = await openDuckdbFile(path, name, { make: true, memoryLimit });
      state = file && { database: file, rules: settings };
      await database().write("creating the tables", async (connection) => {
        await createLedger(connection, name, settings);
        for (const table of settings.tables) {
          await createTable(connection, table);
        }
      });
    },
    async inspect(signal) {
      const file = await openDuckdbFile(path, name, { make: false, memoryLimit });
      state = file && { database: file, rules: undefined };
      return await file?.read("reading its chain", (connection) => readLedgerChain(connection, name), signal);
    },
    async *entries(table, behind) {
      yield* readEntries((use) => database().read("reading the ledger", use), table, behind);
    },
    async markHistory(next) {
      await database().write("marking the history", (connection) => changeMarks(connection, next));
    },
    asked: () => database().read("reading the ledger", readAsked),
    async load(unit, fetch, { replace, signal }) {
      const { rules } = opened();
      if (rules === undefined) {
        throw notOpenError(name);
      }
      const releaseClaim = database().claim(unit);
      if (releaseClaim === undefined) {
        return { outcome: "busy" };
      }
      try {
        const found = await database().read(
          "reading the ledger",
          (connection) => overlappingEntries(connection, unit),
          signal,
        );
        const replaced = found.filter((entry) => !isEntryOf(entry, unit));
        if (found.length > 0 && (!replace || replaced.length < found.length)) {
          return { outcome: "there" };
        }
        const csv = await fetch();
        const entry = await fetched(unit, csv, signal, async (plan, spooled) => {
          reportAddedColumns(unit, plan, rules);
          const load = (connection: DuckDBConnection) => replaceRows(connection, unit, replaced, plan, spooled, rules);
          const what = `loading ${unitName(unit)}`;
          // A change of the table or of existing rows conflicts with other transactions.
          return replaced.length === 0 && plan.added.length === 0
            ? await database().append(what, spooled.measures.bytes, load, signal)
            : await database().write(what, load, signal);
        });
        return { outcome: "loaded", entry };
      } finally {
        releaseClaim();
      }
    },
    async remove(entry) {
      const releaseClaim = database().claim(entry);
      if (releaseClaim === undefined) {
        throw unitClaimedError(name, entry);
      }
      try {
        await database().write(`removing ${unitName(entry)}`, (connection) => removeUnit(connection, entry));
      } finally {
        releaseClaim();
      }
    },
    ...(views === "all" && {
      createViews: (signal) => database().write("creating the views", createViews, signal),
      async storeListed(table, batches) {
        for await (const rows of batches) {
          const { sql, values } = storeListedSql("duckdb", "", table, rows);
          const store = (connection: DuckDBConnection) => connection.run(sql, values);
          await database().append("storing what a node lists", 0n, store);
        }
      },
    }),
    async countRows(entry) {
      const query = `SELECT count(*) FROM ${entry.table} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
      return await database().read(`counting ${unitName(entry)}`, async (connection) => {
        const [row] = (await connection.runAndReadAll(query)).getRows();
        return BigInt(String(row?.[0]));
      });
    },
    async compareRows(entry, fetch, signal) {
      return await fetched(entry, await fetch(), signal, (plan, spooled) =>
        database().read(
          `comparing ${unitName(entry)}`,
          (connection) => compareTable(connection, entry, plan, spooled),
          signal,
        ),
      );
    },
    async close() {
      const closing = state?.database;
      state = undefined;
      await closing?.close();
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
}

/** Replaces the rows of earlier units by those of a unit, and adds its entry to the ledger. Returns the entry. */
async function replaceRows(
  connection: DuckDBConnection,
  unit: Unit,
  replaced: readonly LedgerEntry[],
  plan: ColumnPlan,
  spooled: SpooledCsv,
  rules: SinkOpening,
): Promise<LedgerEntry> {
  for (const old of replaced) {
    await removeUnit(connection, old);
  }
  await removeOrphanRows(connection, unit);
  const existing = await tableColumns(connection, unit.table);
  const added = missingColumns(plan, existing);
  for (const column of added) {
    await addColumn(connection, unit.table, column);
  }
  const columns = [...existing, ...added];
  const rows = typedSql(unit.table, columns, rowsSql(plan, spooled, columns));
  const names = [...rows.names.map(identifier), FROM_BLOCK].join(", ");
  const { rowsChanged } = await connection.run(
    `INSERT INTO ${unit.table} (${names}) SELECT *, ${unit.fromBlock} FROM (${rows.query})`,
  );
  assertCount(unit, BigInt(rowsChanged), spooled);
  await reportUnknownValues(connection, unit, rules, `${unit.table} WHERE ${FROM_BLOCK} = ${unit.fromBlock}`);
  const entry = { ...unit, ...spooled.measures, loadedAt: new Date(unixMs()).toISOString() };
  await insertEntry(connection, entry);
  return entry;
}

/** Compares the rows of a unit in its table with those of a CSV file. */
async function compareTable(connection: DuckDBConnection, entry: LedgerEntry, plan: ColumnPlan, spooled: SpooledCsv) {
  const columns = await tableColumns(connection, entry.table);
  const { fresh, values } = comparedSql(plan, spooled, columns);
  const held = `SELECT ${values} FROM ${entry.table} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
  return countDifferences(connection, held, fresh);
}
