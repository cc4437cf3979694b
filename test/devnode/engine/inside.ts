export { transactionError } from "../../../src/devnode/core/transaction-result.js";
export { openSize } from "../../../src/devnode/engine/book.js";
export { createEngine } from "../../../src/devnode/engine/create-engine.js";
export type { Engine, EngineStart, Outcome } from "../../../src/devnode/engine/engine.js";
export { accountId } from "../../../src/devnode/engine/identifiers.js";
export { networkParameters } from "../../../src/devnode/made-up/network-parameters.js";
export { type Event, isOrder } from "../../../src/devnode/world/event.js";
