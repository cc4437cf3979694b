import { Code, type ConnectError } from "@connectrpc/connect";

/** What an answer says about a node's limit on calls. */
export interface Allowance {
  /** The number of calls that the node would take at once. */
  readonly remaining: number;
  /** The calls that are added in a second. */
  readonly perSecond: number;
  /** Milliseconds until calls that were refused are possible again. */
  readonly resetMs: number;
}

/** The longest wait that a node is believed, for a reset and for a ban, in seconds. */
const MAX_RESET_S = 600;
const MAX_BAN_S = 24 * 3600;

/**
 * Read what an answer says about the node's limit. Deployed nodes give the calls that their bucket still holds, and the
 * calls that are added to it (`ratelimit-limit`) in a time (`ratelimit-reset`, in seconds).
 *
 * @param headers the headers or trailers of the answer
 * @returns the allowance; undefined where the answer names none
 */
export function readAllowance(headers: Headers): Allowance | undefined {
  const remaining = number(headers, "ratelimit-remaining");
  const reset = number(headers, "ratelimit-reset");
  if (remaining === undefined || reset === undefined) {
    return undefined;
  }
  const seconds = Math.min(Math.max(reset, 1), MAX_RESET_S);
  const limit = number(headers, "ratelimit-limit") ?? remaining;
  return { remaining, perSecond: Math.max(limit, 1) / seconds, resetMs: seconds * 1000 };
}

/** The codes of a refusal: HTTP's status 429 stands for the second, as in gRPC. */
const REFUSED: readonly Code[] = [Code.ResourceExhausted, Code.Unavailable];

/**
 * Read how long a node refuses calls of which there was one too many. There are other reasons for its code, such as a
 * stream too many.
 *
 * @param error the error of the call
 * @returns the time in milliseconds; undefined where the node does not name its limit, or something of it is left
 */
export function refusalMs({ code, metadata }: ConnectError): number | undefined {
  const allowance = REFUSED.includes(code) ? readAllowance(metadata) : undefined;
  return allowance?.remaining === 0 ? allowance.resetMs : undefined;
}

/**
 * Read how long a ban lasts.
 *
 * @param error the error of the call
 * @returns the time in milliseconds; undefined where the error is no ban
 */
export function banMs(error: ConnectError): number | undefined {
  const { code, metadata } = error;
  const seconds = number(metadata, "ratelimit-retry-after") ?? number(metadata, "retry-after");
  return code === Code.PermissionDenied && seconds !== undefined ? Math.min(seconds, MAX_BAN_S) * 1000 : undefined;
}

/** The whole number in a header. Where proxies have repeated it, the first counts. */
function number(headers: Headers, name: string): number | undefined {
  const digits = /^\s*(\d{1,9})\s*(?:,|$)/.exec(headers.get(name) ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
