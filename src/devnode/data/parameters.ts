import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { World } from "../world/world.js";
import { existing } from "./existing.js";
import { keyPart, sortedListing } from "./listing.js";
import { readPage } from "./page.js";

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
      return { networkParameters: readPage(listing, pagination, ([key, value]) => ({ key, value })) };
    },

    async getNetworkParameter({ key }) {
      const value = existing(world.parameters.get(key), `network parameter ${JSON.stringify(key)}`);
      return { networkParameter: { key, value } };
    },
  };
}
