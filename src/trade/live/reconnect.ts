import { BannedError, CanceledError, NodeError, type TradewireError } from "../../base/errors/index.js";
import { reactionTo } from "../../base/errors/reaction.js";
import { monotonicMs, startTimer, unixMs } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { backoffMs, type RetryWaits, retry, retryDelayMs, wait } from "../../base/signal/wait.js";

/** The failures since the last progress. */
export interface Failures {
  /** The number of connections that ended, for any reason. */
  readonly total: number;
  /** The number of invalid responses. */
  readonly broken: number;
  /** The number of requests that the node refused. */
  readonly refused: number;
}

const NO_FAILURES: Failures = { total: 0, broken: 0, refused: 0 };

export type ConnectionEnd = ({ readonly kind: "completed" } | { readonly kind: "failed"; readonly error: unknown }) & {
  /** The failures since the last progress, this end included. */
  readonly failures: Failures;
};

type AfterEnd = { readonly kind: "end" } | { readonly kind: "reconnect"; readonly delayMs: number };

/** A stream that outlives its connections. */
export interface StreamSource<M> {
  /** Opens a connection. If the stream can be resumed, the connection begins where the previous one ended. */
  open(connection: AbortSignal): AsyncIterable<M> | Promise<AsyncIterable<M>>;
  /** Decides what follows the end of a connection. If it throws, the stream ends. */
  onEnd(end: ConnectionEnd): AfterEnd;
  /** Called before the stream reconnects: the messages between the two connections may be missing. */
  onGap?(): void;
  /** Closes a connection that makes no progress for this time, as if it had failed with this error. */
  readonly idle?: { readonly timeoutMs: number; readonly error: () => TradewireError };
  /** A connection that was open for longer, in milliseconds, counts as progress even if no message arrived. */
  readonly stableMs?: number;
}

export interface ReconnectingStream<M> {
  /** The messages of all connections; iterate them once. They end when the signal is aborted. */
  readonly messages: AsyncIterable<M>;
  /** Reports that the connection works: forgets the failures and restarts the idle timeout. */
  progressed(): void;
}

/**
 * Reads a stream over successive connections. This is the only place that reconnects; the differences between streams are in the
 * source: how to open a connection, which ends are final, and how long to wait.
 */
export function reconnect<M>(source: StreamSource<M>, signal: AbortSignal): ReconnectingStream<M> {
  let failures = NO_FAILURES;
  let restartIdleTimer = (): void => {};

  async function* messages(): AsyncGenerator<M, void, undefined> {
    do {
      const openedAt = monotonicMs();
      const connection = openConnection(source, signal);
      restartIdleTimer = connection.restartIdleTimer;
      let reason: EndReason | undefined;
      let iterator: AsyncIterator<M> | undefined;
      try {
        iterator = (await source.open(connection.signal))[Symbol.asyncIterator]();
        for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
          yield next.value;
        }
        reason = { kind: "completed" };
      } catch (error) {
        reason = { kind: "failed", error };
      } finally {
        connection.close();
        if (reason === undefined) {
          await iterator?.return?.(); // The consumer has left. A source that waits for the node ends only by the abort.
        }
      }
      const end = connection.idleError() ?? reason;
      if (monotonicMs() - openedAt > (source.stableMs ?? Number.POSITIVE_INFINITY)) {
        failures = NO_FAILURES;
      }
      failures = countFailure(failures, end);
      const next = source.onEnd({ ...end, failures });
      if (next.kind === "end") {
        return;
      }
      source.onGap?.();
      await wait(next.delayMs, signal).catch(() => undefined);
    } while (!signal.aborted);
  }

  return {
    messages: messages(),
    progressed() {
      failures = NO_FAILURES;
      restartIdleTimer();
    },
  };
}

type EndReason = { readonly kind: "completed" } | { readonly kind: "failed"; readonly error: unknown };

function openConnection({ idle }: Pick<StreamSource<unknown>, "idle">, signal: AbortSignal) {
  const controller = linkedController(signal);
  let idleError: EndReason | undefined;
  const onIdle = () => {
    idleError = idle && { kind: "failed", error: idle.error() };
    controller.abort();
  };
  const startIdleTimer = () => (idle === undefined ? () => {} : startTimer(onIdle, idle.timeoutMs, { ref: false }));
  let stopIdleTimer = startIdleTimer();
  return {
    signal: controller.signal,
    restartIdleTimer() {
      stopIdleTimer();
      stopIdleTimer = startIdleTimer();
    },
    idleError: () => idleError,
    close() {
      stopIdleTimer();
      controller.abort();
    },
  };
}

function countFailure({ total, broken, refused }: Failures, end: EndReason): Failures {
  const counted = { total: total + 1, broken, refused };
  if (end.kind === "completed") {
    return counted;
  }
  const { unit, repeat } = reactionTo(end.error);
  return {
    ...counted,
    broken: broken + (unit === "retry" && !repeat ? 1 : 0),
    refused: refused + (unit === "fail" && end.error instanceof NodeError ? 1 : 0),
  };
}

/**
 * Returns how long to wait before reading history again from the same position.
 *
 * An unreachable or failing node is retried without a limit; invalid responses are retried up to `maxBroken` times in a
 * row. A refused segment is requested twice, because the node may have dropped the segment after listing it: the second
 * listing then shows that.
 *
 * @throws `error` if a retry does not help, or too many have failed
 */
export function rereadDelayMs(error: TradewireError, failures: Failures, maxBroken: number): number {
  const { unit, repeat } = reactionTo(error);
  const isRetried = repeat || unit === "retry" || (unit === "fail" && error instanceof NodeError);
  if (!isRetried || failures.refused > 1 || failures.broken >= maxBroken) {
    throw error;
  }
  const banMs = error instanceof BannedError ? error.until.getTime() - unixMs() : 0;
  return Math.max(backoffMs(failures.total), banMs);
}

/**
 * Throws if the stream was aborted.
 *
 * @throws {@link CanceledError} if it is aborted
 */
export function throwIfStreamAborted(signal: AbortSignal): void {
  if (signal.aborted) {
    throw new CanceledError({ what: "the stream", cause: signal.reason });
  }
}

/**
 * Calls a node until it responds, with the retries of a stream that reconnects.
 *
 * @throws the error of a call that another attempt cannot fix, and {@link CanceledError} if the signal is aborted
 */
export async function untilAnswered<T>(call: () => Promise<T>, waits: RetryWaits, signal: AbortSignal): Promise<T> {
  const delayMsAfter = (reason: unknown, attempt: number) => {
    if (!reactionTo(reason).resume) {
      throw reason;
    }
    return retryDelayMs(attempt, waits);
  };
  return retry(call, delayMsAfter, signal);
}
