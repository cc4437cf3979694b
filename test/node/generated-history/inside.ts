export { generateHistory } from "../../../src/node/generated-history/generated-history.js";
export { makerId } from "../../../src/node/generated-history/generated-trading.js";
export type { Timeline, TimelinePlace } from "../../../src/node/world/timeline.js";
