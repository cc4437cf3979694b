export { openArchive } from "../../src/archive/open.js";
export { createEvents } from "../../src/live/events.js";
export { readEventsRequest } from "../../src/live/events-request.js";
export type { FollowClient } from "../../src/live/follow.js";
export type { FollowPosition } from "../../src/live/follow-position.js";
export { createFollowing } from "../../src/live/follow-table.js";
export { readEvent } from "../../src/live/live-event.js";
export type { LiveCalls } from "../../src/live/observe-call.js";
export { commandParts, outcomeOfResult } from "../../src/live/outcome.js";
