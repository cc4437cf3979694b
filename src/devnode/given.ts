import * as z from "zod";
import { RequestError } from "../errors/index.js";
import { whatThereIs } from "../errors/nearest.js";
import { cut, quoted } from "../errors/quoted.js";
import { typeName } from "../errors/type-name.js";

/**
 * Check what a caller gave, who need not be one that knows types.
 *
 * @param schema what is possible; its messages are the advice of errors
 * @param given the value
 * @param name the name of what takes the value, such as `failNext`
 * @returns the value as the schema makes it
 * @throws {@link RequestError} naming the first thing that is wrong, what was found there, and what is possible
 */
export function checkGiven<S extends z.ZodType>(schema: S, given: unknown, name: string): z.output<S> {
  const result = schema.safeParse(given);
  if (result.success) {
    return result.data;
  }
  const [issue] = result.error.issues;
  const path = issue?.path ?? [];
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const where = place.slice(1) || name;
  const value = path.reduce<unknown>((outer, key) => Reflect.get(Object(outer), key), given);
  const [unknown] = issue?.code === "unrecognized_keys" ? issue.keys : [];
  const summary =
    unknown !== undefined
      ? `${where} does not know ${quoted(unknown)}`
      : place === ""
        ? `${name} was given ${found(value)}`
        : `${where} is ${value === undefined ? "missing" : found(value)}`;
  throw new RequestError(summary, { advice: issue?.message ?? "Correct it." });
}

/**
 * The schema of an object that has certain options and no others.
 *
 * @param shape the schema of each option
 * @param advice what to give where there is no object
 * @returns the schema; of an unknown option it names the nearest, and all that there are
 */
export function optionsOf<Shape extends z.core.$ZodLooseShape>(shape: Shape, advice: string) {
  const names = Object.keys(shape);
  const options = z.strictObject(shape, {
    error(issue) {
      if (issue.code !== "unrecognized_keys") {
        return advice;
      }
      return names.length === 0 ? "Leave it out: there are no options." : whatThereIs(String(issue.keys?.[0]), names);
    },
  });
  // A Map has no keys that Zod would see, and would be taken for an object without options.
  return z.custom<z.input<typeof options>>((given) => kindOf(given) === "Object", advice).pipe(options);
}

const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/**
 * The schema of a whole number within bounds.
 *
 * @param low the smallest that is possible
 * @param high the largest that is possible
 * @param advice what to give instead of another one
 * @returns the schema
 */
export const wholeNumber = (low: number, high: number, advice: string) =>
  z.int(advice).min(low, advice).max(high, advice);

/**
 * Name a value that was found, on one line.
 *
 * @param value any value
 * @returns a number or boolean as it is, a text or date in quotes, of others their kind
 */
export function found(value: unknown): string {
  if (typeof value === "string" || value instanceof Date) {
    return quoted(String(value));
  }
  switch (typeof value) {
    case "number":
    case "boolean":
    case "bigint":
      return cut(String(value), MAX_DIGITS);
    case "undefined":
      return "undefined";
    case "object":
      return ["Object", "Array", "Null"].includes(kindOf(value)) ? typeName(value) : `a ${kindOf(value)}`;
    default:
      return typeName(value);
  }
}

/** The most digits of a number that are shown. */
const MAX_DIGITS = 80;
