import { quoted } from "../../errors/quoted.js";

/** What is wrong with a field. */
export interface Problem {
  /** The field's path in Protobuf's JSON, such as `stopOrdersSubmission.risesAbove.orderSubmission.price`. */
  readonly path: string;
  /** What is wrong, to be read after the path: `is required for a limit order`. */
  readonly message: string;
}

/** What a field has to be: says what is wrong with its value, if anything is. */
export type Rule<T> = (value: T) => string | undefined;

/** Rules for some of a message's fields. */
export type Rules<T> = { readonly [F in keyof T]?: Rule<T[F]> };

/** The problems of a message's fields, each by itself. */
export function* fieldProblems<T extends object>(message: T, rules: Rules<T>, at: string): Generator<Problem> {
  for (const name in rules) {
    const wrong = rules[name]?.(message[name]);
    if (wrong !== undefined) {
      yield { path: `${at}.${name}`, message: wrong };
    }
  }
}

/** The problems of some messages of a list, each by its place in it. */
export function* listProblems<T>(
  messages: readonly T[],
  at: string,
  problems: (message: T, at: string) => Iterable<Problem>,
): Generator<Problem> {
  for (const [index, message] of messages.entries()) {
    yield* problems(message, `${at}[${index}]`);
  }
}

/** An identifier or a public key: 64 hex digits. */
export const identifier: Rule<string> = (value) => {
  if (value === "") {
    return "is required";
  }
  return /^[0-9a-f]{64}$/i.test(value) ? undefined : `is ${quoted(value)}, not 64 hex digits`;
};

/** A price or an amount, scaled to decimal places that are the market's or asset's: digits, not all of them 0. */
export const positiveWhole: Rule<string> = (value) =>
  value === "" ? "is required" : (whole(value) ?? (/^0+$/.test(value) ? "is 0" : undefined));

/** The same, where 0 will do. */
export const whole: Rule<string> = (value) =>
  /^\d+$/.test(value) ? undefined : `is ${quoted(value)}, not an unsigned whole number`;

/** A decimal number that is not negative. */
export const decimal: Rule<string> = (value) => {
  if (value === "") {
    return "is required";
  }
  return isDecimal(value) ? undefined : `is ${quoted(value)}, not a decimal number from 0 on`;
};

/** A decimal number between 0 and 1, neither of them. */
export const betweenZeroAndOne: Rule<string> = (value) =>
  value === ""
    ? "is required"
    : isDecimal(value) && !isZero(value) && /^0*\./.test(value)
      ? undefined
      : `is ${quoted(value)}, not a decimal number between 0 and 1, such as 0.01 for 1%`;

/** A decimal number above 0 and at most 1. */
export const upToOne: Rule<string> = (value) =>
  /^0*1(\.0*)?$/.test(value) || betweenZeroAndOne(value) === undefined
    ? undefined
    : `is ${quoted(value)}, not a decimal number above 0 and at most 1`;

/** A value of an enumeration, other than its unspecified one. */
export const specified: Rule<number> = (value) => (value === 0 ? "is required" : undefined);

/** A number of units, such as a size. */
export const positive: Rule<bigint> = (value) => (value > 0n ? undefined : `is ${value}, and has to be above 0`);

/** A rule for a field that may be left out, or empty where it cannot be left out. */
export function optional<T>(rule: Rule<T>): Rule<T | undefined> {
  return (value) => (value === undefined || value === "" ? undefined : rule(value));
}

/** A text of at most so many characters. */
export function atMost(characters: number): Rule<string> {
  return (value) =>
    [...value].length > characters ? `has ${[...value].length} characters, and may have ${characters}` : undefined;
}

/** A part of a message that has to be there. */
export const present: Rule<object | undefined> = (value) => (value === undefined ? "is required" : undefined);

function isDecimal(value: string): boolean {
  return /^(\d+(\.\d*)?|\.\d+)$/.test(value);
}

function isZero(value: string): boolean {
  return /^[0.]*$/.test(value);
}
