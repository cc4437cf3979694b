import { BannedError, TradewireError } from "../base/errors/index.js";
import { reactionTo } from "../base/errors/reaction.js";
import { monotonicMs, unixMs } from "../base/runtime/index.js";
import { backoffMs, retry, throwIfAborted } from "../base/signal/wait.js";
import type { ReportEvent } from "./sync-events.js";

/** A failure, and when the next attempt is due. Times are those of `monotonicMs()`, as the machine's clock may be set. */
interface Backoff {
  readonly error: TradewireError;
  /** Failures since the last success. */
  readonly failures: number;
  readonly retryAt: number;
}

type AvailabilityState =
  | { readonly kind: "available" }
  /** It answers, but its last call failed. */
  | ({ readonly kind: "backoff" } & Backoff)
  /** It does not respond. `timedOut` is set once it has been retried for as long as configured. */
  | ({ readonly kind: "unreachable"; readonly since: number; readonly timedOut: boolean } & Backoff);

/** Tracks whether a node or a sink can be used. */
export interface Availability {
  readonly state: AvailabilityState;
  /** Records that it has answered. */
  recordSuccess(): void;
  recordFailure(error: TradewireError, isUnreachable: boolean): number;
}

/** How long calls are retried, where waits are reported, and what cancels them. */
export interface RetryContext {
  /** How long an unreachable node or sink is retried, in milliseconds. */
  readonly retryForMs: number;
  readonly report: ReportEvent;
  readonly signal: AbortSignal;
}

/** Creates the record of one node or sink, which is available at first. */
export function createAvailability(retryForMs: number): Availability {
  let state: AvailabilityState = { kind: "available" };
  return {
    get state() {
      return state;
    },
    recordSuccess() {
      state = { kind: "available" };
    },
    recordFailure(error, isUnreachable) {
      const now = monotonicMs();
      if (state.kind === "unreachable" && state.retryAt > now) {
        state = { ...state, error };
        return Math.ceil(state.retryAt - now); // Calls that were in flight fail together and count as one.
      }
      const failures = (state.kind === "available" ? 0 : state.failures) + 1;
      const since = state.kind === "unreachable" ? state.since : isUnreachable ? now : undefined;
      const leftMs = since === undefined ? Number.POSITIVE_INFINITY : since + retryForMs - now;
      const timedOut = leftMs <= 0;
      const requestedMs = error instanceof BannedError ? error.until.getTime() - unixMs() : 0;
      const limitMs = timedOut ? Number.POSITIVE_INFINITY : Math.ceil(leftMs);
      const delayMs = Math.min(Math.max(backoffMs(failures), requestedMs), limitMs);
      const backoff = { error, failures, retryAt: now + delayMs };
      state =
        since === undefined ? { kind: "backoff", ...backoff } : { kind: "unreachable", since, timedOut, ...backoff };
      return delayMs;
    },
  };
}

/**
 * Records that something is unreachable, reports the wait until the next attempt, and returns it in milliseconds.
 *
 * @throws `error` if it has been unreachable for too long
 */
export function delayMsAfterFailure(availability: Availability, error: TradewireError, report: ReportEvent): number {
  const againMs = availability.recordFailure(error, true);
  if (availability.state.kind === "unreachable" && availability.state.timedOut) {
    throw error;
  }
  report({ kind: "waiting", error, againMs });
  return againMs;
}

/**
 * Runs an action that is not specific to a unit, such as reading the history, and retries it while a node or the sink is
 * unreachable.
 *
 * @throws the last error of the action once `retryForMs` have passed, and other errors immediately;
 *   {@link CanceledError}
 */
export async function retryWhileUnavailable<T>(
  action: () => Promise<T>,
  { retryForMs, report, signal }: RetryContext,
  mayRetry: (error: TradewireError) => boolean = (error) => reactionTo(error).repeat,
): Promise<T> {
  const availability = createAvailability(retryForMs);
  const delayMsAfter = (reason: unknown) => {
    throwIfAborted(signal);
    if (!(reason instanceof TradewireError) || !mayRetry(reason)) {
      throw reason;
    }
    return delayMsAfterFailure(availability, reason, report);
  };
  throwIfAborted(signal);
  return retry(action, delayMsAfter, signal);
}
