import { monotonicMs } from "../../runtime/index.js";

/** A bucket of calls: it is filled at a constant rate, and each call takes one out of it. */
export interface Bucket {
  /** Milliseconds until there is a call to take; 0 where there is one. */
  waitMs(): number;
  /** Milliseconds in which a number of calls is added. */
  msFor(calls: number): number;
  take(): void;
  /**
   * Correct what is in the bucket by what is known of the true one.
   *
   * @param perSecond the calls that are added in a second
   * @param known the calls that are in the true bucket, or fewer
   * @param isExact whether `known` is exact; otherwise it only lowers what is in the bucket
   */
  correct(perSecond: number, known: number, isExact: boolean): void;
}

/**
 * Make a bucket, full.
 *
 * @param rate the calls that are added in a second
 * @param capacity the most calls in it, by default those of a second, but at least one; more that come to be known
 *   raise it
 * @returns the bucket
 */
export function createBucket(rate: number, capacity = rate): Bucket {
  let [perSecond, most] = [rate, Math.max(capacity, 1)];
  let calls = most;
  let at = monotonicMs();

  function fill(): void {
    const now = monotonicMs();
    calls = Math.min(calls + ((now - at) / 1000) * perSecond, most);
    at = now;
  }

  return {
    waitMs() {
      fill();
      return Math.ceil((Math.max(1 - calls, 0) / perSecond) * 1000);
    },
    msFor: (count) => (count / perSecond) * 1000,
    take() {
      fill();
      calls -= 1;
    },
    correct(newRate, known, isExact) {
      fill();
      perSecond = newRate;
      most = Math.max(most, known);
      calls = isExact ? known : Math.min(calls, known);
    },
  };
}
