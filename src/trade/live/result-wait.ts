import type {
  StopOrderEvent,
  TransactionResult,
  TransactionResult_Status,
} from "../../../gen/vega/events/v1/events_pb.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { setBounded } from "../../base/signal/collections.js";
import type { BlockWatch } from "./block-watch.js";
import { isOfSameCommand, type Sent } from "./sent-transaction.js";
import type { Outcome } from "./transaction-outcome.js";

export type Ending =
  | {
      readonly kind: "seen";
      readonly result: TransactionResult;
      readonly block: bigint;
      /** The stop orders that it created, by identifier, if their events arrived. */
      readonly stopOrders: ReadonlyMap<string, StopOrderEvent>;
    }
  /** Results of these blocks may not have arrived, and it was in none of those that did. */
  | { readonly kind: "missed"; readonly from: bigint | undefined; readonly to: bigint }
  /** All results arrived, up to the last block in which the network could accept it. */
  | {
      readonly kind: "too old";
      readonly block: bigint;
      /**
       * The times of the blocks that ended during the wait, in Unix nanoseconds; `undefined` for those that did not
       * arrive.
       */
      readonly times: readonly (bigint | undefined)[];
      /** How long the wait took by this machine's clock, in milliseconds. */
      readonly tookMs: number;
      /** The hash of a result of the same party for an equal command; `undefined` if there was none. */
      readonly similar: string | undefined;
    }
  /** Results may not have come, but its records were found. */
  | { readonly kind: "proved"; readonly outcome: Proof }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "time up" };

/** A running wait for the result of a transaction. */
export interface ResultWait {
  readonly ended: Promise<Ending>;
  /** Reports that the submission has ended. Until then, a missing result does not end the wait. */
  submitted(txHash: string): void;
  /** Searches for records from the next block on: an earlier block may have it. */
  lookUp(): void;
  close(): void;
}

/** When a wait for a result ends without one. */
export interface WaitLimits {
  readonly signal: AbortSignal;
  /** The last block in which the network accepts the transaction; `undefined` if unknown. */
  readonly lastBlock?: bigint | undefined;
  /** Searches for records of the transaction. It is called from time to time once its result may not come. */
  readonly lookUp?: (() => Promise<Look>) | undefined;
  /**
   * Called when the response to the submission no longer matters: the result arrived, or no block can contain it any
   * more.
   */
  readonly onDecided?: (() => void) | undefined;
}

type Proof = Exclude<Outcome, { readonly status: "unknown" }>;

interface Look {
  readonly proof: Proof | undefined;
  /** Whether a block contains the transaction, so that a result that was lost will not come any more. */
  readonly isExecuted: boolean;
}

/** How many blocks are each followed by a look once the result may not come. Each later look doubles the number of blocks. */
const EAGER_LOOKS = 5;

/** How many blocks beyond its own a result waits for the events of its stop orders, which a node may send later. */
const BLOCKS_FOR_STOP_ORDERS = 1n;

/** `TransactionResult.Status.FAILURE`, whose definitions are those of the whole interface. */
const FAILURE: TransactionResult_Status = 3;

/** How many results of the same party are retained, until the node has said under which hash it knows the transaction. */
const MAX_OTHER_RESULTS = 1000;

interface Placed {
  readonly result: TransactionResult;
  readonly block: bigint;
}

type State =
  | { readonly kind: "waiting" }
  /** Its result arrived; the events of its stop orders may follow. */
  | ({ readonly kind: "seen" } & Placed)
  /** Results may not have come. */
  | { readonly kind: "missed"; readonly from: bigint | undefined; readonly to: bigint }
  /** All results arrived, and it cannot be in a later block. The submission may still be in flight. */
  | Omit<Extract<Ending, { readonly kind: "too old" }>, "similar">;

/** How many blocks have ended since the looks began, and after how many the next look is due. */
interface Looks {
  readonly blocks: number;
  readonly next: number;
}

const FIRST_LOOK: Looks = { blocks: 0, next: 1 };

/** The submission, and the hash whose result is waited for: the computed one, and after the submission the node's. */
interface SubmissionState {
  readonly kind: "in flight" | "ended";
  readonly txHash: string;
}

function nextLookAfter(blocks: number): number {
  return blocks < EAGER_LOOKS ? blocks + 1 : blocks * 2;
}

function createEnding(): { readonly ended: Promise<Ending>; readonly end: (ending: Ending) => void } {
  let end: (ending: Ending) => void = () => undefined;
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  return { ended, end: (ending) => end(ending) };
}

/** The stop orders that a transaction submits, as far as their events have arrived. */
interface AwaitedStopOrders {
  readonly events: ReadonlyMap<string, StopOrderEvent>;
  /** Adds an event; returns whether it is the first one of an awaited stop order. */
  add(event: StopOrderEvent): boolean;
  isComplete(): boolean;
}

