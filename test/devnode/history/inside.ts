export { createHistory, type History } from "../../../src/devnode/history/history.js";
export { historyService } from "../../../src/devnode/history-service.js";
export { createMadeUp, type MadeUp } from "../../../src/devnode/made-up/index.js";
export { blockRows, csvHeader, csvRow } from "../../../src/devnode/tables/index.js";
export type { Block, Event, Happening } from "../../../src/devnode/world/event.js";
