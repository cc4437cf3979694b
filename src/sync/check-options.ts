import {
  checkSignal,
  requireFunction,
  requireKnown,
  requireOneOf,
  shown,
  whole,
  wrong,
} from "../errors/check-values.js";
import { RequestError } from "../errors/index.js";
import type { BlockRange } from "../history/segments.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { readTable, type TableName, tableNames } from "../schema/tables.js";
import type { SyncClient, SyncHooks, SyncOptions } from "./options.js";

/** The largest block. */
const MAX_BLOCK = 2n ** 63n - 1n;
/** The most units side by side: each holds a stream, and some memory, at both ends. */
const MAX_PARALLEL = 100;
/** The most segments of a unit, which is fetched again as a whole when it fails. */
const MAX_SEGMENTS_PER_EXPORT = 1000;
/** The most attempts at a unit. */
const MAX_ATTEMPTS = 1000;

/** All options, so that other names are refused. A name that is missing here does not compile. */
const NAMES: { readonly [name in keyof Required<SyncOptions>]: true } = {
  sink: true,
  tables: true,
  range: true,
  follow: true,
  pollMs: true,
  parallel: true,
  segmentsPerExport: true,
  replaceFrom: true,
  unknownColumns: true,
  attempts: true,
  patienceMs: true,
  signal: true,
  hooks: true,
};

/** The options of a sync, checked, with their defaults. */
export interface CheckedOptions {
  readonly tables: readonly TableName[];
  readonly range: BlockRange;
  readonly follow: boolean;
  readonly pollMs: number;
  readonly parallel: number;
  readonly segmentsPerExport: number;
  readonly replaceFrom: bigint | undefined;
  readonly unknownColumns: "add" | "fail";
  readonly attempts: number;
  readonly patienceMs: number;
  readonly signal: AbortSignal | undefined;
  readonly hooks: SyncHooks | undefined;
}

/**
 * Check the options of a sync, and fill in the defaults.
 *
 * @param options the options
 * @returns all of them but the sink
 * @throws {@link RequestError} where a name is unknown or a value is wrong
 */
export function checkSyncOptions(options: SyncOptions): CheckedOptions {
  requireKnown("options", options, NAMES);
  const { follow = false, pollMs = 60_000, parallel = 2, segmentsPerExport = 1, attempts = 5 } = options;
  const { unknownColumns = "add", patienceMs = follow ? Number.POSITIVE_INFINITY : 300_000 } = options;
  requireOneOf("follow", follow, [true, false]);
  requireOneOf("unknownColumns", unknownColumns, ["add", "fail"]);
  checkSignal(options.signal);
  if (options.hooks !== undefined) {
    requireKnown("hooks", options.hooks, { onEvent: true });
    requireFunction("onEvent", options.hooks.onEvent);
  }
  if (typeof patienceMs !== "number" || !(patienceMs >= 0)) {
    throw wrong("patienceMs", patienceMs, "Give milliseconds from 0 on, or Infinity.");
  }
  return {
    tables: checkTables(options.tables),
    range: checkBlocks(options.range),
    follow,
    pollMs: whole("pollMs", pollMs, MAX_TIMER_MS),
    parallel: whole("parallel", parallel, MAX_PARALLEL),
    segmentsPerExport: whole("segmentsPerExport", segmentsPerExport, MAX_SEGMENTS_PER_EXPORT),
    replaceFrom: options.replaceFrom === undefined ? undefined : block("replaceFrom", options.replaceFrom),
    unknownColumns,
    attempts: whole("attempts", attempts, MAX_ATTEMPTS),
    patienceMs,
    signal: options.signal,
    hooks: options.hooks,
  };
}

/**
 * Check a list of tables.
 *
 * @param tables the names; all tables by default
 * @returns the names, each once, in the order given
 * @throws {@link RequestError} where one is unknown, or there is none
 */
export function checkTables(tables: readonly TableName[] | undefined): readonly TableName[] {
  if (tables === undefined) {
    return tableNames;
  }
  if (!Array.isArray(tables) || tables.length === 0) {
    throw wrong("tables", tables, "Give a list of at least one, or leave it out for all tables.");
  }
  return [...new Set(tables.map(readTable))];
}

/**
 * Check a range of blocks.
 *
 * @param range its ends, each of which may be left out
 * @returns the range, both ends inclusive
 * @throws {@link RequestError} where an end is no block, or the range is reversed
 */
export function checkBlocks(range: SyncOptions["range"] = {}): BlockRange {
  requireKnown("range", range, { fromBlock: true, toBlock: true });
  const fromBlock = block("fromBlock", range.fromBlock ?? 0n);
  const toBlock = block("toBlock", range.toBlock ?? MAX_BLOCK);
  if (fromBlock > toBlock) {
    throw new RequestError(`fromBlock ${fromBlock} is behind toBlock ${toBlock}`, {
      advice: "Give the first block of the range as fromBlock and its last as toBlock.",
    });
  }
  return { fromBlock, toBlock };
}

/**
 * Check the nodes of a sync.
 *
 * @param clients one client, or several
 * @returns all of them
 * @throws {@link RequestError} where there is none
 */
export function clientsOf(clients: SyncClient | readonly SyncClient[]): readonly SyncClient[] {
  const all: readonly SyncClient[] = Array.isArray(clients) ? clients : [clients];
  if (all.length === 0) {
    throw new RequestError("a sync has no client", { advice: "Give a client, or a list of at least one." });
  }
  for (const client of all) {
    if ([client?.listSegments, client?.exportNetworkHistory].some((method) => typeof method !== "function")) {
      throw new RequestError(`${shown(client)} is no client`, { advice: "Give what createClient() has made." });
    }
  }
  return all;
}

function block(name: string, value: bigint | number): bigint {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) {
    const whole = BigInt(value);
    if (whole >= 0n && whole <= MAX_BLOCK) {
      return whole;
    }
  }
  throw wrong(name, value, "Give the number of a block.");
}
