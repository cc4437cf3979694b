import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { CanceledError } from "../../../errors/index.js";
import { temporaryName } from "../../../file/temporary-files.js";
import { unixMs } from "../../../runtime/index.js";
import { onAbort } from "../../../signal/abort.js";
import type { FetchUnit, SinkOpening } from "../../sink.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import {
  literal,
  negativeZerosSql,
  planColumns,
  reportAddedColumns,
  reportUnknownPart,
  rowsSql,
  unitName,
  unknownValuesSql,
} from "../duckdb/csv-columns.js";
import { inDuckdb, loadDuckdb } from "../duckdb/duckdb-package.js";
import { checkCount, countDifferences } from "../duckdb/duckdb-tables.js";
import { withSpooled } from "../duckdb/spooled-csv.js";
import { FROM_BLOCK, identifier, sinkColumns } from "../sink-columns.js";
import { checkTextColumns, typedSql, withoutText } from "./parquet-columns.js";
import { type Layout, syncFile } from "./parquet-folder.js";
import { fileExists } from "./pending-changes.js";

/** Where a unit is written, and by what. */
export interface WriterContext {
  readonly layout: Layout;
  readonly engine: Engine;
}

/**
 * Write the Parquet file of a unit, to disk. It has all columns of the table, whatever its schema version has.
 *
 * @param workshop the engine, and the folder for temporary files
 * @param unit the unit
 * @param fetch asks the node for it; its errors are thrown unchanged
 * @param how the path, who is told of what is not known, and what ends it
 * @returns the entry for the ledger
 * @throws {@link SinkError} where it cannot be written whole
 */
export async function writeUnit(
  { layout, engine }: WriterContext,
  unit: Unit,
  fetch: FetchUnit,
  { part, rules, signal }: { readonly part: string; readonly rules: SinkOpening; readonly signal: AbortSignal },
): Promise<LedgerEntry> {
  const csv = await fetch();
  const plan = planColumns(unit, csv.columns);
  checkTextColumns(unit.table, plan.added);
  return await withSpooled(layout.pending, csv, signal, async (spooled) => {
    reportAddedColumns(unit, plan, rules);
    const { chainId, table, fromBlock, toBlock, segmentId, schemaVersion } = unit;
    const columns = [...sinkColumns(table).map((column) => column.name), ...plan.added];
    const rows = typedSql(table, columns, rowsSql(plan, spooled, columns, "VARCHAR"));
    const query = `SELECT *, CAST(${fromBlock} AS BIGINT) AS ${FROM_BLOCK} FROM (${rows.query})`;
    const facts = {
      chain_id: chainId,
      table_name: table,
      from_block: fromBlock,
      to_block: toBlock,
      segment_id: segmentId,
    };
    await engine.use(
      `writing ${unitName(unit)}`,
      async (connection) => {
        const { sha256 } = spooled.measures;
        const metadata = { ...facts, schema_version: schemaVersion, sha256 };
        const zeros = negativeZerosSql(plan, spooled);
        const signed = zeros !== undefined && (await connection.runAndReadAll(zeros)).getRows().length > 0;
        const copied = await connection.run(copySql(query, part, metadata, !signed));
        checkCount(unit, BigInt(copied.rowsChanged), spooled);
        const values = unknownValuesSql(table, `${readParquetSql(part)} WHERE true`);
        for (const [column, value] of values === undefined ? [] : (await connection.runAndReadAll(values)).getRows()) {
          reportUnknownPart(unit, rules, String(column), String(value));
        }
      },
      signal,
    );
    await syncFile(part);
    return { ...unit, ...spooled.measures, loadedAt: new Date(unixMs()).toISOString() };
  });
}

/**
 * Count the rows in the file of a unit.
 *
 * @param workshop the engine, and the folder
 * @param entry the unit
 * @returns how many rows came with the unit; none where there is no file
 */
export async function countUnit({ layout, engine }: WriterContext, entry: LedgerEntry): Promise<bigint> {
  const path = layout.file(entry);
  if (!(await fileExists(path))) {
    return 0n;
  }
  return await engine.use(`counting ${unitName(entry)}`, async (connection) => {
    const query = `SELECT count(*) FROM ${readParquetSql(path)} WHERE ${FROM_BLOCK} = ${entry.fromBlock}`;
    return BigInt(String((await connection.runAndReadAll(query)).getRows()[0]?.[0]));
  });
}

