import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import { TradewireError } from "../../base/errors/index.js";
import { assertKnownKeys, parseSignal, requireMs } from "../../base/input/assert.js";
import { withEnding } from "../../base/signal/abort.js";
import { wait } from "../../base/signal/wait.js";
import type { Paging } from "../../data/listing/paging.js";
import type { ExecutedCommand } from "../live/execution.js";
import { collectRecords } from "../market/account-records.js";
import type { CommandInit } from "../transaction/input-data.js";
import { KILL_MS, type KillOptions, type KillReport } from "./guard-types.js";

/** The time between two looks, in milliseconds. */
const LOOK_EVERY_MS = 500;
/** How many looks follow cancellations before the next ones: those that were executed, and others. */
const LOOKS = { executed: 10, other: 2 };
const MAX_PROBLEMS = 10;

/** The services that the kill switch uses. */
export interface KillServices {
  readonly options: KillOptions;
  readonly closing: AbortSignal;
  readonly publicKey: string;
  readonly records: Paging["records"];
  /** Sends a command with the inner signer, and waits until it was executed. */
  cancel(command: CommandInit, signal: AbortSignal): Promise<ExecutedCommand>;
  /** Reads the state of the node, so that signed orders are found. */
  look(signal: AbortSignal): Promise<void>;
  /** The time of the core's last block at the latest reading, in Unix nanoseconds. */
  seenTime(): bigint;
  /** The number of signed orders that the node does not show and that may still be executed. */
  unseen(): number;
  /** Returns the time of the core's last block, in Unix nanoseconds. */
  coreTime(signal: AbortSignal): Promise<bigint>;
  /** Returns the time of the last block that the data node has begun, in Unix nanoseconds. */
  dataNodeTime(signal: AbortSignal): Promise<bigint>;
}

/** The listed records; `undefined` if the node has not answered yet. */
type Listed = Pick<KillReport, "orders" | "positions" | "stopOrders">;

type Found = Listed & Pick<KillReport, "isClear" | "unseen">;

type ReportProblem = (reason: unknown) => undefined;

/** Without fields, they are for all markets (v0.78.0, `CancelOrder` and `CancelStopOrders` in core/execution/engine.go). */
const CANCELLATIONS = [
  { case: "orderCancellation", value: {} },
  { case: "stopOrdersCancellation", value: {} },
] as const satisfies readonly CommandInit[];

/** Cancels all orders and stop orders, until none is listed. */
export async function killSwitch(services: KillServices): Promise<KillReport> {
  const { options, closing } = services;
  assertKnownKeys("options", options, { timeoutMs: true, signal: true });
  const { timeoutMs = KILL_MS } = options;
  requireMs("timeoutMs", timeoutMs);
  const signals = [parseSignal(options.signal), closing];
  return withEnding(timeoutMs, signals, ({ signal }) => cancelUntilClear(services, signal));
}

async function cancelUntilClear(services: KillServices, signal: AbortSignal): Promise<KillReport> {
  const problems: string[] = [];
  const report: ReportProblem = (reason) => {
    problems.push(reason instanceof TradewireError ? reason.summary : "a call failed");
    problems.splice(0, problems.length - MAX_PROBLEMS);
    return undefined;
  };
  const cancellations = { sent: 0, executed: 0 };
  let stopOrdersUntil = 0n;
  const cancel = async (command: (typeof CANCELLATIONS)[number]) => {
    cancellations.sent += 1;
    const time = services.seenTime();
    const { outcome } = await services.cancel(command, signal);
    const isExecuted = outcome.status === "executed";
    cancellations.executed += isExecuted ? 1 : 0;
    if (isExecuted && command.case === "stopOrdersCancellation") {
      stopOrdersUntil = time;
    }
    return isExecuted;
  };
  const unlisted: Listed = { orders: undefined, stopOrders: undefined, positions: undefined };
  let found: Found = { isClear: false, unseen: services.unseen(), ...unlisted };
  let executedBy: bigint | undefined;
  for (let wasExecuted = false; !(signal.aborted || found.isClear); ) {
    const ended = await Promise.all(CANCELLATIONS.map((command) => cancel(command).catch(report)));
    wasExecuted ||= ended.every((each) => each === true);
    const looks = wasExecuted ? LOOKS.executed : LOOKS.other;
    for (let look = 0; look < looks && !signal.aborted; look += 1) {
      executedBy ??= wasExecuted ? await services.coreTime(signal).catch(report) : undefined;
      found = await findOrders(services, signal, { before: found, executedBy, stopOrdersUntil, report });
      if (found.isClear) {
        break;
      }
      await wait(LOOK_EVERY_MS, signal).catch(() => undefined);
    }
  }
  return { cancellations, ...found, problems };
}

/**
 * Finds the orders that are left. Signed orders that are not seen are counted before the live ones are listed: an order that
 * becomes live between the two counts as not seen. Only a listing that has the blocks of the cancellations can be clear: a data node
 * commits a block before it begins the next one (v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go).
 */
async function findOrders(
  services: KillServices,
  signal: AbortSignal,
  {
    before,
    executedBy,
    stopOrdersUntil,
    report,
  }: {
    readonly before: Listed;
    /** A time of the core after the cancellations were executed; `undefined` if they were not, or it is unknown. */
    readonly executedBy: bigint | undefined;
    readonly stopOrdersUntil: bigint;
    readonly report: ReportProblem;
  },
): Promise<Found> {
  await services.look(signal);
  const unseen = services.unseen();
  try {
    const begun = await services.dataNodeTime(signal);
    const listed = await list(services, stopOrdersUntil, signal);
    const hasCancellations = executedBy !== undefined && executedBy < begun;
    const isNoneLeft = unseen === 0 && listed.orders.length === 0 && listed.stopOrders.length === 0;
    return { isClear: hasCancellations && isNoneLeft, unseen, ...listed };
  } catch (reason) {
    report(reason);
    return { ...before, isClear: false, unseen };
  }
}

/**
 * Lists what is live. Stop orders from before an executed cancellation of all have ended, whatever their records say: one that
 * takes the size of the position ends without an event if there is no position (v0.78.0, `submitStopOrders` in
 * core/execution/future/market.go), so its record stays pending.
 */
async function list({ records, publicKey }: KillServices, stopOrdersUntil: bigint, signal: AbortSignal) {
  const partyIds = [publicKey];
  const { listAllPositions, listOrders, listStopOrders } = TradingDataService.method;
  const orders = await collectRecords(records(listOrders, { filter: { partyIds, liveOnly: true } }, { signal }));
  const statuses = [StopOrder_Status.PENDING];
  const stops = await collectRecords(records(listStopOrders, { filter: { partyIds, statuses } }, { signal }));
  const positions = await collectRecords(records(listAllPositions, { filter: { partyIds } }, { signal }));
  return {
    orders: orders.map(({ id }) => id),
    stopOrders: stops.flatMap(({ stopOrder }) =>
      stopOrder === undefined || stopOrder.createdAt <= stopOrdersUntil ? [] : [stopOrder.id],
    ),
    positions: Object.fromEntries(
      positions.filter(({ openVolume }) => openVolume !== 0n).map((each) => [each.marketId, String(each.openVolume)]),
    ),
  };
}
