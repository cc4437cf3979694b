import type { CallOptions as ConnectOptions } from "@connectrpc/connect";
import { assertKnownKeys, assertOneOf, invalidTypeError, invalidValueError, parseSignal } from "./assert.js";

/** The options of a call. All methods of a client that call the node accept them. */
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

/** The options of a call of a service client. */
export interface ServiceCallOptions extends CallOptions {
  /** Is called with the headers of the response. */
  readonly onHeader?: ConnectOptions["onHeader"] | undefined;
  /** Is called with the trailers of the response. */
  readonly onTrailer?: ConnectOptions["onTrailer"] | undefined;
  /** Values for interceptors. */
  readonly contextValues?: ConnectOptions["contextValues"] | undefined;
  /**
   * Whether the call may be repeated after it was sent: `true` for a read whose definition does not say so, `false` for no
   * retries. By default, its definition and `retry.methods` of the configuration decide.
   */
  readonly retry?: boolean | undefined;
}

/** The keys of {@link ServiceCallOptions}. */
const SERVICE_OPTIONS = { ...CALL_OPTIONS, onHeader: true, onTrailer: true, contextValues: true, retry: true } as const;

/**
 * Parses the options of a call that has no other options.
 *
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function parseCallOptions(options: CallOptions = {}): ConnectOptions {
  assertKnownKeys("options", options, CALL_OPTIONS);
  validateCallOptions(options);
  return toConnectOptions(options);
}

/**
 * Validates the options of a call of a service client.
 *
 * @throws {@link RequestError} if an option is unknown or invalid
 */
export function validateServiceOptions(options: ServiceCallOptions | undefined): void {
  if (options !== undefined) {
    assertKnownKeys("options", options, SERVICE_OPTIONS);
    validateCallOptions(options);
    assertOneOf("retry", options.retry, [true, false]);
  }
}

/** Returns Connect's options, which must not be `undefined`. */
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
 * @throws {@link RequestError} if the signal, headers or timeout are invalid
 */
export function validateCallOptions({ signal, headers, timeoutMs }: CallOptions): void {
  if (signal !== undefined) {
    parseSignal(signal);
  }
  if (timeoutMs !== undefined && (typeof timeoutMs !== "number" || Number.isNaN(timeoutMs))) {
    throw invalidValueError("timeoutMs", timeoutMs, "a number of milliseconds");
  }
  if (headers !== undefined) {
    checkHeaders(headers);
  }
}

function checkHeaders(headers: unknown): void {
  if (typeof headers !== "object" || headers === null) {
    throw invalidTypeError("headers", headers, 'an object of strings, such as { authorization: "Bearer ..." }');
  }
  if (Symbol.iterator in headers) {
    return; // `Headers`, or a list of pairs.
  }
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string") {
      throw invalidValueError(`headers.${name}`, value, "a string"); // `Headers` would convert undefined to "undefined".
    }
  }
}
