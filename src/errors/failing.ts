import type { DescMethod } from "@bufbuild/protobuf";

/** Throws what a reason stands for. */
export type Fail = (reason: unknown) => never;

/** What turns whatever a call of a method comes to into one of the library's errors, which says of which call it is. */
export type FailingCall = (method: DescMethod, signal: AbortSignal | undefined) => Fail;

/**
 * The same values; what their source throws goes through `fail`, which throws what it stands for.
 *
 * @param values iterated anew each time that the result is
 * @returns values that fail with one of the library's errors
 */
export function failingWith<T>(values: AsyncIterable<T>, fail: Fail): AsyncIterable<T> {
  return {
    async *[Symbol.asyncIterator]() {
      try {
        yield* values;
      } catch (reason) {
        fail(reason);
      }
    },
  };
}
