import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { keyPart, sortedListing } from "./listing.js";
import { type PageOptions, readPage } from "./page.js";

/** Parameters are listed by their keys, which are their cursors, and ascending in every case (datanode/sqlstore/network_parameters.go). */
const LIST: PageOptions = { message: "failed to get network parameters", alwaysAscending: true, cursors: "text" };

/**
 * Implement the methods for network parameters (specification, 4.3).
 *
 * @param world how things stand
 * @returns the methods of the data service that list parameters and get one
 */
export function parameterMethods(
  world: World,
): Pick<ServiceImpl<typeof TradingDataService>, "listNetworkParameters" | "getNetworkParameter"> {
  return {
    async listNetworkParameters({ pagination }) {
      const listing = sortedListing(world.parameters, [keyPart.text], ([key]) => [key]);
      return { networkParameters: readPage(listing, pagination, ([key, value]) => ({ key, value }), LIST) };
    },

    async getNetworkParameter({ key }) {
      const value = existing(world.parameters.get(key), LIST.message);
      return { networkParameter: { key, value } };
    },
  };
}
