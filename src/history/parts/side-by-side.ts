import { untilAborted } from "../../signal/until-aborted.js";

/** Work on items, some of them at once. */
export interface SideBySide<R> {
  /**
   * Wait for the result of an item.
   *
   * @param index its place
   * @throws {@link CanceledError} where all was stopped before
   */
  result(index: number): Promise<R>;
  /**
   * Wait until nothing is under way.
   *
   * @returns the failure that stopped all, if one did
   */
  ended(): Promise<{ readonly reason: unknown } | undefined>;
}

/**
 * Work on items side by side, in their order. The first failure stops all.
 *
 * @param items each is taken once
 * @param parallel how many at once, at most
 * @param work works on one
 * @param stop ends what is under way; it is aborted at the first failure
 * @returns the results, as they come
 */
export function sideBySide<T, R>(
  items: readonly T[],
  parallel: number,
  work: (item: T) => Promise<R>,
  stop: AbortController,
): SideBySide<R> {
  const slots = items.map((item) => {
    let settle: (result: R) => void = () => undefined;
    const result = new Promise<R>((resolve) => {
      settle = resolve;
    });
    return { item, result, settle };
  });
  const left = slots.values();
  let failure: { readonly reason: unknown } | undefined;

  async function lane(): Promise<void> {
    // The lanes share one iterator, so that each item is taken once.
    for (const { item, settle } of left) {
      if (stop.signal.aborted) {
        return;
      }
      try {
        settle(await work(item));
      } catch (reason) {
        if (!stop.signal.aborted) {
          failure = { reason }; // Otherwise it fails because all is stopped.
          stop.abort(reason);
        }
        return;
      }
    }
  }

  const lanes = Promise.all(Array.from({ length: Math.min(parallel, items.length) }, lane));
  return {
    result: (index) =>
      untilAborted(slots[index]?.result ?? Promise.reject(new RangeError(`no item ${index}`)), stop.signal),
    ended: () => lanes.then(() => failure),
  };
}
