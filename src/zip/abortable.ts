import { CanceledError } from "../errors/index.js";
import { untilAborted } from "../signal/until-aborted.js";

/** The values of a source, which can be left at any time. */
export interface Abortable<T> extends AsyncIterableIterator<T, undefined> {
  return(): Promise<IteratorReturnResult<undefined>>;
}

/**
 * Read a source until a signal is aborted. Neither reading nor closing then waits for the source, which may be silent.
 *
 * @param source the values; its errors pass unchanged
 * @param signal ends the reading
 * @returns the same values; where the signal is aborted, they fail with a {@link CanceledError}
 */
export function abortable<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): Abortable<T> {
  const iterator = source[Symbol.asyncIterator]();
  let waiting = 0;

  async function close(): Promise<void> {
    // While a source waits for its next value, which may never come, its return() waits too.
    const closed = Promise.resolve(iterator.return?.()).catch(() => undefined);
    if (waiting === 0) {
      await closed;
    }
  }

  const settled = (result: IteratorResult<T>): IteratorResult<T, undefined> => {
    waiting -= 1;
    return result.done === true ? { done: true, value: undefined } : result;
  };
  const failed = (reason: unknown): never => {
    waiting -= 1;
    throw reason;
  };

  function pull(): Promise<IteratorResult<T, undefined>> {
    waiting += 1;
    return iterator.next().then(settled, failed);
  }

  async function pullUntil(abort: AbortSignal): Promise<IteratorResult<T, undefined>> {
    try {
      if (abort.aborted) {
        throw new CanceledError({ cause: abort.reason });
      }
      return await untilAborted(pull(), abort);
    } catch (reason) {
      if (reason instanceof CanceledError) {
        await close();
      }
      throw reason;
    }
  }

  return {
    next: () => (signal === undefined ? pull() : pullUntil(signal)),
    async return() {
      await close();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
