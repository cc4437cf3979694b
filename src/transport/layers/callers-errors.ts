import { ConnectError, type Interceptor, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import { failingWith } from "../../errors/failing.js";
import type { ClosableTransport } from "../closable.js";
import { watched } from "../watched.js";

/** The errors that the callers' interceptors, and the requests of their calls, have thrown. */
const thrown = new WeakSet<object>();

/**
 * Make an interceptor whose own errors are told from those of the call.
 *
 * @param interceptor the caller's interceptor
 * @returns the same; {@link callersError} finds what it throws
 */
export function marking(interceptor: Interceptor): Interceptor {
  return (next) => {
    const ofTheCall = new WeakSet<object>();
    const called = (reason: unknown): never => {
      if (isObject(reason)) {
        ofTheCall.add(reason);
      }
      throw reason;
    };
    const own = (reason: unknown): never => {
      if (isObject(reason) && !ofTheCall.has(reason)) {
        thrown.add(reason);
      }
      throw reason;
    };
    const intercepted = interceptor((req) => next(req).then((response) => withFailure(response, called), called));
    return async (req) => {
      try {
        return withFailure(await intercepted(req), own);
      } catch (reason) {
        return own(reason);
      }
    };
  };
}

/**
 * Make a transport whose calls fail with what their requests throw, as it is.
 *
 * @param transport the transport that makes the calls
 * @returns the transport; closing it closes `transport`
 */
export function failingWithRequests(transport: ClosableTransport): ClosableTransport {
  return {
    ...transport,
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      if (method.methodKind === "server_streaming") {
        return transport.stream(method, signal, timeoutMs, header, input, contextValues);
      }
      let failure: { readonly reason: unknown } | undefined;
      const requests = requestsOf(input, (reason) => {
        failure ??= { reason };
        throw reason;
      });
      const failed = (reason: unknown): never => {
        if (failure === undefined || signal?.aborted === true) {
          throw reason; // Requests that end by the call's signal may throw then.
        }
        if (isObject(failure.reason)) {
          thrown.add(failure.reason);
        }
        throw failure.reason;
      };
      const response = await transport.stream(method, signal, timeoutMs, header, requests, contextValues).catch(failed);
      const message = watched(response.message, {
        ended: () => undefined,
        failed,
        async left(messages) {
          await messages.return?.();
        },
      });
      return { ...response, message };
    },
  };
}

/** Requests for Connect, which ends them by `throw`: it takes none without that method. */
function requestsOf<T>(values: AsyncIterable<T>, failed: (reason: unknown) => never): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = values[Symbol.asyncIterator]();
      const done = { done: true, value: undefined } as const;
      return {
        next: () => iterator.next().catch(failed),
        return: async () => (await iterator.return?.()) ?? done,
        async throw(reason: unknown) {
          if (iterator.throw === undefined) {
            await iterator.return?.();
            throw reason;
          }
          return iterator.throw(reason);
        },
      };
    },
  };
}

/**
 * Find the error of a caller's interceptor, or of the requests of a call, in a failure.
 *
 * @param reason the failure
 * @returns what they threw; undefined where the failure is the call's
 */
export function callersError(reason: unknown): object | undefined {
  const found = [reason, reason instanceof ConnectError ? reason.cause : undefined];
  return found.filter(isObject).find((each) => thrown.has(each));
}

function withFailure(response: UnaryResponse | StreamResponse, fail: (reason: unknown) => never) {
  return response.stream ? { ...response, message: failingWith(response.message, fail) } : response;
}

function isObject(reason: unknown): reason is object {
  return typeof reason === "object" && reason !== null;
}
