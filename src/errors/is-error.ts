import { types } from "node:util";

/**
 * Tell whether a value is an error. Jest gives tests, and the libraries that they load, an `Error` of their own: errors that
 * Node throws are no instances of it.
 *
 * @param value anything that was thrown
 * @returns whether it is an error, or an exception such as that of a signal
 */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value) || value instanceof DOMException;
}
