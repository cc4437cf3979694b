export type { Picture, PictureQuery, PictureRow } from "./coverage-picture.js";
export { coverageOf } from "./coverage-picture.js";
export type { QueueCounts } from "./metrics.js";
export { refreshCoverage } from "./refresh-coverage.js";
export {
  type Done,
  type ErrorReport,
  isReady,
  type Lag,
  type LagReport,
  type Loaded,
  type NodeReport,
  type Phase,
  type Rates,
  type SyncSnapshot,
  type TableProgress,
  type UnitUnderWay,
} from "./sync-snapshot.js";
export { createSyncState, type SyncState, type SyncStateOptions } from "./sync-state.js";
export { startWatch, type Watch, type WatchOptions } from "./watch-server.js";
