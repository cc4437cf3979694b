import { Code } from "./code.js";
import { NodeError } from "./error-classes.js";

/** Returns whether a node responded that it does not have what was requested. */
export const isNotFound = (reason: unknown) => reason instanceof NodeError && reason.code === Code.NotFound;

/** Returns a handler of a rejected promise, which becomes `undefined` if a node responded with one of the codes. */
export function undefinedIf(...codes: readonly Code[]): (reason: unknown) => undefined {
  return (reason) => {
    if (!(reason instanceof NodeError && codes.includes(reason.code))) {
      throw reason;
    }
  };
}
