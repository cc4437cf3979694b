import type { InputData } from "../../../../gen/vega/commands/v1/transaction_pb.js";
import { quoted } from "../../../base/errors/error-text.js";

/** A problem with a field. */
export interface Problem {
  /** The field's path in Protobuf's JSON, such as `stopOrdersSubmission.risesAbove.orderSubmission.price`. */
  readonly path: string;
  /** A clause that continues the path: `is required for a limit order`. */
  readonly message: string;
}

export type Rule<T> = (value: T) => string | undefined;

/** Rules for some of a message's fields. */
export type Rules<T> = { readonly [F in keyof T]?: Rule<T[F]> };

/** Checks the fields of a message, each separately. */
export function* fieldProblems<T extends object>(message: T, rules: Rules<T>, at: string): Generator<Problem> {
  for (const name in rules) {
    const wrong = Object.hasOwn(rules, name) ? rules[name]?.(message[name]) : undefined;
    if (wrong !== undefined) {
      yield { path: `${at}.${name}`, message: wrong };
    }
  }
}

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
  return /^[0-9a-f]{64}$/i.test(value) ? undefined : `must be 64 hex digits (got ${quoted(value)})`;
};

/** A price or an amount above 0, scaled to the decimal places of its market or asset: digits only. */
export const positiveWhole: Rule<string> = (value) =>
  value === "" ? "is required" : (whole(value) ?? (/^0+$/.test(value) ? "must be positive (got 0)" : undefined));

/** A price, an amount or an offset of at least 0, scaled in the same way: digits only. Networks keep 256 bits of it. */
export const whole: Rule<string> = (value) => {
  if (!/^\d+$/.test(value)) {
    return `must be an unsigned whole number (got ${quoted(value)})`;
  }
  return /^0*\d{1,78}$/.test(value) && BigInt(value) < 2n ** 256n ? undefined : "must fit into 256 bits";
};

/** A decimal number that is not negative. */
const decimal: Rule<string> = (value) => {
  if (value === "") {
    return "is required";
  }
  return isDecimal(value) ? undefined : `must be a decimal number of at least 0 (got ${quoted(value)})`;
};

/** A decimal number above 0. */
export const positiveDecimal: Rule<string> = (value) =>
  decimal(value) ?? (isZero(value) ? "must be positive (got 0)" : undefined);

/** A decimal number above 0 and below 1. */
export const betweenZeroAndOne: Rule<string> = (value) =>
  value === ""
    ? "is required"
    : isDecimal(value) && !isZero(value) && /^0*\./.test(value)
      ? undefined
      : `must be a decimal number between 0 and 1, such as 0.01 for 1% (got ${quoted(value)})`;

/** A decimal number above 0 and at most 1. */
export const upToOne: Rule<string> = (value) =>
  /^0*1(\.0*)?$/.test(value) || betweenZeroAndOne(value) === undefined
    ? undefined
    : `must be a decimal number above 0 and at most 1 (got ${quoted(value)})`;

/** A value of an enumeration other than its unspecified one. */
export const specified: Rule<number> = (value) => (value === 0 ? "is required" : undefined);

/** A number of units above 0, such as a size. */
export const positive: Rule<bigint> = (value) => (value > 0n ? undefined : `must be positive (got ${value})`);

/** Creates a rule for a field that may be omitted, or be empty if its type has no presence. */
export function optional<T>(rule: Rule<T>): Rule<T | undefined> {
  return (value) => (value === undefined || value === "" ? undefined : rule(value));
}

/** Creates a rule for a field that may be omitted but not empty. */
export function whereSet(rule: Rule<string>): Rule<string | undefined> {
  return (value) =>
    value === undefined ? undefined : value === "" ? "must not be empty; omit it instead" : rule(value);
}

/** Combines two rules. If both are broken, the first one is reported. */
export function both<T>(first: Rule<T>, second: Rule<T>): Rule<T> {
  return (value) => first(value) ?? second(value);
}

/** Creates a rule for the numbers of an enumeration, because any number may arrive over the wire. */
export function known(values: object): (value: number | undefined) => string | undefined {
  return (value) =>
    value === undefined || Object.values(values).includes(value) ? undefined : `must be a known value (got ${value})`;
}

/** A text that must not be empty. */
export const nonEmpty: Rule<string> = (value) => (value === "" ? "is required" : undefined);

/** A label for people to read. */
export const reference: Rule<string> = (value) => {
  const { length } = [...value];
  return length > 100 ? `must have at most 100 characters (got ${length})` : undefined;
};

function isDecimal(value: string): boolean {
  return /^(\d+(\.\d*)?|\.\d+)$/.test(value);
}

function isZero(value: string): boolean {
  return /^[0.]*$/.test(value);
}

/** A command that input data may contain, by its name and its message. */
export type Command = Extract<InputData["command"], { readonly case: string }>;
