export { transactionError } from "../../../src/devnode/core/transaction-result.js";
export { accountId } from "../../../src/devnode/engine/collateral.js";
export type { CommandResult } from "../../../src/devnode/engine/command-dispatch.js";
export { createEngine, type Engine } from "../../../src/devnode/engine/execution-engine.js";
export type { EngineOptions } from "../../../src/devnode/engine/initial-state.js";
export { trueRemaining } from "../../../src/devnode/engine/order-book.js";
export { networkParameters } from "../../../src/devnode/generated-history/network-parameters.js";
export { type Event, isOrder } from "../../../src/devnode/world/block-event.js";
