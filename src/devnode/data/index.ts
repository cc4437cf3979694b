import type { ServiceImpl } from "@connectrpc/connect";
import type { PGlite } from "@electric-sql/pglite";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { LocalChain } from "../core/chain.js";
import { accountMethods } from "./accounts.js";
import { assetMethods } from "./assets.js";
import { marketDataMethods } from "./market-data.js";
import { marketMethods } from "./markets.js";
import { networkMethods } from "./network.js";
import type { Streams } from "./observe.js";
import { orderMethods } from "./orders.js";
import { parameterMethods } from "./parameters.js";
import { partyMethods } from "./parties.js";
import { positionMethods } from "./positions.js";
import { stopOrderMethods } from "./stop-orders.js";
import { tradeMethods } from "./trades.js";

/**
 * Implement the methods of the data service that read what the node holds.
 *
 * @param pg the database
 * @param chain the chain, for its last block
 * @param streams keeps streams open
 * @returns the methods; those that are not among them are unimplemented
 */
export function dataMethods(
  pg: PGlite,
  chain: LocalChain,
  { watch }: Streams,
): Partial<ServiceImpl<typeof TradingDataService>> {
  return {
    ...networkMethods(pg, chain),
    ...parameterMethods(pg),
    ...assetMethods(pg),
    ...marketMethods(pg),
    ...marketDataMethods(pg, watch),
    ...partyMethods(pg),
    ...accountMethods(pg, watch),
    ...positionMethods(pg, watch),
    ...orderMethods(pg, watch),
    ...stopOrderMethods(pg),
    ...tradeMethods(pg, watch),
  };
}
