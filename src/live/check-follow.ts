import { requireFunction, requireKnown, requireOneOf, whole } from "../errors/check-values.js";
import { observer } from "../errors/observer.js";
import { CALL_OPTIONS, checkCallOptions } from "../given/call-options.js";
import { readBlock, requireOrder } from "../history/request.js";
import { MAX_TIMER_MS } from "../runtime/index.js";
import { readTable } from "../schema/tables.js";
import type { FollowEvent, FollowOptions, FollowRequest, TypedFollowOptions } from "./follow.js";
import { readCursor } from "./follow-position.js";

const POLL_MS = 60_000;
const ATTEMPTS = 5;
const MAX_ATTEMPTS = 1000;

/** The options that there are. */
const OPTIONS = {
  ...CALL_OPTIONS,
  cursor: true,
  pollMs: true,
  attempts: true,
  onEvent: true,
  extensions: true,
  maxRowBytes: true,
  typed: true,
  onUnknown: true,
} as const;

/** What is followed and how, checked. */
export type CheckedFollow = ReturnType<typeof checkFollow>;

/**
 * Check what is to be followed, as far as that can be done without the node.
 *
 * @param request the table and the blocks
 * @param options how it is followed
 * @returns request and options, with defaults
 * @throws {@link RequestError} where one is wrong
 */
export function checkFollow(request: FollowRequest, options: FollowOptions | TypedFollowOptions) {
  requireKnown("request", request, { table: true, fromBlock: true, toBlock: true });
  requireKnown("options", options, OPTIONS);
  const { cursor, pollMs = POLL_MS, attempts = ATTEMPTS, onEvent, extensions, maxRowBytes } = options;
  const { signal, headers, timeoutMs } = options;
  const table = readTable(request.table);
  const fromBlock = request.fromBlock === undefined ? undefined : readBlock(request.fromBlock, "fromBlock");
  const toBlock = request.toBlock === undefined ? undefined : readBlock(request.toBlock, "toBlock");
  if (fromBlock !== undefined && toBlock !== undefined) {
    requireOrder({ fromBlock, toBlock });
  }
  requireOneOf("typed", options.typed, [true, false]);
  requireOneOf("extensions", extensions, ["required", "optional"]);
  requireFunction("onEvent", onEvent);
  checkCallOptions(options);
  return {
    table,
    fromBlock,
    toBlock,
    position: cursor === undefined ? undefined : readCursor(cursor, table),
    pollMs: whole("pollMs", pollMs, MAX_TIMER_MS),
    attempts: whole("attempts", attempts, MAX_ATTEMPTS),
    tell: observer<FollowEvent>(onEvent, "the follow"),
    signal,
    typed: options.typed === true ? options : undefined,
    calling: { headers, timeoutMs },
    reading: { extensions, maxRowBytes },
  };
}
