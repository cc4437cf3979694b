import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { OrderFilter, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Order } from "../../../gen/vega/vega_pb.js";
import { apiError, existing, invalidArgument, NO_RESOURCE } from "../api-error.js";
import { isOrder } from "../world/event.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, oneOf, type Query, queryError, within } from "./conditions.js";
import { keyPart, sortedListing, timelineListing, timePart } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { type PageRequest, readPageOf, readPagination } from "./page.js";

/** A failed listing of orders has the cause alone. */
export const ORDERS_QUERY: Query = { message: "" };

type OrderMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "listOrders" | "listOrderVersions" | "getOrder" | "observeOrders"
>;

/**
 * Implement the methods for orders: those of the history, and those that transactions bring.
 *
 * @param world how things stand; it knows the latest version of each order alone
 * @param streams keeps streams open
 * @returns the methods of the data service that list and stream orders and get one
 */
export function orderMethods(world: World, streams: Streams): OrderMethods {
  return {
    async listOrders({ filter, pagination }) {
      const request = readPagination(pagination);
      const listing = timelineListing(filter?.liveOnly ? world.liveOrders : world.orders, orderFilter(filter ?? {}));
      return { orders: readPageOf(listing, newestFirstOnly(request), (order) => order, ORDERS_QUERY) };
    },

    async getOrder({ orderId, version }) {
      const id = orderIdentifier(orderId);
      if (version !== undefined && version < 1) {
        throw invalidArgument("negative order version");
      }
      const order = world.orders.find(id);
      const isWanted = version === undefined || order?.version === BigInt(version);
      return {
        order: existing(isWanted ? order : undefined, "order not found", `orderID: ${orderId}: ${NO_RESOURCE}`),
      };
    },

    async listOrderVersions({ orderId, pagination }) {
      const id = orderIdentifier(orderId);
      const request = readPagination(pagination);
      const query: Query = {
        message: "failed to get order versions",
        inner: (cause) => `orderID: ${orderId}: ${cause}`,
      };
      if (request.backwards) {
        throw queryError(query, "'last' pagination is not supported");
      }
      // Of an order, the latest version alone is kept.
      const found = [world.orders.find(id)].filter((order) => order !== undefined);
      const listing = sortedListing(found, [keyPart.time], ({ createdAt }) => [timePart(createdAt)]);
      return { orders: readPageOf(listing, request, (order) => order, query) };
    },

    async *observeOrders({ marketIds, partyIds, excludeLiquidity = false }, { signal }) {
      const matches = orderFilter({ marketIds, partyIds, excludeLiquidity });
      yield* streams.watch({
        subject: "order",
        signal,
        snapshot: () =>
          snapshotPages(Array.from(world.liveOrders.read(false), ({ value }) => value).filter(matches)).map(
            ({ records, lastPage }) => ({
              response: { case: "snapshot" as const, value: { orders: [...records], lastPage } },
            }),
          ),
        select: (happenings) =>
          happenings.flatMap(({ event }) => (isOrder(event) && matches(event.value) ? [event.value] : [])),
        message: (orders) => ({ response: { case: "updates" as const, value: { orders: [...orders] } } }),
      });
    },
  };
}

/**
 * Refuses what deployed nodes do not list: orders and stop orders oldest first, and those before a cursor or at the end
 * (datanode/sqlstore/orders.go).
 *
 * @param request what the pagination asks for
 * @returns the same
 * @throws ConnectError with `Internal` for the oldest first, with `InvalidArgument` for the last ones
 */
export function newestFirstOnly(request: PageRequest): PageRequest {
  if (!request.newestFirst) {
    throw apiError(Code.Internal, "oldest first order query is not currently supported");
  }
  if (request.backwards) {
    throw invalidArgument("'last' pagination is not supported", "'last' pagination is not supported");
  }
  return request;
}

/**
 * Checks the order that a method requires.
 *
 * @param orderId the text of the request
 * @returns the order's identifier, in lower case
 * @throws ConnectError with `InvalidArgument` if it is missing or no identifier
 */
export function orderIdentifier(orderId: string): string {
  return identifier(orderId, "missing orderID parameter", "invalid orderID parameter");
}

/** The condition that a filter makes, but for what is live. Its range of dates is about the last change. */
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
