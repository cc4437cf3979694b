export { type CoreOptions, coreMethods } from "../../../src/devnode/core/core-service.js";
export { stateMethods } from "../../../src/devnode/core/core-state-service.js";
export { createBlocks } from "../../../src/devnode/core/recent-blocks.js";
export { createSpamPolicies } from "../../../src/devnode/core/spam-policies.js";
export { busEventType } from "../../../src/devnode/data/event-bus.js";
export { dataMethods } from "../../../src/devnode/data/index.js";
export { createStreams, MAX_BUFFERED_RECORDS, type OpenStreams } from "../../../src/devnode/data/streams.js";
export type { Event } from "../../../src/devnode/world/block-event.js";
export { createWorld, type WorldHistory, type WorldStore } from "../../../src/devnode/world/world.js";
