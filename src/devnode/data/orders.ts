import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { OrderFilter, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Order } from "../../../gen/vega/vega_pb.js";
import { isOrder } from "../world/event.js";
import type { World } from "../world/world.js";
import { identifier, identifiers, oneOf, within } from "./conditions.js";
import { existing } from "./existing.js";
import { timelineListing } from "./listing.js";
import { type Streams, snapshotPages } from "./observe.js";
import { readPage } from "./page.js";

type OrderMethods = Pick<ServiceImpl<typeof TradingDataService>, "listOrders" | "getOrder" | "observeOrders">;

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
      const listing = timelineListing(filter?.liveOnly ? world.liveOrders : world.orders, orderFilter(filter ?? {}));
      return { orders: readPage(listing, pagination, (order) => order) };
    },

    async getOrder({ orderId, version }) {
      if (version !== undefined && version < 1) {
        throw new ConnectError(`version is ${version}; the first one is 1`, Code.InvalidArgument);
      }
      const order = existing(world.orders.find(identifier(orderId)), `order ${orderId}`);
      const isWanted = version === undefined || order.version === BigInt(version);
      return { order: existing(isWanted ? order : undefined, `order ${orderId} of version ${version}`) };
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

/** The condition that a filter makes, but for what is live. Its range of dates is about the last change. */
function orderFilter(filter: Partial<OrderFilter>): (order: Order) => boolean {
  const hasStatus = oneOf(filter.statuses ?? []);
  const hasType = oneOf(filter.types ?? []);
  const hasTimeInForce = oneOf(filter.timeInForces ?? []);
  const isOfParty = identifiers(filter.partyIds ?? []);
  const isOnMarket = identifiers(filter.marketIds ?? []);
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
