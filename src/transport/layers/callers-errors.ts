import { ConnectError, type Interceptor, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import { failingWith } from "../../errors/failing.js";

/** The errors that the callers' interceptors have thrown. */
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
 * Find the error of a caller's interceptor in a failure.
 *
 * @param reason the failure
 * @returns what the interceptor threw; undefined where the failure is the call's
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
