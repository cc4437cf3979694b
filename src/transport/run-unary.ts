import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type UnaryRequest, type UnaryResponse } from "@connectrpc/connect";
import { startTimer } from "../runtime/index.js";
import { controllerOf, follow } from "../signal/follow.js";
import { timedOut } from "./bare-call.js";

/** Why the signal of a call that has its answer is aborted: one error for all, as each would cost more than all below. */
const ENDED = new DOMException("the call has ended", "AbortError");

/** A call that does not stream, with its request in any form. */
export interface UnaryCall<I extends DescMessage, O extends DescMessage> {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time of the call, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /**
   * Whether someone may listen for the call's end at a signal, which is the default. Else the call needs no signal of its
   * own where the given one is of `ownController`: its time aborts that one.
   */
  readonly isWatched?: boolean;
  readonly req: Omit<UnaryRequest<I, O>, "message" | "signal"> & { readonly message: MessageInitShape<I> };
  /** Makes the call. */
  next(req: UnaryRequest<I, O>): Promise<UnaryResponse<I, O>>;
}

/**
 * Run a call that does not stream, as Connect's `runUnaryCall` does, for a part of its CPU time. The signal that `next`
 * gets is aborted when the call has ended, however it did, where it is the call's own.
 *
 * @param call the call and its limits
 * @returns the answer
 * @throws ConnectError where the call fails: what the signal or the time limit says, where one of them has ended it
 */
export async function runUnary<I extends DescMessage, O extends DescMessage>({
  signal,
  timeoutMs,
  isWatched = true,
  req,
  next,
}: UnaryCall<I, O>): Promise<UnaryResponse<I, O>> {
  const message = create(req.method.input, req.message);
  const shared = isWatched ? undefined : controllerOf(signal);
  const abort = shared ?? new AbortController();
  const follows = () => abort.abort(signal?.reason);
  const leave = shared === undefined ? follow(signal, follows) : undefined;
  if (signal?.aborted === true) {
    follows();
  }
  const timeout = () => abort.abort(timedOut());
  const stopTimer = timeoutMs === undefined ? undefined : startTimer(timeout, timeoutMs);
  const end = (reason: unknown) => {
    stopTimer?.();
    leave?.();
    if (shared === undefined) {
      abort.abort(reason);
    }
  };
  try {
    // To spread the request here costs more than all below.
    const { service, method, requestMethod, url, header, contextValues } = req;
    const whole = {
      stream: false,
      service,
      method,
      requestMethod,
      url,
      signal: abort.signal,
      header,
      contextValues,
      message,
    } as const;
    const response = await next(whole);
    end(ENDED);
    return response;
  } catch (reason) {
    const { aborted, reason: ended } = abort.signal;
    const error = aborted ? ConnectError.from(ended, Code.Canceled) : ConnectError.from(reason);
    end(error);
    throw error;
  }
}
