import { EventEmitter, once } from "node:events";
import type { BeginBlock, StopOrderEvent, TransactionResult } from "../../../gen/vega/events/v1/events_pb.js";
import { Code } from "../../base/errors/code.js";
import { ConnectionError } from "../../base/errors/index.js";
import { reactionTo } from "../../base/errors/reaction.js";
import { type StopTimer, startTimer } from "../../base/runtime/index.js";
import { raceAbort } from "../../base/signal/abort.js";
import { setBounded } from "../../base/signal/collections.js";
import { type RetryWaits, retryDelayMs } from "../../base/signal/wait.js";
import { reconnect } from "./reconnect.js";

/** The events that the watch reads: results of transactions, stop orders, and the beginnings and ends of blocks. */
export type WatchedEvent =
  | { readonly kind: "beginBlock"; readonly block: bigint; readonly value: Pick<BeginBlock, "timestamp" | "hash"> }
  | { readonly kind: "transactionResult"; readonly block: bigint; readonly value: TransactionResult }
  | { readonly kind: "stopOrder"; readonly block: bigint; readonly value: StopOrderEvent }
  | { readonly kind: "endBlock"; readonly block: bigint };

/** Observes the results of transactions. */
export interface ResultObserver {
  /** A result of any transaction arrived, in a block of this height. */
  result(result: TransactionResult, block: bigint): void;
  /** A stop order of any party arrived. The network's result of its transaction does not say whether it was rejected. */
  stopOrder(event: StopOrderEvent): void;
  /** A block ended: all its results have arrived, unless `missed` was called. */
  ended(block: bigint, time: bigint | undefined): void;
  /** Results of these blocks may be missing. `from` is `undefined` if no block had ended before. */
  missed(from: bigint | undefined, to: bigint): void;
  /** The stream ended and is not reopened. */
  failed(error: unknown): void;
}

/** One stream of a node's blocks, shared by all observers of results. */
export interface BlockWatch {
  /**
   * Waits until the stream works: until a block has ended since it was opened.
   *
   * @throws the error of the last attempt, if the stream could not be opened or was lost before a block ended
   */
  ready(signal: AbortSignal): Promise<void>;
  observe(observer: ResultObserver): () => void;
  /** Finds the block of a time. */
  blockAt(time: bigint): bigint | undefined;
  /** Closes the stream, and notifies all observers. */
  close(): void;
}

/** The beginning of a block: its height, and its time in Unix nanoseconds. */
interface BlockBeginning {
  readonly block: bigint;
  readonly time: bigint;
}

type StreamState =
  | { readonly kind: "closed" }
  /** Connecting for the first time or again. `last` is the last block whose results have all arrived. */
  | {
      readonly kind: "opening";
      readonly run: AbortController;
      readonly last: bigint | undefined;
      readonly begun: BlockBeginning | undefined;
    }
  /** A block has ended since the connection was opened. */
  | {
      readonly kind: "live";
      readonly run: AbortController;
      readonly last: bigint;
      readonly begun: BlockBeginning | undefined;
    };

type RunningState = Exclude<StreamState, { readonly kind: "closed" }>;

/** The end of a block, as observers need it. */
interface BlockEnd {
  /** Its time; `undefined` if the event of its beginning did not arrive. */
  readonly time: bigint | undefined;
  /** The blocks whose results may be missing; `undefined` if there are none. */
  readonly missed: { readonly from: bigint | undefined; readonly to: bigint } | undefined;
}

/** How long the stream stays open without an observer, in milliseconds. */
const LINGER_MS = 30_000;
/** Maximum time without the end of a block, in milliseconds. The stream then reconnects. */
const IDLE_TIMEOUT_MS = 60_000;

/**
 * Creates a watch of a node's blocks, shared by all waits for results of transactions. The stream is opened for
 * the first observer, reconnects when it is lost, and is closed some time after the last observer has left.
 *
 * The results of a block are complete when its end has arrived, and the end of the block before it had arrived over the
 * same connection. All other blocks are reported to all observers as missed.
 */
