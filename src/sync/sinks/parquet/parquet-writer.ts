import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { temporaryName } from "../../../base/file/temporary-files.js";
import { unixMs } from "../../../base/runtime/index.js";
import type { FetchUnit, SinkOpening } from "../../sink.js";
import { FROM_BLOCK, sinkColumns } from "../../sink-columns.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import {
  fileLiteral,
  literal,
  negativeZerosSql,
  planColumns,
  reportAddedColumns,
  reportUnknownValues,
  rowsSql,
  unitName,
  withSpooled,
} from "../duckdb/csv-columns.js";
import { inDuckdb, loadDuckdb, withConnection } from "../duckdb/duckdb-package.js";
import { assertCount, countDifferences } from "../duckdb/duckdb-tables.js";
import { comparedSql, typedSql, withoutText } from "../duckdb/number-columns.js";
import { type FolderLayout, syncFile } from "./parquet-folder.js";
import { fileExists } from "./pending-changes.js";

/** The paths of a sink, and the DuckDB that writes its files. */
export interface WriterContext {
  readonly layout: FolderLayout;
  readonly engine: ParquetEngine;
}

/**
 * Writes the Parquet file of a unit, and syncs it to disk. It has all columns of the table, regardless of the schema version.
 *
 * @throws {@link SinkError} if it cannot be written completely
 */
export async function writeUnit(
  { layout, engine }: WriterContext,
  unit: Unit,
  fetch: FetchUnit,
  { part, rules, signal }: { readonly part: string; readonly rules: SinkOpening; readonly signal: AbortSignal },
): Promise<LedgerEntry> {
  const csv = await fetch();
  const plan = planColumns(unit, csv.columns);
  return await withSpooled(layout.pending, csv, signal, async (spooled) => {
    reportAddedColumns(unit, plan, rules);
    const { table, fromBlock } = unit;
    const columns = [...sinkColumns(table).map((column) => column.name), ...plan.added];
    const rows = typedSql(table, columns, rowsSql(plan, spooled, columns));
    const query = `SELECT *, CAST(${fromBlock} AS BIGINT) AS ${FROM_BLOCK} FROM (${rows.query})`;
    await engine.use(
      `writing ${unitName(unit)}`,
      async (connection) => {
        const { sha256 } = spooled.measures;
        const zeros = negativeZerosSql(plan, spooled);
        const hasNegativeZeros = zeros !== undefined && (await connection.runAndReadAll(zeros)).getRows().length > 0;
        const copied = await connection.run(copySql(query, part, { ...factsOf(unit), sha256 }, !hasNegativeZeros));
        assertCount(unit, BigInt(copied.rowsChanged), spooled);
        await reportUnknownValues(connection, unit, rules, `${readParquetSql(part)} WHERE true`);
      },
      signal,
    );
    await syncFile(part);
    return { ...unit, ...spooled.measures, loadedAt: new Date(unixMs()).toISOString() };
  });
}

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
        const { fresh, values } = comparedSql(plan, spooled, withoutText(entry.table, there));
        return await countDifferences(connection, `SELECT ${values} FROM ${file}`, fresh);
      },
      signal,
    );
  });
}

/** An in-memory DuckDB that reads and writes files. */
export interface ParquetEngine {
  /** Runs an operation on a new connection; the signal interrupts it. */
  use<T>(what: string, work: (connection: DuckDBConnection) => Promise<T>, signal?: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

export function engineIn(name: string, folder: string, memoryLimit: string): ParquetEngine {
  let starting: Promise<{ instance: DuckDBInstance; spill: string }> | undefined;

  async function start() {
    const { DuckDBInstance } = await loadDuckdb();
    const spill = join(folder, await temporaryName());
    const instance = await DuckDBInstance.create(":memory:", { memory_limit: memoryLimit, temp_directory: spill });
    return { instance, spill };
  }
  return {
    async use(what, work, signal) {
      starting ??= start().catch((reason: unknown) => {
        starting = undefined;
        throw reason;
      });
      const { instance } = await inDuckdb(name, starting);
      return await withConnection(instance, `${name}: ${what}`, work, signal);
    },
    async close() {
      const started = await starting?.catch(() => undefined);
      started?.instance.closeSync();
      if (started !== undefined) {
        await rm(started.spill, { recursive: true, force: true }).catch(() => undefined); // The next sync deletes it.
      }
    },
  };
}

/** Returns the metadata of the Parquet file of a unit. */
export function factsOf({ chainId, table, fromBlock, toBlock, segmentId, schemaVersion }: Unit) {
  return {
    chain_id: chainId,
    table_name: table,
    from_block: fromBlock,
    to_block: toBlock,
    segment_id: segmentId,
    schema_version: schemaVersion,
  };
}

/** DuckDB 1.5 loses rows by the Bloom filters of bytes that it reads: https://github.com/duckdb/duckdb/pull/23829. */
export const NO_BLOOM_FILTERS = "WRITE_BLOOM_FILTER false";

/** Returns the statement that writes a Parquet file. Rows keep the order of the query. */
export function copySql(
  query: string,
  path: string,
  facts: Readonly<Record<string, string | bigint>>,
  withDictionary: boolean,
): string {
  const metadata = Object.entries(facts).map(([key, value]) => `${key}: ${literal(String(value))}`);
  const options = `FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE ${ROW_GROUP_SIZE}, ${NO_BLOOM_FILTERS}, ${withDictionary ? "" : "DICTIONARY_SIZE_LIMIT 0, "}KV_METADATA {${metadata.join(", ")}}`;
  return `COPY (${query}) TO ${literal(path)} (${options})`;
}

/** The number of rows in a row group, the unit that readers can skip: DuckDB's default. */
const ROW_GROUP_SIZE = 122_880;

function readParquetSql(path: string): string {
  return `read_parquet(${fileLiteral(path)}, hive_partitioning = false)`;
}
