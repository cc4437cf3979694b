import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type Interceptor } from "@connectrpc/connect";
import { createLinkedAbortController, runStreamingCall, runUnaryCall } from "@connectrpc/connect/protocol";
import type { TimeoutConfig } from "../../config/schema.js";
import { ConnectionError } from "../../errors/index.js";
import type { HeaderInit } from "../bare-call.js";
import type { ClosableTransport } from "../closable.js";

/**
 * Make a transport with interceptors and time limits: one for a whole call that does not stream, and one for the time
 * in which no message of a stream comes. The inner transport gets the rest of a call's time.
 *
 * @param transport the transport that makes the calls
 * @param options the URL that interceptors see, the time limits in milliseconds, and Connect's interceptors
 * @returns the transport; closing it closes `transport`
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

/** The time limit of a call. As in Connect, a time of 0 or less stands for no limit. */
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

/** Pass values on, each wait for one through `waiting`; `end` is called when the source ends or the reader stops. */
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
