/**
 * State that can be saved and restored. A saved state is immutable plain data, and can be restored any number of
 * times.
 */
export interface Snapshotable {
  save(): unknown;
  restore(saved: unknown): void;
}

export function saveAll(parts: Readonly<Record<string, Snapshotable>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, part.save()]));
}

/** Restores parts that {@link saveAll} saved. */
export function restoreAll(
  parts: Readonly<Record<string, Snapshotable>>,
  saved: Readonly<Record<string, unknown>>,
): void {
  for (const [name, part] of Object.entries(parts)) {
    part.restore(saved[name]);
  }
}

/** A mutable value that is copied before its first change after a save, so saved values never change. */
export interface CopyOnWrite<T> extends Snapshotable {
  /** The current value, for reading. */
  readonly value: T;
  /** Returns the value for changing it. It is copied first if it was saved since its last change. */
  change(): T;
  /** Saves the value; `undefined` if it was never read. */
  save(): T | undefined;
  restore(saved: T | undefined): void;
}

export function copyOnWrite<T>(start: () => T, copy: (value: T) => T): CopyOnWrite<T> {
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

export function copyOnWriteMap<K, V>(start: () => Iterable<readonly [K, V]>): CopyOnWrite<Map<K, V>> {
  return copyOnWrite(
    () => new Map(start()),
    (map) => new Map(map),
  );
}
