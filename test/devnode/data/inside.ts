export { createBlocks } from "../../../src/devnode/core/blocks.js";
export { type CoreOptions, coreMethods } from "../../../src/devnode/core/service.js";
export { createSpamPolicies } from "../../../src/devnode/core/spam-policies.js";
export { stateMethods } from "../../../src/devnode/core/state-service.js";
export { busEventType } from "../../../src/devnode/data/bus-event.js";
export { dataMethods } from "../../../src/devnode/data/index.js";
export { createStreams, MAX_WAITING_RECORDS, type Streams } from "../../../src/devnode/data/observe.js";
export { createWorld, type LivingWorld, type WorldStart } from "../../../src/devnode/world/create-world.js";
export type { Event } from "../../../src/devnode/world/event.js";
