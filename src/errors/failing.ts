import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";

/** Throws the error that a reason stands for. */
export type Fail = (reason: unknown) => never;

/** Makes a function that throws the failure of a call as one of the library's errors, which names the call. */
export type FailingCall = (method: DescMethod, signal: AbortSignal | undefined, contextValues?: ContextValues) => Fail;

/**
 * Pass values on, and an error of their source to `fail`. Unlike a generator, this costs one promise a value, and does not
 * make a reader that leaves wait for the value that was asked for last.
 *
 * @param values iterated anew each time that the result is
 * @param fail throws the error that the source's error stands for
 * @returns the same values, which fail with the error that `fail` throws, and then end
 */
export function failingWith<T>(values: AsyncIterable<T>, fail: Fail): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = values[Symbol.asyncIterator]();
      let over = false;
      const failed = (reason: unknown): never => {
        over = true;
        return fail(reason);
      };
      return {
        next: () => (over ? Promise.resolve(DONE) : iterator.next().catch(failed)),
        async return() {
          over = true;
          await iterator.return?.().catch(fail);
          return DONE;
        },
      };
    },
  };
}

const DONE = { done: true, value: undefined } as const;
