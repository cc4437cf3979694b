import { chmod } from "node:fs/promises";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { RequestError } from "../../base/errors/index.js";
import { fileError } from "../../base/errors/node-errors.js";
import { createFolder } from "../../base/file/atomic-file.js";
import { createSyncState, type ExportsEstimate, type SyncClient, type SyncEvent } from "../../sync/index.js";
import {
  archivesSource,
  duckdbSource,
  estimateStatement,
  type FileSourceOptions,
  type NodeSourceOptions,
  nodeSource,
  parquetSource,
  postgresSource,
  type QuerySource,
} from "../../sync/query/sources.js";
import { reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { flagOf, type OptionValues, parsed, text } from "../declarations.js";
import { type CommandContext, printable, type Streams } from "../output.js";
import { parseSize } from "../parsers.js";
import { blockOptions } from "../shared-options.js";
import { createReporter, eventText } from "../sync/reporter.js";
import { GAPS_HEADING, openClients, rangeOf } from "../sync/sync-options.js";
import { readTarget, targetOptions } from "../sync/target.js";

/** The options that choose what is queried. */
export const sourceOptions = {
  from: text(
    "<target>",
    "what to query in place of a node: duckdb:FILE, parquet:FOLDER or postgres://user@host/database",
    { completions: targetOptions.to.completions },
  ),
  fromEnv: text("<name>", "environment variable with the target, instead of --from; the target may contain a password"),
  fromArchives: text("<folder>", "query the archives in this folder, of one chain"),
  schema: text("<name>", "PostgreSQL schema of the tables (default: public)"),
  ...blockOptions(
    "statements read no rows of earlier blocks of the node",
    "statements read no rows of later blocks of the node",
  ),
  memory: parsed("<size>", "memory limit of DuckDB, such as 512MiB (default: 1GiB)", parseSize),
  cacheSize: parsed("<size>", "maximum size of the cache of the node's history (default: 4GiB)", parseSize),
  ...clientOptions,
};

export type SourceOptions = OptionValues<typeof sourceOptions>;

/** The default of `--memory` and of `--cache-size`, in bytes. */
const [MEMORY_BYTES, CACHE_BYTES] = [2 ** 30, 4 * 2 ** 30];

/** What is queried. */
export interface OpenedSource extends QuerySource {
  /** The heading of the blocks that the tables of a statement lack. */
  readonly gapsHeading: string;
  /** Estimates what a statement would export. Absent if nothing is exported. */
  readonly estimate?: (sql: string, signal: AbortSignal) => Promise<ExportsEstimate>;
}

/** Returns the heading of blocks that no node was asked for. */
const unloaded = (advice: string) => ({
  gapsHeading: `missing blocks, although others are loaded, so that rows may be missing (${advice})`,
});

/**
 * Creates the source of the options. Nothing is opened before the first statement.
 *
 * @throws {@link RequestError} if options are invalid or exclude each other
 */
export function openSource(options: SourceOptions, context: CommandContext): OpenedSource {
  const memoryLimit = `${options.memory ?? MEMORY_BYTES}B`;
  const { from, fromEnv, fromArchives, schema } = options;
  if (fromArchives !== undefined) {
    refuse(options, ["from", "fromEnv", "schema", ...NODE_ONLY], "--from-archives");
    return { ...archivesSource(fromArchives, memoryLimit), ...unloaded("export them to the folder") };
  }
  if (from === undefined && fromEnv === undefined) {
    refuse(options, ["schema"], "a node");
    return openNode(options, memoryLimit, context);
  }
  refuse(options, NODE_ONLY, "--from");
  const { kind, place, ...target } = readTarget(
    {
      ...(from !== undefined && { to: from }),
      ...(fromEnv !== undefined && { toEnv: fromEnv }),
      ...(schema !== undefined && { schema }),
    },
    context,
    "--from",
  );
  const heading = unloaded("load them with `tradewire sync`");
  switch (kind) {
    case "duckdb":
      return { ...duckdbSource(place, memoryLimit, fileOptions(options, context)), ...heading };
    case "parquet":
      return { ...parquetSource(place, memoryLimit), ...heading };
    case "postgres":
      refuse(options, ["memory"], "PostgreSQL");
      return { ...postgresSource(place, { schema: target.schema, timeoutMs: options.timeout }), ...heading };
  }
}

/** Waits for a sync that writes to the file as long as --timeout allows, which ends the command itself. */
function fileOptions({ timeout }: SourceOptions, { err, notes }: CommandContext): FileSourceOptions {
  return {
    ...(timeout !== undefined && { maxWaitMs: Number.POSITIVE_INFINITY }),
    onShadowed(names) {
      const own = printable(names.join(", "));
      err.write(`tradewire: the file has its own ${own}; without the prefix, these names are those of tradewire\n`);
    },
    onWait: ({ summary }) => notes.write(`Waiting until the file can be read. ${printable(summary)}\n`),
  };
}

/** The options that apply to a node only. */
const NODE_ONLY = ["fromBlock", "toBlock", "cacheSize"] as const;

function refuse(options: SourceOptions, names: readonly (keyof SourceOptions)[], other: string): void {
  const name = names.find((each) => options[each] !== undefined);
  if (name !== undefined) {
    throw new RequestError(`${flagOf(name)} does not apply to ${other}`, { advice: "Remove the option." });
  }
}

function openNode(options: SourceOptions, memoryLimit: string, context: CommandContext): OpenedSource {
  async function withNodes<T>(use: (clients: readonly SyncClient[], how: NodeSourceOptions) => Promise<T>): Promise<T> {
    const { err, notes, environment } = context;
    const { range } = rangeOf(options);
    const isShown = notes.isTTY === true && environment["TERM"] !== "dumb";
    const reporter = isShown ? createReporter(createSyncState({ range }), false, context) : undefined;
    const lines = reporter?.notes ?? notes;
    const onEvent = (event: SyncEvent) => {
      reporter?.onEvent(event);
      if (reporter === undefined && event.kind === "unlisted") {
        err.write(`tradewire: ${eventText(event)}\n`);
      }
    };
    await using nodes = openClients(options, reportsTo(lines, context));
    const onWait = (pid: number | undefined) =>
      lines.write(`Waiting for another query${pid === undefined ? "" : ` (process ${pid})`}.\n`);
    try {
      return await use(nodes.clients, {
        range,
        memoryLimit,
        cacheFolder: await cacheFolder(context),
        cacheBytes: options.cacheSize ?? CACHE_BYTES,
        hooks: { onEvent, onWait },
      });
    } finally {
      reporter?.end();
    }
  }
  return {
    open: (sql, signal) => withNodes((clients, how) => nodeSource(clients, how).open(sql, signal)),
    estimate: (sql, signal) => withNodes((clients, how) => estimateStatement(clients, sql, how, signal)),
    gapsHeading: `${GAPS_HEADING.charAt(0).toLowerCase()}${GAPS_HEADING.slice(1)}`,
    async [Symbol.asyncDispose]() {},
  };
}

/** Returns the folder of the cache, which only the user can read. It is created if it does not exist. */
export async function cacheFolder({ environment }: Pick<Streams, "environment">): Promise<string> {
  const { XDG_CACHE_HOME = "", HOME = homedir() } = environment;
  const base = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(HOME, ".cache");
  const folder = join(base, "tradewire", "queries");
  createFolder(folder);
  try {
    await chmod(folder, 0o700);
  } catch (reason) {
    throw fileError(reason, folder);
  }
  return folder;
}
