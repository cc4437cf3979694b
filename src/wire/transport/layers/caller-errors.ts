import { ConnectError, type Interceptor, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import { mapStreamErrors } from "../../../base/errors/call-errors.js";
import { layered } from "../layered.js";
import { handleStream } from "../message-streams.js";
import type { ClosableTransport } from "../transport-types.js";

/** The errors that callers' interceptors, and the requests of their calls, have thrown. */
const callerErrors = new WeakSet<object>();

/** Returns an interceptor whose own errors can be distinguished from those of the call. */
export function markInterceptorErrors(interceptor: Interceptor): Interceptor {
  return (next) => {
    const errorsOfCall = new WeakSet<object>();
    const failCall = (reason: unknown): never => {
      if (isObject(reason)) {
        errorsOfCall.add(reason);
      }
      throw reason;
    };
    const fail = (reason: unknown): never => {
      if (isObject(reason) && !errorsOfCall.has(reason)) {
        callerErrors.add(reason);
      }
      throw reason;
    };
    const intercepted = interceptor((req) => next(req).then((response) => withFailure(response, failCall), failCall));
    return async (req) => {
      try {
        return withFailure(await intercepted(req), fail);
      } catch (reason) {
        return fail(reason);
      }
    };
  };
}

/** Returns a transport whose calls fail with the same error that their requests throw. */
export function withRequestErrors(transport: ClosableTransport): ClosableTransport {
  return layered(transport, {
    async stream(call, next) {
      if (call.method.methodKind === "server_streaming") {
        return next(call);
      }
      let requestError: { readonly reason: unknown } | undefined;
      const requests = requestsOf(call.message, (reason) => {
        requestError ??= { reason };
        throw reason;
      });
      const onError = (reason: unknown): never => {
        if (requestError === undefined || call.signal?.aborted === true) {
          throw reason; // Requests that end by the call's signal may throw then.
        }
        if (isObject(requestError.reason)) {
          callerErrors.add(requestError.reason);
        }
        throw requestError.reason;
      };
      const response = await next({ ...call, message: requests }).catch(onError);
      const message = handleStream(response.message, {
        onEnd: () => undefined,
        onError,
        async onReturn(messages) {
          await messages.return?.();
        },
      });
      return { ...response, message };
    },
  });
}

/** Returns requests for Connect, which ends them with `throw` and accepts none without that method. */
function requestsOf<T>(values: AsyncIterable<T>, onError: (reason: unknown) => never): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = values[Symbol.asyncIterator]();
      const done = { done: true, value: undefined } as const;
      return {
        next: () => iterator.next().catch(onError),
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

/** Returns the error of a caller's interceptor, or of the requests of a call, in a failure. */
export function callerErrorIn(reason: unknown): object | undefined {
  const candidates = [reason, reason instanceof ConnectError ? reason.cause : undefined];
  return candidates.filter(isObject).find((each) => callerErrors.has(each));
}

function withFailure(response: UnaryResponse | StreamResponse, fail: (reason: unknown) => never) {
  return response.stream ? { ...response, message: mapStreamErrors(response.message, fail) } : response;
}

function isObject(reason: unknown): reason is object {
  return typeof reason === "object" && reason !== null;
}
