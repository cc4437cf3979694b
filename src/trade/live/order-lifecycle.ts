import { create } from "@bufbuild/protobuf";
import { type Order, Order_Status, Order_TimeInForce, Order_Type, OrderSchema } from "../../../gen/vega/vega_pb.js";
import { ConnectionError } from "../../base/errors/index.js";
import { toConnectOptions } from "../../base/input/call-options.js";
import { asResult } from "../../base/json-result.js";
import { setBounded } from "../../base/signal/collections.js";
import { setSize, sizeOf } from "../../wire/json/answer-size.js";
import { CoreService, TradingDataService } from "./event-definitions.js";
import type { Gap } from "./event-gaps.js";
import type { LiveEvent, LiveEventOf } from "./event-types.js";
import type { ObserveOptions, ParsedEventsRequest } from "./events-request.js";
import { coreTime, isOlder, listedTime } from "./listed-blocks.js";
import { isNotOffered, type LiveCalls } from "./live-call.js";

/** How many live orders are remembered. Beyond that, the ones remembered longest are forgotten. */
const MAX_REMEMBERED_ORDERS = 100_000;

/** How live orders are read, and what happens when that fails. */
interface LifecycleOptions
  extends Pick<ObserveOptions, "headers" | "reconnect">,
    Pick<LiveCalls, "records" | "service"> {
  readonly signal: AbortSignal;
}

type EndEvent = LiveEventOf<"cancelledOrders" | "expiredOrders">;

/**
 * Changes a request so that the node also sends cancellations and expiries of orders. The party is omitted: an
 * `expiredOrders` event has none, and the bus drops it if a party is set (v0.78.0, core/events/expired_orders.go and
 * core/events/bus.go).
 */
export function withOrderEndTypes(asked: ParsedEventsRequest): ParsedEventsRequest {
  const types = new Set([...(asked.types ?? []), "cancelledOrders" as const, "expiredOrders" as const]);
  return { ...asked, types: [...types], partyId: "" };
}

/**
 * Joins cancellations and expiries with the orders: adds an event of the case `order` for each order that is canceled or expires.
 *
 * With a party, its live orders are read before the stream is opened, and again with the first events of each connection:
 * orders that were placed between the first read and the subscription are then known too. A listing may lack orders of the last
 * block, so they are read once more when the data node certainly lists what came before the connection; see {@link untilListed}.
 * Events do not wait for that.
 *
 * @throws the errors of `batches` and of reading live orders; with `reconnect`, a lost connection is not an error: the
 *   live orders are read again with the next events
 */
export async function* joinLifecycle(
  batches: AsyncIterable<readonly (LiveEvent | Gap)[]>,
  asked: ParsedEventsRequest,
  options: LifecycleOptions,
): AsyncGenerator<readonly (LiveEvent | Gap)[]> {
  const orders = createLiveOrders();
  const joined = createEventJoiner(asked, orders);
  const isRead = asked.partyId !== "" && asked.partyId !== "network"; // The orders of the network never rest.
  const read = async () => orders.add(await readLiveOrders(asked, options));
  if (isRead) {
    await read();
  }
  let isDue = isRead;
  /** A time of the core after the connection was opened. */
  let openedBy: bigint | undefined;
  for await (const batch of batches) {
    if (isRead && batch.some((item) => "gap" in item)) {
      isDue = true;
      openedBy = undefined;
    }
    const times = isDue ? await readTimes(openedBy, options) : undefined;
    if (times !== undefined) {
      const isFirst = openedBy === undefined;
      openedBy = times.openedBy;
      const hasAll = openedBy < times.begun;
      isDue = !((isFirst || hasAll) && (await read()) && hasAll);
    }
    const items = batch.flatMap<LiveEvent | Gap>((item) => ("gap" in item ? [item] : joined(item)));
    setSize(items, sizeOf(batch));
    yield items;
  }
}

/** Reads a time of the core, unless it is known, and the data node's time. `undefined`: not reachable. */
async function readTimes(
  openedBy: bigint | undefined,
  { service, headers, signal, reconnect }: LifecycleOptions,
): Promise<{ readonly openedBy: bigint; readonly begun: bigint } | undefined> {
  const options = toConnectOptions({ headers, signal });
  try {
    return {
      openedBy: openedBy ?? (await coreTime(service(CoreService), options)),
      begun: await listedTime(service(TradingDataService), options),
    };
  } catch (reason) {
    if (reconnect === true && reason instanceof ConnectionError) {
      return undefined;
    }
    throw reason;
  }
}

