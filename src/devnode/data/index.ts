import type { Profile } from "../../schema/profile.js";
import type { World } from "../world/world.js";
import { accountMethods } from "./accounts.js";
import { candleMethods } from "./candles.js";
import { type Books, depthMethods } from "./depth.js";
import { entityMethods } from "./entities.js";
import { type EventBusOptions, eventBus } from "./event-bus.js";
import { governanceMethods } from "./governance.js";
import { liquidityMethods } from "./liquidity.js";
import { marketDataMethods, marketMethods, oracleMethods } from "./markets.js";
import type { DataMethods } from "./method.js";
import { assetMethods, networkMethods, nodeMethods } from "./network.js";
import { orderMethods, stopOrderMethods, tradeMethods } from "./orders.js";
import { partyChoiceMethods, partyMethods } from "./parties.js";
import { positionMethods } from "./positions.js";
import { referralMethods } from "./referrals.js";
import { riskMethods } from "./risk.js";
import { transferMethods } from "./transfers.js";
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
export function dataMethods(options: DataOptions): DataMethods {
  const { world, engine, streams, profile } = options;
  return {
    ...networkMethods(world, streams),
    ...assetMethods(world),
    ...marketMethods(world),
    ...marketDataMethods(world, streams),
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
