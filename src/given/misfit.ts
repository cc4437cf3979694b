import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { typeName } from "../errors/type-name.js";

/** The place of a value in a request: the name of what holds it, and the place of that. */
export interface Place {
  readonly outer?: Place | undefined;
  readonly name: string;
}

/**
 * Write the path of a value.
 *
 * @param at the place of what holds it; `undefined` for the request itself
 * @param name its name there, such as `price`, or `[0]` in a list
 * @returns the path, such as `stopOrdersSubmission.risesAbove.price`
 */
export function pathOf(at: Place | undefined, name: string): string {
  return at === undefined ? name : `${pathOf(at.outer, at.name)}${name.startsWith("[") ? "" : "."}${name}`;
}

/**
 * Make the error of a value that does not fit its place.
 *
 * @param path what has the value
 * @param value the value
 * @param wanted what belongs there, such as `a whole number`
 * @returns the error
 */
export function misfit(path: string, value: unknown, wanted: string): RequestError {
  return new RequestError(`${path} is ${described(value)}`, { advice: `Give ${wanted}.` });
}

/** A value with its kind: `"1"` and `1` look the same in many places, and are not. */
function described(value: unknown): string {
  switch (typeof value) {
    case "string":
      return `the text ${quoted(value)}`;
    case "number":
      return Number.isNaN(value) ? "NaN" : `the number ${value}`;
    case "bigint":
      return `the number ${value}`;
    case "boolean":
      return String(value);
    default:
      return typeName(value);
  }
}
