export { createMadeUp } from "../../../src/devnode/made-up/index.js";
export { blockRows, compareText, csvHeader, csvRow, type Fields, placeIn } from "../../../src/devnode/tables/index.js";
export { jsonbText, parseJson } from "../../../src/devnode/tables/jsonb.js";
export { float8Text, numericText } from "../../../src/devnode/tables/numeric.js";
export { timeText } from "../../../src/devnode/tables/time.js";
export type { Event, Happening } from "../../../src/devnode/world/event.js";
