/** The number of transactions that a node remembers, as CometBFT does by default (`CacheSize` in its `config/config.go`). */
const CAPACITY = 10_000;

/** The hashes of the transactions that a node has taken, the one that was asked for last at the end. */
export interface TxCache {
  /** Adds a hash. Returns whether it is new. */
  push(hash: string): boolean;
  remove(hash: string): void;
  save(): readonly string[];
  restore(hashes: readonly string[]): void;
}

/**
 * Creates a cache of transactions (`LRUTxCache` in CometBFT's `mempool/cache.go`). What is in it is refused before it is
 * looked at.
 *
 * @returns the cache, empty
 */
export function createTxCache(): TxCache {
  let hashes = new Set<string>();
  return {
    push(hash) {
      const isNew = !hashes.delete(hash);
      const [oldest] = hashes;
      if (isNew && oldest !== undefined && hashes.size >= CAPACITY) {
        hashes.delete(oldest);
      }
      hashes.add(hash);
      return isNew;
    },
    remove(hash) {
      hashes.delete(hash);
    },
    save: () => [...hashes],
    restore(saved) {
      hashes = new Set(saved);
    },
  };
}
