export { generateHistory } from "../../../src/devnode/generated-history/generated-history.js";
export { makerId } from "../../../src/devnode/generated-history/generated-trading.js";
export type { Timeline, TimelinePlace } from "../../../src/devnode/world/timeline.js";
