import type { Profile } from "../../schema/profile.js";
import type { World } from "../world/world.js";
import { accountMethods } from "./account-methods.js";
import { candleMethods } from "./candle-methods.js";
import { type Books, depthMethods } from "./depth-methods.js";
import { entityMethods } from "./entity-methods.js";
import { type EventBusOptions, eventBus } from "./event-bus.js";
import { governanceMethods } from "./governance-methods.js";
import { liquidityMethods } from "./liquidity-methods.js";
import { marketDataMethods, marketMethods, oracleMethods } from "./market-methods.js";
import type { DataMethods } from "./method.js";
import { programMethods, rewardMethods, signatureMethods, statisticsMethods } from "./methods-without-records.js";
import { assetMethods, networkMethods, nodeMethods } from "./network-methods.js";
import { orderMethods, stopOrderMethods, tradeMethods } from "./order-methods.js";
import { partyChoiceMethods, partyMethods } from "./party-methods.js";
import { positionMethods } from "./position-methods.js";
import { referralMethods } from "./referral-methods.js";
import { riskMethods } from "./risk-methods.js";
import { transferMethods } from "./transfer-methods.js";

/** The dependencies of {@link dataMethods}. */
export interface DataOptions extends EventBusOptions {
  readonly profile: Profile;
  /** The network's current state. It changes with each block, so each call reads it again. */
  readonly world: World;
  /**
   * The state that is committed to the database, which listings read. The data node keeps only the latest market data and the
   * order books in memory (datanode/service/market_data.go and market_depth.go).
   */
  readonly committed: World;
  /** The order books. */
  readonly engine: Books;
}

/**
 * Implements the methods of the data service that read the network's current state.
 *
 * @param options the network's current state, the order books, the chain's identifier and the open streams
 * @returns the implemented methods; all others are unimplemented
 */
export function dataMethods(options: DataOptions): DataMethods {
  const { committed: world, engine, streams, profile } = options;
  return {
    ...networkMethods(world, streams),
    ...assetMethods(world),
    ...marketMethods(world),
    ...marketDataMethods(options, streams),
    ...depthMethods(world, engine, streams),
    ...partyMethods(world),
    ...accountMethods(world, streams),
    ...positionMethods(world, streams),
    ...orderMethods(world, streams),
    ...stopOrderMethods(world, profile),
    ...tradeMethods(world, streams),
    ...candleMethods(world, streams),
    ...nodeMethods(world),
    ...rewardMethods(),
    ...programMethods(world),
    ...signatureMethods(world),
    ...statisticsMethods(),
    ...transferMethods(world),
    ...governanceMethods(world, streams),
    ...partyChoiceMethods(world),
    ...referralMethods(world),
    ...liquidityMethods(world, streams),
    ...oracleMethods(world),
    ...entityMethods(world),
    ...riskMethods(world),
    observeEventBus: eventBus(options, "data"),
  };
}
