export { type CoreOptions, coreMethods, stateMethods } from "../../../src/node/core/core-service.js";
export { createBlocks } from "../../../src/node/core/recent-blocks.js";
export { createSpamPolicies } from "../../../src/node/core/spam-policies.js";
export { busEventType } from "../../../src/node/data/event-bus.js";
export { dataMethods } from "../../../src/node/data/index.js";
export { createStreams, MAX_BUFFERED_RECORDS, type OpenStreams } from "../../../src/node/data/streams.js";
export type { Event } from "../../../src/node/world/block-event.js";
export { createWorld, type WorldHistory, type WorldStore } from "../../../src/node/world/world.js";
