import type { DescMessage } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";
import { createLinkedAbortController, runStreamingCall } from "@connectrpc/connect/protocol";
import { Code } from "../../base/errors/code.js";
import { startTimer } from "../../base/runtime/index.js";
import { onAbort } from "../../base/signal/abort.js";
import { deadlineError, isUnsentError, toConnectError } from "./call-failure.js";
import { isEndUnsent } from "./library-errors.js";

/**
 * The reason with which the signal of a call that has ended is aborted. All calls share it, since creating an error takes
 * longer than the rest of {@link runUnary}.
 */
const CALL_ENDED = new DOMException("the call has ended", "AbortError");

/** A unary call. */
export interface UnaryCall<I extends DescMessage, O extends DescMessage> {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit of the call, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  readonly req: Omit<UnaryRequest<I, O>, "signal">;
  /** Makes the call. */
  next(req: UnaryRequest<I, O>): Promise<UnaryResponse<I, O>>;
}

/**
 * Runs a unary call as Connect's `runUnaryCall` does. The signal that `next` receives is aborted when the call has ended.
 *
 * @throws ConnectError if the call fails: the reason of the signal or of the deadline if one of them has ended it
 */
export async function runUnary<I extends DescMessage, O extends DescMessage>({
  signal,
  timeoutMs,
  req,
  next,
}: UnaryCall<I, O>): Promise<UnaryResponse<I, O>> {
  const abort = new AbortController();
  const abortCall = () => abort.abort(signal?.reason);
  const stopListening = onAbort(signal, abortCall);
  if (signal?.aborted === true) {
    abortCall();
  }
  const onDeadline = () => abort.abort(deadlineError());
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(onDeadline, timeoutMs);
  const end = (reason: unknown) => {
    stopTimer?.();
    stopListening();
    abort.abort(reason);
  };
  try {
    const response = await next({ ...req, signal: abort.signal });
    end(CALL_ENDED);
    return response;
  } catch (reason) {
    const error = endOf(abort.signal, reason);
    end(error);
    throw error;
  }
}

/** Returns the error of a call that has failed: the reason of its signal, unless its own says more. */
export function endOf(signal: AbortSignal, reason: unknown): unknown {
  if (isEndUnsent(reason)) {
    return reason;
  }
  return signal.aborted ? ConnectError.from(signal.reason, Code.Canceled) : ConnectError.from(reason);
}

type StreamingCall<I extends DescMessage, O extends DescMessage> = Parameters<typeof runStreamingCall<I, O>>[0];

/**
 * Runs a streaming call with Connect's `runStreamingCall`, but with a timer of the runtime in place of Connect's own.
 *
 * @throws ConnectError if the call fails: the reason of the signal or of the deadline if one of them has ended it
 */
export function runStreaming<I extends DescMessage, O extends DescMessage>({
  signal,
  timeoutMs,
  interceptors = [],
  ...call
}: Pick<StreamingCall<I, O>, "req" | "next" | "interceptors"> & {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
}): ReturnType<typeof runStreamingCall<I, O>> {
  if (timeoutMs === undefined || timeoutMs <= 0) {
    return runStreamingCall({ ...call, interceptors, ...(signal && { signal }) });
  }
  const abort = createLinkedAbortController(signal);
  const stopTimer = startTimer(() => abort.abort(deadlineError()), timeoutMs);
  /** Connect aborts the request's signal when the call has ended, regardless of its outcome. */
  const stopAtEnd: Interceptor = (next) => (req) => {
    req.signal.addEventListener("abort", () => {
      stopTimer();
      abort.abort(req.signal.reason);
    });
    return next(req);
  };
  return runStreamingCall({ ...call, interceptors: [stopAtEnd, ...interceptors], signal: abort.signal });
}

/**
 * The cancellation of a unary call by its signal or its deadline. A class without a signal of its own, because each call has one,
 * and a signal would take a large part of a small call's time.
 */
export class Cancellation {
  private cancelReason: ConnectError | undefined;
  private listener: ((reason: ConnectError) => void) | undefined;
  private readonly stopListening: () => void;
  private readonly stopTimer: (() => void) | undefined;

  constructor(signal: AbortSignal | undefined, limitMs: number | undefined) {
    if (signal?.aborted === true) {
      this.cancel(signal.reason);
    }
    this.stopListening = onAbort(signal, () => this.cancel(signal?.reason));
    this.stopTimer = limitMs === undefined ? undefined : startTimer(() => this.cancel(deadlineError()), limitMs);
  }

  /** Returns the reason; `undefined` while the call is not canceled. */
  reason(): ConnectError | undefined {
    return this.cancelReason;
  }

  /** Sets the function to call when the call is canceled. It replaces an earlier one. */
  onCancel(listener: (reason: ConnectError) => void): void {
    this.listener = listener;
  }

  /** Returns the error of the call that failed with `reason`: that of its cancellation, if there was one. */
  errorOf(reason: unknown): ConnectError {
    return isUnsentError(reason) ? reason : (this.cancelReason ?? toConnectError(reason));
  }

  /** Stops to wait for a cancellation: the call has ended. */
  end(): void {
    this.stopTimer?.();
    this.stopListening();
  }

  private cancel(reason: unknown): void {
    this.cancelReason ??= ConnectError.from(reason, Code.Canceled);
    this.listener?.(this.cancelReason);
  }
}
