import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { StopOrderFilter, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent, StopOrderEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import { StopOrder_Status } from "../../../gen/vega/vega_pb.js";
import type { Profile } from "../../schema/profile.js";
import { existing, NO_RESOURCE } from "../api-error.js";
import type { World } from "../world/world.js";
import { identifiers, oneOf, within } from "./conditions.js";
import { keyPart, sortedListing, timePart } from "./listing.js";
import { newestFirstOnly, ORDERS_QUERY, orderIdentifier } from "./orders.js";
import { readPageOf, readPagination } from "./page.js";

/**
 * Implement the methods for stop orders (specification, 4.4).
 *
 * @param world how things stand
 * @param profile with `deployed`, the time of the last change is left out, as deployed nodes do (datanode/entities/stop_orders.go)
 * @returns the methods of the data service that list stop orders and get one
 */
export function stopOrderMethods(
  world: World,
  profile: Profile,
): Pick<ServiceImpl<typeof TradingDataService>, "listStopOrders" | "getStopOrder"> {
  const listed = (event: StopOrderEvent): MessageInitShape<typeof StopOrderEventSchema> => {
    if (profile === "specification" || event.stopOrder === undefined) {
      return event;
    }
    const { updatedAt: _, ...stopOrder } = event.stopOrder;
    return { ...event, stopOrder };
  };
  return {
    async listStopOrders({ pagination, filter }) {
      const request = readPagination(pagination);
      const found = [...world.stopOrders.values()].filter(stopOrderFilter(filter));
      const listing = sortedListing(found, [keyPart.time, keyPart.id], ({ stopOrder }) => [
        timePart(stopOrder?.createdAt ?? 0n),
        stopOrder?.id ?? "",
      ]);
      return { orders: readPageOf(listing, newestFirstOnly(request), listed, ORDERS_QUERY) };
    },

    async getStopOrder({ orderId }) {
      const order = world.stopOrders.get(orderIdentifier(orderId));
      return { order: listed(existing(order, "order not found", `orderID: ${orderId}: ${NO_RESOURCE}`)) };
    },
  };
}

/** The condition that a filter makes. Its range of dates is about the last change. Live stop orders are pending. */
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
