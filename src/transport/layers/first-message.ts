import type { DescMessage } from "@bufbuild/protobuf";
import type { StreamResponse } from "@connectrpc/connect";

/**
 * Wait for the first message of a response that streams, so that a failure before it is still a failure of the call: nothing
 * has been handed out by then.
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
        // Whoever stops early stops the source.
        async return(value?: unknown) {
          await iterator.return?.(value);
          return { done: true, value };
        },
      }),
    },
  };
}

/** The messages of a request, kept so that they can be sent again. There is one where a method's requests do not stream. */
export async function replayable<T>(messages: AsyncIterable<T>): Promise<() => AsyncIterable<T>> {
  const kept: T[] = [];
  for await (const message of messages) {
    kept.push(message);
  }
  return async function* () {
    yield* kept;
  };
}
