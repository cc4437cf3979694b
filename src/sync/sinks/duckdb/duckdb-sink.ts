import type { DuckDBConnection } from "@duckdb/node-api";
import { requireKnown, requireOneOf, requireText } from "../../../errors/check-values.js";
import { unixMs } from "../../../runtime/index.js";
import type { Sink, SinkOpening, UnitCsv } from "../../sink.js";
import type { Unit } from "../../unit.js";
import { FROM_BLOCK, identifier } from "../columns.js";
import { duckdbType } from "./csv-sql.js";
import { type Database, notOpen, openDatabase } from "./database.js";
import { heldChain, insertEntry, makeLedger, overlapping, readEntries, removeStray, removeUnit } from "./ledger.js";
import {
  lackingColumns,
  type ReadPlan,
  readPlan,
  rowsSql,
  tellAdded,
  tellUnknown,
  unitName,
  unknownValuesSql,
} from "./plan.js";
import { checkCount, difference, heldByOther, isSame } from "./shared.js";
import { type SpooledCsv, withSpooled } from "./spool.js";
import { addColumn, makeTable, namedViewSql, tableColumns } from "./tables.js";

/** How a DuckDB file is used as a sink. */
export interface DuckdbSinkOptions {
  /** Whether each table gets a view with names in place of codes, such as `trades_named`; false by default. */
  readonly namedViews?: boolean | undefined;
  /** The most memory that DuckDB takes, as it writes it; `1GiB` by default. The process takes some 300 MiB beside it. */
  readonly memoryLimit?: string | undefined;
}

/** The most memory that DuckDB takes by default. */
export const MEMORY_LIMIT = "1GiB";

/**
 * Make a sink of a DuckDB file. Its package `@duckdb/node-api` must be installed.
 *
 * One process at a time has the file open. Sinks of one process share it, also with whoever takes the file from
 * `DuckDBInstance.fromCache` without settings.
 *
 * @param path of the file; it is made where it is missing, its folder is not
 * @param options views, and the memory that DuckDB takes
 * @returns the sink
 * @throws `RequestError` where the path is no text, or an option is unknown or wrong
 *
 * @example
 * await syncHistory(client, { sink: duckdbSink("history.duckdb") });
 */
