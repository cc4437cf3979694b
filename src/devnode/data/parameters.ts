import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { findRow } from "./find-row.js";
import { type Listing, readPage } from "./page.js";
import { type Row, readRow } from "./row.js";

const networkParameters: Listing = {
  from: ["network_parameter"],
  key: [{ name: "key", type: "text", pattern: /^[\x20-\x7e]+$/ }],
};

/**
 * Implement the methods for network parameters on a database (specification, 4.3).
 *
 * @param pg the database that holds the table
 * @returns the methods of the data service that list parameters and get one
 */
export function parameterMethods(
  pg: PGlite,
): Pick<ServiceImpl<typeof TradingDataService>, "listNetworkParameters" | "getNetworkParameter"> {
  return {
    async listNetworkParameters({ pagination }) {
      return { networkParameters: await readPage(pg, networkParameters, pagination, parameter) };
    },

    async getNetworkParameter({ key }) {
      const what = `network parameter ${JSON.stringify(key)}`;
      return {
        networkParameter: parameter(await findRow(pg, "network_parameter WHERE key = $1", [withoutNul(key)], what)),
      };
    },
  };
}

/**
 * Convert a row of the table of network parameters to its message.
 *
 * @param row the row
 * @returns the key and the value
 */
export function parameter(row: Row): { key: string; value: string } {
  const { text } = readRow(row);
  return { key: text("key"), value: text("value") };
}

/**
 * Make text fit for a query. PostgreSQL's text cannot hold NUL, so text with NUL matches no row. NULL does the same.
 *
 * @param text any text
 * @returns the text, or null
 */
export function withoutNul(text: string): string | null {
  return text.includes("\0") ? null : text;
}
