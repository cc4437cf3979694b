import type { TransactionResult } from "../../gen/vega/events/v1/events_pb.js";
import type { BlockWatch } from "./block-watch.js";

/** How the wait for a result ended. */
export type Ending =
  | { readonly kind: "seen"; readonly result: TransactionResult; readonly block: bigint }
  /** Results of these blocks may not have come, and it was in none of those that came. */
  | { readonly kind: "missed"; readonly from: bigint | undefined; readonly to: bigint }
  /** All results came, up to a block behind which the network does not take it. */
  | { readonly kind: "too old"; readonly block: bigint }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "time up" };

/** A wait for the result of a transaction. */
export interface ResultWait {
  readonly ended: Promise<Ending>;
  close(): void;
}

/** When a wait for a result ends without one. */
export interface WaitLimits {
  readonly signal: AbortSignal;
  /** The last block in which the network takes the transaction; `undefined` where that is not known. */
  readonly lastBlock?: bigint | undefined;
  /** Whether it ends some blocks after the stream was lost. Who looks for what was sent earlier waits for all the time. */
  readonly endsAfterLoss: boolean;
}

/**
 * How many blocks are waited for after results of others may not have come. A network takes a transaction into one of its
 * next blocks; that it was in one of those that were missed is likely then.
 */
const BLOCKS_AFTER_LOSS = 5;

/**
 * Wait for the result of a transaction. The wait has begun when this returns.
 *
 * @param watch follows the blocks
 * @param txHash 64 hex digits
 * @param limits when it ends without a result
 * @returns the wait, which has to be closed
 */
export function awaitResult(watch: BlockWatch, txHash: string, limits: WaitLimits): ResultWait {
  const { signal, lastBlock, endsAfterLoss } = limits;
  const hashes = new Set([txHash.toUpperCase()]);
  let missed: { readonly from: bigint | undefined; readonly to: bigint; left: number } | undefined;
  let end: (ending: Ending) => void = () => undefined;
  const ended = new Promise<Ending>((resolve) => {
    end = resolve;
  });
  const timeUp = () => end(missed === undefined ? { kind: "time up" } : { kind: "missed", ...missed });
  signal.addEventListener("abort", timeUp, { once: true });
  const stop = watch.observe({
    hashes,
    seen: (result, block) => end({ kind: "seen", result, block }),
    ended(block) {
      if (missed !== undefined) {
        missed.left -= 1;
        if (endsAfterLoss && missed.left <= 0) {
          timeUp();
        }
      } else if (lastBlock !== undefined && block >= lastBlock) {
        end({ kind: "too old", block });
      }
    },
    missed(from, to) {
      missed = { from: missed === undefined ? from : missed.from, to, left: BLOCKS_AFTER_LOSS + 1 };
    },
    failed: (error) => end({ kind: "failed", error }),
  });
  return {
    ended,
    close() {
      signal.removeEventListener("abort", timeUp);
      stop();
    },
  };
}
