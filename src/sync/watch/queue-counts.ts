import { monotonicMs, type StopTimer, startTimer } from "../../runtime/index.js";

/** Counts the units of a queue by state. */
export type QueueCounts = () => Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;

/** How long an answer holds. */
const HOLDS_MS = 5000;
/** How long one is waited for, until the last one has to do. */
const WAIT_MS = 2000;
/** The most states that are shown. */
const MAX_STATES = 50;

/**
 * Ask a queue how much is in it, not more often than every five seconds, however many ask.
 *
 * @param queue counts; where it throws, or has not answered yet, nothing or the last counts are given
 * @returns gives the counts
 */
export function createQueueCounts(
  queue: QueueCounts | undefined,
): () => Promise<Readonly<Record<string, number>> | undefined> {
  let last: Readonly<Record<string, number>> | undefined;
  let asking: Promise<void> | undefined;
  let asked = Number.NEGATIVE_INFINITY;
  const ask = async (count: QueueCounts) => {
    try {
      const numbers = Object.entries(await count()).filter(([, number]) => Number.isFinite(number));
      last = Object.fromEntries(numbers.slice(0, MAX_STATES));
    } catch {
      last = undefined;
    }
    asking = undefined;
  };
  return async () => {
    if (queue !== undefined && asking === undefined && monotonicMs() - asked > HOLDS_MS) {
      asked = monotonicMs();
      asking = ask(queue);
    }
    if (asking !== undefined) {
      let stopTimer: StopTimer | undefined;
      const enough = new Promise<void>((resolve) => {
        stopTimer = startTimer(resolve, WAIT_MS);
      });
      await Promise.race([asking, enough]);
      stopTimer?.();
    }
    return last;
  };
}
