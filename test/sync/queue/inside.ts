export { createPermits } from "../../../src/sync/queue/admission.js";
export { claimJob, completeJob, sendHeartbeat } from "../../../src/sync/queue/claims.js";
export { DEAD_LETTER_QUEUE, jobOf, queueSchema, UNIT_QUEUE } from "../../../src/sync/queue/jobs.js";
export {
  admit,
  endProbe,
  markReachable,
  markUnreachable,
  registerNodes,
  takeCallToken,
} from "../../../src/sync/queue/node-limits.js";
export { readDeadLetters } from "../../../src/sync/queue/queue-contents.js";
export { installQueue, openQueueDatabase, type QueueDatabase } from "../../../src/sync/queue/queue-database.js";
export { parseTarget } from "../../../src/sync/sinks/postgres/postgres-target.js";
