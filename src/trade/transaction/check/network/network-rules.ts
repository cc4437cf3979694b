import type { Problem } from "../field-rules.js";
import { compare, type Decimal, decimal, integer, signOf, whole } from "./go-numbers.js";

/** The network's messages that several rules use (`commands/errors.go`). */
export const MESSAGE = {
  required: "is required",
  positive: "must be positive",
  positiveOrZero: "must be positive or zero",
  negativeOrZero: "must be negative or zero",
  notValid: "is not a valid value",
  notANumber: "is not a valid number",
  notAnInteger: "not a valid integer",
  notAFloat: "not a valid float",
  notSupported: "is not supported",
  mismatching: "is mismatching",
  publicKey: "should be a valid vega public key",
  id: "should be a valid Vega ID",
  hex: "should be hex encoded",
  ethereumAddress: "is not a valid ethereum address",
  referenceTooLong: "reference is too long",
  from0To1: "must be between 0 and 1",
  above0To1: "must be between 0 (excluded) and 1 (included)",
  atMost100: "must be at most 100",
} as const;

type Refuse<T> = (value: T) => string | undefined;

export const ONE = whole(1);

/** Returns whether a text is 64 hex digits: a public key or an identifier. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{64}$/i.test(text);
}

export function isEthereumAddress(text: string): boolean {
  return /^(?:0x)?[0-9a-f]{40}$/i.test(text);
}

/** Returns the length of a text as the network counts it: in bytes. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

export function* required(at: Field, value: { readonly length: number }): NetworkProblems {
  if (value.length === 0) {
    yield at.problem(MESSAGE.required);
  }
}

export function* requiredId(at: Field, value: string, message: string = MESSAGE.id): NetworkProblems {
  if (value === "") {
    yield at.problem(MESSAGE.required);
  } else if (!isId(value)) {
    yield at.problem(message);
  }
}

export function* atMostBytes(at: Field, value: string, most: number, message: string): NetworkProblems {
  if (byteLength(value) > most) {
    yield at.problem(message);
  }
}

export function* requiredEnum(at: Field, value: number, values: object): NetworkProblems {
  if (value === 0) {
    yield at.problem(MESSAGE.required);
  }
  yield* knownEnum(at, value, values);
}

export function* knownEnum(
  at: Field,
  value: number,
  values: object,
  message: string = MESSAGE.notValid,
): NetworkProblems {
  if (!Object.values(values).includes(value)) {
    yield at.problem(message);
  }
}

export function* decimalRule(
  at: Field,
  text: string,
  refuse: Refuse<Decimal>,
  notANumber: string = MESSAGE.notANumber,
): NetworkProblems {
  const value = decimal(text);
  const message = value === undefined ? notANumber : refuse(value);
  if (message !== undefined) {
    yield at.problem(message);
  }
}

export function requiredDecimal(at: Field, text: string, refuse: Refuse<Decimal>): Iterable<NetworkProblem> {
  return text === "" ? required(at, text) : decimalRule(at, text, refuse);
}

export function* requiredInteger(
  at: Field,
  text: string,
  refuse: Refuse<bigint>,
  notANumber: string = MESSAGE.notANumber,
): NetworkProblems {
  const value = integer(text);
  const message = text === "" ? MESSAGE.required : value === undefined ? notANumber : refuse(value);
  if (message !== undefined) {
    yield at.problem(message);
  }
}

export const positiveInteger: Refuse<bigint> = (value) => (value <= 0n ? MESSAGE.positive : undefined);
export const positiveDecimal: Refuse<Decimal> = (value) => (signOf(value) <= 0 ? MESSAGE.positive : undefined);
export const above0To1: Refuse<Decimal> = (value) =>
  signOf(value) <= 0 || compare(value, ONE) > 0 ? MESSAGE.above0To1 : undefined;

/** A problem that the network's own check of a command finds. The message is the network's text. */
export interface NetworkProblem extends Problem {
  /** The field's name in the network's refusal, such as `transfer.kind.factor`. */
  readonly property: string;
}

/** The problems that a check finds, in the order in which the network reports them. */
export type NetworkProblems = Generator<NetworkProblem>;

/** The name that the network uses for a problem that belongs to no field. */
const NO_PROPERTY = "*";

/** A field of a command: its path in Protobuf's JSON, and its name in the network's refusals. */
export class Field {
  readonly path: string;
  readonly property: string;

  constructor(path: string, property = snakeCase(path)) {
    this.path = path;
    this.property = property;
  }

  /** Returns a field of the message in this one. */
  field(name: string, property = snakeCase(name)): Field {
    return new Field(`${this.path}.${name}`, `${this.property}.${property}`);
  }

  /** Returns the element of this list at an index. */
  item(index: number): Field {
    return new Field(`${this.path}[${index}]`, `${this.property}.${index}`);
  }

  /** Returns this field under another name of the network's. */
  named(property: string): Field {
    return new Field(this.path, property);
  }

  /** Returns a problem with this field. */
  problem(message: string): NetworkProblem {
    return { path: this.path, property: this.property, message };
  }

  /** Returns a problem that the network names no field for. */
  general(message: string): NetworkProblem {
    return { path: this.path, property: NO_PROPERTY, message };
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
