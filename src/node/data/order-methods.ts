import type { MessageInitShape } from "@bufbuild/protobuf";
import type { OrderFilter, StopOrderFilter } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent, StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { type Order, StopOrder_Status, type Trade } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import type { Profile } from "../../base/profile.js";
import { apiError, invalidArgument, NO_RESOURCE, requireFound } from "../api-error.js";
import { isOrder } from "../world/block-event.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, oneOf, type Query, queryError, queryIdentifiers, within } from "./filters.js";
import { marketIdentifier } from "./market-methods.js";
import { type DataMethods, listing, stream } from "./method.js";
import { inTime, keyPart, type PageRequest, readPagination, sorted, timePart, withNodes } from "./pagination.js";
import { type OpenStreams, snapshotPages } from "./streams.js";

/** The error of a failed listing of orders holds only the cause. */
const ORDERS: Query = { message: "" };

const TRADES: Query = {
  message: "failed to list trades",
  inner: (cause) => `failed to get trade by market:${cause}`,
};

/** The data node's error for a malformed identifier in a filter of trades. */
const tradesOf = (what: "market" | "party" | "order"): Query => ({
  ...TRADES,
  inner: (cause) => `received invalid ${what} ID: ${cause}`,
});

const versionsOf = (orderId: string): Query => ({
  message: "failed to get order versions",
  inner: (cause) => `orderID: ${orderId}: ${cause}`,
});

/** Implements the methods that return orders, from the generated history and from transactions. */
export function orderMethods(world: World, streams: OpenStreams): DataMethods {
  return {
    listOrders: listing({
      query: ORDERS,
      from({ filter }, page) {
        requireNewestFirst(page);
        return inTime(filter?.liveOnly ? world.liveOrders : world.orders);
      },
      where: ({ filter }) => orderFilter(filter ?? {}),
      answer: (orders) => ({ orders }),
    }),

    async getOrder({ orderId, version }) {
      const id = orderIdentifier(orderId);
      if (version !== undefined && version < 1) {
        throw invalidArgument("negative order version");
      }
      const order = world.orders.find(id);
      const isWanted = version === undefined || order?.version === BigInt(version);
      return {
        order: requireFound(isWanted ? order : undefined, "order not found", `orderID: ${orderId}: ${NO_RESOURCE}`),
      };
    },

    listOrderVersions: listing({
      check: ({ orderId }) => orderIdentifier(orderId),
      page({ orderId, pagination }) {
        const page = readPagination(pagination);
        if (page.backwards) {
          throw queryError(versionsOf(orderId), "'last' pagination is not supported");
        }
        return page;
      },
      query: ({ orderId }) => versionsOf(orderId),
      // Only the latest version of an order is stored.
      from: ({ orderId }) =>
        sorted(
          [world.orders.find(orderIdentifier(orderId))].filter((order) => order !== undefined),
          [keyPart.time],
          ({ createdAt }) => [timePart(createdAt)],
        ),
      answer: (orders) => ({ orders }),
    }),

    observeOrders: stream(streams, {
      subject: "order",
      records: (event) => (isOrder(event) ? [event.value] : []),
      where: ({ marketIds, partyIds, excludeLiquidity = false }) =>
        orderFilter({ marketIds, partyIds, excludeLiquidity }),
      snapshot: (matches) =>
        snapshotPages(Array.from(world.liveOrders.read(false), ({ value }) => value).filter(matches)).map(
          ({ records, lastPage }) => ({
            response: { case: "snapshot" as const, value: { orders: [...records], lastPage } },
          }),
        ),
      messages: (orders) => [{ response: { case: "updates" as const, value: { orders: [...orders] } } }],
    }),
  };
}

export function stopOrderMethods(world: World, profile: Profile): DataMethods {
  const listed = (event: StopOrderEvent): MessageInitShape<typeof StopOrderEventSchema> => {
    if (profile === "specification" || event.stopOrder === undefined) {
      return event;
    }
    const { updatedAt: _, ...stopOrder } = event.stopOrder;
    return { ...event, stopOrder };
  };
  const stopOrders = () =>
    sorted(world.stopOrders.values(), [keyPart.time, keyPart.id], ({ stopOrder }) => [
      timePart(stopOrder?.createdAt ?? 0n),
      stopOrder?.id ?? "",
    ]);
  return {
    listStopOrders: listing({
      query: ORDERS,
      from(_, page) {
        requireNewestFirst(page);
        return stopOrders();
      },
      where: ({ filter }) => stopOrderFilter(filter),
      answer: (orders) => ({ orders: withNodes(orders, listed) }),
    }),

    async getStopOrder({ orderId }) {
      const order = world.stopOrders.get(orderIdentifier(orderId));
      return { order: listed(requireFound(order, "order not found", `orderID: ${orderId}: ${NO_RESOURCE}`)) };
    },
  };
}

