import { RequestError } from "./index.js";
import { whatThereIs } from "./nearest.js";
import { quoted } from "./quoted.js";
import { typeName } from "./type-name.js";

/**
 * Check what a method was given, where plain JavaScript may give anything. It costs a small part of a microsecond.
 *
 * @param name what it is: `request`, `options`, or the name of a part of them
 * @param given the object
 * @param known the names that there are; those that messages have of their own, such as `$typeName`, are fine, too
 * @throws {@link RequestError} where it is no object, or holds a name that there is not
 */
export function requireKnown<T extends object>(
  name: string,
  given: T,
  known: { readonly [Key in keyof Required<T>]: true },
): void {
  requireObject(name, given);
  for (const key in given) {
    if (given[key] !== undefined && known[key] !== true && !key.startsWith("$")) {
      throw unknownName(named(name), key, Object.keys(known));
    }
  }
}

/**
 * Make the error of a name that there is not.
 *
 * @param what what holds the name
 * @param name the name
 * @param names the names that there are
 * @returns the error, which names the nearest
 */
export function unknownName(what: string, name: string, names: readonly string[]): RequestError {
  const verbs = what === "the options" ? ["have", "they do"] : ["has", "it does"];
  return new RequestError(`${what} ${verbs[0]} ${quoted(name)}, which ${verbs[1]} not know`, {
    advice: whatThereIs(name, names),
  });
}

/**
 * Check that a method was given an object.
 *
 * @param name what it is: `request`, `options`, `command`, or the name of a part of them
 * @param given the object
 * @throws {@link RequestError} where it is something else
 */
export function requireObject(name: string, given: unknown): asserts given is object {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new RequestError(`${named(name)} ${name === "options" ? "are" : "is"} ${typeName(given)}`, {
      advice: "Give an object.",
    });
  }
}

/** The name of what was given, in a sentence. */
function named(name: string): string {
  return name === "request" || name === "options" || name === "command" ? `the ${name}` : name;
}

/**
 * Check a value that may be one of few.
 *
 * @param name the option's
 * @param value the value; left out is fine
 * @param values what there is
 * @throws {@link RequestError} where it is another
 */
export function requireOneOf<T extends string | boolean>(
  name: string,
  value: T | undefined,
  values: readonly T[],
): void {
  if (value !== undefined && !values.includes(value)) {
    throw wrong(name, value, `Give ${values.map((each) => shown(each)).join(" or ")}.`);
  }
}

/**
 * Check a text, which must not be empty.
 *
 * @param name what it is
 * @param value the text
 * @param example one that is right
 * @throws {@link RequestError} where it is empty, or none
 */
export function requireText(name: string, value: string, example: string): void {
  if (typeof value !== "string" || value === "") {
    throw wrong(name, value, `Give a text such as ${quoted(example)}.`);
  }
}

/**
 * Check a function that may be left out.
 *
 * @param name the option's
 * @param value the function
 * @throws {@link RequestError} where it is something else
 */
export function requireFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== "function") {
    throw wrong(name, value, "Give a function, or leave it out.");
  }
}

/**
 * Check a signal that may be left out.
 *
 * @param signal the signal
 * @returns the signal, or one that is never aborted
 * @throws {@link RequestError} where it is something else
 */
export function checkSignal(signal: AbortSignal | undefined): AbortSignal {
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw wrong("signal", signal, "Give the signal of an AbortController.");
  }
  return signal ?? new AbortController().signal;
}

/**
 * Check a whole number.
 *
 * @param name the option's
 * @param value the number
 * @param most the largest that is allowed; the smallest is 1
 * @returns the number
 * @throws {@link RequestError} where it is another
 */
export function whole(name: string, value: number, most: number): number {
  if (!Number.isSafeInteger(value) || value < 1 || value > most) {
    throw wrong(name, value, `Give a whole number from 1 to ${most}.`);
  }
  return value;
}

/**
 * Make the error of a wrong option.
 *
 * @param name the option's
 * @param value its value
 * @param advice what to give
 * @returns the error
 */
export function wrong(name: string, value: unknown, advice: string): RequestError {
  return new RequestError(`${name} is ${shown(value)}`, { advice });
}

/**
 * Name a value in an error.
 *
 * @param value the value
 * @returns a text in quotes, what else is short as it is
 */
export function shown(value: unknown): string {
  return typeof value === "string"
    ? quoted(value)
    : typeof value === "object" && value !== null
      ? "an object"
      : String(value);
}
