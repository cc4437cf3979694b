import type { DescMessage, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions, ContextValues, StreamResponse } from "@connectrpc/connect";
import type { FailingCall } from "../errors/failing.js";
import type { TradewireError } from "../errors/index.js";

/** How nodes are called, and what the client's configuration says of it. */
export interface LiveCalls {
  /** Opens a stream; its errors are the library's. */
  readonly stream: <I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal,
    timeoutMs: undefined,
    header: CallOptions["headers"],
    input: AsyncIterable<MessageInitShape<I>>,
    contextValues: ContextValues,
  ) => Promise<StreamResponse<I, O>>;
  /** Adds to an error about an answer which call it came from. */
  readonly failing: FailingCall;
  /** The longest wait before the first try and before any, in milliseconds. */
  readonly retry: { readonly baseMs: number; readonly maxMs: number };
  /** The chain that events must be of, where the user has named one. */
  readonly chainId: string | undefined;
  /** Tells of a wait before a stream is opened again, in milliseconds. */
  onRetry(retry: LostCall): void;
}

/** A stream that was lost, and is opened again. */
export interface LostCall {
  readonly method: DescMethodStreaming;
  /** Those of the call. */
  readonly contextValues: ContextValues;
  readonly attempt: number;
  readonly delayMs: number;
  readonly error: TradewireError;
}
