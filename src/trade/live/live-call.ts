import type { DescMessage, DescMethodStreaming, DescService, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { type CallOptions, type ContextValues, createContextValues, type StreamResponse } from "@connectrpc/connect";
import { type CallErrorMapper, mapStreamErrors } from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import { ConnectionError, SlowConsumerError, TradewireError } from "../../base/errors/index.js";
import { reactionTo } from "../../base/errors/reaction.js";
import { startInterval } from "../../base/runtime/index.js";
import { onAbort } from "../../base/signal/abort.js";
import { createFlag, type RetryWaits, retryDelayMs } from "../../base/signal/wait.js";
import type { Paging } from "../../data/listing/paging.js";
import { setSize, sizeOf } from "../../wire/json/answer-size.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import { type ConnectionEnd, reconnect, type StreamSource, throwIfStreamAborted } from "./reconnect.js";

/** How the client calls a node for live data, as its configuration says. */
export interface LiveCalls {
  /** Opens a stream once, without retries. Its errors are the library's. */
  readonly stream: <I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal,
    timeoutMs: number | undefined,
    header: CallOptions["headers"],
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues: ContextValues,
  ) => Promise<StreamResponse<I, O>>;
  /** Creates a client of a service, whose methods throw the library's errors. */
  readonly service: <S extends DescService>(service: S) => ServiceClient<S>;
  /** Lists the records of a method that pages. */
  readonly records: Paging["records"];
  /** Adds the call to an error about its answer. */
  readonly failing: CallErrorMapper;
  /** The waits before a stream reconnects. */
  readonly retry: RetryWaits;
  /** The chain that events must be of, if the configuration names one. */
  readonly chainId: string | undefined;
  /** Called before each wait for a new connection. */
  onRetry(lost: LostCall): void;
}

