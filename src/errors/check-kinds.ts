import { wrong } from "./check-values.js";
import { RequestError } from "./index.js";
import { typeName } from "./type-name.js";

/**
 * Check a list.
 *
 * @param name what it is
 * @param value the list
 * @param advice what to give
 * @throws {@link RequestError} where it is none
 */
export function requireList(name: string, value: unknown, advice: string): void {
  if (!Array.isArray(value)) {
    throw wrong(name, value, advice);
  }
}

/**
 * Check what is read piece by piece, such as a stream.
 *
 * @param name what it is
 * @param value what can be iterated, asynchronously or not; a text is none
 * @param advice what to give
 * @throws {@link RequestError} where it cannot be
 */
export function requireIterable(name: string, value: unknown, advice: string): void {
  const isIterable =
    typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
  if (!isIterable) {
    throw wrong(name, value, advice);
  }
}

/**
 * Check a part of a stream of bytes. One of `node:fs` gives texts where it was given an encoding.
 *
 * @param name what the stream is of
 * @param chunk the part
 * @returns the same bytes
 * @throws {@link RequestError} where it is something else
 */
export function bytesOf(name: string, chunk: unknown): Buffer {
  if (!ArrayBuffer.isView(chunk)) {
    throw new RequestError(`${name}: the source gave a ${typeof chunk} where bytes were expected`, {
      advice: "Give it as bytes: a stream without an encoding.",
    });
  }
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/**
 * Check a text that may be a secret, or empty.
 *
 * @param name what it is
 * @param value the text
 * @throws {@link RequestError} where it is none; it does not show the value
 */
export function requireString(name: string, value: unknown): asserts value is string {
  if (typeof value !== "string") {
    throw new RequestError(`${name} is ${typeName(value)}`, { advice: "Give a text." });
  }
}

/**
 * Check a descriptor of Protobuf's.
 *
 * @param desc the descriptor
 * @param kind of what it has to be
 * @param example one that is right
 * @throws {@link RequestError} where it is of something else, or none
 */
export function requireDescriptor(
  desc: { readonly kind?: string } | undefined,
  kind: "enum" | "message" | "rpc" | "service",
  example: string,
): void {
  if (desc?.kind !== kind) {
    const name = kind === "rpc" ? "method" : kind;
    throw wrong(`the descriptor of the ${name}`, desc, `Give one such as ${example}.`);
  }
}
