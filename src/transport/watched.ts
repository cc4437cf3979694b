/** What is done while a stream of messages is read. */
export interface Watcher<T> {
  /** Asks the stream for the next message; by default at once. */
  readonly next?: (messages: AsyncIterator<T>) => Promise<IteratorResult<T>>;
  /** Called for each message, before the reader has it. */
  readonly received?: (message: T) => void;
  /** Called when all messages have been read. */
  readonly ended: () => void;
  /** Throws the error that the reader gets for the stream's own. */
  readonly failed: (reason: unknown) => never;
  /** Called when the reader leaves before the end; it has to see to it that the stream ends. */
  readonly left: (messages: AsyncIterator<T>) => void | Promise<void>;
}

/**
 * Watch how messages are read. Unlike a generator, this does not make a reader that leaves wait for the message that was
 * asked for last.
 *
 * @param messages the messages; they can be iterated as often as before
 * @param watcher what is done
 * @returns the same messages
 */
export function watched<T>(messages: AsyncIterable<T>, watcher: Watcher<T>): AsyncIterable<T> {
  const { next = (iterator) => iterator.next(), received, ended, failed, left } = watcher;
  return {
    [Symbol.asyncIterator]() {
      const iterator = messages[Symbol.asyncIterator]();
      return {
        next: () =>
          next(iterator).then((result) => {
            if (result.done === true) {
              ended();
            } else {
              received?.(result.value);
            }
            return result;
          }, failed),
        async return(value?: unknown) {
          await left(iterator);
          return { done: true, value };
        },
      };
    },
  };
}