export function tradeMethods(world: World, streams: OpenStreams): DataMethods {
  return {
    listTrades: listing({
      query: TRADES,
      from: () => inTime(world.trades),
      where({ marketIds, orderIds, partyIds, dateRange }) {
        const isOnMarket = queryIdentifiers(marketIds, tradesOf("market"));
        const isOfParty = queryIdentifiers(partyIds, tradesOf("party"));
        const isOfOrder = queryIdentifiers(orderIds, tradesOf("order"));
        const isWithin = within(dateRange);
        return ({ marketId, buyOrder, sellOrder, buyer, seller, timestamp }) =>
          isOnMarket(marketId) && isOfOrder(buyOrder, sellOrder) && isOfParty(buyer, seller) && isWithin(timestamp);
      },
      answer: (trades) => ({ trades }),
    }),

    async getLastTrade({ marketId }) {
      const trade = lastTrade(world, marketIdentifier(marketId));
      return trade === undefined ? {} : { trade };
    },

    observeTrades: stream(streams, {
      subject: "trade",
      records: (event) => (event.case === "trade" ? [event.value] : []),
      where({ marketIds, partyIds }) {
        const isOnMarket = oneOf(marketIds);
        const isOfParty = oneOf(partyIds);
        return ({ marketId, buyer, seller }) => isOnMarket(marketId) && isOfParty(buyer, seller);
      },
      messages: (trades) => [{ trades: [...trades] }],
    }),
  };
}

export function lastTrade(world: World, marketId: string): Trade | undefined {
  // Skips the search through the entire history if the market does not exist.
  for (const { value } of world.markets.has(marketId) ? world.trades.read(true) : []) {
    if (value.marketId === marketId) {
      return value;
    }
  }
  return undefined;
}

/**
 * Rejects the paginations that deployed nodes do not support for orders and stop orders: oldest first, and backwards
 * (datanode/sqlstore/orders.go).
 *
 * @throws ConnectError with `Internal` for oldest first, with `InvalidArgument` for backwards
 */
function requireNewestFirst({ newestFirst, backwards }: PageRequest): void {
  if (!newestFirst) {
    throw apiError(Code.Internal, "oldest first order query is not currently supported");
  }
  if (backwards) {
    throw invalidArgument("'last' pagination is not supported", "'last' pagination is not supported");
  }
}

/**
 * Validates the order identifier that a method requires.
 *
 * @throws ConnectError with `InvalidArgument` if it is missing or malformed
 */
function orderIdentifier(orderId: string): string {
  return identifier(orderId, "missing orderID parameter", "invalid orderID parameter");
}

/** Returns the predicate of a filter, except for `liveOnly`. Its date range applies to the last change of an order. */
function orderFilter(filter: Partial<OrderFilter>): (order: Order) => boolean {
  const hasStatus = oneOf(filter.statuses ?? []);
  const hasType = oneOf(filter.types ?? []);
  const hasTimeInForce = oneOf(filter.timeInForces ?? []);
  const isOfParty = identifiers(filter.partyIds ?? [], "party");
  const isOnMarket = identifiers(filter.marketIds ?? [], "market");
  const isChangedWithin = within(filter.dateRange);
  const { reference, excludeLiquidity } = filter;
  return (order) =>
    hasStatus(order.status) &&
    hasType(order.type) &&
    hasTimeInForce(order.timeInForce) &&
    isOfParty(order.partyId) &&
    isOnMarket(order.marketId) &&
    isChangedWithin(order.updatedAt || order.createdAt) &&
    (reference === undefined || order.reference === reference) &&
    (excludeLiquidity !== true || order.liquidityProvisionId === "");
}

/** Returns the predicate of a filter. Its date range applies to the last change. Only pending stop orders are live. */
function stopOrderFilter(filter: StopOrderFilter | undefined): (event: StopOrderEvent) => boolean {
  const { statuses = [], expiryStrategies = [], partyIds = [], marketIds = [], dateRange, liveOnly } = filter ?? {};
  const hasStatus = oneOf(statuses);
  const hasStrategy = oneOf(expiryStrategies);
  const isOfParty = identifiers(partyIds, "party");
  const isOnMarket = identifiers(marketIds, "market");
  const isChangedWithin = within(dateRange);
  return ({ stopOrder }) =>
    stopOrder !== undefined &&
    hasStatus(stopOrder.status) &&
    hasStrategy(stopOrder.expiryStrategy ?? 0) &&
    isOfParty(stopOrder.partyId) &&
    isOnMarket(stopOrder.marketId) &&
    isChangedWithin(stopOrder.updatedAt ?? stopOrder.createdAt) &&
    (liveOnly !== true || stopOrder.status === StopOrder_Status.PENDING);
}
