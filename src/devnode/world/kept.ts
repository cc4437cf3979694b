/** A value that changes, such as a map. What was saved of it stays as it is. */
export interface Kept<T> {
  /** The value as it is, for reading. */
  readonly value: T;
  /** Give the value for changing it. It is copied first if it was saved since it was changed last. */
  change(): T;
  /** Keep the value as it is. The result brings it back, as often as it is called. */
  save(): () => void;
}

/**
 * Keep a value that changes.
 *
 * @param start makes the value that it begins with, when it is first asked for
 * @param copy copies a value
 * @returns the value
 */
export function kept<T>(start: () => T, copy: (value: T) => T): Kept<T> {
  let current: { readonly value: T; readonly isShared: boolean } | undefined;
  const get = () => {
    current ??= { value: start(), isShared: false };
    return current;
  };
  return {
    get value() {
      return get().value;
    },
    change() {
      const { value, isShared } = get();
      if (isShared) {
        current = { value: copy(value), isShared: false };
      }
      return get().value;
    },
    save() {
      current = current && { ...current, isShared: true };
      const saved = current;
      return () => {
        current = saved;
      };
    },
  };
}

/**
 * Keep a map that changes.
 *
 * @param start makes its entries, when they are first asked for
 * @returns the map
 */
export function keptMap<K, V>(start: () => Iterable<readonly [K, V]>): Kept<Map<K, V>> {
  return kept(
    () => new Map(start()),
    (map) => new Map(map),
  );
}
