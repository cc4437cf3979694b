export { historyMethods } from "../../../src/devnode/data/history-methods.js";
export { type GeneratedHistory, generateHistory } from "../../../src/devnode/generated-history/generated-history.js";
export { createHistory, type History } from "../../../src/devnode/history/history.js";
export { blockRows, csvHeader, csvRow } from "../../../src/devnode/tables/index.js";
export type { Block, BlockEvent, Event } from "../../../src/devnode/world/block-event.js";
