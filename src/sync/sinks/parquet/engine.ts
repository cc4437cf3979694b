import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { CanceledError } from "../../../errors/index.js";
import { temporaryName } from "../../../file/temporary.js";
import { follow } from "../../../signal/follow.js";
import { literal } from "../duckdb/csv-sql.js";
import { inDuckdb } from "../duckdb/errors.js";
import { loadDuckdb } from "../duckdb/package.js";

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
      const stop = follow(signal, () => connection.interrupt());
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
