import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { identifier } from "./conditions.js";
import { findRow } from "./find-row.js";
import { idKey, type Listing, readPage } from "./page.js";
import { filterConditions } from "./stop-order-filter.js";
import { stopOrderEvent } from "./stop-order-row.js";

const stopOrders: Listing = {
  from: ["stop_order"],
  key: [{ name: "created_at", type: "bigint", pattern: /^[0-8]?\d{1,18}$/ }, idKey],
  newestFirstOnly: true,
};

/**
 * Implement the methods for stop orders on a database (specification, 4.4).
 *
 * @param pg the database that holds the table
 * @returns the methods of the data service that list stop orders and get one
 */
export function stopOrderMethods(
  pg: PGlite,
): Pick<ServiceImpl<typeof TradingDataService>, "listStopOrders" | "getStopOrder"> {
  return {
    async listStopOrders({ pagination, filter }) {
      return { orders: await readPage(pg, stopOrders, pagination, stopOrderEvent, filterConditions(filter)) };
    },

    async getStopOrder({ orderId }) {
      const row = await findRow(pg, "stop_order WHERE id = $1", [identifier(orderId)], `stop order ${orderId}`);
      return { order: stopOrderEvent(row) };
    },
  };
}
