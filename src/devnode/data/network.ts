import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { NetworkLimitsSchema } from "../../../gen/vega/vega_pb.js";
import { existing } from "../api-error.js";
import type { World } from "../world/world.js";
import { epochOf, epochTimestamps } from "./epochs.js";
import { validators } from "./nodes.js";

/** The version of the interface. What follows the plus sign tells the local node from others. */
export const VERSION = "v0.78.0+tradewire.devnode";

type NetworkMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "info" | "ping" | "getVegaTime" | "getNetworkLimits" | "getEpoch"
>;

/**
 * Implement the methods for the node and the network as a whole.
 *
 * @param world how things stand
 * @returns methods of the data service
 */
export function networkMethods(world: World): NetworkMethods {
  return {
    info: () => ({ version: VERSION }),
    ping: () => ({}),
    getVegaTime: () => ({ timestamp: world.block.time }),
    getNetworkLimits: () => ({
      // The data node does not store what may be proposed of the newer kinds (datanode/entities/limits.go).
      limits: {
        ...networkLimits(world),
        ...{ canProposeSpotMarket: false, canProposePerpetualMarket: false },
        canUseAmm: false,
      },
    }),

    async getEpoch({ id, block }) {
      const { height } = world.block;
      const current = epochOf(height);
      // A block that was not made yet, and block 0, belong to the current epoch.
      const ofBlock = block === undefined || block === 0n || block > height ? current : epochOf(block);
      const epoch = existing(
        [id ?? ofBlock].find((seq) => seq <= current),
        "failed to get epoch",
      );
      const delegations = [...world.records.delegationBalance.latest.values()]
        .map(({ value }) => value)
        .filter(({ epochSeq }) => epochSeq === String(epoch))
        .map(({ party, nodeId, amount, epochSeq }) => ({ ...{ party, nodeId, amount, epochSeq } }));
      const timestamps = epochTimestamps(world, epoch);
      return { epoch: { seq: epoch, timestamps, validators: validators(), delegations } };
    },
  };
}

/**
 * Reads from the network's parameters what may be proposed.
 *
 * @param world how things stand
 * @returns the limits
 */
export function networkLimits({ parameters }: World): MessageInitShape<typeof NetworkLimitsSchema> {
  const from = (what: string) =>
    BigInt(Date.parse(parameters.get(`limits.${what}.proposeEnabledFrom`) ?? "") || 0) * 1_000_000n;
  return {
    canProposeMarket: true,
    canProposeAsset: true,
    proposeMarketEnabled: true,
    proposeAssetEnabled: true,
    genesisLoaded: true,
    proposeMarketEnabledFrom: from("markets"),
    proposeAssetEnabledFrom: from("assets"),
    canProposeSpotMarket: parameters.get("limits.markets.proposeSpotEnabled") === "1",
    canProposePerpetualMarket: parameters.get("limits.markets.proposePerpetualEnabled") === "1",
    canUseAmm: parameters.get("limits.markets.ammPoolEnabled") === "1",
  };
}
