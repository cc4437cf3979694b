/** The most requests that are kept: a transport that takes more was reached. */
const MAX_KEPT = 100;

/** Requests that stream, for one transport after the other, until one was reached. */
export interface KeptRequests<T> {
  /** The requests from the first on, for a transport. Those that had them before get no more. */
  again(): AsyncIterable<T>;
  /** Whether all that were taken are kept. */
  areWhole(): boolean;
  /** Keep none from now on: the transport that has them was reached. */
  release(): void;
  /** Let go of the source: no transport was reached. */
  end(): void;
}

/**
 * Keep the requests that a transport takes, so that another one can have them too. No more are taken of the source than
 * the transports ask for.
 *
 * @param source the requests; iterated once
 * @returns the requests
 */
export function keptRequests<T>(source: AsyncIterable<T>): KeptRequests<T> {
  const iterator = source[Symbol.asyncIterator]();
  const kept: Promise<IteratorResult<T>>[] = [];
  let isKeeping = true;
  let isWhole = true;
  let reader = 0;
  let at = 0;

  function release(): void {
    isKeeping = false;
    kept.splice(0, at);
  }

  function take(): Promise<IteratorResult<T>> {
    if (!isKeeping) {
      return kept.shift() ?? iterator.next();
    }
    const before = kept[at];
    if (before !== undefined) {
      at += 1;
      return before;
    }
    const next = iterator.next();
    if (kept.length === MAX_KEPT) {
      isWhole = false;
      release();
    } else {
      next.catch(() => undefined); // Who asked for it may be gone.
      kept.push(next);
      at += 1;
    }
    return next;
  }

  return {
    again() {
      reader += 1;
      at = 0;
      const own = reader;
      const done = { done: true, value: undefined } as const;
      // A transport that fails ends what it reads: the source is for the next one.
      const isLast = () => own === reader && !isKeeping;
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            const result = own === reader ? await take() : done;
            return own === reader ? result : done;
          },
          async return() {
            return isLast() ? ((await iterator.return?.()) ?? done) : done;
          },
          async throw(reason: unknown) {
            return isLast() ? ((await iterator.throw?.(reason)) ?? done) : done;
          },
        }),
      };
    },
    areWhole: () => isWhole,
    release,
    end() {
      reader += 1;
      iterator.return?.().catch(() => undefined);
    },
  };
}