export function createBlockWatch(
  open: (signal: AbortSignal) => AsyncIterable<WatchedEvent>,
  retry: RetryWaits & { readonly tries: number },
  onBlock: (block: { readonly height: bigint; readonly hash: string }, time: bigint) => void,
): BlockWatch {
  const observers = new Set<ResultObserver>();
  /** Emits `live` once the stream is known to work, and `error` if it is lost before. */
  const opening = new EventEmitter().setMaxListeners(0);
  const times = createBlockTimes();
  const users = createUserCount(start, stop);
  let state: StreamState = { kind: "closed" };

  function start(): void {
    if (state.kind === "closed") {
      const run = new AbortController();
      state = { kind: "opening", run, last: undefined, begun: undefined };
      void watchBlocks(run);
    }
  }

  function stop(): void {
    if (state.kind !== "closed") {
      state.run.abort();
      state = { kind: "closed" };
    }
  }

  async function watchBlocks(run: AbortController): Promise<void> {
    const { signal } = run;
    const stream = reconnect<WatchedEvent>(
      {
        open,
        idle: { timeoutMs: IDLE_TIMEOUT_MS, error: noBlocks },
        onEnd(end) {
          if (signal.aborted) {
            return { kind: "end" };
          }
          if (end.kind === "failed") {
            onFailure(end.error);
          }
          // Reconnects at once after progress: results are lost with each block that is missed.
          const failures = end.failures.total - 1;
          return { kind: "reconnect", delayMs: failures === 0 ? 0 : retryDelayMs(failures, retry) };
        },
        onGap() {
          if (state.kind === "live" && state.run === run) {
            state = { ...state, kind: "opening" };
          }
        },
      },
      signal,
    );
    for await (const event of stream.messages) {
      if (onEvent(event, run)) {
        stream.progressed();
      }
    }
  }

  /** Handles an event; returns whether it ended a block. */
  function onEvent(event: WatchedEvent, run: AbortController): boolean {
    if (state.kind === "closed" || state.run !== run) {
      return false; // The watch was stopped.
    }
    switch (event.kind) {
      case "beginBlock": {
        const { timestamp: time, hash } = event.value;
        onBlock({ height: event.block, hash }, time);
        state = { ...state, begun: { block: event.block, time } };
        times.add(event.block, time);
        return false;
      }
      case "transactionResult":
        for (const observer of observers) {
          observer.result(event.value, event.block);
        }
        return false;
      case "stopOrder":
        for (const observer of observers) {
          observer.stopOrder(event.value);
        }
        return false;
      case "endBlock":
        return onBlockEnd(event.block, state);
    }
  }

  function onBlockEnd(block: bigint, before: RunningState): boolean {
    const ended = blockEnd(block, before);
    if (ended === undefined) {
      return false;
    }
    state = { kind: "live", run: before.run, last: block, begun: before.begun };
    for (const observer of observers) {
      if (ended.missed !== undefined) {
        observer.missed(ended.missed.from, ended.missed.to);
      }
      observer.ended(block, ended.time);
    }
    opening.emit("live");
    return true;
  }

  function rejectWaiting(reason: unknown): void {
    if (opening.listenerCount("error") > 0) {
      opening.emit("error", reason); // Without a listener, it throws.
    }
  }

  /** Reports a lost connection to those who wait until the watch is ready, and to all if it cannot reconnect. */
  function onFailure(reason: unknown): void {
    rejectWaiting(reason);
    if (!reactionTo(reason).resume) {
      stop();
      for (const observer of observers) {
        observer.failed(reason);
      }
    }
  }

  return {
    async ready(signal) {
      const release = users.add();
      try {
        for (let attempt = 1; state.kind !== "live"; attempt += 1) {
          await raceAbort(once(opening, "live"), signal).catch((reason: unknown) => {
            if (attempt >= retry.tries || !reactionTo(reason).resume) {
              throw reason;
            }
          });
        }
      } finally {
        release();
      }
    },

    observe(observer) {
      const release = users.add();
      observers.add(observer);
      return () => {
        observers.delete(observer);
        release();
      };
    },

    blockAt: times.blockAt,

    close() {
      const error = closed();
      stop();
      rejectWaiting(error);
      for (const observer of observers) {
        observer.failed(error);
      }
    },
  };
}

/** Returns what the end of a block reports to observers; `undefined` if the block has ended before. */
function blockEnd(block: bigint, { kind, last, begun }: RunningState): BlockEnd | undefined {
  const isLive = kind === "live";
  const next = last === undefined || block <= last ? undefined : last + 1n;
  if (isLive && next === undefined) {
    return undefined;
  }
  const time = begun?.block === block ? begun.time : undefined;
  // The first block that ends on a connection may have begun before the connection was opened.
  const to = isLive ? block - 1n : block;
  return { time, missed: isLive && block === next ? undefined : { from: next, to } };
}

/** Counts the users of the stream. It starts with each new one, and stops a while after the last one has left. */
function createUserCount(start: () => void, stop: () => void) {
  let count = 0;
  let cancelStop: StopTimer = () => {};
  return {
    /** Adds a user; returns what removes it. */
    add(): () => void {
      count += 1;
      cancelStop();
      start();
      let isRemoved = false;
      return () => {
        count -= isRemoved ? 0 : 1;
        isRemoved = true;
        if (count === 0) {
          cancelStop();
          cancelStop = startTimer(stop, LINGER_MS, { ref: false });
        }
      };
    },
  };
}

function noBlocks(): ConnectionError {
  return new ConnectionError(`no new block for ${IDLE_TIMEOUT_MS} ms`, {
    code: Code.DeadlineExceeded,
    advice: "Check that the network makes blocks, and that the node is synchronized.",
    connected: true,
  });
}

function closed(): ConnectionError {
  return new ConnectionError("the client was closed", {
    code: Code.Canceled,
    advice: "Close the client after the last transaction is final.",
    connected: false,
    isClosed: true,
  });
}

/** Maximum number of blocks whose times are stored: an outcome is looked for soon after its block. */
const MAX_BLOCKS = 1000;

interface BlockTimes {
  add(height: bigint, time: bigint): void;
  /** Returns the height of the block of a time, in Unix nanoseconds; `undefined` if it does not follow from the known ones. */
  blockAt(time: bigint): bigint | undefined;
}

/** Stores the times of the latest blocks, to find the block of a record that has only a time. */
function createBlockTimes(): BlockTimes {
  const times = new Map<bigint, bigint>();
  return {
    add(height, time) {
      setBounded(times, height, microseconds(time), MAX_BLOCKS);
    },
    blockAt(time) {
      const wanted = microseconds(time);
      let before: bigint | undefined;
      let after: bigint | undefined;
      for (const [height, known] of times) {
        if (known === wanted) {
          return height;
        }
        if (known < wanted && (before === undefined || height > before)) {
          before = height;
        }
        if (known > wanted && (after === undefined || height < after)) {
          after = height;
        }
      }
      return before !== undefined && after === before + 2n ? before + 1n : undefined;
    },
  };
}

/** The data node stores times in microseconds. */
function microseconds(nanoseconds: bigint): bigint {
  return nanoseconds / 1000n;
}
