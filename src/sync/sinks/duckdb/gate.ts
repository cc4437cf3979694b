/** Lets those who write into a database: several side by side, or one alone. Who comes later waits for who came before. */
export interface Gate {
  /** Work side by side with others, once nobody works alone. */
  share<T>(work: () => Promise<T>): Promise<T>;
  /** Work once all others have ended. */
  alone<T>(work: () => Promise<T>): Promise<T>;
}

/**
 * Make a gate.
 *
 * @returns the gate; both of its methods throw what `work` throws
 */
export function createGate(): Gate {
  let last: Promise<unknown> = Promise.resolve();
  let sharing = new Set<Promise<unknown>>();
  return {
    share(work) {
      const working = last.then(work);
      const ended = working.catch(() => undefined);
      const beside = sharing.add(ended);
      void ended.then(() => beside.delete(ended));
      return working;
    },
    alone(work) {
      const working = Promise.all([last, ...sharing]).then(work);
      last = working.catch(() => undefined);
      sharing = new Set();
      return working;
    },
  };
}
