export { createMadeUp, makerId } from "../../../src/devnode/made-up/index.js";
export type { Place, Timeline } from "../../../src/devnode/world/timeline.js";
