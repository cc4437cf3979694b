export { createWorld, type LivingWorld, type WorldStart } from "../../../src/devnode/world/create-world.js";
export type { Event } from "../../../src/devnode/world/event.js";
export { MAX_RECORDS } from "../../../src/devnode/world/live-timeline.js";
export type { Placed, Timeline } from "../../../src/devnode/world/timeline.js";
export type { World } from "../../../src/devnode/world/world.js";
