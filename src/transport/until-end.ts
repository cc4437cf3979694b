import { Code, ConnectError } from "@connectrpc/connect";
import { startTimer } from "../runtime/index.js";
import { follow } from "../signal/follow.js";
import { connectError, timedOut } from "./bare-call.js";

/** What ends a call before its answer. */
export interface CallEnd {
  /** Why the call has ended; undefined while it has not. */
  reason(): ConnectError | undefined;
  /** Have one function called when the call ends, in the place of any before. */
  onEnd(end: (reason: ConnectError) => void): void;
}

/**
 * Run a call that does not stream until its signal or its time ends it. This takes the place of a signal of the call's
 * own, which costs much of a small call.
 *
 * @param signal ends the call, if any
 * @param timeoutMs the longest time of the call, in milliseconds; 0 or less stands for no limit
 * @param run makes the call, and sees to it that it fails when it is ended
 * @returns the result of `run`
 * @throws ConnectError where the call fails: what has ended it, if that did; else see {@link connectError}
 */
export async function untilEnd<T>(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  run: (ending: CallEnd) => Promise<T>,
): Promise<T> {
  let ended: ConnectError | undefined;
  let tell = (_: ConnectError) => {};
  const end = (reason: unknown) => {
    ended ??= ConnectError.from(reason, Code.Canceled);
    tell(ended);
  };
  if (signal?.aborted === true) {
    end(signal.reason);
  }
  const leave = follow(signal, () => end(signal?.reason));
  const timeout = () => end(timedOut());
  const stopTimer = timeoutMs === undefined || timeoutMs <= 0 ? undefined : startTimer(timeout, timeoutMs);
  try {
    return await run({
      reason: () => ended,
      onEnd(next) {
        tell = next;
      },
    });
  } catch (reason) {
    throw ended ?? connectError(reason);
  } finally {
    stopTimer?.();
    leave();
  }
}
