import type { DescMessage } from "@bufbuild/protobuf";
import { ConnectError, type Interceptor, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";
import { createLinkedAbortController, runStreamingCall } from "@connectrpc/connect/protocol";
import { Code } from "../../base/errors/code.js";
import { startTimer } from "../../base/runtime/index.js";
import { type LazyController, onAbort } from "../../base/signal/abort.js";
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

/**
 * Runs a unary call whose signal nobody listens to but this library, so that it needs none of its own: the deadline aborts that
 * of its controller. Node's signals take a large part of a small call (bench group `calls`).
 *
 * @throws ConnectError as {@link runUnary}
 */
export async function runUnwatched<T>(
  controller: LazyController,
  timeoutMs: number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  const onDeadline = () => controller.abort(deadlineError());
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(onDeadline, timeoutMs);
  try {
    return await run();
  } catch (reason) {
    throw endOf(controller.signal, reason);
  } finally {
    stopTimer?.();
  }
}

/** Returns the error of a call that has failed: the reason of its signal, unless its own says more. */
function endOf(signal: AbortSignal, reason: unknown): unknown {
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

/** The cancellation of a call by its signal or its deadline: a class, since each call has one. */
export class Cancellation {
  private cancelReason: ConnectError | undefined;
  private listener: ((reason: ConnectError) => void) | undefined;

  /** Returns the reason; `undefined` while the call is not canceled. */
  reason(): ConnectError | undefined {
    return this.cancelReason;
  }

  /** Sets the function to call when the call is canceled. It replaces an earlier one. */
  onCancel(listener: (reason: ConnectError) => void): void {
    this.listener = listener;
  }

  cancel(reason: unknown): void {
    this.cancelReason ??= ConnectError.from(reason, Code.Canceled);
    this.listener?.(this.cancelReason);
  }
}

/**
 * Runs a unary call that its signal or its deadline may cancel. It creates no signal for the call, which would take a large part
 * of a small call's time.
 *
 * @throws ConnectError if the call fails: the reason of its cancellation, or the error of `run`; see {@link toConnectError}
 */
export async function runCancelable<T>(
  signal: AbortSignal | undefined,
  limitMs: number | undefined,
  run: (cancellation: Cancellation) => Promise<T>,
): Promise<T> {
  const cancellation = new Cancellation();
  if (signal?.aborted === true) {
    cancellation.cancel(signal.reason);
  }
  const stopListening = onAbort(signal, () => cancellation.cancel(signal?.reason));
  const onDeadline = () => cancellation.cancel(deadlineError());
  const stopTimer = limitMs === undefined ? undefined : startTimer(onDeadline, limitMs);
  try {
    return await run(cancellation);
  } catch (reason) {
    throw isUnsentError(reason) ? reason : (cancellation.reason() ?? toConnectError(reason));
  } finally {
    stopTimer?.();
    stopListening();
  }
}
