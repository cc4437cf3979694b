import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";

/** Throws the error that a reason stands for. */
export type Fail = (reason: unknown) => never;

/** Makes a function that throws the failure of a call as one of the library's errors, which names the call. */
export type FailingCall = (method: DescMethod, signal: AbortSignal | undefined, contextValues?: ContextValues) => Fail;

/**
 * Pass values on, and an error of their source to `fail`.
 *
 * @param values iterated anew each time that the result is
 * @param fail throws the error that the source's error stands for
 * @returns the same values, which fail with the error that `fail` throws
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
