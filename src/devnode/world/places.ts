import type { Place, Placed } from "./timeline.js";

/**
 * Compare places.
 *
 * @param a a place
 * @param b another one
 * @returns a number below 0 if `a` comes first, above 0 if `b` does, and 0 if they are the same
 */
export function comparePlaces(a: Place, b: Place): number {
  return a.height === b.height ? a.index - b.index : a.height < b.height ? -1 : 1;
}

/**
 * Find where a place is, or would be, among records.
 *
 * @param records the records, in the order of their places
 * @param place the place
 * @returns the number of records before it
 */
export function countBefore(records: readonly Placed<unknown>[], place: Place): number {
  let low = 0;
  let high = records.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const record = records[middle];
    if (record !== undefined && comparePlaces(record.place, place) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/**
 * Read records in one direction.
 *
 * @param records the records, in the order of their places
 * @param newestFirst whether the last one comes first
 * @param beyond only what comes behind this place, in the direction of reading; all by default
 * @returns the records, each when its turn comes
 */
export function* readPlaced<T>(
  records: readonly Placed<T>[],
  newestFirst: boolean,
  beyond?: Place,
): Generator<Placed<T>, void> {
  const step = newestFirst ? -1 : 1;
  let at = newestFirst ? records.length - 1 : 0;
  if (beyond !== undefined) {
    const before = countBefore(records, beyond);
    const found = records[before];
    const isThere = found !== undefined && comparePlaces(found.place, beyond) === 0;
    at = newestFirst ? before - 1 : isThere ? before + 1 : before;
  }
  for (let record = records[at]; record !== undefined; record = records[at]) {
    yield record;
    at += step;
  }
}

/**
 * Read records of two kinds as one.
 *
 * @param a records, in the direction of reading
 * @param b others
 * @param newestFirst the direction
 * @returns all of them, each when its turn comes
 */
export function* mergePlaced<T>(
  a: Iterable<Placed<T>>,
  b: Iterable<Placed<T>>,
  newestFirst: boolean,
): Generator<Placed<T>, void> {
  const sign = newestFirst ? -1 : 1;
  const others = b[Symbol.iterator]();
  let other = others.next();
  for (const record of a) {
    while (other.done !== true && sign * comparePlaces(other.value.place, record.place) < 0) {
      yield other.value;
      other = others.next();
    }
    yield record;
  }
  for (; other.done !== true; other = others.next()) {
    yield other.value;
  }
}
