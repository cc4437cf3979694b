import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { assertKnownKeys, parseSignal } from "./assert.js";
import { mismatchError } from "./message-init.js";

/** The options of a call. All methods of a client that call the node take them. */
export interface CallOptions {
  /** Cancels the call when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Additional headers of each request. */
  readonly headers?: ConnectOptions["headers"] | undefined;
  /** The timeout of each call, in milliseconds. */
  readonly timeoutMs?: number | undefined;
}

/** The keys of {@link CallOptions}. */
export const CALL_OPTIONS = { signal: true, headers: true, timeoutMs: true } as const;

/** The keys of the options of Connect's clients. */
const CONNECT_OPTIONS = { ...CALL_OPTIONS, onHeader: true, onTrailer: true, contextValues: true } as const;

/**
 * Parses the options of a call that has no other options.
 *
 * @param options the options
 * @returns the options for Connect, which accepts no `undefined`
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function parseCallOptions(options: CallOptions = {}): ConnectOptions {
  assertKnownKeys("options", options, CALL_OPTIONS);
  validateCallOptions(options);
  return toConnectOptions(options);
}

/**
 * Validates the options of a call over a Connect client.
 *
 * @param options the options
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function validateConnectOptions(options: ConnectOptions | undefined): void {
  if (options !== undefined) {
    assertKnownKeys("options", options, CONNECT_OPTIONS);
    validateCallOptions(options);
  }
}

/**
 * Returns Connect's options, which must not be `undefined`.
 *
 * @param options the signal, headers and timeout
 * @returns the options that are defined
 */
export function toConnectOptions({ signal, headers, timeoutMs }: CallOptions): ConnectOptions {
  const defined: ConnectOptions = {};
  if (signal !== undefined) {
    defined.signal = signal;
  }
  if (headers !== undefined) {
    defined.headers = headers;
  }
  if (timeoutMs !== undefined) {
    defined.timeoutMs = timeoutMs;
  }
  return defined;
}

/**
 * Validates the call options in an object that may have other options, too.
 *
 * @param options the options
 * @throws {@link RequestError} if the signal, headers or timeout are invalid
 */
export function validateCallOptions({ signal, headers, timeoutMs }: CallOptions): void {
  if (signal !== undefined) {
    parseSignal(signal);
  }
  if (timeoutMs !== undefined && (typeof timeoutMs !== "number" || Number.isNaN(timeoutMs))) {
    throw mismatchError("timeoutMs", timeoutMs, "a number of milliseconds");
  }
  if (headers !== undefined) {
    checkHeaders(headers);
  }
}

function checkHeaders(headers: unknown): void {
  if (typeof headers !== "object" || headers === null) {
    throw mismatchError("headers", headers, 'an object of texts, such as { authorization: "Bearer ..." }');
  }
  if (Symbol.iterator in headers) {
    return; // `Headers`, or a list of pairs.
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") {
      throw mismatchError(`headers.${name}`, value, "a text, or leave it out"); // `Headers` would convert undefined to "undefined".
    }
  }
}
