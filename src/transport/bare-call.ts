import { Code, ConnectError } from "@connectrpc/connect";
import { TradewireError } from "../errors/index.js";

/** Headers as a transport is given them. */
export type HeaderInit = ConstructorParameters<typeof Headers>[0];

/** What ends a call, in the form that Connect's functions for transports take; a time of 0 or less stands for none. */
export function callLimits(signal: AbortSignal | undefined, timeoutMs: number | undefined) {
  return { ...(signal && { signal }), ...(timeoutMs !== undefined && timeoutMs > 0 && { timeoutMs }) };
}

/** Do a part of a call; what it throws is a Connect error. */
export async function asConnectError<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    throw connectError(reason);
  }
}

/** Connect's interceptors see Connect's errors only; an error of ours, or of the socket, goes on as the cause. */
export function connectError(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) {
    return reason;
  }
  const code = reason instanceof TradewireError ? reason.code : Code.Unavailable;
  const message = reason instanceof Error ? reason.message : String(reason);
  return new ConnectError(message, code, undefined, undefined, reason);
}
