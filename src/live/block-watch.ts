import { Code } from "@connectrpc/connect";
import type { BeginBlock, StopOrderEvent, TransactionResult } from "../../gen/vega/events/v1/events_pb.js";
import { ConnectionError } from "../errors/index.js";
import { reactionTo } from "../errors/reaction.js";
import { type StopTimer, startTimer } from "../runtime/index.js";
import { followingController } from "../signal/follow.js";
import { untilAborted } from "../signal/until-aborted.js";
import { type RetryWaits, retryMs, wait } from "../signal/wait.js";
import { createBlockTimes } from "./block-times.js";

/** What the watch takes of the event bus: results of transactions, stop orders, and the beginnings and ends of blocks. */
export type WatchedEvent =
  | { readonly case: "beginBlock"; readonly block: bigint; readonly value: Pick<BeginBlock, "timestamp"> }
  | { readonly case: "transactionResult"; readonly block: bigint; readonly value: TransactionResult }
  | { readonly case: "stopOrder"; readonly block: bigint; readonly value: StopOrderEvent }
  | { readonly case: "endBlock"; readonly block: bigint };

/** Waits for the result of a transaction. */
export interface ResultObserver {
  /** A result came, of any transaction, in a block of this height. */
  result(result: TransactionResult, block: bigint): void;
  /** A stop order came, of any party. The network's result of its transaction does not say whether it was rejected. */
  stopOrder(event: StopOrderEvent): void;
  /**
   * A block ended: its results have all come, unless `missed` was called.
   *
   * @param block its height
   * @param time its time, in Unix nanoseconds; `undefined` if the event of its beginning did not come
   */
  ended(block: bigint, time: bigint | undefined): void;
  /** Results of these blocks may not have come. `from` is `undefined` where no block had ended before. */
  missed(from: bigint | undefined, to: bigint): void;
  /** The stream cannot be had any more. */
  failed(error: unknown): void;
}

/** Follows the blocks of a node for all who wait for results. */
export interface BlockWatch {
  /**
   * Wait until the stream is known to tell of what comes: a block has ended since it was opened.
   *
   * @param signal ends the wait
   * @throws the error for which the stream could not be opened, or was lost before a block ended, each time that it was tried
   */
  ready(signal: AbortSignal): Promise<void>;
  /**
   * Wait for a result.
   *
   * @param observer is told
   * @returns stops it
   */
  observe(observer: ResultObserver): () => void;
  /**
   * Finds the block of a time.
   *
   * @param time Unix nanoseconds, or the same cut to microseconds as the data node stores it
   * @returns its height; `undefined` where the blocks around it were not observed
   */
  blockAt(time: bigint): bigint | undefined;
  /** Close the stream. Who waits is told. */
  close(): void;
}

/** The stream of blocks. */
type Stream =
  | { readonly kind: "closed" }
  /** It is being opened, also again: `last` is the last block whose results have all come. */
  | { readonly kind: "opening"; readonly run: AbortController; readonly last: bigint | undefined }
  /** A block has ended since it was opened. */
  | { readonly kind: "live"; readonly run: AbortController; readonly last: bigint };

/** How long the stream is kept open where nobody waits for a result, in milliseconds. */
const KEPT_OPEN_MS = 30_000;
/** The longest time without a block's end, in milliseconds: the stream is opened anew then. */
const LONGEST_SILENCE_MS = 60_000;

/**
 * Follow the blocks of a node, once for all who wait for the results of their transactions. The stream is opened when the
 * first one waits, opened again when it is lost, and closed a while after the last one.
 *
 * The results of a block are taken as complete when the block's end has come, and the one before it had come by the same
 * stream. Blocks of which that cannot be said are told to all who wait.
 *
 * @param open opens the stream; it fails where the stream is lost
 * @param retry the waits before it is opened again, and how often it is tried for one who waits until it is ready
 * @returns the watch
 */
