import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { checkSignal, requireKnown } from "../errors/check-values.js";
import { misfit } from "./misfit.js";

/** How the node is called. Every method of a client that calls the node takes these. */
export interface CallOptions {
  /** Ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** Further headers of the request; of every request, where there are several. */
  readonly headers?: ConnectOptions["headers"] | undefined;
  /** The longest time of the call, in milliseconds; of each call, where there are several. */
  readonly timeoutMs?: number | undefined;
}

/** The names of {@link CallOptions}. */
export const CALL_OPTIONS = { signal: true, headers: true, timeoutMs: true } as const;

/** Those of the options of Connect's clients. */
const CONNECT_OPTIONS = { ...CALL_OPTIONS, onHeader: true, onTrailer: true, contextValues: true } as const;

/**
 * Check the options of a call that has no others.
 *
 * @param options the options
 * @returns the same for Connect, which takes no `undefined`
 * @throws {@link RequestError} where one is unknown or wrong
 */
export function readCallOptions(options: CallOptions = {}): ConnectOptions {
  requireKnown("options", options, CALL_OPTIONS);
  checkCallOptions(options);
  return connectOptions(options);
}

/**
 * Check the options of a call over a client such as Connect's.
 *
 * @param options the options
 * @throws {@link RequestError} where one is unknown or wrong
 */
export function checkConnectOptions(options: ConnectOptions | undefined): void {
  if (options !== undefined) {
    requireKnown("options", options, CONNECT_OPTIONS);
    checkCallOptions(options);
  }
}

/**
 * Make Connect's options, which may not be `undefined`.
 *
 * @param options the signal, the headers and the time
 * @returns those that are given
 */
export function connectOptions({ signal, headers, timeoutMs }: CallOptions): ConnectOptions {
  const given: ConnectOptions = {};
  if (signal !== undefined) {
    given.signal = signal;
  }
  if (headers !== undefined) {
    given.headers = headers;
  }
  if (timeoutMs !== undefined) {
    given.timeoutMs = timeoutMs;
  }
  return given;
}

/**
 * Check the options of calls among others.
 *
 * @param options the options
 * @throws {@link RequestError} where the signal, the headers or the time are wrong
 */
export function checkCallOptions({ signal, headers, timeoutMs }: CallOptions): void {
  if (signal !== undefined) {
    checkSignal(signal);
  }
  if (timeoutMs !== undefined && (typeof timeoutMs !== "number" || Number.isNaN(timeoutMs))) {
    throw misfit("timeoutMs", timeoutMs, "a number of milliseconds");
  }
  if (headers !== undefined) {
    checkHeaders(headers);
  }
}

function checkHeaders(headers: unknown): void {
  if (typeof headers !== "object" || headers === null) {
    throw misfit("headers", headers, 'an object of texts, such as { authorization: "Bearer ..." }');
  }
  if (Symbol.iterator in headers) {
    return; // Headers, or a list of pairs.
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") {
      throw misfit(`headers.${name}`, value, "a text, or leave it out"); // `Headers` would make "undefined" of it.
    }
  }
}
