import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../gen/datanode/api/v2/trading_data_pb.js";
import type { CheckpointEvent } from "../../gen/vega/events/v1/events_pb.js";
import { sortedListing, timelineListing, timePart } from "./data/listing.js";
import { readPage, withNodes } from "./data/page.js";
import type { History } from "./history/history.js";
import type { World } from "./world/world.js";

/** The version of the network's engine that snapshots were taken by. */
const CORE_VERSION = "v0.78.0";

/**
 * Implements the listings of the engine's snapshots, of which one is taken at the end of each segment, and of checkpoints,
 * which the history alone has.
 *
 * @param history the history, with its segments
 * @param world how things stand; it has the blocks and the checkpoints
 * @returns the methods of the data service
 */
export function snapshotMethods(
  history: Pick<History, "segments">,
  world: Pick<World, "blockAt" | "checkpoints">,
): Pick<ServiceImpl<typeof TradingDataService>, "listCoreSnapshots" | "listCheckpoints"> {
  return {
    async listCoreSnapshots({ pagination }) {
      const heights = history.segments().map(({ toHeight }) => toHeight);
      const listing = sortedListing(heights, [/^\d{19}$/], (height) => [timePart(height)]);
      const node = (blockHeight: bigint) => {
        const blockHash = world.blockAt(blockHeight)?.hash ?? "";
        return { blockHeight, blockHash, coreVersion: CORE_VERSION };
      };
      return {
        coreSnapshots: withNodes(readPage(listing, pagination, { message: "failed to list core snapshots" }), node),
      };
    },

    async listCheckpoints({ pagination }) {
      const node = ({ hash, blockHash, blockHeight }: CheckpointEvent) => ({ hash, blockHash, atBlock: blockHeight });
      const listing = timelineListing(world.checkpoints);
      return { checkpoints: withNodes(readPage(listing, pagination, { message: "failed to get checkpoint" }), node) };
    },
  };
}
