import type { Recorded } from "../world/records.js";
import type { Timeline } from "../world/timeline.js";

/** What a record is ordered and found by, as text. Cursors hold it. */
export type Key = readonly string[];

/** A record and its key. */
export interface Keyed<T> {
  readonly key: Key;
  readonly value: T;
}

/** The source of a listing's records. */
export interface Listing<T> {
  /** The parts of a key match these. */
  readonly keyParts: readonly RegExp[];
  /**
   * Read records in the order of their keys.
   *
   * @param descending whether the last one comes first
   * @param from only what has this key or comes behind it, in the direction of reading; all by default
   */
  read(descending: boolean, from: Key | undefined): Iterable<Keyed<T>>;
}

/** What the parts of keys match. Times are Unix nanoseconds of 19 digits, so that they have the order of numbers. */
export const keyPart = {
  id: /^[0-9a-f]{64}$/,
  party: /^([0-9a-f]{64}|network)$/,
  time: /^[0-8]\d{18}$/,
  text: /^[\x20-\x7e]+$/,
} as const;

/**
 * Write a time as the part of a key.
 *
 * @param nanoseconds Unix nanoseconds
 * @returns 19 digits
 */
export function timePart(nanoseconds: bigint): string {
  return String(nanoseconds).padStart(19, "0");
}

/**
 * List records that are kept in memory.
 *
 * @param records the records, in any order
 * @param keyParts what the parts of their keys match; all but the last are of one length
 * @param keyOf gives the key of a record, which no other has
 * @returns the listing
 */
export function sortedListing<T>(
  records: Iterable<T>,
  keyParts: readonly RegExp[],
  keyOf: (record: T) => Key,
): Listing<T> {
  return {
    keyParts,
    read(descending, from) {
      const sign = descending ? -1 : 1;
      const bound = from?.join(" ");
      const found: (Keyed<T> & { readonly order: string })[] = [];
      for (const value of records) {
        const key = keyOf(value);
        const order = key.join(" ");
        if (bound === undefined || sign * compare(order, bound) >= 0) {
          found.push({ key, value, order });
        }
      }
      return found.sort((a, b) => sign * compare(a.order, b.order));
    },
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * List the records of a timeline. It is read no further than the listing is.
 *
 * @param timeline the records, by height and place in the block
 * @param matches whether a record is listed; all are by default
 * @returns the listing
 */
export function timelineListing<T>(timeline: Timeline<T>, matches: (record: T) => boolean = () => true): Listing<T> {
  return {
    keyParts: [/^\d{1,18}$/, /^\d{1,15}$/],
    *read(descending, from) {
      const [height = "0", index = "0"] = from ?? [];
      // The timeline is read beyond a place: the one beside it lets the record there come too.
      const beside = Number(index) + (descending ? 1 : -1);
      for (const record of timeline.read(descending, from && { height: BigInt(height), index: beside })) {
        if (matches(record.value)) {
          yield { key: [String(record.place.height), String(record.place.index)], value: record.value };
        }
      }
    },
  };
}

/** Makes the listing of those records of a source that match. */
export type Source<T> = (matches: (record: T) => boolean) => Listing<T>;

/** The source of what the local node has no records of. */
export const NOTHING: Source<never> = () => ({ keyParts: [], read: () => [] });

/** Makes a source of records that are kept in memory, of the order of {@link sortedListing}. */
export function sorted<T>(records: Iterable<T>, keyParts: readonly RegExp[], keyOf: (record: T) => Key): Source<T> {
  return (matches) => sortedListing([...records].filter(matches), keyParts, keyOf);
}

/** Makes a source of the records of a timeline, of the order of {@link timelineListing}. */
export function inTime<T>(timeline: Timeline<T>): Source<T> {
  return (matches) => timelineListing(timeline, matches);
}

/**
 * Makes a source of records by the time of the block that changed each one last.
 *
 * @param records the latest version of each record, by its identifier
 * @returns the source
 */
export function byBlock<T>(records: { readonly latest: ReadonlyMap<string, Recorded<T>> }): Source<T> {
  return (matches) => {
    const found = [...records.latest].filter(([, { value }]) => matches(value));
    const { keyParts, read } = sortedListing(found, [keyPart.time, keyPart.text], ([key, { block }]) => [
      timePart(block.time),
      key,
    ]);
    return {
      keyParts,
      *read(descending, from) {
        for (const { key, value } of read(descending, from)) {
          yield { key, value: value[1].value };
        }
      },
    };
  };
}

/**
 * Refuses to read a listing from a cursor on, where the network has a defect that lets nobody read a second page.
 *
 * @param source the source of the listing
 * @param fail makes the network's error
 * @returns the source of a listing whose first page can be read
 */
export function firstPageOnly<T>(source: Source<T>, fail: () => Error): Source<T> {
  return (matches) => {
    const { keyParts, read } = source(matches);
    return {
      keyParts,
      read(descending, from) {
        if (from !== undefined) {
          throw fail();
        }
        return read(descending, from);
      },
    };
  };
}
