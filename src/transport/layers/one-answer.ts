import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";

/**
 * Check that a stream of answers holds one where its method has one. Connect's client checks that too, but with an error
 * that no layer sees.
 *
 * @param method the method; where its answers stream, nothing is checked
 * @param messages the answers
 * @returns the same answers; without any, or with another behind the first, they end with a ConnectError
 */
export function withOneAnswer<T>(method: DescMethod, messages: AsyncIterable<T>): AsyncIterable<T> {
  return method.methodKind === "client_streaming" ? onlyOne(messages) : messages;
}

async function* onlyOne<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  let count = 0;
  for await (const message of messages) {
    count += 1;
    if (count > 1) {
      throw new ConnectError("the response has more than one message", Code.Unimplemented);
    }
    yield message;
  }
  if (count === 0) {
    throw new ConnectError("the response has no message", Code.Unimplemented);
  }
}
