/** Things that come and go often, such as the calls under way. */
export interface Bag<T> {
  /**
   * Put something in.
   *
   * @param item the thing
   * @returns takes it out again; a second time it does nothing
   */
  add(item: T): () => void;
  /** List what is in it, in any order. */
  list(): T[];
}

/**
 * Make an empty bag.
 *
 * A `Set` would do, but V8 links each of its tables that is outgrown to the next: where things come and go, all that were
 * ever in it stay in memory until the next large garbage collection.
 *
 * @returns the bag
 *
 * @example
 * const takeOut = underWay.add(call);
 */
export function createBag<T>(): Bag<T> {
  const entries: { readonly item: T; at: number }[] = [];
  return {
    add(item) {
      const entry = { item, at: entries.length };
      entries.push(entry);
      return () => {
        if (entries[entry.at] !== entry) {
          return;
        }
        const last = entries.pop();
        if (last !== undefined && last !== entry) {
          entries[entry.at] = last; // The place of the one that is taken out.
          last.at = entry.at;
        }
      };
    },
    list: () => entries.map(({ item }) => item),
  };
}
