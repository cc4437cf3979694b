import { fromBinary } from "@bufbuild/protobuf";
import { type InputData, type Transaction, TransactionSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { decodeHex } from "../../transaction/hex.js";
import { SIGNATURE_BYTES } from "../../transaction/signature.js";
import { hashOfBytes, networkBytes } from "../../transaction/transaction-hash.js";
import type { ExecutedCommand, Outcome } from "../engine/engine.js";
import type { Block } from "../world/event.js";
import type { SpamBlock } from "./blocks.js";
import { type Accepted, countServed, type ExamineOptions, examine, type Received, type Refusal } from "./examine.js";
import type { SpamCounts, SpamPolicies } from "./spam-policies.js";
import { createTxCache } from "./tx-cache.js";

/** A transaction that waits for a block. */
interface Waiting {
  readonly tx: Transaction;
  readonly bytes: Uint8Array;
  readonly txHash: string;
  readonly accepted: Accepted;
}

/** A block as it was made: what makes the same block again. */
export interface MadeBlock {
  readonly height: bigint;
  /** Unix nanoseconds. */
  readonly time: bigint;
  /** The serialized transactions that waited for it, in their order: also those that it dropped. */
  readonly transactions: readonly Uint8Array[];
}

/** A block and the outcomes of its transactions, by hash. */
export interface ExecutedBlock {
  readonly block: Block;
  readonly outcomes: ReadonlyMap<string, Outcome>;
}

/** What a chain knows of its last blocks and of what waits. It is plain data. */
export interface ChainState {
  readonly blocks: readonly SpamBlock[];
  readonly mempool: readonly Waiting[];
  readonly inLastBlock: number;
  readonly totals: ChainTotals;
  readonly seenTids: readonly string[];
  readonly cache: readonly string[];
  readonly spam: SpamCounts;
}

/** What all blocks that were made hold together. */
export interface ChainTotals {
  readonly transactions: number;
  /** The bytes of all transactions. */
  readonly bytes: number;
  /** The amendments and cancellations of orders, also those in batches. */
  readonly amendments: number;
  readonly cancellations: number;
}

/** A transaction in a block. */
export interface BlockTransaction extends ExecutedCommand {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
}

/** Options of {@link createLocalChain}. */
export interface LocalChainOptions extends ExamineOptions {
  readonly policies: SpamPolicies;
  /** Executes the transactions of a block, and returns the outcome of each one. */
  readonly execute: (block: Block, transactions: readonly BlockTransaction[]) => readonly Outcome[];
  /** Called for each transaction that was taken, and is dropped when its block is made. */
  readonly dropped: (txHash: string, height: bigint, reason: string) => void;
}

/** What a submission comes to: `undefined` where the transaction waits for a block. */
export type Submitted = Refusal | "in cache" | undefined;

/** A chain of one node. It checks transactions, keeps them in its mempool, and puts them into blocks. */
export interface LocalChain {
  /** The number of transactions that wait for a block, of those in the last one, and the totals. */
  counts(): { readonly waiting: number; readonly inLastBlock: number } & ChainTotals;
  /** Check a transaction. The result is `undefined` if it would be accepted. Its `tid` counts as seen until the next block. */
  check(received: Received): Refusal | undefined;
  /** Check a transaction, and put it into the mempool unless it is refused, or in the cache already. */
  submit(received: Received): Submitted;
  /** Make a block of a time, in Unix nanoseconds, from the mempool, and carry out its commands. */
  makeBlock(time: bigint): MadeBlock;
  /** Wait for the next block. */
  nextBlock(): Promise<ExecutedBlock>;
  /** Forget what a node does not know after a restart: what it has seen outside of blocks. */
  restart(): void;
  /** Keep the chain as it is. */
  save(): ChainState;
  restore(state: ChainState): void;
}

/**
 * Takes a transaction as the network does: it serializes the message again.
 *
 * @param tx the transaction
 * @returns the transaction, with its bytes in the network's order and their hash
 */
export function receivedTransaction(tx: Transaction): Received {
  const bytes = networkBytes(tx);
  return { tx, bytes, txHash: hashOfBytes(bytes) };
}

/**
 * Takes a transaction that is submitted as bytes: these are hashed as they are.
 *
 * @param bytes what may be a serialized transaction
 * @returns the transaction, where the bytes are one, and their hash
 */
export function receivedBytes(bytes: Uint8Array): Received {
  const txHash = hashOfBytes(bytes);
  try {
    return { tx: fromBinary(TransactionSchema, bytes), bytes, txHash };
  } catch {
    return { tx: undefined, bytes, txHash };
  }
}

/**
 * Create a chain that continues from its last blocks.
 *
 * @param options the chain, its last blocks, the rules for proofs of work, and the function that carries out commands
 * @returns the chain; it makes blocks only when `makeBlock()` is called
 */
export function createLocalChain(options: LocalChainOptions): LocalChain {
  const { blocks, policies } = options;
  const cache = createTxCache();
  let seenTids = new Set<string>();
  let mempool: Waiting[] = [];
  let waiting: ((executed: ExecutedBlock) => void)[] = [];
  let inLastBlock = 0;
  let totals: ChainTotals = { transactions: 0, bytes: 0, amendments: 0, cancellations: 0 };

  /** What a block takes of the mempool. The network counts it only now, and drops the rest without a word. */
  function taken(height: bigint): readonly Waiting[] {
    const drop = ({ txHash }: Waiting, reason: string) => options.dropped(txHash, height, reason);
    const served = mempool.filter((each) => {
      // Nobody may submit what only the maker of a block puts into it.
      const isServed =
        each.accepted.inputData.command.case !== "delayedTransactionsWrapper" && countServed(each.accepted, options);
      if (!isServed) {
        drop(each, "its block has served the transactions of its key");
      }
      return isServed;
    });
    const allowed = policies.beginBlock(
      height,
      served.map(({ accepted: { inputData, publicKey } }) => ({ command: inputData.command, partyId: publicKey })),
    );
    return served.filter((each, index) => {
      if (allowed[index] === false) {
        drop(each, "its party has sent the maximum number of such commands in this epoch");
      }
      return allowed[index] !== false;
    });
  }

  return {
    counts: () => ({ waiting: mempool.length, inLastBlock, ...totals }),

    check(received) {
      const examined = examine(received, options, seenTids);
      return "code" in examined ? examined : undefined;
    },

    submit(received) {
      const { tx, bytes, txHash } = received;
      if (!cache.push(txHash)) {
        return "in cache";
      }
      const accepted = examine(received, options, seenTids);
      if ("code" in accepted || tx === undefined) {
        cache.remove(txHash);
        return "code" in accepted ? accepted : undefined;
      }
      mempool.push({ tx, bytes, txHash, accepted });
      return undefined;
    },

    makeBlock(time) {
      const included = taken(blocks.last().height + 1n);
      const { height, hash, time: blockTime } = blocks.add(time);
      const block = { height, hash, time: blockTime };
      const transactions = included.map(({ tx, txHash, accepted: { inputData, publicKey } }) => ({
        txHash,
        command: inputData.command,
        partyId: publicKey,
        signature: decodeHex(tx.signature?.value ?? "", SIGNATURE_BYTES) ?? new Uint8Array(),
      }));
      const made = { height, time: blockTime, transactions: mempool.map(({ bytes }) => bytes) };
      const waiters = waiting;
      mempool = [];
      waiting = [];
      seenTids = new Set();
      inLastBlock = transactions.length;
      totals = included.reduce(withTransaction, totals);
      const outcomes = new Map<string, Outcome>();
      for (const [index, outcome] of options.execute(block, transactions).entries()) {
        const { txHash = "" } = transactions[index] ?? {};
        outcomes.set(txHash, outcome);
        if (outcome.status !== "success") {
          cache.remove(txHash); // CometBFT forgets what failed; only what succeeded stays in its cache.
        }
      }
      for (const resolve of waiters) {
        resolve({ block, outcomes });
      }
      return made;
    },

    nextBlock: () => new Promise((resolve) => waiting.push(resolve)),

    restart() {
      seenTids.clear();
      cache.restore([]);
    },

    save: () => ({
      blocks: blocks.save(),
      mempool: [...mempool],
      inLastBlock,
      totals,
      seenTids: [...seenTids],
      cache: cache.save(),
      spam: policies.save(),
    }),

    restore(state) {
      blocks.restore(state.blocks);
      mempool = [...state.mempool];
      ({ inLastBlock, totals } = state);
      seenTids = new Set(state.seenTids);
      cache.restore(state.cache);
      policies.restore(state.spam);
    },
  };
}

function withTransaction(totals: ChainTotals, { bytes, accepted }: Waiting): ChainTotals {
  const { command } = accepted.inputData;
  const batch = command.case === "batchMarketInstructions" ? command.value : undefined;
  const count = (kind: InputData["command"]["case"], inBatch = 0) => (command.case === kind ? 1 : inBatch);
  return {
    transactions: totals.transactions + 1,
    bytes: totals.bytes + bytes.length,
    amendments: totals.amendments + count("orderAmendment", batch?.amendments.length),
    cancellations: totals.cancellations + count("orderCancellation", batch?.cancellations.length),
  };
}
