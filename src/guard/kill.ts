import { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { StopOrder_Status } from "../../gen/vega/vega_pb.js";
import { TradewireError } from "../errors/index.js";
import { assertKnownKeys, invalidValueError, isIntegerIn, parseSignal } from "../input/assert.js";
import type { Paging } from "../listing/paging.js";
import type { ExecutedCommand } from "../live/execution.js";
import { collectRecords } from "../market/account-records.js";
import { MAX_TIMER_MS, startTimer } from "../runtime/index.js";
import { linkedController, onAbort } from "../signal/abort.js";
import { wait } from "../signal/wait.js";
import type { CommandInit } from "../transaction/input-data.js";
import type { KillOptions, KillReport } from "./guard-types.js";

/** The default time limit, the time between two lists, and how many lists follow a cancellation before the next, in milliseconds. */
const KILL_MS = 300_000;
const LIST_EVERY_MS = 500;
const LISTS_BEFORE_NEXT = 10;
const MAX_PROBLEMS = 10;

/** What the kill switch uses. */
export interface KillServices {
  readonly options: KillOptions;
  readonly closing: AbortSignal;
  readonly publicKey: string;
  readonly records: Paging["records"];
  /** Sends a command with the inner signer, and waits until it was executed. */
  cancel(command: CommandInit, signal: AbortSignal): Promise<ExecutedCommand>;
  /** Looks at the node, so that signed orders are seen. */
  look(): Promise<void>;
  /** The number of signed orders that are not seen and may still be executed. */
  unseen(): number;
}

/** What was listed; `undefined` where the node did not answer. */
type Listed = Pick<KillReport, "orders" | "positions" | "stopOrders">;

/** Without fields, they are for all markets (v0.78.0, `CancelOrder` and `CancelStopOrders` in core/execution/engine.go). */
const CANCELLATIONS = [
  { case: "orderCancellation", value: {} },
  { case: "stopOrdersCancellation", value: {} },
] as const satisfies readonly CommandInit[];

/**
 * Cancels all orders and stop orders, until none is listed.
 *
 * @param services sends and lists
 * @returns what was observed
 */
export async function killSwitch(services: KillServices): Promise<KillReport> {
  const { options, closing, unseen } = services;
  assertKnownKeys("options", options, { timeoutMs: true, signal: true });
  const { timeoutMs = KILL_MS } = options;
  if (!isIntegerIn(timeoutMs, 1, MAX_TIMER_MS)) {
    throw invalidValueError("timeoutMs", timeoutMs, `Give whole milliseconds, 1 to ${MAX_TIMER_MS}.`);
  }
  const ending = linkedController(parseSignal(options.signal));
  const leave = onAbort(closing, () => ending.abort(closing.reason));
  const stopTimer = startTimer(() => ending.abort(new DOMException("the time is up", "TimeoutError")), timeoutMs);
  const { signal } = ending;
  const problems: string[] = [];
  const cancellations = { sent: 0, executed: 0 };
  let listed: Listed = { orders: undefined, stopOrders: undefined, positions: undefined };
  const isClear = () => listed.orders?.length === 0 && listed.stopOrders?.length === 0 && unseen() === 0;
  const report = (reason: unknown) => {
    problems.push(reason instanceof TradewireError ? reason.summary : "a call failed");
    problems.splice(0, problems.length - MAX_PROBLEMS);
  };
  try {
    for (let wasExecuted = false; !(signal.aborted || (wasExecuted && isClear())); ) {
      const ended = await Promise.all(
        CANCELLATIONS.map(async (command) => {
          cancellations.sent += 1;
          const { outcome } = await services.cancel(command, signal);
          const isExecuted = outcome.status === "executed";
          cancellations.executed += isExecuted ? 1 : 0;
          return isExecuted;
        }).map((sending) =>
          sending.catch((reason: unknown) => {
            report(reason);
            return false;
          }),
        ),
      );
      wasExecuted ||= ended.every((each) => each);
      for (let lists = 0; lists < LISTS_BEFORE_NEXT && !signal.aborted; lists += 1) {
        listed = await list(services, signal).catch((reason: unknown) => {
          report(reason);
          return listed;
        });
        await services.look();
        if (isClear() || (!wasExecuted && lists > 0)) {
          break;
        }
        await wait(LIST_EVERY_MS, signal).catch(() => undefined);
      }
    }
    return { isClear: isClear(), cancellations, ...listed, unseen: unseen(), problems };
  } finally {
    stopTimer();
    leave();
    ending.abort();
  }
}

async function list({ records, publicKey }: KillServices, signal: AbortSignal): Promise<Listed> {
  const partyIds = [publicKey];
  const { listAllPositions, listOrders, listStopOrders } = TradingDataService.method;
  const orders = await collectRecords(records(listOrders, { filter: { partyIds, liveOnly: true } }, { signal }));
  const statuses = [StopOrder_Status.PENDING];
  const stops = await collectRecords(records(listStopOrders, { filter: { partyIds, statuses } }, { signal }));
  const positions = await collectRecords(records(listAllPositions, { filter: { partyIds } }, { signal }));
  return {
    orders: orders.map(({ id }) => id),
    stopOrders: stops.flatMap(({ stopOrder }) => (stopOrder === undefined ? [] : [stopOrder.id])),
    positions: Object.fromEntries(
      positions.filter(({ openVolume }) => openVolume !== 0n).map((each) => [each.marketId, String(each.openVolume)]),
    ),
  };
}
