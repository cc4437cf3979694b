export type { Event } from "../../../src/node/world/block-event.js";
export type { Placed, Timeline } from "../../../src/node/world/timeline.js";
export { MAX_RECORDS } from "../../../src/node/world/timeline.js";
export type { World } from "../../../src/node/world/world.js";
export { createWorld, type WorldHistory, type WorldStore } from "../../../src/node/world/world.js";
