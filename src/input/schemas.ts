import * as v from "valibot";
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
export function parseInput<S extends v.GenericSchema>(schema: S, input: unknown, name: string): v.InferOutput<S> {
  const result = v.safeParse(schema, input);
  if (result.success) {
    return result.output;
  }
  const [issue] = result.issues;
  const keys = issue.path?.map(({ key }) => (typeof key === "number" ? key : String(key))) ?? [];
  const unknown = isUnknownKey(issue) ? keys.at(-1) : undefined;
  const path = unknown === undefined ? keys : keys.slice(0, -1);
  const place = path.map((key) => (typeof key === "number" ? `[${key}]` : `.${String(key)}`)).join("");
  const where = place.slice(1) || name;
  const value = path.reduce<unknown>((outer, key) => Reflect.get(Object(outer), key), input);
  const problem =
    unknown !== undefined
      ? `does not know ${quoted(String(unknown))}`
      : place === ""
        ? `was given ${describeValue(value)}`
        : `is ${value === undefined ? "missing" : describeValue(value)}`;
  const advice = issue.message;
  const isOption = unknown === undefined && place !== "";
  throw isOption
    ? new RequestError(problem, { option: where, advice })
    : new RequestError(`${where} ${problem}`, { advice });
}

/** Whether an issue of {@link objectSchema} is a key that it does not know. Its path ends with the key. */
export const isUnknownKey = ({ type, expected }: v.BaseIssue<unknown>) =>
  type === "strict_object" && expected === "never";

/**
 * Returns the schema of an object that may have no other keys.
 *
 * @param entries the schema of each key
 * @param notAnObject the message for any other value
 * @param unknownKey returns the message for a key that is not among them
 * @returns the schema; where a key is missing, the message is that of the key's schema
 */
export function objectSchema<const Entries extends v.ObjectEntries>(
  entries: Entries,
  notAnObject: string,
  unknownKey: (key: string, known: readonly string[]) => string,
) {
  // Without a prototype, so that `constructor` is a key like any other.
  const own: Entries = Object.assign(Object.create(null), entries);
  const object = v.strictObject(own, (issue) => {
    const key = issue.path?.[0].key;
    if (typeof key !== "string") {
      return notAnObject;
    }
    const missing = own[key];
    return missing === undefined
      ? unknownKey(key, Object.keys(entries))
      : (v.safeParse(missing, undefined).issues?.[0].message ?? notAnObject);
  });
  // Valibot accepts an array or a Map as an object.
  return v.pipe(
    v.custom<v.InferInput<typeof object>>((input) => kindOf(input) === "Object", notAnObject),
    object,
  );
}

/**
 * Returns the schema of an options object that may have no other keys.
 *
 * @param entries the schema of each option
 * @param advice the message if the input is not an object
 * @returns the schema; for an unknown option, its message suggests the closest option and lists all of them
 */
export const optionsSchema = <const Entries extends v.ObjectEntries>(entries: Entries, advice: string) =>
  objectSchema(entries, advice, (key, known) =>
    known.length === 0 ? "Leave it out: there are no options." : suggestNames(key, known),
  );

const kindOf = (value: unknown) => Object.prototype.toString.call(value).slice("[object ".length, -1);

/**
 * Returns the schema of an integer in a range.
 *
 * @param min the minimum
 * @param max the maximum
 * @param message the message for any other value
 * @returns the schema; its metadata are `min` and `max`
 */
export const integer = (min: number, max: number, message: string) =>
  v.pipe(
    v.number(message),
    v.check((value) => Number.isSafeInteger(value) && value >= min && value <= max, message),
    v.metadata({ min, max }),
  );

/** The schema of a whole number from 0, such as a count or a size in JSON. */
export const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

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
