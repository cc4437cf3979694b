// Many machines on one sync: planners that fill a queue in the database of a PostgreSQL sink, and workers that empty it.

export type { DeadLetter } from "./dead-letter.js";
export { retryFailed } from "./dead-letters.js";
export type { CallLimits, QueueOptions, WorkerOptions } from "./queue-options.js";
export { type NodeState, type QueueStatus, queueStatus, type UnderWay, type WorkerState } from "./queue-status.js";
export { queueSync } from "./queue-sync.js";
export { runWorker, type WorkerSummary } from "./worker.js";
