export { checkHistory } from "../../src/data/history/segment-chain.js";
export { fetchUnit } from "../../src/sync/fetch-unit.js";
export { readHistory } from "../../src/sync/node-history.js";
export { loadMetrics } from "../../src/sync/watch/metrics.js";
