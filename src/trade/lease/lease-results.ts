import { Order_Status, type StopOrder, StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import { isNotFound } from "../../base/errors/not-found.js";
import type { CommandPart, Outcome } from "../live/transaction-outcome.js";
import type { AccountView } from "../market/account-state.js";
import type { LeaseDataService, LeaseEvents } from "./lease-services.js";
import { closingSide, type LeaseState, volumeOf } from "./lease-state.js";
import { after, type LeaseBatch } from "./renewal-plan.js";

/** The source of records of single orders, and the receiver of events. */
export interface ResultServices extends LeaseEvents {
  readonly data: Pick<LeaseDataService, "getOrder" | "getStopOrder">;
}

/** How long after its expiry a stop order is retained, in milliseconds: the event of its order may follow. */
const EVENT_GRACE_MS = 2000;

/** The part of a command at a path such as `amendments[2]`, and the index in it. */
const indexIn = (path: string, field: string): number | undefined => {
  const [, name, index] = /^(\w+)\[(\d+)\]/.exec(path) ?? [];
  return name === field ? Number(index) : undefined;
};

/**
 * Records the stop orders that a batch may place once it is signed, before it is sent, so that a later renewal cancels each stop
 * order that it may place, regardless of its outcome.
 */
export function noteSigned(
  state: LeaseState,
  batch: LeaseBatch,
  parts: readonly CommandPart[],
  { time, leaseMs }: { readonly time: bigint; readonly leaseMs: number },
): void {
  const { marketId, submitted } = batch;
  const expiresAt = after(time, leaseMs);
  for (const order of batch.renewed) {
    const known = state.orders.get(order.id);
    if (known !== undefined && known.expiresAt < expiresAt) {
      state.orders.set(order.id, { ...known, expiresAt });
    }
  }
  for (const { id } of batch.cancelledStops) {
    const stop = state.stops.get(id);
    if (stop !== undefined) {
      state.stops.set(id, { ...stop, canceledBy: [...stop.canceledBy, batch] });
    }
  }
  for (const { path, id } of parts) {
    const index = indexIn(path, "stopOrdersSubmission");
    const stop = index === undefined ? undefined : batch.submittedStops[index];
    if (id !== undefined && stop !== undefined) {
      const { side, afterMs } = stop;
      const stopExpiresAt = after(time, afterMs);
      state.stops.set(id, { id, marketId, side, expiresAt: stopExpiresAt, status: "sent", canceledBy: [] });
    } else if (id !== undefined && submitted !== undefined && indexIn(path, "submissions") === 0) {
      state.orders.set(id, { id, marketId, side: submitted.side, expiresAt });
    }
  }
}

/** Forgets the orders of a batch that was signed but not sent. */
export function forgetUnsent(state: LeaseState, batch: LeaseBatch, parts: readonly CommandPart[]): void {
  for (const { id } of batch.cancelledStops) {
    keepStop(state, id, batch);
  }
  for (const { id } of parts) {
    if (id !== undefined) {
      state.stops.delete(id);
      state.orders.delete(id);
    }
  }
}

export async function applyOutcome(
  state: LeaseState,
  batch: LeaseBatch,
  outcome: Outcome,
  services: ResultServices,
): Promise<void> {
  if (outcome.status === "unknown") {
    return;
  }
  const isTaken = outcome.evidence !== "blocks" && outcome.evidence !== "absence";
  for (const { path, status, reason, id } of outcome.parts) {
    const isExecuted = status === "executed";
    const stop = state.stops.get(id ?? "");
    const cancelled = batch.cancelledStops[indexIn(path, "stopOrdersCancellation") ?? -1];
    const renewed = batch.renewed[indexIn(path, "amendments") ?? -1];
    if (cancelled !== undefined) {
      applyCancellation(state, cancelled.id, batch, isExecuted ? undefined : (reason ?? ""));
    } else if (renewed !== undefined && !isExecuted && isTaken) {
      await checkOrder(state, renewed.id, services, reason);
    } else if (stop !== undefined && path.startsWith("stopOrdersSubmission")) {
      applyStop(state, stop.id, isExecuted ? undefined : (reason ?? ""), isTaken, services);
    } else if (id !== undefined && path.startsWith("submissions") && !isExecuted) {
      state.orders.delete(id);
    }
  }
}

/** A stop order that cannot be found and was placed has ended; one that was not may still be placed. */
function applyCancellation(state: LeaseState, id: string, batch: LeaseBatch, reason: string | undefined): void {
  const isGone = reason?.includes("not found") === true && state.stops.get(id)?.status !== "sent";
  if (reason === undefined || isGone) {
    state.stops.delete(id);
  } else {
    keepStop(state, id, batch);
  }
}

/** Notes that a transaction does not cancel a stop order. */
function keepStop(state: LeaseState, id: string, batch: LeaseBatch): void {
  const stop = state.stops.get(id);
  if (stop !== undefined) {
    state.stops.set(id, { ...stop, canceledBy: stop.canceledBy.filter((each) => each !== batch) });
  }
}

function applyStop(
  state: LeaseState,
  id: string,
  reason: string | undefined,
  isTaken: boolean,
  { emit }: ResultServices,
): void {
  const stop = state.stops.get(id);
  if (stop === undefined) {
    return;
  }
  if (reason === undefined) {
    state.refusals.delete(stop.marketId);
    state.stops.set(id, stop.status === "sent" ? { ...stop, status: "placed" } : stop);
    return;
  }
  state.stops.delete(id);
  if (isTaken) {
    state.refusals.set(stop.marketId, reason);
    emit({ kind: "stopOrderRefused", marketId: stop.marketId, reason });
  }
}

/** Applies a change of the account: leased orders that are no longer live have ended. */
export async function applyView(state: LeaseState, view: AccountView, services: ResultServices): Promise<void> {
  dropTriggers(state, view);
  state.view = view;
  for (const change of view.changes) {
    if (change.kind === "order" && !change.isListed && state.orders.has(change.record.id)) {
      const { id, status } = change.record;
      if (isLive(status)) {
        await checkOrder(state, id, services, undefined);
      } else {
        endOrder(state, id, status, services);
      }
    }
  }
}

/** Removes the triggers of positions that were closed or turned: they would close the next one. */
function dropTriggers(state: LeaseState, { positions }: AccountView): void {
  for (const marketId of state.triggers.keys()) {
    const before = closingSide(volumeOf(state, marketId));
    const now = closingSide(positions.find((position) => position.marketId === marketId)?.openVolume ?? 0n);
    if (before !== undefined && before !== now) {
      state.triggers.delete(marketId);
    }
  }
}

const isLive = (status: Order_Status) => status === Order_Status.ACTIVE || status === Order_Status.PARKED;

function endOrder(state: LeaseState, orderId: string, status: Order_Status, { emit }: ResultServices): void {
  const order = state.orders.get(orderId);
  if (state.orders.delete(orderId) && order !== undefined) {
    emit({ kind: "orderEnded", marketId: order.marketId, orderId, status });
  }
}

/** Finds out whether an order is still live, where its renewal failed. */
async function checkOrder(
  state: LeaseState,
  orderId: string,
  services: ResultServices,
  reason: string | undefined,
): Promise<void> {
  const order = state.orders.get(orderId);
  if (order === undefined) {
    return;
  }
  const status = await services.data.getOrder({ orderId }).then(
    (answer) => answer.order?.status ?? "missing",
    (error: unknown) => (isNotFound(error) ? "missing" : "unread"), // The next renewal finds out.
  );
  const chainTime = state.clock.latest();
  const isExpired = chainTime !== undefined && chainTime > order.expiresAt;
  if (status !== "missing" && status !== "unread" && !isLive(status)) {
    endOrder(state, orderId, status, services);
  } else if (status === "missing" && isExpired) {
    endOrder(state, orderId, Order_Status.UNSPECIFIED, services); // It was never placed.
  } else if (reason !== undefined) {
    services.emit({ kind: "orderNotRenewed", marketId: order.marketId, orderId, reason });
  }
}

export function applyStopOrder(state: LeaseState, stopOrder: StopOrder, { emit }: ResultServices): void {
  const { id: stopOrderId, orderId, status } = stopOrder;
  const stop = state.stops.get(stopOrderId);
  if (stop === undefined) {
    return;
  }
  const { marketId } = stop;
  if (status === StopOrder_Status.CANCELLED) {
    state.stops.set(stopOrderId, { ...stop, status: "void" });
  } else if (status === StopOrder_Status.TRIGGERED || status === StopOrder_Status.EXPIRED) {
    state.stops.delete(stopOrderId);
    if (status === StopOrder_Status.TRIGGERED) {
      state.triggers.delete(marketId);
    }
    const cause = status === StopOrder_Status.TRIGGERED ? "triggered" : "expired";
    emit(
      orderId === ""
        ? { kind: "positionNotClosed", marketId, stopOrderId }
        : { kind: "positionClosing", marketId, stopOrderId, cause, orderId },
    );
  }
}

/**
 * Removes the stop orders whose expiry has passed. If the event of an outcome was missed, the outcome is read from the records.
 */
export async function dropExpiredStops(state: LeaseState, services: ResultServices): Promise<void> {
  const chainTime = state.clock.latest();
  const expired = [...state.stops.values()].filter(
    (stop) => chainTime !== undefined && after(stop.expiresAt, EVENT_GRACE_MS) < chainTime,
  );
  for (const { id, status } of expired) {
    if (status === "placed") {
      const stopOrder = await services.data.getStopOrder({ orderId: id }).then(
        ({ order }) => order?.stopOrder,
        () => undefined, // It serves for the report only.
      );
      if (stopOrder !== undefined) {
        applyStopOrder(state, stopOrder, services);
      }
    }
    state.stops.delete(id); // One that was not submitted, as there was no position, stays pending in the node's records.
  }
}
