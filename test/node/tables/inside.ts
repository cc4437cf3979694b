export { generateHistory } from "../../../src/node/generated-history/generated-history.js";
export {
  blockRows,
  compareText,
  csvHeader,
  csvRow,
  type Row,
  sortKeyOf,
} from "../../../src/node/tables/index.js";
export { float8Text, jsonbText, numericText, parseJson, timeText } from "../../../src/node/tables/postgres-text.js";
export type { BlockEvent, Event } from "../../../src/node/world/block-event.js";
