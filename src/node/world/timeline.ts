import { firstIndex } from "../../base/signal/collections.js";
import { copyOnWrite, copyOnWriteMap, restoreAll, type Snapshotable, saveAll } from "./copy-on-write.js";
/** Position of a record in a timeline. */
export interface TimelinePlace {
  /** Height of the record's block. */
  readonly height: bigint;
  /** Index among the records of the block, from 0. */
  readonly index: number;
}

/** A record and its place. */
export interface Placed<T> {
  readonly place: TimelinePlace;
  readonly value: T;
}

/** A record and the time of its block, in Unix nanoseconds. */
export interface Timed<T> {
  readonly time: bigint;
  readonly value: T;
}

/** Records in order of arrival: those of the history, followed by those of later blocks. */
export interface Timeline<T> {
  /** Reads records. */
  read(newestFirst: boolean, beyond?: TimelinePlace): Iterable<Placed<T>>;
  /** Returns a record by its identifier, 64 hex digits in lower case. */
  find(id: string): T | undefined;
}

function comparePlaces(a: TimelinePlace, b: TimelinePlace): number {
  return a.height === b.height ? a.index - b.index : a.height < b.height ? -1 : 1;
}

/** Returns the number of records before a place, by binary search. */
function countBefore(records: readonly Placed<unknown>[], place: TimelinePlace): number {
  return firstIndex(records, (record) => comparePlaces(record.place, place) < 0);
}

function* readPlaced<T>(
  records: readonly Placed<T>[],
  newestFirst: boolean,
  beyond?: TimelinePlace,
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

function* mergePlaced<T>(
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

/** Maximum number of finished records that are stored in addition to the history. */
export const MAX_RECORDS = 100_000;
/** Number of records dropped together. Dropping moves the remaining records, so single drops would be slow. */
const DROPPED_AT_ONCE = 1000;

/** Options of {@link createLiveTimeline}. */
export interface LiveTimelineOptions<T> {
  /** Records of the history, all finished. */
  readonly history: Timeline<T>;
  /** Height of the history's last block. */
  readonly lastHeight: bigint;
  /** Records that are unfinished at the end of the history. They follow those of its last block. */
  readonly open?: () => readonly T[];
  /**
   * Returns the identifier of a record; a later record with the same identifier updates it. Without it, each record is
   * new.
   */
  readonly idOf?: (record: T) => string;
  /** Returns whether a record may still change. Such records are never dropped. By default none may. */
  readonly isOpen?: (record: T) => boolean;
}

/** A timeline that grows with new blocks. */
export interface LiveTimeline<T> extends Timeline<T>, Snapshotable {
  /** The unfinished records. */
  readonly open: Timeline<T>;
  /** Adds a record of a block. A new version of a record keeps the place of the first version. */
  put(height: bigint, record: T): void;
  /** Returns the number of records since the first block. Each block of the history has as many as its last one. */
  total(): bigint;
  save(): Readonly<Record<string, unknown>>;
  restore(saved: Readonly<Record<string, unknown>>): void;
}

/**
 * Creates a timeline that continues a history. It stores up to {@link MAX_RECORDS} finished records and drops the
 * oldest.
 */
export function createLiveTimeline<T>(options: LiveTimelineOptions<T>): LiveTimeline<T> {
  const { history, lastHeight, idOf, isOpen = () => false, open: openAtEnd = () => [] } = options;

  /** Returns the number of records in the history's last block. */
  const perBlock = (): number => {
    const [newest] = history.read(true);
    return newest?.place.height === lastHeight ? newest.place.index + 1 : 0;
  };
  const open = copyOnWriteMap<string, Placed<T>>(() => {
    const records = openAtEnd();
    const first = records.length === 0 ? 0 : perBlock();
    const placed = (value: T, index: number) => ({ place: { height: lastHeight, index: first + index }, value });
    return records.map((record, index) => [idOf?.(record) ?? "", placed(record, index)]);
  });
  const finished = createFinishedRecords(idOf);
  const places = createPlaces(lastHeight);
  const parts = { open, ...finished.parts, count: places.count };

  const readOpen: Timeline<T>["read"] = (newestFirst, beyond) =>
    readPlaced([...open.value.values()], newestFirst, beyond);
  const readLive: Timeline<T>["read"] = (newestFirst, beyond) =>
    mergePlaced(readPlaced(finished.records(), newestFirst, beyond), readOpen(newestFirst, beyond), newestFirst);

  return {
    *read(newestFirst, beyond) {
      const isInHistory = beyond !== undefined && comparePlaces(beyond, { height: lastHeight, index: perBlock() }) < 0;
      if (newestFirst) {
        yield* isInHistory ? [] : readLive(true, beyond);
        yield* history.read(true, isInHistory ? beyond : undefined);
      } else {
        yield* beyond === undefined || isInHistory ? history.read(false, beyond) : [];
        yield* readLive(false, isInHistory ? undefined : beyond);
      }
    },

    find: (id) => (open.value.get(id) ?? finished.find(id))?.value ?? history.find(id),

    open: { read: readOpen, find: (id) => open.value.get(id)?.value },

    put(height, value) {
      const id = idOf?.(value);
      const finishedBefore = id === undefined ? undefined : finished.find(id);
      const before = id === undefined ? undefined : (open.value.get(id) ?? finishedBefore);
      const record = { place: before?.place ?? places.next(height), value };
      // A finished record stays finished, whatever follows.
      if (id !== undefined && isOpen(value) && finishedBefore === undefined) {
        open.change().set(id, record);
        return;
      }
      if (id !== undefined && open.value.has(id)) {
        open.change().delete(id);
      }
      finished.put(record, id);
    },

    total: () => lastHeight * BigInt(perBlock()) + BigInt(openAtEnd().length) + places.count.value.added,

    save: () => saveAll(parts),
    restore: (saved) => restoreAll(parts, saved),
  };
}

/** Stores finished records by place and identifier, and drops the oldest above {@link MAX_RECORDS}. */
function createFinishedRecords<T>(idOf: ((record: T) => string) | undefined) {
  const finished = copyOnWrite<Placed<T>[]>(
    () => [],
    (records) => records.slice(),
  );
  const finishedById = copyOnWriteMap<string, Placed<T>>(() => []);
  return {
    parts: { finished, finishedById },

    records: (): readonly Placed<T>[] => finished.value,

    find: (id: string): Placed<T> | undefined => finishedById.value.get(id),

    put(record: Placed<T>, id: string | undefined): void {
      const records = finished.change();
      const at = countBefore(records, record.place);
      const current = records[at];
      const isUpdate = current !== undefined && comparePlaces(current.place, record.place) === 0;
      records.splice(at, isUpdate ? 1 : 0, record);
      if (id !== undefined) {
        finishedById.change().set(id, record);
      }
      if (records.length > MAX_RECORDS) {
        for (const { value } of records.splice(0, DROPPED_AT_ONCE)) {
          if (idOf !== undefined) {
            finishedById.change().delete(idOf(value));
          }
        }
      }
    },
  };
}

/** Assigns places to the new records of a timeline, and counts them. */
function createPlaces(lastHeight: bigint) {
  const count = copyOnWrite(
    () => ({ added: 0n, height: lastHeight, inBlock: 0 }),
    (counts) => ({ ...counts }),
  );
  return {
    count,

    next(height: bigint): TimelinePlace {
      const counts = count.change();
      counts.inBlock = counts.height === height ? counts.inBlock + 1 : 1;
      counts.height = height;
      counts.added += 1n;
      return { height, index: counts.inBlock - 1 };
    },
  };
}
