import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type Interceptor } from "@connectrpc/connect";
import { createLinkedAbortController, runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import type { TimeoutConfig } from "../../config/schema.js";
import { ConnectionError } from "../../errors/index.js";
import type { HeaderInit } from "../bare-call.js";
import type { ClosableTransport } from "../closable.js";

/**
 * A transport with interceptors around it, and with time limits: for a whole call that does not stream, and for the time in
 * which nothing comes in a stream. The inner transport is told how much of a call's time is left.
 */
export function limited(
  transport: ClosableTransport,
  {
    url,
    timeouts,
    interceptors,
  }: {
    readonly url: string;
    readonly timeouts: TimeoutConfig;
    readonly interceptors: readonly Interceptor[];
  },
): ClosableTransport {
  const request = (method: DescMethod, header: HeaderInit) => ({
    service: method.parent,
    requestMethod: "POST",
    url: `${url.replace(/\/$/, "")}/${method.parent.typeName}/${method.name}`,
    header: new Headers(header),
  });

  return {
    async unary(method, signal, timeoutMs = timeouts.callMs, header, message, contextValues = createContextValues()) {
      const limit = timeLimit(timeoutMs);
      return runUnaryCall({
        interceptors: [...interceptors],
        ...(signal && { signal }),
        ...limit.option,
        req: { ...request(method, header), stream: false, method, contextValues, message },
        next: (req) => transport.unary(method, req.signal, limit.left(), req.header, req.message, req.contextValues),
      });
    },

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const limit = timeLimit(timeoutMs);
      const idle = createLinkedAbortController(signal);
      const waiting = <T>(promise: Promise<T>): Promise<T> => {
        const timer = setTimeout(() => idle.abort(nothingCame(timeouts.idleMs)), timeouts.idleMs);
        return promise.finally(() => clearTimeout(timer));
      };
      try {
        const response = await waiting(
          runStreamingCall({
            interceptors: [...interceptors],
            signal: idle.signal,
            ...limit.option,
            req: { ...request(method, header), stream: true, method, contextValues, message: input },
            next: (req) =>
              transport.stream(method, req.signal, limit.left(), req.header, req.message, req.contextValues),
          }),
        );
        return { ...response, message: whileWaiting(response.message, waiting, () => idle.abort()) };
      } catch (reason) {
        idle.abort();
        throw reason;
      }
    },

    close: () => transport.close(),
  };
}

/** Connect takes a time of 0 or less for none. */
function timeLimit(timeoutMs: number | undefined) {
  if (timeoutMs === undefined || timeoutMs <= 0) {
    return { option: {}, left: () => undefined };
  }
  const end = performance.now() + timeoutMs;
  return { option: { timeoutMs }, left: () => Math.max(Math.ceil(end - performance.now()), 1) };
}

function nothingCame(idleMs: number): ConnectError {
  const cause = new ConnectionError(`nothing came for ${idleMs} ms`, {
    code: Code.DeadlineExceeded,
    advice: "Allow more time (timeouts.idleMs), or check why the node is slow.",
    connected: true,
  });
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}

/** The values of a source; while one is waited for, and only then, the clock runs. `end` is told when no more is wanted. */
function whileWaiting<T>(
  source: AsyncIterable<T>,
  waiting: <V>(promise: Promise<V>) => Promise<V>,
  end: () => void,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = source[Symbol.asyncIterator]();
      return {
        async next() {
          try {
            const result = await waiting(iterator.next());
            if (result.done === true) {
              end();
            }
            return result;
          } catch (reason) {
            end();
            throw reason;
          }
        },
        async return(value?: unknown) {
          end();
          return { done: true, value };
        },
      };
    },
  };
}
