import { Code } from "@connectrpc/connect";
import { CanceledError, ConnectionError, SlowConsumerError, TradewireError } from "../errors/index.js";
import { reactionTo } from "../errors/reaction.js";
import { monotonicMs } from "../runtime/index.js";
import { followingController } from "../signal/follow.js";
import { type RetryWaits, retryMs, wait } from "../signal/wait.js";

/** A stream that cannot be resumed. What happens while there is no connection is missing. */
export interface Observed<M, T> {
  /** What streams, for errors, such as `the stream of events`. */
  readonly stream: string;
  /** Open a connection. */
  open(signal: AbortSignal): AsyncIterable<M>;
  /** Take what a message holds. What this throws ends the stream. */
  take(message: M): readonly T[];
  /** The connection is lost: what comes next comes after a gap. */
  lost(): void;
  /** Words for what may be missing when the connection is lost, such as `events of block 7 and later may be missing`. */
  missing(): string;
}

/** What is done where a connection is lost. */
export interface Reconnecting {
  /** Whether another connection is opened. */
  readonly reconnect: boolean;
  readonly retry: RetryWaits;
  /** Called before each wait: the number of tries since something came last, the wait in milliseconds, and the loss. */
  onLoss(attempt: number, delayMs: number, error: TradewireError): void;
}

/**
 * Observe a stream, over one connection after the other where that is wanted. An end that nobody asked for is a loss,
 * whatever its status.
 *
 * @param observed the stream
 * @param reconnecting what is done where a connection is lost
 * @param signal ends it
 * @param isLate tells whether the consumer was too slow lately, so that the node has dropped it
 * @returns what the messages hold
 * @throws {@link ConnectionError} where the connection is lost and no other is wanted
 * @throws {@link SlowConsumerError} where it ends while the consumer is too slow
 * @throws the failure that trying again cannot mend
 */
export async function* observe<M, T>(
  observed: Observed<M, T>,
  { reconnect, retry, onLoss }: Reconnecting,
  signal: AbortSignal,
  isLate: () => boolean,
): AsyncGenerator<readonly T[]> {
  for (let attempt = 1; ; attempt += 1) {
    const openedAt = monotonicMs();
    const connection = followingController(signal);
    let loss: TradewireError | undefined;
    try {
      const messages = observed.open(connection.signal)[Symbol.asyncIterator]();
      while (loss === undefined) {
        const next = await messages.next().catch(lossBy);
        if (next instanceof TradewireError) {
          loss = next;
        } else if (next.done === true) {
          loss = endedWithoutWord();
        } else {
          attempt = 1;
          yield observed.take(next.value);
        }
      }
    } finally {
      connection.abort();
    }
    throwIfAborted(signal);
    if (isLate()) {
      throw new SlowConsumerError(observed, loss);
    }
    if (!reconnect) {
      throw loss instanceof ConnectionError && !loss.connected ? loss : streamLost(observed, loss);
    }
    observed.lost();
    attempt = monotonicMs() - openedAt > retry.maxMs ? 1 : attempt; // It was there for a while, and quiet.
    const delayMs = retryMs(attempt, retry);
    onLoss(attempt, delayMs, loss);
    await wait(delayMs, signal).catch(() => undefined);
    throwIfAborted(signal);
  }
}

/** Returns the failure if the stream may be opened again; throws any other. */
function lossBy(reason: unknown): TradewireError {
  if (reason instanceof TradewireError && reactionTo(reason).resume) {
    return reason;
  }
  throw reason;
}

function endedWithoutWord(): TradewireError {
  return new ConnectionError("the node ended it without an error", {
    code: Code.Unavailable,
    advice: "Such streams have no end: the node may have dropped it, or have been stopped.",
  });
}

function streamLost(
  { stream, missing }: Pick<Observed<never, never>, "stream" | "missing">,
  cause: TradewireError,
): ConnectionError {
  return new ConnectionError(`${stream} was lost: ${cause.summary}; ${missing()}`, {
    code: cause.code,
    advice:
      "Nothing of it can be sent again: open another, or have that done with `reconnect`. History has what is missing.",
    connected: true,
    cause,
  });
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) {
    throw new CanceledError({ what: "the stream", cause: signal.reason });
  }
}
