import { Code, type ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { existing, NO_RESOURCE } from "../api-error.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, queryError } from "./conditions.js";
import { keyPart, sortedListing } from "./listing.js";
import { readPageOf, readPagination } from "./page.js";

const GET = { message: "failed to get asset for ID" };
const LIST = { message: "failed to get assets" };

/**
 * Implement the methods for assets.
 *
 * @param world how things stand
 * @returns the methods of the data service that list assets and get one
 */
export function assetMethods(world: World): Pick<ServiceImpl<typeof TradingDataService>, "listAssets" | "getAsset"> {
  /** The asset that a listing is asked for. */
  function single(assetId: string) {
    const inner = (cause: string) => `failed to get asset by ID: ${assetId}: ${cause}`;
    if (!canBeIdentifier(assetId)) {
      throw queryError({ ...GET, inner }, NO_IDENTIFIER, Code.InvalidArgument);
    }
    return existing(world.assets.get(assetId.toLowerCase()), GET.message, inner(NO_RESOURCE));
  }

  return {
    async listAssets({ assetId = "", pagination }) {
      const found = assetId === "" ? world.assets.values() : [single(assetId)];
      const listing = sortedListing(found, [keyPart.id], ({ id }) => [id]);
      const request = readPagination(assetId === "" ? pagination : undefined, (reason) =>
        queryError(LIST, `${reason}: invalid pagination`),
      );
      const query = { ...LIST, inner: (cause: string) => `${cause}: ${LIST.message}` };
      return { assets: readPageOf(listing, request, (asset) => asset, query) };
    },

    async getAsset({ assetId }) {
      const id = identifier(assetId, "missing asset ID", "invalid asset ID");
      return { asset: existing(world.assets.get(id), GET.message) };
    },
  };
}
