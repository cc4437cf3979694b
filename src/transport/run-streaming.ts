import type { DescMessage } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { createLinkedAbortController, runStreamingCall } from "@connectrpc/connect/protocol";
import { startTimer } from "../runtime/index.js";
import { timedOut } from "./bare-call.js";

type StreamingCall<I extends DescMessage, O extends DescMessage> = Parameters<typeof runStreamingCall<I, O>>[0];

/**
 * Runs a call that streams, as Connect's `runStreamingCall` does, whose own timer is not that of the runtime.
 *
 * @param call the call and its limits; a time of 0 or less stands for no limit
 * @returns the answer
 * @throws ConnectError where the call fails: what the signal or the time limit says, where one of them has ended it
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
  const stopTimer = startTimer(() => abort.abort(timedOut()), timeoutMs);
  /** Connect aborts the request's signal when the call has ended, however it did. */
  const untilEnd: Interceptor = (next) => (req) => {
    req.signal.addEventListener("abort", () => {
      stopTimer();
      abort.abort(req.signal.reason);
    });
    return next(req);
  };
  return runStreamingCall({ ...call, interceptors: [untilEnd, ...interceptors], signal: abort.signal });
}
