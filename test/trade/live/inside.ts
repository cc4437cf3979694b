export { openArchive } from "../../../src/data/archive/open-archive.js";
export { parseEvent } from "../../../src/trade/live/event-types.js";
export { parseEventsRequest } from "../../../src/trade/live/events-request.js";
export type { FollowClient } from "../../../src/trade/live/follow-table.js";
export { createFollowing } from "../../../src/trade/live/follow-table.js";
export type { LiveCalls } from "../../../src/trade/live/live-call.js";
export { createEvents } from "../../../src/trade/live/live-events.js";
export type { FollowPosition } from "../../../src/trade/live/next-segments.js";
export { commandParts, outcomeOfResult } from "../../../src/trade/live/transaction-outcome.js";