interface LostCall {
  readonly method: DescMethodStreaming;
  readonly contextValues: ContextValues;
  /** The number of attempts since the last message, from 1. */
  readonly attempt: number;
  /** The wait before the new connection, in milliseconds. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

/**
 * A streaming method, and how its responses are read. It cannot be resumed: events between connections are missed.
 */
export interface ObservedCall<I extends DescMessage, O extends DescMessage, T> {
  readonly method: DescMethodStreaming<I, O>;
  /** Creates the requests of a connection. They end when its signal is aborted. */
  requests(connection: AbortSignal): AsyncIterable<MessageInitShape<I>>;
  readonly headers: CallOptions["headers"];
  /** Maximum time of a connection, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** Whether to reconnect after a lost connection. */
  readonly reconnect: boolean;
  /** The name of the stream in errors, such as `the stream of events`. */
  readonly stream: string;
  /** Returns the items of a response. If it throws, the stream ends. */
  read(answer: MessageShape<O>): readonly T[];
  /** Called when the connection was lost: a gap precedes the next response. */
  onGap(): void;
  /** Describes what a lost connection may have missed, such as `events of block 7 and later may be missing`. */
  missing(): string;
}

/**
 * Reads the stream of a method and reconnects if the call says so. An end that the caller did not request is a lost
 * connection, whatever its status.
 *
 * @throws {@link ConnectionError} while iterating, if the connection is lost and the call does not reconnect
 * @throws {@link SlowConsumerError} while iterating, if the stream ends while the consumer is too slow
 * @throws {@link CanceledError} while iterating, if the signal was aborted
 */
export function observeCall<I extends DescMessage, O extends DescMessage, T>(
  calls: LiveCalls,
  call: ObservedCall<I, O, T>,
  signal: AbortSignal,
  isLate: () => boolean,
): AsyncIterable<readonly T[]> {
  return mapStreamErrors(readCall(calls, call, signal, isLate), calls.failing(call.method, signal));
}

async function* readCall<I extends DescMessage, O extends DescMessage, T>(
  calls: LiveCalls,
  call: ObservedCall<I, O, T>,
  signal: AbortSignal,
  isLate: () => boolean,
): AsyncGenerator<readonly T[]> {
  const { method, headers, timeoutMs } = call;
  let contextValues = createContextValues();
  const source: StreamSource<MessageShape<O>> = {
    stableMs: calls.retry.maxMs,
    onGap: () => call.onGap(),
    async open(connection) {
      contextValues = createContextValues();
      const { message } = await calls.stream(
        method,
        connection,
        timeoutMs,
        headers,
        call.requests(connection),
        contextValues,
      );
      return message;
    },
    onEnd(end) {
      const error = lossOf(end);
      throwIfStreamAborted(signal);
      if (isLate()) {
        throw new SlowConsumerError(call, error);
      }
      if (!call.reconnect) {
        throw error instanceof ConnectionError && !error.connected ? error : streamLost(call, error);
      }
      const attempt = end.failures.total;
      const delayMs = retryDelayMs(attempt, calls.retry);
      calls.onRetry({ method, contextValues, attempt, delayMs, error });
      return { kind: "reconnect", delayMs };
    },
  };
  const stream = reconnect(source, signal);
  for await (const answer of stream.messages) {
    stream.progressed();
    const items = call.read(answer);
    setSize(items, sizeOf(answer));
    yield items;
  }
  throwIfStreamAborted(signal);
}

/** Returns the failure of a lost connection; throws a failure that a new connection cannot fix. */
function lossOf(end: ConnectionEnd): TradewireError {
  if (end.kind === "completed") {
    return new ConnectionError("the node ended it without an error", {
      code: Code.Unavailable,
      advice: "The node may have dropped the stream, or was stopped.",
    });
  }
  if (end.error instanceof TradewireError && reactionTo(end.error).resume) {
    return end.error;
  }
  throw end.error;
}

function streamLost(
  { stream, missing }: Pick<ObservedCall<never, never, never>, "stream" | "missing">,
  cause: TradewireError,
): ConnectionError {
  return new ConnectionError(`${stream} was lost: ${cause.summary}; ${missing()}`, {
    code: cause.code,
    advice:
      "The missing messages are not sent again. Open another stream, or use `reconnect`. The history contains what is missing.",
    connected: true,
    cause,
  });
}

/** Returns whether a call failed because the node lacks its method. */
export function isNotOffered(reason: unknown): boolean {
  return reason instanceof TradewireError && (reason.code === Code.Unimplemented || reason.code === Code.NotFound);
}

/** The requests of a bidirectional stream. */
export interface RepeatedRequests<Q> {
  /** The requests. They end only with the call, because a node treats an earlier end as a disconnected client. */
  readonly requests: AsyncIterable<Q>;
  /** Sends the request once more. */
  repeat(): void;
}

/** When a request is repeated automatically. */
export interface RequestSchedule {
  /** Interval between two requests, in milliseconds. */
  readonly everyMs: number;
  /** The number of additional requests sent at the beginning. */
  readonly ahead: number;
}

/** Maximum number of requests that may wait to be sent. Beyond it, the node has more than it reads. */
const MAX_PENDING_REQUESTS = 100;

/**
 * Creates the requests of a bidirectional stream: one immediately, and the same one again on demand or on a schedule.
 */
export function createRepeatedRequests<Q>(
  request: Q,
  signal: AbortSignal,
  schedule?: RequestSchedule,
): RepeatedRequests<Q> {
  let pending = 1 + (schedule?.ahead ?? 0);
  const changed = createFlag();

  async function* requests(): AsyncGenerator<Q> {
    const removeListener = onAbort(signal, changed.raise);
    const stopTimer = schedule && startInterval(repeat, schedule.everyMs, { ref: false });
    try {
      while (!signal.aborted) {
        if (pending > 0) {
          pending -= 1;
          yield request;
        } else {
          await changed.lowered();
        }
      }
    } finally {
      stopTimer?.();
      removeListener();
    }
  }

  function repeat(): void {
    pending = Math.min(pending + 1, MAX_PENDING_REQUESTS);
    changed.raise();
  }

  return { requests: requests(), repeat };
}
