import { kept, keptMap, restoreAll, type Saved, saveAll } from "./kept.js";
import { comparePlaces, countBefore, mergePlaced, readPlaced } from "./places.js";
import type { Place, Placed, Timeline } from "./timeline.js";

/** The most finished records that are kept beside those of the history. */
export const MAX_RECORDS = 100_000;
/** How many are dropped at once: what is left has to be moved each time. */
const DROPPED_AT_ONCE = 1000;

/** What a live timeline begins with, and what its records are. */
export interface LiveTimelineOptions<T> {
  /** The records of the history, all of them finished. */
  readonly history: Timeline<T>;
  /** The height of the history's last block. */
  readonly lastHeight: bigint;
  /** The records that are not finished at the end of the history. They stand behind those of its last block. */
  readonly open?: () => readonly T[];
  /** The identifier of a record: what comes with it again is the same record, changed. Without it each one is new. */
  readonly idOf?: (record: T) => string;
  /** Whether a record may still change. Those that may are all kept. None may by default. */
  readonly isOpen?: (record: T) => boolean;
}

/** A timeline that grows. */
export interface LiveTimeline<T> extends Timeline<T>, Saved {
  /** The records that are not finished. */
  readonly open: Timeline<T>;
  /** Add a record of a block, or the latest version of one at the place where the first one came. */
  put(height: bigint, record: T): void;
  /** How many records there ever were. Each block of the history has as many as its last one. */
  total(): bigint;
  save(): Readonly<Record<string, unknown>>;
  restore(saved: Readonly<Record<string, unknown>>): void;
}

/**
 * Make a timeline that goes on where a history ends. It keeps {@link MAX_RECORDS} finished records, and drops the oldest.
 *
 * @param options the history, and what its records are
 * @returns the timeline
 */
export function createLiveTimeline<T>(options: LiveTimelineOptions<T>): LiveTimeline<T> {
  const { history, lastHeight, idOf, isOpen = () => false } = options;
  const begin = options.open ?? (() => []);

  /** How many records of the history its last block has. */
  const perBlock = (): number => {
    const [newest] = history.read(true);
    return newest?.place.height === lastHeight ? newest.place.index + 1 : 0;
  };
  const placed = (record: T, index: number): Placed<T> => ({ place: { height: lastHeight, index }, value: record });
  const open = keptMap<string, Placed<T>>(() => {
    const records = begin();
    const first = records.length === 0 ? 0 : perBlock();
    return records.map((record, index) => [idOf?.(record) ?? "", placed(record, first + index)]);
  });
  const finished = kept<Placed<T>[]>(
    () => [],
    (records) => records.slice(),
  );
  const finishedById = keptMap<string, Placed<T>>(() => []);
  const count = kept(
    () => ({ added: 0n, height: lastHeight, inBlock: 0 }),
    (counts) => ({ ...counts }),
  );

  const parts = { open, finished, finishedById, count };

  function nextPlace(height: bigint): Place {
    const counts = count.change();
    counts.inBlock = counts.height === height ? counts.inBlock + 1 : 1;
    counts.height = height;
    counts.added += 1n;
    return { height, index: counts.inBlock - 1 };
  }

  function finish(record: Placed<T>, id: string | undefined): void {
    const records = finished.change();
    const at = countBefore(records, record.place);
    const there = records[at];
    const isThere = there !== undefined && comparePlaces(there.place, record.place) === 0;
    records.splice(at, isThere ? 1 : 0, record);
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
  }

  const readOpen: Timeline<T>["read"] = (newestFirst, beyond) =>
    readPlaced([...open.value.values()], newestFirst, beyond);
  const readLive: Timeline<T>["read"] = (newestFirst, beyond) =>
    mergePlaced(readPlaced(finished.value, newestFirst, beyond), readOpen(newestFirst, beyond), newestFirst);

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

    find: (id) => (open.value.get(id) ?? finishedById.value.get(id))?.value ?? history.find(id),

    open: { read: readOpen, find: (id) => open.value.get(id)?.value },

    put(height, value) {
      const id = idOf?.(value);
      const before = id === undefined ? undefined : (open.value.get(id) ?? finishedById.value.get(id));
      const record = { place: before?.place ?? nextPlace(height), value };
      // What is finished stays so, whatever comes after.
      if (id !== undefined && isOpen(value) && !finishedById.value.has(id)) {
        open.change().set(id, record);
        return;
      }
      if (id !== undefined && open.value.has(id)) {
        open.change().delete(id);
      }
      finish(record, id);
    },

    total: () => lastHeight * BigInt(perBlock()) + BigInt(begin().length) + count.value.added,

    save: () => saveAll(parts),
    restore: (saved) => restoreAll(parts, saved),
  };
}
