import { RequestError } from "../../errors/index.js";
import { type CheckedOptions, checkSyncOptions } from "../check-options.js";
import type { SyncOptions } from "../options.js";
import type { PostgresSink } from "../sinks/postgres/postgres-sink.js";
import type { Budget } from "./budget.js";
import { PACE, type Pace } from "./pace.js";

/** How the calls of a node are limited, over all planners and workers of a queue. Give the same to all of them. */
export interface CallLimits {
  /** Calls a second; 20 by default, as nodes allow an address. */
  readonly callsPerSecond?: number | undefined;
  /** Calls at once, where there were none for a while; 100 by default. */
  readonly burst?: number | undefined;
}

/** How units are queued. */
export interface QueueOptions extends Omit<SyncOptions, "sink" | "parallel">, CallLimits {
  /** Where the tables go, and the queue. It is opened, and closed at the end. */
  readonly sink: PostgresSink;
  /** @internal */
  readonly pace?: Partial<Pace> | undefined;
}

/** How a worker loads units. */
export interface WorkerOptions
  extends Pick<SyncOptions, "parallel" | "unknownColumns" | "signal" | "hooks">,
    CallLimits {
  /** Where the tables go, and the queue. It is opened, and closed at the end. */
  readonly sink: PostgresSink;
  /** How many exports of a node all workers may have under way at once; 4 by default. */
  readonly exportsPerNode?: number | undefined;
  /**
   * Whether exports are taken from the calls a second; true by default. Nodes do not count exports over gRPC, so that
   * false is right where all nodes are asked by it.
   */
  readonly countExports?: boolean | undefined;
  /** @internal */
  readonly pace?: Partial<Pace> | undefined;
}

/** The options of a planner, checked. */
export interface CheckedQueueOptions extends CheckedOptions {
  readonly budget: Budget;
  readonly pace: Pace;
}

/** The options of a worker, checked. */
export interface CheckedWorkerOptions extends Pick<CheckedOptions, "parallel" | "unknownColumns" | "signal" | "hooks"> {
  readonly exportsPerNode: number;
  readonly budget: Budget;
  /** Absent where exports do not count. */
  readonly exportBudget: Budget | undefined;
  readonly pace: Pace;
}

/** The most exports at once, and calls a second, that may be asked for. */
const MOST = 10_000;

/**
 * Check the options of a planner, and fill in the defaults.
 *
 * @param options the options
 * @returns all of them but the sink
 * @throws {@link RequestError} where a name is unknown or a value is wrong
 */
export function checkQueueOptions(options: QueueOptions): CheckedQueueOptions {
  const { callsPerSecond, burst, pace, ...rest } = options;
  return { ...checkSyncOptions(rest), budget: budgetOf({ callsPerSecond, burst }), pace: { ...PACE, ...pace } };
}

/**
 * Check the options of a worker, and fill in the defaults.
 *
 * @param options the options
 * @returns all of them but the sink
 * @throws {@link RequestError} where a name is unknown or a value is wrong
 */
export function checkWorkerOptions(options: WorkerOptions): CheckedWorkerOptions {
  const { callsPerSecond, burst, exportsPerNode = 4, countExports = true, pace, ...rest } = options;
  if (typeof countExports !== "boolean") {
    throw new RequestError(`countExports is ${String(countExports)}`, { advice: "Give true or false." });
  }
  const { parallel, unknownColumns, signal, hooks } = checkSyncOptions(rest);
  const budget = budgetOf({ callsPerSecond, burst });
  return {
    parallel,
    unknownColumns,
    signal,
    hooks,
    exportsPerNode: whole("exportsPerNode", exportsPerNode),
    budget,
    exportBudget: countExports ? budget : undefined,
    pace: { ...PACE, ...pace },
  };
}

function budgetOf({ callsPerSecond = 20, burst = 100 }: CallLimits): Budget {
  return { rate: whole("callsPerSecond", callsPerSecond), burst: whole("burst", burst) };
}

function whole(name: string, value: number): number {
  if (!Number.isSafeInteger(value) || value < 1 || value > MOST) {
    throw new RequestError(`${name} is ${String(value)}`, { advice: `Give a whole number from 1 to ${MOST}.` });
  }
  return value;
}
