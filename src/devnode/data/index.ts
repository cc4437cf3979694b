import type { ServiceImpl } from "@connectrpc/connect";
import type { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Profile } from "../../schema/profile.js";
import type { World } from "../world/world.js";
import { accountMethods } from "./accounts.js";
import { assetMethods } from "./assets.js";
import { balanceChangeMethods } from "./balance-changes.js";
import { candleMethods } from "./candles.js";
import { depositMethods } from "./deposits.js";
import { type Books, depthMethods } from "./depth.js";
import { entityMethods } from "./entities.js";
import { type EventBusOptions, eventBus } from "./event-bus.js";
import { governanceMethods } from "./governance.js";
import { liquidityMethods } from "./liquidity.js";
import { marginMethods } from "./margin-levels.js";
import { marketDataMethods } from "./market-data.js";
import { marketMethods } from "./markets.js";
import { networkMethods } from "./network.js";
import { nodeMethods } from "./nodes.js";
import { oracleMethods } from "./oracles.js";
import { orderMethods } from "./orders.js";
import { parameterMethods } from "./parameters.js";
import { partyMethods } from "./parties.js";
import { partyChoiceMethods } from "./party-choices.js";
import { positionMethods } from "./positions.js";
import { referralMethods } from "./referrals.js";
import { riskMethods } from "./risk.js";
import { stakeMethods } from "./stakes.js";
import { stopOrderMethods } from "./stop-orders.js";
import { tradeMethods } from "./trades.js";
import { transactionResultMethods } from "./transaction-results.js";
import { transferMethods } from "./transfers.js";
import { withdrawalMethods } from "./withdrawals.js";
import { programMethods, rewardMethods, signatureMethods, statisticsMethods } from "./without-records.js";

/** What {@link dataMethods} answers from. */
export interface DataOptions extends EventBusOptions {
  readonly profile: Profile;
  /** How things stand. It changes as blocks are made: each call reads it anew. */
  readonly world: World;
  /** The order books. */
  readonly engine: Books;
}

/**
 * Implement the methods of the data service that read what the node holds.
 *
 * @param options how things stand, the order books, the chain's identifier, and what keeps streams open
 * @returns the methods; those that are not among them are unimplemented
 */
export function dataMethods(options: DataOptions): Partial<ServiceImpl<typeof TradingDataService>> {
  const { world, engine, streams, profile } = options;
  return {
    ...networkMethods(world),
    ...parameterMethods(world),
    ...assetMethods(world),
    ...marketMethods(world),
    ...marketDataMethods(world, streams),
    ...depthMethods(world, engine, streams),
    ...partyMethods(world),
    ...accountMethods(world, streams),
    ...balanceChangeMethods(world, streams),
    ...depositMethods(world),
    ...positionMethods(world, streams),
    ...marginMethods(world, streams),
    ...orderMethods(world, streams),
    ...stopOrderMethods(world, profile),
    ...tradeMethods(world, streams),
    ...transactionResultMethods(streams),
    ...candleMethods(world, streams),
    ...nodeMethods(world),
    ...rewardMethods(),
    ...programMethods(world),
    ...signatureMethods(world),
    ...statisticsMethods(),
    ...transferMethods(world),
    ...governanceMethods(world, streams),
    ...withdrawalMethods(world),
    ...partyChoiceMethods(world),
    ...referralMethods(world),
    ...liquidityMethods(world, streams),
    ...oracleMethods(world),
    ...entityMethods(world),
    ...stakeMethods(world),
    ...riskMethods(world),
    observeEventBus: eventBus(options, "data"),
  };
}
