// Many machines on one sync: planners that fill a queue beside a PostgreSQL sink, and workers that empty it.

export { retryFailed } from "./dead-letters.js";
export type { DeadLetter } from "./queue-contents.js";
export type { CallLimits, QueueOptions, WorkerOptions } from "./queue-options.js";
export { type NodeState, type QueueStatus, queueStatus, type UnderWay, type WorkerState } from "./queue-status.js";
export { queueSync } from "./queue-sync.js";
export { runWorker, type WorkerSummary } from "./worker.js";