export function createBlockWatch(
  open: (signal: AbortSignal) => AsyncIterable<WatchedEvent>,
  retry: RetryWaits & { readonly tries: number },
): BlockWatch {
  const observers = new Set<ResultObserver>();
  const waiting: { readonly resolve: () => void; readonly reject: (reason: unknown) => void }[] = [];
  let users = 0;
  let stopClosing: StopTimer | undefined;
  let stream: Stream = { kind: "closed" };
  const times = createBlockTimes();
  let begun: { readonly block: bigint; readonly time: bigint } | undefined;

  function use(): () => void {
    users += 1;
    stopClosing?.();
    if (stream.kind === "closed") {
      stream = { kind: "opening", run: new AbortController(), last: undefined };
      void keepOpen(stream.run);
    }
    let isOver = false;
    return () => {
      users -= isOver ? 0 : 1;
      isOver = true;
      if (users === 0) {
        stopClosing?.();
        stopClosing = startTimer(stop, KEPT_OPEN_MS, { ref: false });
      }
    };
  }

  function stop(): void {
    if (stream.kind !== "closed") {
      stream.run.abort();
      stream = { kind: "closed" };
    }
  }

  async function keepOpen(run: AbortController): Promise<void> {
    const { signal } = run;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      const opened = followingController(signal);
      let silent: ConnectionError | undefined;
      const endSilent = () => {
        silent = noBlocks();
        opened.abort();
      };
      const limitSilence = () => startTimer(endSilent, LONGEST_SILENCE_MS, { ref: false });
      let stopTimer = limitSilence();
      try {
        for await (const event of open(opened.signal)) {
          if (take(event, run)) {
            stopTimer();
            stopTimer = limitSilence();
            attempt = 1;
          }
        }
      } catch (reason) {
        if (!signal.aborted) {
          lost(silent ?? reason);
        }
      } finally {
        stopTimer();
        opened.abort();
        if (stream.kind === "live" && stream.run === run) {
          stream = { ...stream, kind: "opening" };
        }
      }
      // At once, where blocks came until now: results of each one that is missed are lost.
      const delayMs = attempt === 1 ? 0 : retryMs(attempt - 1, retry);
      await wait(delayMs, signal).catch(() => undefined);
    }
  }

  /** Take an event; whether it ended a block. */
  function take(event: WatchedEvent, run: AbortController): boolean {
    if (stream.kind === "closed" || stream.run !== run) {
      return false; // It was stopped.
    }
    if (event.case === "beginBlock") {
      begun = { block: event.block, time: event.value.timestamp };
      times.add(begun.block, begun.time);
      return false;
    }
    if (event.case !== "endBlock") {
      for (const observer of observers) {
        if (event.case === "transactionResult") {
          observer.result(event.value, event.block);
        } else {
          observer.stopOrder(event.value);
        }
      }
      return false;
    }
    const { block } = event;
    const { last } = stream;
    const isLive = stream.kind === "live";
    const next = last === undefined || block <= last ? undefined : last + 1n;
    if (isLive && next === undefined) {
      return false; // It has ended before.
    }
    const isComplete = isLive && block === next;
    // The first block that ends on a stream may have begun before it was opened.
    const to = isLive ? block - 1n : block;
    stream = { kind: "live", run, last: block };
    for (const observer of observers) {
      if (!isComplete) {
        observer.missed(next, to);
      }
      observer.ended(block, begun?.block === block ? begun.time : undefined);
    }
    for (const { resolve } of waiting.splice(0)) {
      resolve();
    }
    return true;
  }

  /** The stream was lost. Who waits for it to be ready is told why; all are, where it will not come again. */
  function lost(reason: unknown): void {
    for (const { reject } of waiting.splice(0)) {
      reject(reason);
    }
    if (!reactionTo(reason).resume) {
      stop();
      for (const observer of observers) {
        observer.failed(reason);
      }
    }
  }

  return {
    async ready(signal) {
      const leave = use();
      try {
        for (let tries = 1; stream.kind !== "live"; tries += 1) {
          const begun = new Promise<void>((resolve, reject) => {
            waiting.push({ resolve, reject });
          });
          await untilAborted(begun, signal).catch((reason: unknown) => {
            if (tries >= retry.tries || !reactionTo(reason).resume) {
              throw reason;
            }
          });
        }
      } finally {
        leave();
      }
    },

    observe(observer) {
      const leave = use();
      observers.add(observer);
      return () => {
        observers.delete(observer);
        leave();
      };
    },

    blockAt: times.blockAt,

    close() {
      const error = closed();
      stop();
      for (const { reject } of waiting.splice(0)) {
        reject(error);
      }
      for (const observer of observers) {
        observer.failed(error);
      }
    },
  };
}

function noBlocks(): ConnectionError {
  return new ConnectionError(`no block ended for ${LONGEST_SILENCE_MS} ms`, {
    code: Code.DeadlineExceeded,
    advice: "Check that the network makes blocks, and that the node follows it.",
    connected: true,
  });
}

function closed(): ConnectionError {
  return new ConnectionError("the client was closed", {
    code: Code.Canceled,
    advice: "Close it after the last transaction has come to its end.",
    connected: false,
    isClosed: true,
  });
}
