import type { DescMethod } from "@bufbuild/protobuf";
import { noMessage, severalMessages } from "../call-failure.js";

/**
 * Returns whether a method has one message as its answer.
 *
 * @param method the method
 * @returns false where its answers stream
 */
export function hasOneAnswer({ methodKind }: DescMethod): boolean {
  return methodKind === "unary" || methodKind === "client_streaming";
}

/**
 * Check that a stream of answers holds one where its method has one. Connect's client checks that too, but with an error
 * that no layer sees.
 *
 * @param method the method; where its answers stream, nothing is checked
 * @param messages the answers
 * @returns the same answers; they end with a Connect error where there is none, or more than one
 */
export function withOneAnswer<T>(method: DescMethod, messages: AsyncIterable<T>): AsyncIterable<T> {
  return method.methodKind === "client_streaming" ? onlyOne(messages) : messages;
}

async function* onlyOne<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const message of messages) {
    count += 1;
    if (count > 1) {
      throw severalMessages();
    }
    yield message;
  }
  if (count === 0) {
    throw noMessage();
  }
}