export function duckdbSink(path: string, options: DuckdbSinkOptions = {}): Sink {
  requireKnown("options", options, { namedViews: true, memoryLimit: true });
  const { namedViews = false, memoryLimit = MEMORY_LIMIT } = options;
  requireText("the path of a DuckDB file", path, "history.duckdb");
  requireText("memoryLimit", memoryLimit, MEMORY_LIMIT);
  requireOneOf("namedViews", namedViews, [true, false]);
  const name = `duckdb:${path}`;
  let database: Database | undefined;
  let opening: SinkOpening | undefined;

  const opened = (): Database => {
    if (database === undefined) {
      throw notOpen(name);
    }
    return database;
  };
  const fetched = async <T>(
    unit: Unit,
    csv: UnitCsv,
    signal: AbortSignal,
    use: (plan: ReadPlan, spooled: SpooledCsv) => Promise<T>,
  ): Promise<T> => {
    const plan = readPlan(unit, csv.columns);
    return await withSpooled(opened().folder, csv, signal, (spooled) => use(plan, spooled));
  };

  return {
    name,
    async open(given) {
      database = await openDatabase(path, name, { make: true, memoryLimit });
      opening = given;
      await opened().write("making the tables", async (connection) => {
        await makeLedger(connection, name, given.chainId);
        for (const table of given.tables) {
          await makeTable(connection, table);
          if (namedViews) {
            await connection.run(namedViewSql(table));
          }
        }
      });
    },
    async inspect(signal) {
      database = await openDatabase(path, name, { make: false, memoryLimit });
      return await database?.read("looking at it", (connection) => heldChain(connection, name), signal);
    },
    async *entries(table, behind) {
      yield* readEntries((use) => opened().read("reading the ledger", use), table, behind);
    },
    async load(unit, fetch, { replace, signal }) {
      const rules = opening;
      if (rules === undefined) {
        throw notOpen(name);
      }
      const free = opened().hold(unit);
      if (free === undefined) {
        return { outcome: "busy" };
      }
      try {
        const found = await opened().read("reading the ledger", (connection) => overlapping(connection, unit), signal);
        const replaced = found.filter((entry) => !isSame(entry, unit));
        if (found.length > 0 && (!replace || replaced.length < found.length)) {
          return { outcome: "there" };
        }
        const csv = await fetch();
        const entry = await fetched(unit, csv, signal, async (plan, spooled) => {
          tellAdded(unit, plan, rules);
          const load = async (connection: DuckDBConnection) => {
            for (const old of replaced) {
              await removeUnit(connection, old);
            }
            await removeStray(connection, unit);
            const there = await tableColumns(connection, unit.table);
            const added = lackingColumns(plan, there);
            for (const column of added) {
              await addColumn(connection, unit.table, column);
            }
            const columns = [...there, ...added];
            const rows = rowsSql(plan, spooled, columns, "BIGNUM");
            const names = [...columns.map(identifier), FROM_BLOCK].join(", ");
            const { rowsChanged } = await connection.run(
              `INSERT INTO ${unit.table} (${names}) SELECT *, ${unit.fromBlock} FROM (${rows})`,
            );
            checkCount(unit, BigInt(rowsChanged), spooled);
            const values = unknownValuesSql(unit.table, `${unit.table} WHERE ${FROM_BLOCK} = ${unit.fromBlock}`);
            const unknown = values === undefined ? [] : (await connection.runAndReadAll(values)).getRows();
            for (const [column, value] of unknown) {
              tellUnknown(unit, rules, String(column), String(value));
            }
            const made = { ...unit, ...spooled.measures, loadedAt: new Date(unixMs()).toISOString() };
            await insertEntry(connection, made);
            return made;
          };
          const what = `loading ${unitName(unit)}`;
          // What changes a table, or rows that are there, is in the way of others.
          return replaced.length === 0 && plan.added.length === 0
            ? await opened().append(what, spooled.measures.bytes, load, signal)
            : await opened().write(what, load, signal);
        });
        return { outcome: "loaded", entry };
      } finally {
        free();
      }
    },
    async remove(entry) {
      const free = opened().hold(entry);
      if (free === undefined) {
        throw heldByOther(name, entry);
      }
      try {
        await opened().write(`removing ${unitName(entry)}`, (connection) => removeUnit(connection, entry));
      } finally {
        free();
      }
    },
    async countRows(entry) {
      const query = `SELECT count(*) FROM ${entry.table} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
      return await opened().read(`counting ${unitName(entry)}`, async (connection) => {
        const [row] = (await connection.runAndReadAll(query)).getRows();
        return BigInt(String(row?.[0]));
      });
    },
    async compareRows(entry, fetch, signal) {
      return await fetched(entry, await fetch(), signal, (plan, spooled) =>
        opened().read(
          `comparing ${unitName(entry)}`,
          async (connection) => {
            const columns = await tableColumns(connection, entry.table);
            const more = plan.added.filter((column) => !columns.includes(column));
            const fresh = rowsSql(plan, spooled, [...columns, ...more], "BIGNUM");
            const lacking = more.map(
              (column) => `CAST(NULL AS ${duckdbType(undefined, "BIGNUM")}) AS ${identifier(column)}`,
            );
            const held = `SELECT ${[...columns.map(identifier), ...lacking].join(", ")} FROM ${entry.table} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
            return await difference(connection, held, fresh);
          },
          signal,
        ),
      );
    },
    async [Symbol.asyncDispose]() {
      const closing = database;
      database = undefined;
      await closing?.close();
    },
  };
}
