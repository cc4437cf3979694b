import type { DescMessage } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";

/**
 * Wait for the first message of a streaming response, so that a failure before it is a failure of the call, which may
 * then be made again.
 *
 * @param response the response, of which no message has been read
 * @returns the same response, with all its messages; they can be iterated once
 * @throws the error of the stream, where it fails before its first message
 */
export async function withFirstMessage<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
): Promise<StreamResponse<I, O>> {
  const iterator = response.message[Symbol.asyncIterator]();
  let first: ReturnType<typeof iterator.next> | undefined = Promise.resolve(await iterator.next());
  return {
    ...response,
    message: {
      [Symbol.asyncIterator]: () => ({
        next() {
          const next = first ?? iterator.next();
          first = undefined;
          return next;
        },
        // A reader that stops early stops the source.
        async return(value?: unknown) {
          await iterator.return?.(value);
          return { done: true, value };
        },
      }),
    },
  };
}

/**
 * Keep the messages of a request, so that they can be sent again.
 *
 * @param messages the messages; a method whose requests do not stream has one
 * @returns a function that gives the messages from the start, each time that it is called
 * @throws the error of `messages`, where it fails
 */
export async function replayable<T>(messages: AsyncIterable<T>): Promise<() => AsyncIterable<T>> {
  const kept: T[] = [];
  for await (const message of messages) {
    kept.push(message);
  }
  return async function* () {
    yield* kept;
  };
}
