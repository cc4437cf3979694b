/** The longest time until a ping is answered, in milliseconds; where pings are sent more often, the time between two. */
const PING_ANSWER_MS = 15_000;

/**
 * A connection from which nothing comes for this time is probed by the system, in milliseconds. On Linux and macOS Node
 * has it then probe once a second, ten times, so a machine that has vanished is noticed about ten seconds later.
 */
export const TCP_KEEPALIVE_MS = 60_000;

/**
 * The time between two pings over a WebSocket, in milliseconds. It is less than the 30 seconds after which proxies drop
 * one over which nothing passes. A server that says nothing from one ping to the next is gone.
 */
export const SOCKET_PING_MS = 25_000;

/**
 * Choose how long a ping may go without an answer.
 *
 * @param keepaliveMs the time between two pings, in milliseconds
 * @returns the time in milliseconds
 */
export function pingAnswerMs(keepaliveMs: number): number {
  return Math.min(PING_ANSWER_MS, keepaliveMs);
}
