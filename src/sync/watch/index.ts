export { coverageOf } from "./coverage.js";
export { keepCovered } from "./keep-covered.js";
export type { CoverageQuestion, Picture, PictureRow } from "./picture.js";
export type { QueueCounts } from "./queue-counts.js";
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
} from "./snapshot.js";
export { startWatch, type Watch, type WatchOptions } from "./start-watch.js";
export { createSyncState, type SyncState, type SyncStateOptions } from "./state.js";
