import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";
import { Code } from "../../base/errors/code.js";
import { CanceledError, RequestError, SinkError, type TradewireError } from "../../base/errors/index.js";
import { fileError } from "../../base/errors/node-errors.js";
import { sweepTemporary, temporaryName } from "../../base/file/temporary-files.js";
import { onAbort } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import { literal } from "../sinks/duckdb/csv-columns.js";
import { inDuckdb, loadDuckdb } from "../sinks/duckdb/duckdb-package.js";
import { NO_BLOOM_FILTERS } from "../sinks/parquet/parquet-writer.js";
import { statementError } from "./duckdb-errors.js";
import { jsonConverter } from "./duckdb-values.js";
import {
  assertStatement,
  changingStatement,
  distinctNames,
  type QueryDatabase,
  type QueryRows,
  severalStatements,
  splitExplain,
} from "./query-database.js";

/** What a database in memory gives its statements to read. */
export interface DuckdbContent {
  /** The name for messages. */
  readonly name: string;
  /** The path of a DuckDB file, which is attached as {@link ATTACHED}. */
  readonly file?: string;
  /** The folders whose files views read. */
  readonly folders?: readonly string[];
  /**
   * Creates tables and views. Other files than these can no longer be opened.
   *
   * @returns the blocks that the tables of the statement lack
   * @throws errors of DuckDB
   */
  prepare(connection: DuckDBConnection): Promise<QueryDatabase["gaps"]>;
}

/** The name by which statements can name the attached file. */
export const ATTACHED = "history";

/**
 * Opens a database in memory that only reads what its content gives. It runs SELECT statements only: it has no other access to
 * files, loads no extensions, and its settings cannot be changed.
 *
 * @param content what statements read
 * @param memoryLimit DuckDB's memory limit, in its syntax; larger intermediate results go to a temporary folder
 * @param signal interrupts what runs
 * @throws {@link SinkError} if DuckDB cannot open the content; {@link RequestError} if its package is missing
 */
export async function openDuckdbQuery(
  content: DuckdbContent,
  memoryLimit: string,
  signal: AbortSignal,
): Promise<Required<QueryDatabase>> {
  const { DuckDBInstance } = await loadDuckdb();
  const { name } = content;
  throwIfAborted(signal);
  const temporary = await createTemporaryFolder();
  const instance = await inDuckdb(
    name,
    DuckDBInstance.create(":memory:", {
      memory_limit: memoryLimit,
      temp_directory: join(temporary, "spilled"),
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
    }),
  );
  const connection = await instance.connect();
  const stop = onAbort(signal, () => connection.interrupt());
  const close = async () => {
    stop();
    connection.closeSync();
    instance.closeSync();
    await rm(temporary, { recursive: true, force: true }).catch(() => undefined); // The next query removes it.
  };
  try {
    const gaps = await prepareAndLock(connection, temporary, content);
    throwIfAborted(signal);
    return { gaps, ...(await reading(connection, { name, temporary, signal })), [Symbol.asyncDispose]: close };
  } catch (reason) {
    await close();
    throw signal.aborted ? new CanceledError({ cause: reason }) : statementError(reason, name);
  }
}

async function createTemporaryFolder(): Promise<string> {
  await sweepTemporary(tmpdir());
  const folder = join(tmpdir(), await temporaryName());
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (reason) {
    throw fileError(reason, folder);
  }
  return folder;
}

async function prepareAndLock(
  connection: DuckDBConnection,
  temporary: string,
  { file, folders = [], prepare }: DuckdbContent,
): Promise<QueryDatabase["gaps"]> {
  await connection.run("SET GLOBAL TimeZone = 'UTC'");
  if (file !== undefined) {
    await connection.run(`ATTACH ${literal(resolve(file))} AS ${ATTACHED} (READ_ONLY)`);
  }
  // Before the first look at the statement: to prepare it can open files.
  const allowed = [temporary, ...folders].map((folder) => literal(join(folder, "/")));
  await connection.run(`SET GLOBAL allowed_directories = [${allowed.join(", ")}]`);
  await connection.run("SET GLOBAL enable_external_access = false");
  const gaps = await prepare(connection);
  await connection.run("SET GLOBAL lock_configuration = true");
  return gaps;
}

