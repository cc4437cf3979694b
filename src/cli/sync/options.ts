import { Option } from "commander";
import { RequestError } from "../../errors/index.js";
import { readTable } from "../../schema/tables.js";
import type { SyncOptions } from "../../sync/options.js";
import { milliseconds } from "../client-options.js";
import { blockHeight, wholeNumber } from "../whole-number.js";
import { repeated } from "./clients.js";

/** The values of {@link rangeOptions}. */
export interface RangeOptions {
  readonly table?: readonly string[];
  readonly fromBlock?: bigint;
  readonly toBlock?: bigint;
}

/** The values of {@link howOptions}. Durations are in milliseconds. */
export interface HowOptions extends RangeOptions {
  readonly follow?: boolean;
  readonly poll?: number;
  readonly parallel?: number;
  readonly segmentsPerExport?: number;
  readonly replaceFrom?: bigint;
  readonly unknownColumns?: "add" | "fail";
}

/**
 * Create the options that say which part of the history is meant.
 *
 * @returns the options
 */
export function rangeOptions(): Option[] {
  return [
    new Option("--table <name>", "a table, may be given several times (default: all tables)").argParser(repeated),
    new Option("--from-block <height>", "leave out segments that begin before it").argParser(blockHeight),
    new Option("--to-block <height>", "leave out segments that end behind it").argParser(blockHeight),
  ];
}

/**
 * Create the options that say how history is synced.
 *
 * @returns the options
 */
export function howOptions(): Option[] {
  return [
    new Option("--follow", "go on with new segments as they appear"),
    new Option("--poll <duration>", "time between two looks for new segments, such as 30s, 5m (default: 1m)").argParser(
      (text: string) => milliseconds("--poll", text),
    ),
    new Option("--parallel <count>", "units that are fetched and loaded side by side (default: 2)").argParser(
      wholeNumber,
    ),
    new Option("--segments-per-export <count>", "adjacent segments that one export brings (default: 1)").argParser(
      wholeNumber,
    ),
    new Option("--replace-from <block>", "from this block on, take the node's history in place of another").argParser(
      blockHeight,
    ),
    new Option("--unknown-columns <rule>", "whether columns of a newer node become text, or fail the unit").choices([
      "add",
      "fail",
    ]),
  ];
}

/** The values of {@link limitOptions}. */
export interface LimitOptions {
  readonly callsPerSecond?: number;
}

/**
 * Create the options that limit the calls of planners and workers of a queue together.
 *
 * @returns the options
 */
export function limitOptions(): Option[] {
  return [
    new Option(
      "--calls-per-second <count>",
      "calls of a node by all planners and workers of a queue; give all of them the same (default: 20)",
    ).argParser(wholeNumber),
  ];
}

/** The values of {@link watchOptions}. */
export interface WatchCommandOptions {
  readonly listen?: string;
  readonly listenName?: readonly string[];
}

/**
 * Create the options that serve how a sync goes.
 *
 * @returns the options
 */
export function watchOptions(): Option[] {
  return [
    new Option("--listen <host:port>", "serve a page, metrics and health there, such as 127.0.0.1:9464"),
    new Option("--listen-name <name>", "a further name that it may be asked by, such as a container's").argParser(
      repeated,
    ),
  ];
}

/**
 * Read which tables and blocks are meant.
 *
 * @param options the values of the options
 * @returns tables and range; all where nothing was given
 * @throws {@link RequestError} where a table is unknown
 */
export function rangeOf({ table, fromBlock, toBlock }: RangeOptions): Pick<SyncOptions, "tables" | "range"> {
  const range = { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
  return { ...(table && { tables: [...new Set(table.map(readTable))] }), range };
}

/**
 * Read how history is to be synced.
 *
 * @param options the values of the options
 * @returns the options of the library, without the sink
 * @throws {@link RequestError} where a table is unknown, or options do not fit together
 */
export function howOf(options: HowOptions): Omit<SyncOptions, "sink"> {
  const { follow, poll, parallel, segmentsPerExport, replaceFrom, unknownColumns } = options;
  if (poll !== undefined && follow !== true) {
    throw new RequestError("--poll is for --follow", { advice: "Give --follow too, or leave it out." });
  }
  return { ...rangeOf(options), follow, pollMs: poll, parallel, segmentsPerExport, replaceFrom, unknownColumns };
}
