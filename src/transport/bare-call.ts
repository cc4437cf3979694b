import { Code, ConnectError } from "@connectrpc/connect";
import { TradewireError } from "../errors/index.js";
import { isError } from "../errors/is-error.js";
import { CallError } from "./call-failure.js";

/** Headers in any form that the `Headers` constructor takes. */
export type HeaderInit = ConstructorParameters<typeof Headers>[0];

/**
 * Make the error of a call whose time is up.
 *
 * @returns the error
 */
export function timedOut(): CallError {
  return new CallError({ kind: "deadline exceeded" });
}

/**
 * Run a part of a call, with its errors as Connect errors.
 *
 * @param run the part of the call
 * @returns the result of `run`
 * @throws ConnectError for any error of `run`; see {@link connectError}
 */
export async function asConnectError<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    throw connectError(reason);
  }
}

/**
 * Make a Connect error of any error, for Connect's interceptors. An error of this library, or of the socket, is its
 * cause.
 *
 * @param reason the error that was thrown
 * @returns a Connect error: `reason` itself where it is one
 */
export function connectError(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) {
    return reason;
  }
  const code = reason instanceof TradewireError ? reason.code : Code.Unavailable;
  const message = isError(reason) ? reason.message : String(reason);
  return new ConnectError(message, code, undefined, undefined, reason);
}
