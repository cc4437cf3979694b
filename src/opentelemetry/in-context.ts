import { type Context, context } from "@opentelemetry/api";

/**
 * Read messages in a context. Who reads them stays in its own.
 *
 * @param active the context
 * @param messages the messages; they can be iterated as often as before
 * @returns the same messages
 */
export function inContext<T>(active: Context, messages: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = context.with(active, () => messages[Symbol.asyncIterator]());
      return {
        next: () => context.with(active, () => iterator.next()),
        async return(value?: unknown) {
          await context.with(active, async () => iterator.return?.());
          return { done: true, value };
        },
      };
    },
  };
}
