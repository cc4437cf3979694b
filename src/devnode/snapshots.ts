import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { sortedListing, timePart } from "./data/listing.js";
import { readPage } from "./data/page.js";
import type { History } from "./history/history.js";
import type { World } from "./world/world.js";

/** The version of the network's engine that snapshots were taken by. */
const CORE_VERSION = "v0.78.0";

/**
 * Implement the listing of the engine's snapshots: as on deployed nodes, one is taken at the end of each segment.
 *
 * @param history the history, with its segments
 * @param world how things stand; it knows the blocks
 * @returns the method of the data service
 */
export function snapshotMethods(
  history: Pick<History, "segments">,
  world: Pick<World, "blockAt">,
): Pick<ServiceImpl<typeof TradingDataService>, "listCoreSnapshots"> {
  return {
    async listCoreSnapshots({ pagination }) {
      const heights = history.segments().map(({ toHeight }) => toHeight);
      const listing = sortedListing(heights, [/^\d{19}$/], (height) => [timePart(height)]);
      const node = (blockHeight: bigint) => {
        const blockHash = world.blockAt(blockHeight)?.hash ?? "";
        return { blockHeight, blockHash, coreVersion: CORE_VERSION };
      };
      return { coreSnapshots: readPage(listing, pagination, node, { message: "failed to list core snapshots" }) };
    },
  };
}
