export { openArchive } from "../../src/archive/open-archive.js";
export { parseEvent } from "../../src/live/event-types.js";
export { parseEventsRequest } from "../../src/live/events-request.js";
export type { FollowPosition } from "../../src/live/follow-cursor.js";
export type { FollowClient } from "../../src/live/follow-table.js";
export { createFollowing } from "../../src/live/follow-table.js";
export type { LiveCalls } from "../../src/live/live-call.js";
export { createEvents } from "../../src/live/live-events.js";
export { commandParts, outcomeOfResult } from "../../src/live/transaction-outcome.js";
