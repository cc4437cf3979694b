import { BannedError, type TradewireError } from "../errors/index.js";
import { monotonicMs, unixMs } from "../runtime/index.js";
import { backoffMs } from "../signal/wait.js";

/** Whether something, a node or a sink, can be reached, and until when it is left alone after a failure. */
export interface Reach {
  /** What it last failed with; `undefined` once it was reached again. */
  readonly error: TradewireError | undefined;
  /** Since when it could not be reached, by `monotonicMs()`; `undefined` where it can be, even if it rests. */
  readonly lostAt: number | undefined;
  /** Until when it rests, by `monotonicMs()`, as the machine's clock may be set; 0 where it does not. */
  readonly restsUntil: number;
  /** Whether it was waited for as long as it may be. */
  readonly givenUp: boolean;
  /** It was reached. */
  reached(): void;
  /**
   * It failed.
   *
   * @param error the failure
   * @param lost whether it could not be reached at all
   * @returns the whole milliseconds that it rests
   */
  failed(error: TradewireError, lost: boolean): number;
}

/**
 * Make what remembers whether something can be reached.
 *
 * @param patienceMs how long it is waited for; a rest ends with it, for a last attempt
 * @returns the memory
 */
export function createReach(patienceMs: number): Reach {
  let failures = 0;
  let [restsUntil, lostAt]: [number, number | undefined] = [0, undefined];
  let last: TradewireError | undefined;
  let givenUp = false;
  return {
    get error() {
      return last;
    },
    get lostAt() {
      return lostAt;
    },
    get restsUntil() {
      return restsUntil;
    },
    get givenUp() {
      return givenUp;
    },
    reached() {
      failures = 0;
      givenUp = false;
      [restsUntil, lostAt, last] = [0, undefined, undefined];
    },
    failed(error, lost) {
      const now = monotonicMs();
      last = error;
      if (restsUntil > now && lostAt !== undefined) {
        return Math.ceil(restsUntil - now); // Calls that were under way fail with the first one.
      }
      failures += 1;
      if (lost) {
        lostAt ??= now;
      }
      const asked = error instanceof BannedError ? error.until.getTime() - unixMs() : 0;
      const left = lostAt === undefined ? Number.POSITIVE_INFINITY : lostAt + patienceMs - now;
      givenUp = left <= 0;
      const most = givenUp ? Number.POSITIVE_INFINITY : Math.ceil(left);
      const restMs = Math.min(Math.max(backoffMs(failures), asked), most);
      restsUntil = now + restMs;
      return restMs;
    },
  };
}
