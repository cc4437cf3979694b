import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Database } from "../database.js";
import { invalid } from "../invalid.js";
import { type Listing, type Row, readPage } from "./page.js";
import { filterConditions } from "./stop-order-filter.js";
import { stopOrderEvent } from "./stop-order-row.js";

type ListingService = Pick<
  ServiceImpl<typeof TradingDataService>,
  "listNetworkParameters" | "getNetworkParameter" | "listStopOrders" | "getStopOrder"
>;

const networkParameters: Listing = {
  from: "network_parameter",
  key: [{ name: "key", type: "text", pattern: /^[\x20-\x7e]+$/ }],
};

const stopOrders: Listing = {
  from: "stop_order",
  key: [
    { name: "created_at", type: "bigint", pattern: /^[0-8]?\d{1,18}$/ },
    { name: "id", type: "text", pattern: /^[0-9a-f]{64}$/ },
  ],
  newestFirstOnly: true,
};

/**
 * Implement the methods for network parameters and stop orders on a database (specification, 4.3 and 4.4).
 *
 * @param database the database that holds the tables
 * @returns the listing methods of the data service, and those that get one record
 */
export function listingService({ pg }: Database): ListingService {
  return {
    async listNetworkParameters({ pagination }) {
      const { rows, pageInfo } = await readPage(pg, networkParameters, pagination);
      return {
        networkParameters: { edges: rows.map(({ row, cursor }) => ({ node: parameter(row), cursor })), pageInfo },
      };
    },

    async getNetworkParameter({ key }) {
      const { rows } = await pg.query<Row>("SELECT key, value FROM network_parameter WHERE key = $1", [
        withoutNul(key),
      ]);
      return { networkParameter: parameter(found(rows[0], `the network has no parameter ${JSON.stringify(key)}`)) };
    },

    async listStopOrders({ pagination, filter }) {
      const { rows, pageInfo } = await readPage(pg, stopOrders, pagination, filterConditions(filter));
      return { orders: { edges: rows.map(({ row, cursor }) => ({ node: stopOrderEvent(row), cursor })), pageInfo } };
    },

    async getStopOrder({ orderId }) {
      if (!/^[0-9a-f]{64}$/i.test(orderId)) {
        throw invalid("identifier", `${JSON.stringify(orderId)} is not an identifier of 64 hex digits`);
      }
      const { rows } = await pg.query<Row>("SELECT * FROM stop_order WHERE id = $1", [orderId.toLowerCase()]);
      return { order: stopOrderEvent(found(rows[0], `there is no stop order ${orderId}`)) };
    },
  };
}

function parameter(row: Row) {
  return { key: String(row["key"]), value: String(row["value"]) };
}

/** PostgreSQL's text cannot hold NUL, so a key with NUL matches no row. NULL does the same. */
function withoutNul(text: string): string | null {
  return text.includes("\0") ? null : text;
}

function found(row: Row | undefined, otherwise: string): Row {
  if (row === undefined) {
    throw new ConnectError(otherwise, Code.NotFound);
  }
  return row;
}
