export { generateHistory } from "../../../src/devnode/generated-history/generated-history.js";
export {
  blockRows,
  compareText,
  csvHeader,
  csvRow,
  type Row,
  sortKeyOf,
} from "../../../src/devnode/tables/index.js";
export { float8Text, jsonbText, numericText, parseJson, timeText } from "../../../src/devnode/tables/postgres-text.js";
export type { BlockEvent, Event } from "../../../src/devnode/world/block-event.js";
