import { Code, ConnectError } from "@connectrpc/connect";
import type { Block, Happening } from "../world/event.js";

/** What a stream tells of. Statistics count the open streams of each kind. */
export type Subject =
  | "account"
  | "order"
  | "position"
  | "trade"
  | "marginLevels"
  | "ledgerMovements"
  | "liquidityProvision"
  | "governance"
  | "vote"
  | "marketData"
  | "marketDepth"
  | "marketDepthUpdates"
  | "candle"
  | "event"
  | "transactionResult";

/** The most records that wait for a stream's reader. A single block may bring more. */
export const MAX_WAITING_RECORDS = 10_000;

/** What a stream tells: records of the type T in messages of the type M, behind messages of the type S. */
export interface Watched<T, M, S = never> {
  readonly subject: Subject;
  /** Aborted when the caller ends the stream. */
  readonly signal: AbortSignal;
  /** Makes the messages that the stream begins with: how things stand when it opens. None by default. */
  readonly snapshot?: () => Iterable<S>;
  /** Chooses what is told of a block; called when the block has been carried out. */
  readonly select: (happenings: readonly Happening[]) => readonly T[];
  /** Makes the message of what was chosen of a block. */
  readonly message: (records: readonly T[]) => M;
  /** Makes the error that ends the stream when its reader is too slow; `undefined` for no error. INTERNAL by default. */
  readonly tooSlow?: () => ConnectError | undefined;
}

/** The streams of a node: what keeps them open, and how many there are. */
export interface Streams {
  /** Tell of a block that was carried out. */
  publish(block: Block, happenings: readonly Happening[]): void;
  /**
   * Tell of blocks until the caller ends the stream: first how things stand, then what each block brings, in order, with
   * nothing lost between. A block of which nothing is chosen brings no message.
   *
   * @throws ConnectError when the reader is too slow
   */
  watch<T, M, S = never>(watched: Watched<T, M, S>): AsyncGenerator<M | S, void>;
  /** The number of open streams. */
  open(subject: Subject): number;
}

interface Subscriber {
  readonly subject: Subject;
  publish(happenings: readonly Happening[]): void;
}

/**
 * Make what keeps the streams of a node open.
 *
 * @returns the streams; none is open yet
 *
 * @example
 * const heights = streams.watch({
 *   subject: "event",
 *   signal,
 *   select: (happenings) => happenings.filter(({ event }) => event.case === "beginBlock"),
 *   message: ([begun]) => begun?.block.height,
 * });
 */
export function createStreams(): Streams {
  const subscribers = new Set<Subscriber>();
  return {
    publish(_, happenings) {
      for (const subscriber of subscribers) {
        subscriber.publish(happenings);
      }
    },

    async *watch<T, M, S = never>(watched: Watched<T, M, S>) {
      const { subject, signal, snapshot, message, tooSlow = isTooSlow } = watched;
      if (signal.aborted) {
        return;
      }
      const waiting = createQueue(watched.select);
      const subscriber = { subject, publish: waiting.publish };
      // A caller that is gone may never ask for more: the stream is not left to wait for that.
      const stop = () => {
        subscribers.delete(subscriber);
        waiting.wake();
      };
      subscribers.add(subscriber);
      signal.addEventListener("abort", stop);
      try {
        yield* [...(snapshot?.() ?? [])];
        while (!signal.aborted) {
          const records = waiting.shift();
          if (records === "overflow") {
            const error = tooSlow();
            if (error !== undefined) {
              throw error;
            }
            return;
          }
          if (records === undefined) {
            await waiting.next();
          } else {
            yield message(records);
          }
        }
      } finally {
        signal.removeEventListener("abort", stop);
        subscribers.delete(subscriber);
      }
    },

    open: (subject) => [...subscribers].filter((subscriber) => subscriber.subject === subject).length,
  };
}

const isTooSlow = () => new ConnectError("the stream is read too slowly; records were lost", Code.Internal);

/** What waits for a stream's reader: the records of each block. */
function createQueue<T>(select: (happenings: readonly Happening[]) => readonly T[]) {
  const blocks: (readonly T[])[] = [];
  let size = 0;
  let overflown = false;
  let wake = () => {};
  return {
    wake: () => wake(),

    publish(happenings: readonly Happening[]): void {
      const records = overflown ? [] : select(happenings);
      if (records.length === 0) {
        return;
      }
      overflown = size > 0 && size + records.length > MAX_WAITING_RECORDS;
      if (overflown) {
        blocks.length = 0;
      } else {
        blocks.push(records);
        size += records.length;
      }
      wake();
    },

    /** Take the records of the next block, if any wait. */
    shift(): readonly T[] | undefined | "overflow" {
      const records = blocks.shift();
      size -= records?.length ?? 0;
      return overflown ? "overflow" : records;
    },

    /** Wait for the next block, or to be woken. */
    next(): Promise<void> {
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}

/** The most records of one message of a snapshot, as on deployed nodes. */
const SNAPSHOT_PAGE = 50;

/** A page of a snapshot. */
export interface SnapshotPage<T> {
  readonly records: readonly T[];
  readonly lastPage: boolean;
}

/**
 * Divide the records that a stream begins with into pages.
 *
 * @param records the records
 * @returns the pages, the last one marked; one empty page where there are no records
 */
export function snapshotPages<T>(records: readonly T[]): SnapshotPage<T>[] {
  return Array.from({ length: Math.max(1, Math.ceil(records.length / SNAPSHOT_PAGE)) }, (_, page) => {
    const end = (page + 1) * SNAPSHOT_PAGE;
    return { records: records.slice(page * SNAPSHOT_PAGE, end), lastPage: end >= records.length };
  });
}