/**
 * Compare the file of a unit with the unit fetched anew.
 *
 * @param workshop the engine, and the folder
 * @param entry the unit
 * @param fetch asks the node for it
 * @param signal ends it
 * @returns how many rows of the node's the file lacks, and how many it has beyond
 */
export async function compareUnit(
  { layout, engine }: WriterContext,
  entry: LedgerEntry,
  fetch: FetchUnit,
  signal: AbortSignal,
) {
  const csv = await fetch();
  const plan = planColumns(entry, csv.columns);
  const path = layout.file(entry);
  return await withSpooled(layout.pending, csv, signal, async (spooled) => {
    if (!(await fileExists(path))) {
      return { missing: spooled.measures.rows, extra: 0n };
    }
    return await engine.use(
      `comparing ${unitName(entry)}`,
      async (connection) => {
        const file = readParquetSql(path);
        const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${file}`);
        const there = described.getRows().flatMap(([column]) => (column === FROM_BLOCK ? [] : [String(column)]));
        const columns = withoutText(entry.table, there);
        const more = plan.added.filter((column) => !columns.includes(column));
        const all = [...columns, ...more];
        const fresh = typedSql(entry.table, all, rowsSql(plan, spooled, all, "VARCHAR"));
        const values = fresh.names.map((column) =>
          more.includes(column) ? `CAST(NULL AS VARCHAR) AS ${identifier(column)}` : identifier(column),
        );
        return await countDifferences(connection, `SELECT ${values.join(", ")} FROM ${file}`, fresh.query);
      },
      signal,
    );
  });
}

/** A DuckDB in memory that reads and writes files. */
export interface Engine {
  /** Use a connection of its own; the signal interrupts what runs on it. */
  use<T>(what: string, work: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/**
 * Start a DuckDB in memory.
 *
 * @param name of the sink, for errors
 * @param folder where it puts what does not fit into memory, in a folder of its own
 * @param memoryLimit the most memory that it takes, as DuckDB writes it
 * @returns the engine, started when it is first used
 */
export function engineIn(name: string, folder: string, memoryLimit: string): Engine {
  let starting: Promise<{ instance: DuckDBInstance; spill: string }> | undefined;

  async function start() {
    const { DuckDBInstance } = await loadDuckdb();
    const spill = join(folder, await temporaryName());
    const instance = await DuckDBInstance.create(":memory:", { memory_limit: memoryLimit, temp_directory: spill });
    return { instance, spill };
  }
  return {
    async use(what, work, signal) {
      starting ??= start();
      const { instance } = await inDuckdb(name, starting);
      const connection = await inDuckdb(name, instance.connect());
      const canceled = () => signal?.aborted === true;
      const stop = onAbort(signal, () => connection.interrupt());
      try {
        if (canceled()) {
          throw new CanceledError({ cause: signal?.reason });
        }
        return await inDuckdb(`${name}: ${what}`, work(connection));
      } catch (reason) {
        throw canceled() ? new CanceledError({ cause: reason }) : reason;
      } finally {
        stop();
        connection.closeSync();
      }
    },
    async close() {
      const started = await starting?.catch(() => undefined);
      started?.instance.closeSync();
      if (started !== undefined) {
        await rm(started.spill, { recursive: true, force: true }).catch(() => undefined); // It is swept.
      }
    },
  };
}

/**
 * Make the statement that writes a Parquet file. Rows keep the order of the query.
 *
 * @param query the rows
 * @param path of the file
 * @param facts go into the file's metadata
 * @param withDictionary whether values that come often are written once; of zeros with and without a sign one is left then
 * @returns the statement
 */
export function copySql(
  query: string,
  path: string,
  facts: Readonly<Record<string, string | bigint>>,
  withDictionary: boolean,
): string {
  const metadata = Object.entries(facts).map(([key, value]) => `${key}: ${literal(String(value))}`);
  const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_SIZE}, ${withDictionary ? "" : "DICTIONARY_SIZE_LIMIT 0, "}KV_METADATA {${metadata.join(", ")}}`;
  return `COPY (${query}) TO ${literal(path)} (${options})`;
}

/** Rows of a row group, which readers skip as a whole: as many as DuckDB and others read at once. */
const ROW_GROUP_SIZE = 122_880;

/**
 * Make what reads a Parquet file.
 *
 * @param path of the file
 * @returns the call, for a FROM clause; the names of its folders become no columns
 */
export function readParquetSql(path: string): string {
  return `read_parquet(${literal(path)}, hive_partitioning = false)`;
}
