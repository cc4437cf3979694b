import type { DescMessage, DescMethodStreaming, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import {
  type CallOptions,
  Code,
  type ContextValues,
  createContextValues,
  type StreamResponse,
} from "@connectrpc/connect";
import { type FailingCall, failingWith } from "../errors/failing.js";
import { TradewireError } from "../errors/index.js";
import { setSize, sizeOf } from "../json/message-size.js";
import type { Paging } from "../listing/paging.js";
import type { RetryWaits } from "../signal/wait.js";
import { type Observed, observe } from "./observe.js";

/** How nodes are called, and what the client's configuration says of it. */
export interface LiveCalls {
  /** Opens a stream, which is never opened a second time unseen; its errors are the library's. */
  readonly stream: <I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal,
    timeoutMs: number | undefined,
    header: CallOptions["headers"],
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues: ContextValues,
  ) => Promise<StreamResponse<I, O>>;
  /** Lists the records of a method that pages. */
  readonly records: Paging["records"];
  /** Adds to an error about an answer which call it came from. */
  readonly failing: FailingCall;
  /** The waits before a stream is opened again. */
  readonly retry: RetryWaits;
  /** The chain that events must be of, where the user has named one. */
  readonly chainId: string | undefined;
  /** Tells of a wait before a stream is opened again. */
  onRetry(lost: LostCall): void;
}

/** A stream that was lost, and is opened again. */
export interface LostCall {
  readonly method: DescMethodStreaming;
  /** Those of the call. */
  readonly contextValues: ContextValues;
  /** The number of tries since something came last, from 1. */
  readonly attempt: number;
  /** The wait, in milliseconds. */
  readonly delayMs: number;
  readonly error: TradewireError;
}

/** A stream of a method, and how it is read. */
export interface ObservedCall<I extends DescMessage, O extends DescMessage, T>
  extends Omit<Observed<MessageShape<O>, T>, "open"> {
  readonly method: DescMethodStreaming<I, O>;
  /** The requests of a connection, which its signal ends. */
  requests(connection: AbortSignal): AsyncIterable<MessageInitShape<I>>;
  readonly headers: CallOptions["headers"];
  /** The longest time of a connection, in milliseconds. */
  readonly timeoutMs: number | undefined;
  /** Whether a lost connection is made again. */
  readonly reconnect: boolean;
}

/**
 * Observe the stream of a method, over one connection after the other where that is wanted.
 *
 * @param calls how the node is called
 * @param call the method, and how its answers are read
 * @param signal ends the stream
 * @param isLate tells whether the consumer was too slow lately
 * @returns what the answers hold; its errors name the method
 */
export function observeCall<I extends DescMessage, O extends DescMessage, T>(
  calls: LiveCalls,
  call: ObservedCall<I, O, T>,
  signal: AbortSignal,
  isLate: () => boolean,
): AsyncIterable<readonly T[]> {
  const { method, headers, timeoutMs, reconnect } = call;
  let contextValues = createContextValues();
  const observed: Observed<MessageShape<O>, T> = {
    ...call,
    take(message) {
      const taken = call.take(message);
      setSize(taken, sizeOf(message));
      return taken;
    },
    async *open(connection) {
      contextValues = createContextValues();
      const input = call.requests(connection);
      yield* (await calls.stream(method, connection, timeoutMs, headers, input, contextValues)).message;
    },
  };
  const onLoss = (attempt: number, delayMs: number, error: TradewireError) =>
    calls.onRetry({ method, contextValues, attempt, delayMs, error });
  const batches = observe(observed, { reconnect, retry: calls.retry, onLoss }, signal, isLate);
  return failingWith(batches, calls.failing(method, signal));
}

/**
 * Tells whether a call failed because the node does not have its method.
 *
 * @param reason why the call failed
 * @returns whether the node answered `UNIMPLEMENTED`, or `NOT_FOUND` as a gateway does for an unknown path
 */
export function isNotOffered(reason: unknown): boolean {
  return reason instanceof TradewireError && (reason.code === Code.Unimplemented || reason.code === Code.NotFound);
}