function awaitStopOrders({ parts }: Sent): AwaitedStopOrders {
  const awaited = new Set(parts.flatMap(({ id, brings }) => (id !== undefined && brings === "stop order" ? [id] : [])));
  const events = new Map<string, StopOrderEvent>();
  return {
    events,
    add(event) {
      const id = event.stopOrder?.id ?? "";
      // The first one says whether it was rejected; what follows is another matter.
      const isFirst = awaited.has(id) && !events.has(id);
      if (isFirst) {
        events.set(id, event);
      }
      return isFirst;
    },
    isComplete: () => [...awaited].every((id) => events.has(id)),
  };
}

/** Results of other hashes with the same party. The node may turn out to know the transaction by one of them. */
interface OtherResults {
  add(hash: string, placed: Placed): void;
  get(hash: string): Placed | undefined;
  /** Returns the hash of the first result for an equal command. */
  similar(): string | undefined;
}

function createOtherResults(sent: Sent): OtherResults {
  const results = new Map<string, Placed>();
  let similar: string | undefined;
  return {
    add(hash, placed) {
      if (sent.publicKey !== undefined && placed.result.partyId.toLowerCase() === sent.publicKey) {
        similar ??= isOfSameCommand(sent, placed.result) ? hash : undefined;
        setBounded(results, hash, placed, MAX_OTHER_RESULTS);
      }
    },
    get: (hash) => results.get(hash),
    similar: () => similar,
  };
}

/** Waits for the result of a transaction. The wait has begun when this returns. */
export function awaitResult(watch: BlockWatch, sent: Sent, limits: WaitLimits): ResultWait {
  const { signal, lastBlock, lookUp: ask, onDecided } = limits;
  const stopOrders = awaitStopOrders(sent);
  const others = createOtherResults(sent);
  const startedAt = monotonicMs();
  const times: (bigint | undefined)[] = [];
  const { ended, end } = createEnding();
  let submission: SubmissionState = { kind: "in flight", txHash: sent.txHash };
  let state: State = { kind: "waiting" };
  let looks: Looks | undefined;
  let isLooking = false;
  let wasExecuted = false;

  /** Ends the wait if the known facts suffice. When it is late, a result suffices without its stop orders. */
  function settle(isLate = false): void {
    if (state.kind === "seen") {
      if (isLate || stopOrders.isComplete() || state.result.statusDetail === FAILURE) {
        end({ ...state, stopOrders: stopOrders.events });
      }
    } else if (state.kind === "too old" && submission.kind === "ended") {
      end({ ...state, similar: others.similar() });
    }
  }

  function transition(next: State): void {
    state = next;
    if (state.kind === "seen" || state.kind === "too old") {
      onDecided?.();
    }
    settle();
  }

  function giveUp(): void {
    settle(true);
    end(state.kind === "missed" ? { kind: "missed", from: state.from, to: state.to } : { kind: "time up" });
  }

  function onBlockEnd(block: bigint, time: bigint | undefined): void {
    if (state.kind === "waiting" && lastBlock !== undefined) {
      times.push(time);
    }
    if (state.kind === "seen") {
      settle(block > state.block + BLOCKS_FOR_STOP_ORDERS);
    } else if (state.kind !== "too old" && lastBlock !== undefined && block >= lastBlock) {
      if (state.kind === "missed") {
        giveUp();
      } else {
        transition({ kind: "too old", block, times, tookMs: monotonicMs() - startedAt });
      }
    } else {
      lookIfDue();
    }
  }

  function lookIfDue(): void {
    if (looks === undefined || ask === undefined) {
      return;
    }
    const blocks = looks.blocks + 1;
    const isDue = blocks >= looks.next && !isLooking;
    looks = { blocks, next: isDue ? nextLookAfter(blocks) : looks.next };
    if (isDue) {
      void look(ask);
    }
  }

  async function look(ask: () => Promise<Look>): Promise<void> {
    isLooking = true;
    const { proof, isExecuted } = await ask();
    isLooking = false;
    if (proof !== undefined) {
      end({ kind: "proved", outcome: proof });
    } else if (isExecuted && wasExecuted && state.kind === "missed") {
      giveUp(); // Its result is lost, and the records have had a block's time to become complete.
    }
    wasExecuted = isExecuted;
  }

  signal.addEventListener("abort", giveUp, { once: true });
  const stop = watch.observe({
    result(result, block) {
      const hash = result.hash.toUpperCase();
      if (hash === submission.txHash) {
        transition({ kind: "seen", result, block });
      } else {
        others.add(hash, { result, block });
      }
    },
    stopOrder(event) {
      if (stopOrders.add(event)) {
        settle();
      }
    },
    ended: onBlockEnd,
    missed(from, to) {
      if (state.kind === "waiting" || state.kind === "missed") {
        const first = state.kind === "missed" ? state.from : from;
        state = { kind: "missed", from: first, to };
        looks = FIRST_LOOK;
      }
    },
    failed(error) {
      settle(true);
      end({ kind: "failed", error });
    },
  });
  return {
    ended,
    submitted(hash) {
      submission = { kind: "ended", txHash: hash };
      const seen = others.get(hash);
      transition(state.kind === "seen" || seen === undefined ? state : { kind: "seen", ...seen });
    },
    lookUp() {
      looks ??= FIRST_LOOK;
    },
    close() {
      signal.removeEventListener("abort", giveUp);
      stop();
    },
  };
}
