import { stat } from "node:fs/promises";
import { Code } from "../../base/errors/code.js";
import { SinkError } from "../../base/errors/index.js";
import { fileError, READ_ADVICE } from "../../base/errors/node-errors.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { wait } from "../../base/signal/wait.js";
import type { BlockRange } from "../../data/history/segments.js";
import type { TableName } from "../../data/schema/table-names.js";
import { createModel, fileContent, tablesOf } from "./duckdb-content.js";
import { openDuckdbQuery } from "./duckdb-query.js";
import { folderContent } from "./parquet-content.js";
import { type QueryDatabase, type QuerySource, splitExplain } from "./query-database.js";

/** How long a query of a file waits, and whom it informs. */
export interface FileSourceOptions {
  /** The maximum wait for a process that has the file open for writing, in milliseconds; a minute by default. */
  readonly maxWaitMs?: number | undefined;
  /** Called with the names of the user's own views and tables that a statement must name so, since it finds others of the same names first. */
  readonly onShadowed: (names: readonly string[]) => void;
  /** Called once if it waits, with what DuckDB says about the process. */
  readonly onWait: (error: SinkError) => void;
}

/** The default of the maximum wait, and the time between two attempts, in milliseconds. */
const [WRITER_MS, RETRY_MS] = [60_000, 500];

/** Returns the source of a DuckDB file. It is open only while a statement runs, so that a sync can write to it in between. */
export function duckdbSource(
  path: string,
  memoryLimit: string,
  { maxWaitMs = WRITER_MS, onWait, onShadowed }: FileSourceOptions,
): QuerySource {
  return {
    async open(sql, signal) {
      await stat(path).catch((reason: unknown) => {
        throw fileError(reason, path, READ_ADVICE);
      });
      const { statement } = splitExplain(sql);
      const until = monotonicMs() + maxWaitMs;
      for (let isFirst = true; ; isFirst = false) {
        try {
          return await openDuckdbQuery(fileContent(path, statement, { onShadowed }), memoryLimit, signal);
        } catch (reason) {
          if (!(reason instanceof SinkError && reason.code === Code.Unavailable) || monotonicMs() >= until) {
            throw reason;
          }
          if (isFirst) {
            onWait(reason);
          }
        }
        await wait(RETRY_MS, signal);
      }
    },
    ...NOTHING_TO_CLOSE,
  };
}

/** Returns the source of a folder of Parquet files, which a sync has written. */
export function parquetSource(folder: string, memoryLimit: string): QuerySource {
  return {
    open: async (sql, signal) =>
      openDuckdbQuery(await folderContent(folder, splitExplain(sql).statement), memoryLimit, signal),
    ...NOTHING_TO_CLOSE,
  };
}

export const NOTHING_TO_CLOSE = { async [Symbol.asyncDispose]() {} };

/** How a statement is answered. */
interface Answering {
  /** DuckDB's memory limit, in its syntax. */
  readonly memoryLimit: string;
  readonly signal: AbortSignal;
}

/**
 * Opens the database of a statement whose tables must be loaded into a DuckDB file first.
 *
 * @param load loads tables, and opens their file with the function that it is given: all of it, or only some blocks
 * @returns the opened file; for a statement that reads no table, a database with all tables and views but without rows
 */
export async function openLoaded(
  sql: string,
  { memoryLimit, signal }: Answering,
  load: (
    tables: readonly TableName[],
    open: (path: string, blocks?: BlockRange) => Promise<Required<QueryDatabase>>,
  ) => Promise<QueryDatabase>,
): Promise<QueryDatabase> {
  const { statement } = splitExplain(sql);
  const { model, tables } = await openModel(statement, { memoryLimit, signal });
  if (tables.length === 0) {
    return model;
  }
  await model[Symbol.asyncDispose]();
  return await load(tables, (path, blocks) =>
    openDuckdbQuery(fileContent(path, statement, { blocks }), memoryLimit, signal),
  );
}

/**
 * Returns the tables of network history that a statement reads.
 *
 * @throws {@link RequestError} if the statement is wrong, or does more than read
 */
export async function tablesRead(sql: string, how: Answering): Promise<readonly TableName[]> {
  const { model, tables } = await openModel(splitExplain(sql).statement, how);
  await model[Symbol.asyncDispose]();
  return tables;
}

/** Opens a database with all tables and views but without rows, and finds the tables that a statement reads. */
async function openModel(sql: string, { memoryLimit, signal }: Answering) {
  let tables: readonly TableName[] = [];
  const model = await openDuckdbQuery(
    {
      name: "the query",
      async prepare(connection) {
        await createModel(connection, sql);
        const read = await tablesOf(connection, sql);
        // What nodes list is loaded with any table.
        tables = read.tables.length === 0 && read.hasAdded ? ["markets"] : read.tables;
        return [];
      },
    },
    memoryLimit,
    signal,
  );
  return { model, tables };
}
