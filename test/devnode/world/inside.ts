export type { Event } from "../../../src/devnode/world/block-event.js";
export type { Placed, Timeline } from "../../../src/devnode/world/timeline.js";
export { MAX_RECORDS } from "../../../src/devnode/world/timeline.js";
export type { World } from "../../../src/devnode/world/world.js";
export { createWorld, type WorldHistory, type WorldStore } from "../../../src/devnode/world/world.js";
