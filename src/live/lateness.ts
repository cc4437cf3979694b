import { monotonicMs } from "../runtime/index.js";

/** A consumer that has kept its source waiting for so long lately was slow, in milliseconds: a burst fills a buffer too. */
const LATE_MS = 100;

/** How long after that the end of a stream is put down to it, in milliseconds. */
const LATELY_MS = 10_000;

/** How much a consumer has kept its source waiting. */
export interface Lateness {
  /** Count the time of a wait for the consumer. */
  during(wait: Promise<void>): Promise<void>;
  /** Whether the consumer was too slow lately. */
  isLate(): boolean;
}

/**
 * Watch how long a consumer keeps its source waiting.
 *
 * @returns counts the waits; those that are followed by a long time without any are forgotten
 */
export function createLateness(): Lateness {
  let waitedMs = 0;
  let endedAt = Number.NEGATIVE_INFINITY;
  const isLately = () => monotonicMs() - endedAt < LATELY_MS;
  return {
    async during(wait) {
      const begunAt = monotonicMs();
      waitedMs = isLately() ? waitedMs : 0;
      await wait;
      endedAt = monotonicMs();
      waitedMs += endedAt - begunAt;
    },
    isLate: () => isLately() && waitedMs >= LATE_MS,
  };
}
