import { ConnectError } from "@connectrpc/connect";
import { Code } from "../../base/errors/code.js";
import type { Block, BlockEvent } from "../world/block-event.js";

/** The messages of a stream. The node's statistics count the open streams of each subject. */
export type Subject =
  | "account"
  | "order"
  | "position"
  | "trade"
  | "marginLevels"
  | "ledgerMovements"
  | "governance"
  | "vote"
  | "marketData"
  | "marketDepth"
  | "marketDepthUpdates"
  | "candle"
  | "event"
  | "transactionResult";

/**
 * The streams that send a record when its event arrives. All others send the records of a block when the data node commits it:
 * their observers are notified in `Flush`, which precedes the commit (v0.78.0, datanode/broker/sqlstore_broker.go, EndBlockEvent),
 * and candles are read from the database (datanode/candlesv2/candle_updates.go).
 */
const SENT_WITH_EVENTS: ReadonlySet<Subject> = new Set([
  "event",
  "transactionResult",
  "governance",
  "vote",
  "marketDepth",
  "marketDepthUpdates",
]);

/** The maximum number of buffered records of a stream. A single block may exceed it. */
export const MAX_BUFFERED_RECORDS = 10_000;

/** The declaration of a stream: messages of type S first, then messages of type M with records of type T. */
interface StreamDeclaration<T, M, S = never> {
  readonly subject: Subject;
  /** Aborted when the caller closes the stream. */
  readonly signal: AbortSignal;
  /** Returns the messages of the snapshot that is sent when the stream opens. None by default. */
  readonly snapshot?: () => Iterable<S>;
  /** Selects the records to send for a block; called when the block has been executed. */
  readonly select: (blockEvents: readonly BlockEvent[]) => readonly T[];
  /** Returns the message for the selected records of a block. */
  readonly message: (records: readonly T[]) => M;
  /** Creates the error that ends the stream if its reader is too slow; `undefined` for no error. `Internal` by default. */
  readonly slowReaderError?: () => ConnectError | undefined;
}

export interface OpenStreams {
  /** Sends the events of an executed block to open streams. */
  publish(block: Block, blockEvents: readonly BlockEvent[], at?: "event" | "commit"): void;
  /**
   * Opens a stream: yields the snapshot, then one message for each block until the caller closes the stream. No block is
   * lost between the snapshot and the first message. A block without selected records yields no message.
   *
   * @throws ConnectError when the reader is too slow
   */
  watch<T, M, S = never>(watched: StreamDeclaration<T, M, S>): AsyncGenerator<M | S, void>;
  open(subject: Subject): number;
}

interface Subscriber {
  readonly subject: Subject;
  publish(blockEvents: readonly BlockEvent[]): void;
}

/**
 * Creates the streams of a node.
 *
 * @example
 * const heights = streams.watch({
 *   subject: "event",
 *   signal,
 *   select: (blockEvents) => blockEvents.filter(({ event }) => event.case === "beginBlock"),
 *   message: ([begin]) => begin?.block.height,
 * });
 */
export function createStreams(): OpenStreams {
  const subscribers = new Set<Subscriber>();
  return {
    publish(_, blockEvents, at) {
      for (const subscriber of subscribers) {
        if (at === undefined || SENT_WITH_EVENTS.has(subscriber.subject) === (at === "event")) {
          subscriber.publish(blockEvents);
        }
      }
    },

    async *watch<T, M, S = never>(watched: StreamDeclaration<T, M, S>) {
      const { subject, signal, snapshot, message, slowReaderError = defaultSlowReaderError } = watched;
      if (signal.aborted) {
        return;
      }
      const waiting = createQueue(watched.select);
      const subscriber = { subject, publish: waiting.publish };
      // A caller that has disconnected may never read on, so the abort signal must wake the stream.
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
            const error = slowReaderError();
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

const defaultSlowReaderError = () =>
  new ConnectError("the stream is read too slowly; records were lost", Code.Internal);

/** The buffer of a stream: the records of each block that its reader has not consumed yet. */
function createQueue<T>(select: (blockEvents: readonly BlockEvent[]) => readonly T[]) {
  const blocks: (readonly T[])[] = [];
  let size = 0;
  let hasOverflowed = false;
  let wake = () => {};
  return {
    wake: () => wake(),

    publish(blockEvents: readonly BlockEvent[]): void {
      const records = hasOverflowed ? [] : select(blockEvents);
      if (records.length === 0) {
        return;
      }
      hasOverflowed = size > 0 && size + records.length > MAX_BUFFERED_RECORDS;
      if (hasOverflowed) {
        blocks.length = 0;
      } else {
        blocks.push(records);
        size += records.length;
      }
      wake();
    },

    /** Removes and returns the records of the next block, if there are any. */
    shift(): readonly T[] | undefined | "overflow" {
      const records = blocks.shift();
      size -= records?.length ?? 0;
      return hasOverflowed ? "overflow" : records;
    },

    /** Waits for the next block, or until woken. */
    next(): Promise<void> {
      return new Promise((resolve) => {
        wake = resolve;
      });
    },
  };
}

/** The maximum number of records in one message of a snapshot, as on deployed nodes. */
const SNAPSHOT_PAGE = 50;

export interface SnapshotPage<T> {
  readonly records: readonly T[];
  readonly lastPage: boolean;
}

export function snapshotPages<T>(records: readonly T[]): SnapshotPage<T>[] {
  return Array.from({ length: Math.max(1, Math.ceil(records.length / SNAPSHOT_PAGE)) }, (_, page) => {
    const end = (page + 1) * SNAPSHOT_PAGE;
    return { records: records.slice(page * SNAPSHOT_PAGE, end), lastPage: end >= records.length };
  });
}
