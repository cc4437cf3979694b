import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Insist that something was found.
 *
 * @param value what was found, if anything
 * @param what names it in the error, such as `market c3d6…`
 * @returns the value
 * @throws ConnectError with `NotFound` if there is none
 */
export function existing<T>(value: T | undefined, what: string): T {
  if (value === undefined) {
    throw new ConnectError(`there is no ${what}`, Code.NotFound);
  }
  return value;
}
