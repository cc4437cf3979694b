import * as z from "zod";
import { describeType, quoted, suggestNames, truncate } from "../errors/error-text.js";
import { RequestError } from "../errors/index.js";

/**
 * Parses input by a schema.
 *
 * @param schema the schema; its messages become the advice of errors
 * @param input the input
 * @param name the name of the function or option that takes the input, such as `failNext`
 * @returns the input as the schema returns it, with its defaults
 * @throws {@link RequestError} for the first problem, with the place, the value there, and the advice
 */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown, name: string): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) {
    return result.data;
  }
  const [issue] = result.error.issues;
  const path = issue?.path ?? [];
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const where = place.slice(1) || name;
  const value = path.reduce<unknown>((outer, key) => Reflect.get(Object(outer), key), input);
  const [unknown] = issue?.code === "unrecognized_keys" ? issue.keys : [];
  const problem =
    unknown !== undefined
      ? `does not know ${quoted(unknown)}`
      : place === ""
        ? `was given ${describeValue(value)}`
        : `is ${value === undefined ? "missing" : describeValue(value)}`;
  const advice = issue?.message ?? "Correct it.";
  const isOption = unknown === undefined && place !== "";
  throw isOption
    ? new RequestError(problem, { option: where, advice })
    : new RequestError(`${where} ${problem}`, { advice });
}

/**
 * Returns the schema of an options object that may have no other keys.
 *
 * @param shape the schema of each option
 * @param advice the message if the input is not an object
 * @returns the schema; for an unknown option, its message suggests the closest option and lists all of them
 */
export function optionsSchema<Shape extends z.core.$ZodLooseShape>(shape: Shape, advice: string) {
  const names = Object.keys(shape);
  const options = z.strictObject(shape, {
    error(issue) {
      if (issue.code !== "unrecognized_keys") {
        return advice;
      }
      return names.length === 0 ? "Leave it out: there are no options." : suggestNames(String(issue.keys?.[0]), names);
    },
  });
  // Zod sees no keys in a Map, and would accept it as an object without options.
  return z.custom<z.input<typeof options>>((input) => kindOf(input) === "Object", advice).pipe(options);
}

const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/**
 * Returns the schema of an integer in a range.
 *
 * @param min the minimum
 * @param max the maximum
 * @param message the message for any other value
 * @returns the schema
 */
export const integer = (min: number, max: number, message: string) =>
  z.int(message).min(min, message).max(max, message);

/**
 * Describes a value for an error, on one line.
 *
 * @param value any value
 * @returns a number or boolean as it is, a string or date in quotes, and the type of any other value
 */
export function describeValue(value: unknown): string {
  if (typeof value === "string" || value instanceof Date) {
    return quoted(String(value));
  }
  switch (typeof value) {
    case "number":
    case "boolean":
    case "bigint":
      return truncate(String(value), MAX_DIGITS);
    case "undefined":
      return "undefined";
    case "object":
      return ["Object", "Array", "Null"].includes(kindOf(value)) ? describeType(value) : `a ${kindOf(value)}`;
    default:
      return describeType(value);
  }
}

/** The maximum number of digits that errors show of a number. */
const MAX_DIGITS = 80;
