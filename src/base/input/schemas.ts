import * as v from "valibot";
import { RequestError } from "../errors/index.js";
import { formatValue, formatWrongType, isOfEveryObject, kindOf, unknownKeyError } from "./assert.js";

/**
 * Parses input by a schema.
 *
 * @throws {@link RequestError} for the first problem, with the place, the expected value, and the value there
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
  if (unknown !== undefined) {
    throw unknownKeyError(where, String(unknown), issue.message.split(", ").filter(Boolean));
  }
  const problem =
    value === undefined ? `is missing: it ${issue.message}` : `${issue.message} (got ${formatOf(issue)(value)})`;
  throw new RequestError(place === "" ? `${name} ${problem}` : problem, { option: place === "" ? undefined : where });
}

/** Strings are not shown where an object or a function is required, as in {@link invalidTypeError}. */
const formatOf = ({ type }: v.BaseIssue<unknown>) =>
  ["array", "custom", "record", "strict_object"].includes(type) ? formatWrongType : formatValue;

/** Whether an issue of {@link objectSchema} is a key that it does not know. Its path ends with the key. */
export const isUnknownKey = ({ type, expected }: v.BaseIssue<unknown>) =>
  type === "strict_object" && expected === "never";

export function objectSchema<const Entries extends v.ObjectEntries>(
  entries: Entries,
  notAnObject: string,
  unknownKey: (key: string, known: readonly string[]) => string,
) {
  const own = withoutPrototype(entries);
  const object = strictObject(entries, (issue) => {
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

/** Returns the schema of an options object that may have no other keys. */
export const optionsSchema = <const Entries extends v.ObjectEntries>(entries: Entries, notAnObject: string) =>
  objectSchema(entries, notAnObject, (_, known) => known.join(", "));

/** Returns the schema of an integer in a range. */
export const integer = (min: number, max: number, message: string) =>
  v.pipe(
    v.number(message),
    v.check((value) => Number.isSafeInteger(value) && value >= min && value <= max, message),
    v.metadata({ min, max }),
  );

/**
 * Returns the schema of an object that may have no other keys, like Valibot's, which would also read the enumerable properties that
 * other packages add to `Object.prototype`.
 */
export function strictObject<const Entries extends v.ObjectEntries>(
  entries: Entries,
  message?: v.ErrorMessage<v.StrictObjectIssue>,
): v.StrictObjectSchema<Entries, v.ErrorMessage<v.StrictObjectIssue> | undefined> {
  const schema = v.strictObject(withoutPrototype(entries), message);
  return {
    ...schema,
    "~run": (dataset, config) => schema["~run"]({ ...dataset, value: withoutShared(dataset.value) }, config),
  };
}

/** Returns the schema of an object that may have other keys, which it leaves out. See {@link strictObject}. */
export const jsonObject = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.object(withoutPrototype(entries));

/** Without a prototype, `constructor` is a key like any other. */
const withoutPrototype = <Entries extends object>(entries: Entries): Entries =>
  Object.assign(Object.create(null), entries);

/** Returns an object without the keys that every object has, and any other value as it is. */
function withoutShared(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const own: Record<string, unknown> = Object.create(null);
  for (const key in value) {
    if (!isOfEveryObject(value, key)) {
      own[key] = Reflect.get(value, key);
    }
  }
  return own;
}

/** The schema of a whole number from 0, such as a count or a size in JSON. */
export const wholeNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
