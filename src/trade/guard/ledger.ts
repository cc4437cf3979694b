import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { PolicyError } from "../../base/errors/index.js";
import { monotonicMs, unixMs } from "../../base/runtime/index.js";
import type { Effects, Situation } from "./evaluate.js";
import type { SignedTransaction, UnseenPart } from "./guard-state.js";
import type { Look } from "./observe-node.js";
import type { GuardMode } from "./policy.js";

/** For how long what the node showed may be used, in milliseconds. */
const MAX_AGE_MS = 10_000;
/** The maximum number of signed transactions with orders that the network may still take. */
const MAX_SIGNED = 10_000;
const MINUTE_MS = 60_000;
/** How many blocks later than it was taken into a block a transaction may be executed, if its market reorders transactions. */
const DELAY_BLOCKS = 2;

/** A time from two clocks: the monotonic one may stop while the machine is suspended, and the other one may be set back. */
export interface Moment {
  readonly monotonicMs: number;
  readonly unixMs: number;
}

/** The state of a guard: the mode, the state of the node, and the signed transactions. */
export interface Ledger {
  readonly mode: GuardMode;
  setMode(mode: GuardMode): void;
  /** The time of the core's last block at the latest reading, in Unix nanoseconds. */
  readonly time: bigint;
  /** Returns the transactions that were signed, and that the network may still execute. */
  signed(): readonly SignedTransaction[];
  /** Returns the effects of signed transactions that the node does not show yet. */
  unseen(): readonly UnseenPart[];
  /** Applies a reading that started at a time, unless a later one was already applied. */
  observe(look: Look, startedAt: Moment): void;
  /** Records why a reading failed. The previous reading remains valid until it is too old. */
  miss(why: string): void;
  /** Returns the state against which a command is checked. */
  situation(): Pick<Situation, "mode" | "knowledge" | "unseen" | "signedInMinute">;
  /**
   * Returns whether a message was counted in the present mode. The network executes the same bytes at most once
   * (v0.78.0, `seenNonceRef` in core/pow/engine.go).
   */
  isCounted(digest: string): boolean;
  /**
   * Counts a message that will be signed, if it has orders.
   *
   * @throws {@link PolicyError} if it is tied to a block far above the last one, or too many are counted already
   */
  count(digest: string, inputData: Pick<InputData, "blockHeight" | "command">, effects: Effects): void;
}

interface LedgerState {
  readonly mode: GuardMode;
  readonly look: Look;
  readonly lookedAt: Moment;
  /** The errors of later readings. */
  readonly missed: string | undefined;
  /** The orders that were signed in the last 60 seconds, by the monotonic clock. */
  readonly recent: readonly { readonly at: number; readonly orders: number }[];
}

export function momentNow(): Moment {
  return { monotonicMs: monotonicMs(), unixMs: unixMs() };
}

/** Creates a ledger without signed transactions. */
export function createLedger(mode: GuardMode, look: Look, lookedAt: Moment): Ledger {
  let state: LedgerState = { mode, look, lookedAt, missed: undefined, recent: [] };
  /** By the digest of the message. */
  const signed = new Map<string, SignedTransaction & { readonly mode: GuardMode }>();

  const unseen = () => [...signed.values()].flatMap(({ parts }) => parts);
  const recentAt = (now: number) => state.recent.filter(({ at }) => now - at < MINUTE_MS);

  function knowledge(): Situation["knowledge"] {
    const now = momentNow();
    const { monotonicMs: at, unixMs: atUnix } = state.lookedAt;
    if (Math.max(now.monotonicMs - at, now.unixMs - atUnix) <= MAX_AGE_MS) {
      return { kind: "known", observed: state.look.observed };
    }
    const { missed } = state;
    return {
      kind: "unknown",
      why:
        missed === undefined
          ? `the node has not reported orders and positions for ${MAX_AGE_MS} ms`
          : `the orders and positions are unknown: ${missed}`,
    };
  }

  return {
    get mode() {
      return state.mode;
    },
    setMode(next) {
      state = { ...state, mode: next };
    },
    get time() {
      return state.look.time;
    },
    signed: () => [...signed.values()],
    unseen,
    observe(shown, startedAt) {
      if (startedAt.monotonicMs < state.lookedAt.monotonicMs) {
        return; // It may lack orders that the later look has shown, and that are not counted as unseen any more.
      }
      const pastBlocks = Math.max(shown.pastBlocks, state.look.pastBlocks);
      state = { ...state, look: { ...shown, pastBlocks }, lookedAt: startedAt, missed: undefined };
      for (const [digest, transaction] of signed) {
        transaction.parts = transaction.parts.filter((part) => !shown.settled.has(part));
        if (shown.over.has(transaction)) {
          signed.delete(digest);
        }
      }
    },
    miss(why) {
      state = { ...state, missed: why };
    },
    situation() {
      const signedInMinute = recentAt(monotonicMs()).reduce((sum, { orders }) => sum + orders, 0);
      return { mode: state.mode, knowledge: knowledge(), unseen: unseen(), signedInMinute };
    },
    isCounted: (digest) => signed.get(digest)?.mode === state.mode,
    count(digest, { command, blockHeight }, { orders, parts }) {
      if (orders === 0) {
        return;
      }
      const { height, pastBlocks } = state.look;
      const highest = height + BigInt(pastBlocks);
      if (blockHeight > highest) {
        throw new PolicyError({
          rule: "blockHeight",
          limit: String(highest),
          value: String(blockHeight),
          command: command.case,
          headline: `the guard refuses to sign: the transaction is for block ${blockHeight}, but the guard's node last reported block ${height}`,
          advice: `Sign for the last block, or check whether the guard's node lags. Nothing was signed.`,
        });
      }
      if (signed.size >= MAX_SIGNED) {
        throw new PolicyError({
          rule: "state",
          limit: String(MAX_SIGNED),
          value: String(signed.size),
          command: command.case,
          headline: `the maximum of ${signed.size} signed transactions with an unknown outcome is reached`,
          advice: "Wait until the network has executed them. Nothing was signed.",
        });
      }
      const now = monotonicMs();
      const lastBlock = blockHeight + BigInt(pastBlocks + DELAY_BLOCKS);
      signed.set(digest, { lastBlock, parts, overSince: undefined, mode: state.mode });
      state = { ...state, recent: [...recentAt(now), { at: now, orders }] };
    },
  };
}
