import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { Code } from "../../../base/errors/code.js";
import { MAX_MESSAGE, truncate } from "../../../base/errors/error-text.js";
import { CanceledError, RequestError, SinkError, TradewireError } from "../../../base/errors/index.js";
import { isError } from "../../../base/errors/node-errors.js";
import { onAbort } from "../../../base/signal/abort.js";
import { throwIfAborted } from "../../../base/signal/wait.js";
import { optionalPackage } from "../../optional-package.js";

/** The oldest version of DuckDB whose types and settings the sinks use. */
const MIN_VERSION = [1, 5] as const;

const importDuckdb = optionalPackage(
  () => import("@duckdb/node-api"),
  "syncing to DuckDB or Parquet",
  "@duckdb/node-api",
);

/**
 * Loads DuckDB. Its package is an optional peer whose range in package.json is `*`: every release of it is a prerelease in
 * the sense of semver, such as `1.5.6-r.1`, which no range of versions matches beyond the patch that it names. The version is
 * therefore checked here.
 *
 * @throws {@link RequestError} when the package is not installed, or holds a DuckDB before 1.5
 */
export async function loadDuckdb() {
  const duckdb = await importDuckdb();
  const version = duckdb.version();
  const [major = 0, minor = 0] = version.replace(/^v/u, "").split(".").map(Number);
  if (major < MIN_VERSION[0] || (major === MIN_VERSION[0] && minor < MIN_VERSION[1])) {
    throw new RequestError(
      `the package @duckdb/node-api contains DuckDB ${version}, but ${MIN_VERSION.join(".")} or later is required`,
      {
        advice: "Install a newer one: npm install @duckdb/node-api@latest",
        errorCode: "TW_MISSING_PACKAGE",
      },
    );
  }
  return duckdb;
}

const PERMISSIONS = "Check the permissions of the file and its folder.";
const DAMAGED =
  "The file is damaged. Restore it from a backup, or remove its unit with remove() of the sink and sync again.";

/**
 * The meanings of DuckDB's messages: a pattern of the message, the code, and the advice. The first match applies. Messages that
 * quote a value come first: the value is the node's, and could contain the pattern of another one.
 */
const MEANINGS: readonly (readonly [part: RegExp, code: Code, advice: string])[] = [
  [/^Invalid Input Error: Cannot execute statement/u, Code.PermissionDenied, PERMISSIONS],
  [
    /^Invalid Input Error: (?:Malformed JSON|JSON transform error) in file/u,
    Code.DataLoss,
    "The file is damaged. Delete it: the next sync stores what a node lists again.",
  ],
  [/^Invalid Input Error: (?:No magic bytes|File '[^']*' too small to be a Parquet)/u, Code.DataLoss, DAMAGED],
  [
    /^(?:Conversion|Invalid Input|Constraint) Error/u,
    Code.DataLoss,
    "The network may have changed its tables. Install a newer release, or report this to the operator of the node.",
  ],
  [
    /lock on file|Conflicting lock/u,
    Code.Unavailable,
    "Wait until that process has closed the file. Only one process at a time can open a DuckDB file for writing, and others can read it only while no process writes.",
  ],
  [
    /different configuration|Unique file handle/u,
    Code.Unavailable,
    "Close the other connection to the file in this process.",
  ],
  [/version number|newer version|storage version/u, Code.FailedPrecondition, "Install a newer @duckdb/node-api."],
  [/not a valid DuckDB/u, Code.FailedPrecondition, "Choose another path: the file is not overwritten."],
  [/conflict/iu, Code.Aborted, "Retry immediately: another transaction conflicted with this one."],
  [/No space left/u, Code.ResourceExhausted, "Free some space on the disk."],
  [/^Out of Memory/u, Code.ResourceExhausted, "Raise memoryLimit of the sink."],
  [/Permission denied|read-only|Read-only/u, Code.PermissionDenied, PERMISSIONS],
  [/No such file/u, Code.NotFound, "Check the path."],
  [/magic bytes|too small to be a Parquet|TProtocol|ZSTD|Parquet file|parquet file|corrupt/u, Code.DataLoss, DAMAGED],
];
const OTHER = "Check the file, the disk and the permissions.";

export function duckdbError(reason: unknown, where: string): TradewireError {
  if (reason instanceof TradewireError) {
    return reason;
  }
  const said = isError(reason) ? reason.message : String(reason);
  const [, code, advice] = MEANINGS.find(([part]) => part.test(said)) ?? [undefined, Code.Unknown, OTHER];
  // The paragraphs after the first one are hints for authors of SQL.
  const [first = ""] = said.split(/\n\s*\n|\n(?:Possible |Column .* is being)/u);
  const line = truncate(first.replace(/ ?See also https:\S+/u, "").trim(), MAX_MESSAGE).replace(/\p{Cc}+/gu, " ");
  return new SinkError(`${where}: ${line}`, { code, advice, cause: reason });
}

/**
 * Awaits an operation of DuckDB, and converts its errors.
 *
 * @throws {@link SinkError} if DuckDB fails
 */
export async function inDuckdb<T>(where: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (reason) {
    throw duckdbError(reason, where);
  }
}

/**
 * Runs an operation on a new connection. The signal interrupts it. A transaction that it leaves open is rolled back.
 *
 * @throws {@link SinkError} if DuckDB fails; {@link CanceledError} if the signal is aborted
 */
export async function withConnection<T>(
  instance: DuckDBInstance,
  where: string,
  use: (connection: DuckDBConnection) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  throwIfAborted(signal);
  const connection = await inDuckdb(where, instance.connect());
  const stop = onAbort(signal, () => connection.interrupt());
  try {
    throwIfAborted(signal); // While it connected.
    return await inDuckdb(where, use(connection));
  } catch (reason) {
    throw signal?.aborted === true ? new CanceledError({ cause: reason }) : reason;
  } finally {
    stop();
    connection.closeSync();
  }
}