async function reading(
  connection: DuckDBConnection,
  { name, temporary, signal }: { readonly name: string; readonly temporary: string; readonly signal: AbortSignal },
): Promise<Omit<Required<QueryDatabase>, "gaps" | typeof Symbol.asyncDispose>> {
  const jsonOf = jsonConverter(await loadDuckdb());

  async function running<T>(run: () => Promise<T>): Promise<T> {
    throwIfAborted(signal);
    try {
      return await run();
    } catch (reason) {
      if (signal.aborted) {
        throw new CanceledError({ cause: reason });
      }
      throw statementError(reason, name);
    }
  }

  async function save(sql: string): Promise<string> {
    const path = join(temporary, "rows.parquet");
    // As a literal, the statement cannot end the COPY, whatever comments it has.
    const copy = `COPY (FROM query(${literal(sql)})) TO ${literal(path)} (FORMAT parquet, COMPRESSION zstd, ${NO_BLOOM_FILTERS})`;
    await running(() => connection.run(copy));
    return path;
  }

  /** Finds out why the rows of a statement have ended early: the package does not say that. */
  async function failureOf(sql: string): Promise<TradewireError> {
    throwIfAborted(signal);
    const path = await save(sql);
    await rm(path, { force: true });
    return new SinkError(`${name}: DuckDB stopped before the last row`, {
      code: Code.Unknown,
      advice: "Run the statement again, or save its rows with --output parquet.",
    });
  }

  return {
    async query(sql): Promise<QueryRows> {
      const { explain, statement } = splitExplain(sql);
      if (explain !== "") {
        return await running(() => planOf(connection, explain, statement));
      }
      const result = await running(async () => (await prepareSelect(connection, sql)).stream());
      return {
        columns: distinctNames(result.columnNames()),
        async *batches() {
          for (;;) {
            const chunk = await running(() => result.fetchChunk());
            if (chunk === null || chunk.rowCount === 0) {
              if (!result.isStreaming) {
                throw await failureOf(sql);
              }
              return;
            }
            yield { rows: chunk.getRows().map((row) => row.map(jsonOf)) };
          }
        },
      };
    },
    async saveParquet(sql) {
      await running(() => prepareSelect(connection, sql));
      return await save(sql);
    },
    async names() {
      const found = await running(() => connection.runAndReadAll(NAMES));
      return found.getRows().map(([each]) => String(each));
    },
  };
}

/** Returns the plan of a statement that only reads, each line in a row. */
async function planOf(connection: DuckDBConnection, explain: string, statement: string): Promise<QueryRows> {
  (await prepareSelect(connection, statement)).destroySync();
  const plan = await connection.runAndReadAll(`${explain}\n${statement}`);
  return {
    columns: plan.columnNames(),
    async *batches() {
      yield { rows: plan.getRows().flatMap(([key, text]) => linesOf(text).map((line) => [String(key), line])) };
    },
  };
}

const linesOf = (text: unknown) => String(text).trimEnd().split("\n");

const NAMES = `SELECT DISTINCT name FROM (
  SELECT table_name AS name FROM duckdb_columns() WHERE NOT internal
  UNION ALL SELECT column_name FROM duckdb_columns() WHERE NOT internal
  UNION ALL SELECT function_name || '(' FROM duckdb_functions() WHERE NOT internal
) ORDER BY name`;

/**
 * Prepares a statement that only reads.
 *
 * @throws {@link RequestError} if it does more, or there are several; errors of DuckDB
 */
export async function prepareSelect(connection: DuckDBConnection, sql: string): Promise<DuckDBPreparedStatement> {
  assertStatement(sql);
  const { StatementType } = await loadDuckdb();
  if (
    sql
      .replaceAll(/--[^\n]*|\/\*.*?\*\//gsu, "")
      .trim()
      .replaceAll(";", "") === ""
  ) {
    throw new RequestError("the statement is empty", { advice: "Write a statement such as SELECT * FROM candles_1h." });
  }
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) {
    throw severalStatements();
  }
  const prepared = await statements.prepare(0);
  if (prepared.statementType !== StatementType.SELECT) {
    throw changingStatement();
  }
  return prepared;
}
