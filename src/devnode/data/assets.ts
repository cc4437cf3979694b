import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { World } from "../world/world.js";
import { identifier } from "./conditions.js";
import { existing } from "./existing.js";
import { keyPart, sortedListing } from "./listing.js";
import { readPage } from "./page.js";

/**
 * Implement the methods for assets.
 *
 * @param world how things stand
 * @returns the methods of the data service that list assets and get one
 */
export function assetMethods(world: World): Pick<ServiceImpl<typeof TradingDataService>, "listAssets" | "getAsset"> {
  const find = (id: string) => existing(world.assets.get(identifier(id)), `asset ${id}`);
  return {
    async listAssets({ assetId = "", pagination }) {
      const found = assetId === "" ? world.assets.values() : [find(assetId)];
      const listing = sortedListing(found, [keyPart.id], ({ id }) => [id]);
      return { assets: readPage(listing, pagination, (asset) => asset) };
    },

    async getAsset({ assetId }) {
      return { asset: find(assetId) };
    },
  };
}
