import type { Profile } from "../../base/profile.js";
import { accountMethods } from "./account-methods.js";
import { type Books, candleMethods, depthMethods } from "./candle-methods.js";
import { entityMethods } from "./entity-methods.js";
import { type EventBusOptions, eventBus } from "./event-bus.js";
import { governanceMethods } from "./governance-methods.js";
import { marketDataMethods, marketMethods, oracleMethods } from "./market-methods.js";
import type { DataMethods } from "./method.js";
import { assetMethods, type NetworkStates, networkMethods, nodeMethods } from "./network-methods.js";
import { orderMethods, stopOrderMethods, tradeMethods } from "./order-methods.js";
import { partyChoiceMethods, partyMethods } from "./party-methods.js";
import { positionMethods, riskMethods } from "./position-methods.js";
import { transferMethods } from "./transfer-methods.js";

/** The dependencies of {@link dataMethods}. */
export interface DataOptions extends EventBusOptions, NetworkStates {
  readonly profile: Profile;
  /** The order books. */
  readonly engine: Books;
}

/** Implements the methods of the data service that read the network's current state. */
export function dataMethods(options: DataOptions): DataMethods {
  const { committed: world, engine, streams, profile } = options;
  return {
    ...networkMethods(options, streams),
    ...assetMethods(world),
    ...marketMethods(world),
    ...marketDataMethods(options, streams),
    ...depthMethods(world, engine, streams),
    ...partyMethods(world),
    ...accountMethods(world, streams),
    ...positionMethods(options, streams),
    ...orderMethods(world, streams),
    ...stopOrderMethods(world, profile),
    ...tradeMethods(world, streams),
    ...candleMethods(world, streams),
    ...nodeMethods(world),
    ...transferMethods(world),
    ...governanceMethods(world, streams),
    ...partyChoiceMethods(world),
    ...oracleMethods(world),
    ...entityMethods(world),
    ...riskMethods(world),
    observeEventBus: eventBus(options, "data"),
  };
}
