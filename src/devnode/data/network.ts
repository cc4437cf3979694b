import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { NetworkLimitsSchema } from "../../../gen/vega/vega_pb.js";
import type { LocalChain } from "../core/chain.js";
import { epochOf, epochTimestamps } from "./epochs.js";
import { type Row, readRow } from "./row.js";

/** The version of the interface. What follows the plus sign tells the local node from others. */
export const VERSION = "v0.78.0+tradewire.devnode";

type NetworkMethods = Pick<
  ServiceImpl<typeof TradingDataService>,
  "info" | "ping" | "getVegaTime" | "getNetworkLimits" | "getEpoch"
>;

/**
 * Implement the methods for the node and the network as a whole.
 *
 * @param pg the database
 * @param chain the chain, for its last block
 * @returns methods of the data service
 */
export function networkMethods(pg: PGlite, chain: LocalChain): NetworkMethods {
  return {
    info: () => ({ version: VERSION }),
    ping: () => ({}),
    getVegaTime: () => ({ timestamp: chain.blocks.last().time }),

    async getNetworkLimits() {
      return { limits: await networkLimits(pg) };
    },

    async getEpoch({ id, block }) {
      const { height } = chain.blocks.last();
      const epoch = id ?? epochOf(block ?? height);
      if (epoch > epochOf(height) || (id === undefined && block !== undefined && (block < 1n || block > height))) {
        const asked = id === undefined ? `block ${block}` : `epoch ${id}`;
        throw new ConnectError(`there is no ${asked}; the last block is ${height}`, Code.NotFound);
      }
      return { epoch: { seq: epoch, timestamps: await epochTimestamps(pg, epoch) } };
    },
  };
}

/**
 * Read what the network allows to be proposed, from its parameters.
 *
 * @param pg the database with the table of network parameters
 * @returns the limits
 */
export async function networkLimits(pg: PGlite): Promise<MessageInitShape<typeof NetworkLimitsSchema>> {
  const { rows } = await pg.query<Row>("SELECT key, value FROM network_parameter WHERE key ~ '^(limits|spot_market)'");
  const values = new Map(rows.map(readRow).map(({ text }) => [text("key"), text("value")]));
  const from = (what: string) =>
    BigInt(Date.parse(values.get(`limits.${what}.proposeEnabledFrom`) ?? "") || 0) * 1_000_000n;
  return {
    canProposeMarket: true,
    canProposeAsset: true,
    proposeMarketEnabled: true,
    proposeAssetEnabled: true,
    genesisLoaded: true,
    proposeMarketEnabledFrom: from("markets"),
    proposeAssetEnabledFrom: from("assets"),
    canProposeSpotMarket: values.get("spot_market.trading_enabled") === "1",
  };
}
