import type { Command } from "commander";
import { CanceledError, RequestError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { type BlockRange, createTypesSql } from "../../index.js";
import { divergenceError } from "../../sync/divergence.js";
import {
  createSyncState,
  estimateSync,
  type FailedUnit,
  type HistoryPlan,
  type PostgresSink,
  planHistory,
  queueSync,
  refreshCoverage,
  retryFailed,
  type SyncClient,
  type SyncOptions,
  type SyncSnapshot,
  type SyncSummary,
  syncHistory,
} from "../../sync/index.js";
import { sinkSchema } from "../../sync/sink-columns.js";
import { newTableSql as duckdbTableSql } from "../../sync/sinks/duckdb/duckdb-tables.js";
import { newTableSql as postgresTableSql } from "../../sync/sinks/postgres/postgres-tables.js";
import { parseSyncOptions } from "../../sync/sync-options.js";
import { reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { addOwnAction, flag, type OptionValues } from "../declarations.js";
import { estimateReport, targetBytes } from "../estimate.js";
import { grouped, size, span, wrappedLines } from "../formatting.js";
import { type CommandContext, errorText, isTerminated, json, printable, Reported, widthOf } from "../output.js";
import { eventsOutput, outputFormat, printReport, printsJsonLines } from "../output-format.js";
import { dryRunOption, estimateOption } from "../shared-options.js";
import { createReporter, type Reporter, summaryObject } from "../sync/reporter.js";
import {
  callsPerSecondOption,
  GAPS_HEADING,
  httpOptions,
  loadingOptions,
  openClients,
  queueCounts,
  rangeOptions,
  rangesText,
  startStatusServer,
  syncOptionsOf,
} from "../sync/sync-options.js";
import { postgresOf, readTarget, type SyncTarget, sinkOf, sinkOptions, targetOptions } from "../sync/target.js";
import { createTables, type Tables } from "../table.js";
import { addSyncCompact } from "./sync-compact-command.js";
import { addSyncStatus } from "./sync-status-command.js";
import { addSyncVerify } from "./sync-verify-command.js";
import { addSyncViews } from "./sync-views-command.js";
import { addSyncWorker } from "./sync-worker-command.js";

const syncCommandOptions = {
  ...targetOptions,
  ...rangeOptions,
  ...loadingOptions,
  ...sinkOptions,
  queue: flag("add missing units to a PostgreSQL queue, for `tradewire sync worker`"),
  retryFailed: flag("with --queue: first return failed units to the queue"),
  callsPerSecond: callsPerSecondOption,
  ...httpOptions,
  dryRun: dryRunOption,
  estimate: estimateOption,
  ...eventsOutput,
  ...clientOptions,
};

type SyncCommandOptions = OptionValues<typeof syncCommandOptions>;

/** Defines the command `sync`, which loads network history into tables, and its subcommands. */
export function addSync(sync: Command, context: CommandContext): void {
  // Subcommands have options of the same names.
  addOwnAction(sync.enablePositionalOptions(), syncCommandOptions, async (options) => {
    context.output.role = "answer";
    await (options.estimate === true ? estimate : options.dryRun === true ? dryRun : runSync)(options, context);
  });
  const add = (name: string, description: string) =>
    sync.command(name).allowExcessArguments(false).description(description);
  addSyncStatus(
    add("status", "Show which segments are loaded, which are missing, and where the history diverges from the node's."),
    context,
  );
  addSyncVerify(
    add("verify", "Compare the row count of each unit with the ledger; with --deep, compare the rows with the node's."),
    context,
  );
  addSyncWorker(
    add(
      "worker",
      "Load the units that `tradewire sync --queue` queues, until stopped. Run workers on any number of machines.",
    ),
    context,
  );
  addSyncCompact(
    add("compact", "Merge small Parquet files. It is safe to run while a sync writes to the folder."),
    context,
  );
  addSyncViews(
    add("views", "Create or update the views of a database, as a sync does at its start, and load no rows."),
    context,
  );
}

/** The maximum number of failed units that are listed. */
const MAX_NAMED = 20;

/**
 * Runs `tradewire sync`.
 *
 * @throws {@link Reported} if units failed; errors of the sync unchanged
 */
async function runSync(options: SyncCommandOptions, context: CommandContext): Promise<void> {
  const { signal } = context;
  const target = readTarget(options, context);
  const how = syncOptionsOf(options);
  // Invalid options are refused before any output.
  parseSyncOptions({ ...how, sink: sinkOf(target, options) });
  const queued = checkQueue(options, target);
  const state = createSyncState(how);
  await using watch = await startStatusServer(options, state, { signal, queue: queued && (() => queueCounts(queued)) });
  const reporter = createReporter(state, printsJsonLines(options, context), context);
  const startedAt = monotonicMs();
  let summary: SyncSummary;
  try {
    if (watch !== undefined) {
      reporter.notes.write(`Status page: ${watch.url}\n`);
    }
    await using nodes = openClients(options, reportsTo(reporter.notes, context));
    const sync: Sync = {
      clients: nodes.clients,
      how: { ...how, signal, hooks: { onEvent: reporter.onEvent } },
      target,
      covered: (sink) => (watch === undefined ? () => {} : refreshCoverage(state, sink, { signal })),
      reporter,
    };
    if (queued !== undefined && options.retryFailed === true) {
      reporter.notes.write(`${grouped(await retryFailed(queued))} failed exports were returned to the queue.\n`);
    }
    summary = await loadAndIndex(sync, options);
  } catch (reason) {
    reporter.end();
    if (signal.aborted && reason instanceof CanceledError) {
      return reportInterruption(reason, state.snapshot().total.loaded, options, context);
    }
    throw reason;
  }
  reporter.end();
  const seconds = (monotonicMs() - startedAt) / 1000;
  reportSummary(
    summary,
    { seconds, name: sinkOf(target).name, beyond: beyondRange(state.snapshot()) },
    options,
    context,
  );
}

/** Returns the node's blocks if none of its segments lies within the range. */
function beyondRange({ history, node }: SyncSnapshot): BlockRange | undefined {
  return history === undefined ? node : undefined;
}

/**
 * Checks the options of a queue, and creates its sink.
 *
 * @throws {@link RequestError} if an option needs a queue, or excludes it
 */
function checkQueue(
  { queue, retryFailed: retry, callsPerSecond, parallel }: SyncCommandOptions,
  target: SyncTarget,
): PostgresSink | undefined {
  if (queue === true) {
    if (parallel !== undefined) {
      throw new RequestError("--parallel cannot be combined with --queue: the workers load the units", {
        advice: "Use --parallel with `tradewire sync worker`.",
      });
    }
    return postgresOf(target, "--queue");
  }
  const queueFlag = retry === true ? "--retry-failed" : callsPerSecond === undefined ? undefined : "--calls-per-second";
  if (queueFlag !== undefined) {
    throw new RequestError(`${queueFlag} needs --queue`, { advice: `Add --queue, or remove ${queueFlag}.` });
  }
  return undefined;
}

interface Sync {
  readonly clients: readonly SyncClient[];
  readonly how: Omit<SyncOptions, "sink">;
  readonly target: SyncTarget;
  readonly covered: (sink: SyncOptions["sink"]) => () => void;
  readonly reporter: Reporter;
}

async function loadAndIndex(sync: Sync, options: SyncCommandOptions): Promise<SyncSummary> {
  const { how, target } = sync;
  const isAfter = options.createIndexes === "after";
  const isForQueries = target.kind === "postgres" && options.indexes !== "keys";
  if (!isAfter && !isForQueries) {
    return await load(sync, how, options);
  }
  // The present history is loaded before indexes are created and new segments are followed.
  const retry = how.follow === true ? { retryForMs: Number.POSITIVE_INFINITY } : {};
  const first = await load(sync, { ...how, follow: false, pollMs: undefined, ...retry }, options);
  if (first.chainId === "") {
    return how.follow === true ? await load(sync, how, options) : first;
  }
  if (isAfter) {
    sync.reporter.notes.write("Creating the primary keys and indexes.\n");
  }
  // A sink that is opened with indexes creates the missing ones.
  await using sink = postgresOf(target, "--create-indexes", { createIndexes: "with" });
  const tables = first.tables.map(({ table }) => table);
  const signal = how.signal ?? new AbortController().signal;
  await sink.open({ chainId: first.chainId, tables, unknownColumns: "add", onUnknown: () => undefined, signal });
  const created = isForQueries ? await sink.createQueryIndexes(signal) : 0;
  if (created > 0) {
    sync.reporter.notes.write(`Created ${created} indexes for common queries. To create none, use --indexes keys.\n`);
  }
  return how.follow === true ? await load(sync, how, { ...options, createIndexes: "with" }) : first;
}

async function load(
  { clients, target, covered }: Sync,
  how: Omit<SyncOptions, "sink">,
  { queue, callsPerSecond, ...choices }: SyncCommandOptions,
): Promise<SyncSummary> {
  if (queue === true) {
    const { parallel: _, ...planned } = how;
    const sink = postgresOf(target, "--queue", choices);
    const leave = covered(sink);
    return await queueSync(clients, { ...planned, callsPerSecond, sink }).finally(leave);
  }
  const sink = sinkOf(target, choices);
  const leave = covered(sink);
  return await syncHistory(clients, { ...how, sink }).finally(leave);
}

/**
 * Reports that a sync was interrupted. A sync with --follow ends in no other way, so SIGTERM is a success, as service
 * managers expect.
 */
function reportInterruption(
  reason: CanceledError,
  loaded: { readonly units: number; readonly rows: bigint },
  options: SyncCommandOptions,
  context: CommandContext,
): void {
  const { out, notes, signal } = context;
  if (printsJsonLines(options, context)) {
    out.write(json({ event: "interrupted", units: loaded.units, rows: loaded.rows }));
  } else {
    const did = `${grouped(loaded.units)} exports were loaded; exports in flight were canceled and rolled back.`;
    notes.write(`Interrupted: ${did}\nRun the same command again to continue.\n`);
  }
  if (options.follow !== true || !isTerminated(signal)) {
    throw reason;
  }
}

function reportSummary(
  summary: SyncSummary,
  {
    seconds,
    name,
    beyond,
  }: { readonly seconds: number; readonly name: string; readonly beyond: BlockRange | undefined },
  options: SyncCommandOptions,
  context: CommandContext,
): void {
  const { out, err } = context;
  const { chainId, units, rows, bytes, tables, failed, gaps } = summary;
  if (printsJsonLines(options, context)) {
    out.write(json(summaryObject(summary)));
  } else {
    const did = `${grouped(rows)} rows from ${grouped(units)} exports, ${size(Number(bytes))} of CSV, in ${span(seconds)}`;
    const all = grouped(tables.reduce((sum, table) => sum + table.rows, 0n));
    const text = `Loaded ${did}. The synced tables of ${printable(name)} have ${all} rows.\n`;
    out.write(wrappedLines(text, widthOf(context)));
  }
  if (beyond !== undefined) {
    const { fromBlock, toBlock } = beyond;
    err.write(
      `tradewire: the node has no segment between --from-block and --to-block; its history has blocks ${fromBlock} to ${toBlock}. Nothing was loaded.\n`,
    );
    throw new Reported();
  }
  if (chainId === "" || failed.length > 0 || gaps.length > 0) {
    err.write(chainId === "" ? "tradewire: the node has no history yet. Nothing was loaded.\n" : "");
    err.write(failed.length === 0 ? "" : failedText(failed));
    err.write(gaps.length === 0 ? "" : `tradewire: ${gapsText(gaps)}`);
    throw new Reported();
  }
}

function gapsText(gaps: SyncSummary["gaps"]): string {
  return rangesText(`${GAPS_HEADING.charAt(0).toLowerCase()}${GAPS_HEADING.slice(1)}`, gaps);
}

function failedText(failed: readonly FailedUnit[]): string {
  const named = failed.slice(0, MAX_NAMED).map(({ unit: { table, fromBlock, toBlock }, error }) => {
    return `  ${table} of blocks ${fromBlock} to ${toBlock}: ${printable(error.summary)}\n`;
  });
  const further = failed.length > MAX_NAMED ? `  and ${failed.length - MAX_NAMED} more\n` : "";
  const head = `tradewire: ${failed.length} ${failed.length === 1 ? "export failed and was" : "exports failed and were"} rolled back\n`;
  return `${head}Run the same command again to fetch what is missing.\n${named.join("")}${further}`;
}

/**
 * Runs `tradewire sync --dry-run`, which shows what would be fetched, and changes nothing.
 *
 * @throws {@link Reported} if the histories diverge, so that a sync would stop
 */
async function dryRun(options: SyncCommandOptions, context: CommandContext): Promise<void> {
  const { out, signal } = context;
  const target = readTarget(options, context);
  const how = syncOptionsOf(options);
  checkQueue(options, target);
  const sink = sinkOf(target, options);
  await using nodes = openClients(options, context);
  const plan = await planHistory(nodes.clients, { ...how, retryForMs: 0, sink, signal });
  if (printsJsonLines(options, context)) {
    out.write(json({ event: "plan", ...plan, sql: tablesSql(target, how.tables ?? tableNames) }));
  } else {
    const tables = createTables(context);
    out.write(planText(plan, sink.name, tables.format));
    tables.printOmissions();
  }
  reportDivergence(plan, sink.name, context);
  if (plan.gaps.length > 0) {
    throw new Reported();
  }
}

/**
 * Reports where a sync would stop.
 *
 * @throws {@link Reported} if the histories diverge
 */
function reportDivergence({ divergence }: HistoryPlan, name: string, { err }: CommandContext): void {
  if (divergence !== undefined) {
    err.write(errorText(divergenceError(name, divergence)));
    throw new Reported();
  }
}

/**
 * Runs `tradewire sync --estimate`, which changes nothing.
 *
 * @throws {@link Reported} if the histories diverge, so that a sync would stop
 */
async function estimate(options: SyncCommandOptions, context: CommandContext): Promise<void> {
  const { signal } = context;
  const target = readTarget(options, context);
  const how = syncOptionsOf(options);
  checkQueue(options, target);
  await using nodes = openClients(options, context);
  const sink = sinkOf(target, options);
  const { plan, ...expected } = await estimateSync(nodes.clients, { ...how, retryForMs: 0, sink, signal });
  const grown = { name: sink.name, bytes: targetBytes(target.kind, expected) };
  const { table, object } = estimateReport(expected, grown, context);
  const { chainId, blocks } = plan;
  await printReport(
    { table, object: () => ({ event: "estimate", chainId, blocks, ...object() }) },
    outputFormat(options, context),
    context,
  );
  reportDivergence(plan, sink.name, context);
}

function planText(
  { chainId, blocks, segments, tables, gaps, foreign }: HistoryPlan,
  name: string,
  format: Tables["format"],
): string {
  const lines = tables.map((plan) => [plan.table, plan.units, plan.rows, plan.missing, plan.calls].map(String));
  const sum = (of: "units" | "rows" | "missing" | "calls") =>
    tables.reduce((total, plan) => total + BigInt(plan[of]), 0n);
  const totals = ["all tables", ...[sum("units"), sum("rows"), sum("missing"), sum("calls")].map(String)];
  const where = blocks === undefined ? "" : `, blocks ${blocks.fromBlock} to ${blocks.toBlock}`;
  const replaced = foreign === 0 ? "" : `${grouped(foreign)} units of another history would be replaced or deleted.\n`;
  return [
    `The node's chain ${printable(chainId)} has ${grouped(segments)} segments${where}.\n\n`,
    format(["table", "units loaded", "rows loaded", "segments missing", "exports"], [...lines, totals]),
    `\n${replaced}${grouped(sum("calls"))} exports would load the missing segments into ${printable(name)}. Nothing was changed.\n`,
    rangesText(GAPS_HEADING, gaps),
  ].join("");
}

/** Returns the statements that create the tables; none for files. */
function tablesSql({ kind }: SyncTarget, tables: readonly TableName[]): string[] {
  if (kind === "postgres") {
    return [...createTypesSql(tables.map(sinkSchema), "postgres"), ...tables.map((table) => postgresTableSql(table))];
  }
  return kind === "duckdb" ? tables.map(duckdbTableSql) : [];
}