/** Reads the live orders of a party, the oldest first; none where the node has no data node. `undefined`: not reachable. */
async function readLiveOrders(
  { partyId, marketId }: ParsedEventsRequest,
  { records, headers, signal, reconnect }: LifecycleOptions,
): Promise<readonly Order[] | undefined> {
  const filter = { liveOnly: true, partyIds: [partyId], marketIds: marketId === "" ? [] : [marketId] };
  const request = { filter, pagination: { newestFirst: true } };
  const listed = records(TradingDataService.method.listOrders, request, {
    headers,
    signal,
    limit: MAX_REMEMBERED_ORDERS,
  });
  const orders: Order[] = [];
  try {
    for await (const { node } of listed) {
      orders.push(node);
    }
  } catch (reason) {
    if (isNotOffered(reason)) {
      return [];
    }
    if (reconnect === true && reason instanceof ConnectionError) {
      return undefined;
    }
    throw reason;
  }
  return orders.toReversed();
}

function createEventJoiner(
  { types, partyId }: ParsedEventsRequest,
  orders: LiveOrders,
): (event: LiveEvent) => LiveEvent[] {
  const asked: ReadonlySet<string> = new Set(types);
  const isOfParty = (event: LiveEvent) => partyId === "" || isOf(event, partyId);

  function ended(event: EndEvent): LiveEvent[] {
    const status = event.kind === "cancelledOrders" ? Order_Status.CANCELLED : Order_Status.EXPIRED;
    const { marketId, orderIds } = event.value;
    const named = event.kind === "cancelledOrders" ? event.value.partyId : undefined;
    const ends: LiveEvent[] = [];
    for (const id of orderIds) {
      const order = orders.end(id, event.block);
      const owner = named ?? order?.partyId ?? "";
      if (partyId === "" || owner === partyId) {
        const value = create(OrderSchema, { ...(order ?? { id, marketId, partyId: owner }), status });
        ends.push(asResult({ ...originOf(event), kind: "order", value }));
      }
    }
    return asked.has(event.kind) && ends.length > 0 ? [event, ...ends] : ends;
  }

  return (event) => {
    if (event.kind === "cancelledOrders" || event.kind === "expiredOrders") {
      return ended(event);
    }
    if (!isOfParty(event)) {
      return [];
    }
    if (event.kind === "order") {
      orders.update(event.value, event.block);
    }
    return [event];
  };
}

function originOf({ id, block, sequence, blockHash, txHash, chainId }: EndEvent) {
  return { id, block, sequence, blockHash, txHash, chainId };
}

/** Returns whether an event is of a party, as the bus decides it (v0.78.0, `IsParty` in core/events). */
function isOf(event: LiveEvent, partyId: string): boolean {
  switch (event.kind) {
    case "order":
    case "transactionResult":
      return event.value.partyId === partyId;
    case "trade":
      return event.value.buyer === partyId || event.value.seller === partyId;
    default:
      return false;
  }
}

interface LiveOrders {
  /** Adds the orders that were read, unless a newer version is known. Returns whether they could be read. */
  add(orders: readonly Order[] | undefined): boolean;
  /** Stores the version of an order that an event of a block has, or removes the order if it is no longer live. */
  update(order: Order, block: bigint): void;
  /** Removes an order that ends in a block, and returns its last known version. */
  end(id: string, block: bigint): Order | undefined;
}

function createLiveOrders(): LiveOrders {
  const orders = new Map<string, Order>();
  /** The orders that ended in the latest such block: an earlier version may still follow, see {@link createGapTracker}. */
  let ended: { readonly block: bigint; readonly ids: Set<string> } = { block: -1n, ids: new Set() };

  function remember(order: Order): void {
    setBounded(orders, order.id, order, MAX_REMEMBERED_ORDERS);
  }

  return {
    add(read) {
      for (const order of read ?? []) {
        const known = orders.get(order.id);
        if (known === undefined || !isOlder(order, known)) {
          remember(order);
        }
      }
      return read !== undefined;
    },
    update(order, block) {
      if (isLiveOrder(order) && !(block === ended.block && ended.ids.has(order.id))) {
        remember(order);
      } else {
        orders.delete(order.id);
      }
    },
    end(id, block) {
      if (block !== ended.block) {
        ended = { block, ids: new Set() };
      }
      ended.ids.add(id);
      const order = orders.get(id);
      orders.delete(id);
      return order;
    },
  };
}

/**
 * Returns whether an order can still end, and is listed as live, by the data node's rule (v0.78.0, datanode/sqlstore/migrations,
 * `archive_orders`).
 */
export function isLiveOrder({ status, type, timeInForce }: Order): boolean {
  const { IOC, FOK } = Order_TimeInForce;
  return (
    (status === Order_Status.ACTIVE || status === Order_Status.PARKED) &&
    type === Order_Type.LIMIT &&
    timeInForce !== IOC &&
    timeInForce !== FOK
  );
}
