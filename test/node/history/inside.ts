export { historyMethods } from "../../../src/node/data/history-methods.js";
export { type GeneratedHistory, generateHistory } from "../../../src/node/generated-history/generated-history.js";
export { createHistory, type History } from "../../../src/node/history/history.js";
export { blockRows, csvHeader, csvRow } from "../../../src/node/tables/index.js";
export type { Block, BlockEvent, Event } from "../../../src/node/world/block-event.js";
