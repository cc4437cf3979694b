/** What can be saved and restored. What was saved is plain data, never changes, and can be restored as often as one likes. */
export interface Saved {
  save(): unknown;
  /** @param saved what `save()` gave */
  restore(saved: unknown): void;
}

/**
 * Save parts together.
 *
 * @param parts the parts, by name
 * @returns what each one saved, by its name
 */
export function saveAll(parts: Readonly<Record<string, Saved>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.save()]));
}

/** Restore parts that {@link saveAll} saved. */
export function restoreAll(parts: Readonly<Record<string, Saved>>, saved: Readonly<Record<string, unknown>>): void {
  for (const [name, part] of Object.entries(parts)) {
    part.restore(saved[name]);
  }
}

/** A value that changes, such as a map. What was saved of it stays as it is. */
export interface Kept<T> extends Saved {
  /** The value as it is, for reading. */
  readonly value: T;
  /** Give the value for changing it. It is copied first if it was saved since it was changed last. */
  change(): T;
  /** Keep the value as it is; `undefined` where it was not asked for yet. */
  save(): T | undefined;
  restore(saved: T | undefined): void;
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
      return current?.value;
    },
    restore(saved) {
      current = saved === undefined ? undefined : { value: saved, isShared: true };
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
