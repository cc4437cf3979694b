import { RequestError } from "../../base/errors/index.js";
import { invalidValueError, isIntegerIn } from "../../base/input/assert.js";

/** How long the network may accept a transaction. Set at most one of them. */
export interface Validity {
  /**
   * The number of blocks after the last one in which the network may execute the transaction: at least 15, or half of
   * `spam.pow.numberOfPastBlocks` if that is less. A transaction is tied to a block, and expires that many blocks after it
   * (v0.78.0, `verifyWithLock` in `core/pow/engine.go`), so it is tied to an older block. By default it is tied to the last one.
   */
  readonly validForBlocks?: number | undefined;
  /**
   * The same in milliseconds. The network counts blocks: the time is converted by the average interval between the blocks that
   * this client has seen, and rounded down.
   */
  readonly validForMs?: number | undefined;
}

/** The names of {@link Validity}. */
export const VALIDITY_OPTIONS = { validForBlocks: true, validForMs: true } as const;

/**
 * Validates how long the network may accept a transaction.
 *
 * @throws {@link RequestError} if both are set, or one is not a whole number of at least 1
 */
export function validateValidity(validity: Validity): void {
  const { validForBlocks, validForMs } = validity;
  if (validForBlocks !== undefined && validForMs !== undefined) {
    throw new RequestError("validForBlocks and validForMs cannot be combined", { advice: "Use one of them." });
  }
  for (const [name, value] of Object.entries({ validForBlocks, validForMs })) {
    if (value !== undefined && !isIntegerIn(value, 1, Number.MAX_SAFE_INTEGER)) {
      throw invalidValueError(name, value, "a whole number of at least 1");
    }
  }
}

/**
 * Returns how many blocks before its expiry a transaction is no longer sent.
 *
 * A market with `enableTransactionReordering` executes orders a block later. If such an order is in the last block that
 * can contain it, it has expired a block later: the proposer omits it, the validators require it, and the network stops
 * for good (v0.78.0, `prepareProposal` and `processProposal` in `core/processor/abci.go`). On a busy machine, a
 * validator of v0.78.0 produced up to 10 blocks in 250 ms.
 */
export function sendMargin(pastBlocks: number): number {
  return Math.min(10, Math.floor(pastBlocks / 3));
}

/**
 * Returns the minimum validity of a transaction: enough to compute its proof of work and to send it before
 * {@link sendMargin}.
 */
export function minValidity(pastBlocks: number): number {
  return Math.min(15, Math.floor(pastBlocks / 2));
}
