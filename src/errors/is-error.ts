import { types } from "node:util";

/**
 * Tell whether a value is an error, also where it is of another realm: under Jest's environments and in contexts of `node:vm`,
 * errors that Node throws are no instances of the `Error` there.
 *
 * @param value anything that was thrown
 * @returns whether it is an error, or an exception such as that of a signal
 */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value) || value instanceof DOMException;
}
