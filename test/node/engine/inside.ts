export { transactionError } from "../../../src/node/core/transaction-result.js";
export { accountId } from "../../../src/node/engine/collateral.js";
export type { CommandResult } from "../../../src/node/engine/command-dispatch.js";
export { createEngine, type Engine } from "../../../src/node/engine/execution-engine.js";
export type { EngineOptions } from "../../../src/node/engine/initial-state.js";
export { trueRemaining } from "../../../src/node/engine/order-book.js";
export { networkParameters } from "../../../src/node/generated-history/network-parameters.js";
export { type Event, isOrder } from "../../../src/node/world/block-event.js";
