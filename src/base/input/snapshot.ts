import { RequestError } from "../errors/error-classes.js";
import { withJson } from "../json-result.js";
import { kindOf } from "./assert.js";

// What a caller passes may change at any time: another order is written into the same object, or a getter returns another value.
// Public functions therefore read their arguments once, before anything else, and use only the copy.

/** The maximum depth of an argument, as of a Protobuf message. */
const MAX_DEPTH = 100;

/**
 * Copies the argument of a public function. Each property is read once.
 *
 * Data is copied at any depth: plain objects, messages, arrays, bytes, dates and headers. What does something is returned as it
 * is: functions, objects with methods, streams, other iterables and signals.
 *
 * @throws {@link RequestError} if it is nested too deeply, and what a getter throws
 */
export function snapshot<T>(argument: T): T;
export function snapshot(argument: unknown): unknown {
  const isInstance = kindOf(argument) === "Object" && isObject(argument) && !isPlain(argument) && hasMethod(argument);
  return isInstance ? argument : copyOf(argument, 0, hasMethod);
}

/**
 * Copies an argument that is nothing but data, such as a command: also objects with methods, which {@link snapshot} would
 * return as they are.
 *
 * @throws {@link RequestError} if it is nested too deeply, and what a getter throws
 */
export function snapshotData<T>(data: T): T;
export function snapshotData(data: unknown): unknown {
  return copyOf(data, 0, () => false);
}

/**
 * Makes each function of an object copy its arguments with {@link snapshot} before it does anything else, and `JSON.stringify`
 * write its results.
 */
export function withSnapshots<T extends object>(api: T): T {
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(api))) {
    if (typeof value === "function") {
      Reflect.set(api, name, (...given: readonly unknown[]) =>
        resultOf(Reflect.apply(value, api, given.map(snapshot))),
      );
    }
  }
  return api;
}

const resultOf = (result: unknown) => (result instanceof Promise ? result.then(withJson) : withJson(result));

function copyOf(value: unknown, depth: number, isKept: (value: object) => boolean): unknown {
  if (!isObject(value)) {
    return value;
  }
  if (depth > MAX_DEPTH) {
    throw new RequestError(`an argument is nested more than ${MAX_DEPTH} levels deep`, { advice: "Nest it less." });
  }
  const copyInner = (inner: unknown) => copyOf(inner, depth + 1, isKept);
  if (Array.isArray(value)) {
    return Array.from(value, copyInner);
  }
  const kind = kindOf(value);
  if (kind === "Uint8Array" && ArrayBuffer.isView(value)) {
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength).slice();
  }
  if (kind === "Date" && value instanceof Date) {
    return new Date(value);
  }
  // Node loads its own HTTP client when the class is named.
  if (kind === "Headers" && value instanceof Headers) {
    return new Headers(value);
  }
  // The methods of the argument itself are its options.
  if (kind !== "Object" || Symbol.asyncIterator in value || Symbol.iterator in value || isDescriptor(value)) {
    return value;
  }
  if (depth > 0 && isKept(value)) {
    return value;
  }
  if (Object.getPrototypeOf(value) === Object.prototype && !Object.hasOwn(value, "__proto__")) {
    return copyOfPlain(value, copyInner); // Most arguments, and faster.
  }
  const copy: object = "$typeName" in value ? Object.create(Object.getPrototypeOf(value)) : {};
  for (const name of membersOf(value)) {
    const inner = copyInner(Reflect.get(value, name));
    Object.defineProperty(copy, name, { value: inner, enumerable: true, writable: true, configurable: true });
  }
  return copy;
}

function copyOfPlain(value: object, copyInner: (inner: unknown) => unknown): object {
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(value)) {
    copy[name] = copyInner(Reflect.get(value, name));
  }
  return copy;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Whether a value is a descriptor of Protobuf. Its identity matters. */
const isDescriptor = (value: object) => Object.hasOwn(value, "toString") && Object.hasOwn(value, "kind");

const isRoot = (value: object | null) => value === null || Object.getPrototypeOf(value) === null;

/** Whether a value has no class. Its prototype may be that of another realm. */
const isPlain = (value: object) => isRoot(Object.getPrototypeOf(value));

/** Returns a value and its prototypes, without the last one, from which every object inherits. */
function ownersOf(value: object): object[] {
  const owners = [value];
  for (let owner = Object.getPrototypeOf(value); !isRoot(owner); owner = Object.getPrototypeOf(owner)) {
    owners.push(owner);
  }
  return owners;
}

/** Whether a value has a function, of its own or of its class, besides that of JSON. Nothing is read from getters. */
function hasMethod(value: object): boolean {
  return ownersOf(value).some((owner) =>
    Reflect.ownKeys(owner).some(
      (name) =>
        name !== "constructor" &&
        name !== "toJSON" &&
        typeof Object.getOwnPropertyDescriptor(owner, name)?.value === "function",
    ),
  );
}

/** Returns the names of the properties of a value: its own and inherited ones, and the getters of its class. */
function membersOf(value: object): ReadonlySet<string> {
  const [own, ...inherited] = ownersOf(value);
  const isMessage = Object.hasOwn(value, "$typeName"); // It inherits its defaults.
  const names = new Set(own && Object.keys(own));
  for (const owner of isMessage ? [] : inherited) {
    for (const [name, { enumerable, get }] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (enumerable === true || get !== undefined) {
        names.add(name);
      }
    }
  }
  return names;
}
