import { type InputData, type Transaction, TransactionSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { tryDecode } from "../../base/input/decode.js";
import { decodeHex } from "../../trade/transaction/crypto.js";
import { hashOfBytes, networkBytes, SIGNATURE_BYTES } from "../../trade/transaction/signature.js";
import type { AppliedCommand, CommandResult } from "../engine/command-dispatch.js";
import type { Block } from "../world/block-event.js";
import {
  type CheckedTransaction,
  type CheckOptions,
  type CheckRefusal,
  checkTransaction,
  countAgainstLimits,
  type Received,
} from "./check-transaction.js";
import type { SpamBlock } from "./recent-blocks.js";
import type { SpamCounts, SpamPolicies } from "./spam-policies.js";

interface PendingTransaction {
  readonly tx: Transaction;
  readonly bytes: Uint8Array;
  readonly txHash: string;
  readonly accepted: CheckedTransaction;
}

/** The transactions since the last block. */
interface Pool {
  /** The `tid`s that the node has seen since the last block, including those of rejected transactions. */
  readonly seenTids: Set<string>;
  readonly mempool: PendingTransaction[];
  readonly inLastBlock: number;
  readonly totals: ChainTotals;
}

/** A made block: everything that is needed to make the same block again. */
export interface MadeBlock {
  readonly height: bigint;
  /** Unix nanoseconds. */
  readonly time: bigint;
  /** All serialized transactions of the mempool, in order, including those that the block dropped. */
  readonly transactions: readonly Uint8Array[];
}

/** A block and the outcomes of its transactions, by hash. */
interface ExecutedBlock {
  readonly block: Block;
  readonly outcomes: ReadonlyMap<string, CommandResult>;
}

/** State of a chain: its recent blocks and its mempool. It is plain data. */
export interface ChainState {
  readonly blocks: readonly SpamBlock[];
  readonly mempool: readonly PendingTransaction[];
  readonly inLastBlock: number;
  readonly totals: ChainTotals;
  readonly seenTids: readonly string[];
  readonly cache: readonly string[];
  readonly spam: SpamCounts;
}

interface ChainTotals {
  readonly transactions: number;
  /** Bytes of all transactions. */
  readonly bytes: number;
  /** Order amendments and cancellations, including those in batches. */
  readonly amendments: number;
  readonly cancellations: number;
}

export interface BlockTransaction extends AppliedCommand {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
}

/** Options of {@link createLocalChain}. */
export interface LocalChainOptions extends CheckOptions {
  readonly policies: SpamPolicies;
  /** Executes the transactions of a block and returns their outcomes. */
  readonly execute: (block: Block, transactions: readonly BlockTransaction[]) => readonly CommandResult[];
  /** Called for each accepted transaction that is dropped when its block is made. */
  readonly dropped: (txHash: string, height: bigint, reason: string) => void;
}

/** Result of a submission; `undefined` if the transaction is in the mempool. */
type Submitted = CheckRefusal | "in cache" | undefined;

/** A chain with a single node. It checks transactions, keeps them in its mempool, and makes blocks of them. */
export interface LocalChain {
  /** Returns the size of the mempool and of the last block, and the totals. */
  counts(): { readonly waiting: number; readonly inLastBlock: number } & ChainTotals;
  /**
   * Checks a transaction; `undefined` means that it would be accepted. Its `tid` counts as seen until the next block.
   */
  check(received: Received): CheckRefusal | undefined;
  /** Checks a transaction and adds it to the mempool, unless it is rejected or already cached. */
  submit(received: Received): Submitted;
  /** Makes a block from the mempool and executes its transactions. The time is in Unix nanoseconds. */
  makeBlock(time: bigint): MadeBlock;
  /** Waits for the next block. */
  nextBlock(): Promise<ExecutedBlock>;
  /** Clears what a node loses when it restarts: what it has seen outside of blocks. */
  restart(): void;
  /** Returns a copy of the chain's state. */
  save(): ChainState;
  restore(state: ChainState): void;
}

/** Re-serializes a submitted transaction message, as the network does. */
export function receivedTransaction(tx: Transaction): Received {
  const bytes = networkBytes(tx);
  return { tx, bytes, txHash: hashOfBytes(bytes) };
}

/** Reads a transaction that was submitted as bytes, which are hashed unchanged. */
export function receivedBytes(bytes: Uint8Array): Received {
  return { tx: tryDecode(TransactionSchema, bytes), bytes, txHash: hashOfBytes(bytes) };
}

export function createLocalChain(options: LocalChainOptions): LocalChain {
  const { blocks, policies } = options;
  const cache = createTxCache();
  let pool: Pool = {
    seenTids: new Set(),
    mempool: [],
    inLastBlock: 0,
    totals: { transactions: 0, bytes: 0, amendments: 0, cancellations: 0 },
  };
  let waiters: ((executed: ExecutedBlock) => void)[] = [];

  return {
    counts: () => ({ waiting: pool.mempool.length, inLastBlock: pool.inLastBlock, ...pool.totals }),

    check(received) {
      const checked = checkTransaction(received, options, pool.seenTids);
      return "code" in checked ? checked : undefined;
    },

    submit(received) {
      const { tx, bytes, txHash } = received;
      if (!cache.push(txHash)) {
        return "in cache";
      }
      const accepted = checkTransaction(received, options, pool.seenTids);
      if ("code" in accepted || tx === undefined) {
        cache.remove(txHash);
        return "code" in accepted ? accepted : undefined;
      }
      pool.mempool.push({ tx, bytes, txHash, accepted });
      return undefined;
    },

    makeBlock(time) {
      const included = selectForBlock(pool.mempool, blocks.last().height + 1n, options);
      const { height, hash, time: blockTime } = blocks.add(time);
      const block = { height, hash, time: blockTime };
      const transactions = included.map(blockTransaction);
      const made = { height, time: blockTime, transactions: pool.mempool.map(({ bytes }) => bytes) };
      const resolvers = waiters;
      waiters = [];
      pool = {
        seenTids: new Set(),
        mempool: [],
        inLastBlock: included.length,
        totals: included.reduce(withTransaction, pool.totals),
      };
      const outcomes = new Map<string, CommandResult>();
      for (const [index, outcome] of options.execute(block, transactions).entries()) {
        const { txHash = "" } = transactions[index] ?? {};
        outcomes.set(txHash, outcome);
        if (outcome.status !== "success") {
          cache.remove(txHash); // CometBFT keeps only successful transactions in its cache.
        }
      }
      for (const resolve of resolvers) {
        resolve({ block, outcomes });
      }
      return made;
    },

    nextBlock: () => new Promise((resolve) => waiters.push(resolve)),

    restart() {
      pool.seenTids.clear();
      cache.restore([]);
    },

    save: () => ({
      blocks: blocks.save(),
      mempool: [...pool.mempool],
      inLastBlock: pool.inLastBlock,
      totals: pool.totals,
      seenTids: [...pool.seenTids],
      cache: cache.save(),
      spam: policies.save(),
    }),

    restore({ inLastBlock, totals, mempool, seenTids, ...state }) {
      pool = { inLastBlock, totals, mempool: [...mempool], seenTids: new Set(seenTids) };
      blocks.restore(state.blocks);
      cache.restore(state.cache);
      policies.restore(state.spam);
    },
  };
}

/**
 * Returns the transactions that a block includes. The network counts proof-of-work and spam limits at this point, and
 * drops the other transactions silently.
 */
function selectForBlock(
  mempool: readonly PendingTransaction[],
  height: bigint,
  options: LocalChainOptions,
): readonly PendingTransaction[] {
  const drop = ({ txHash }: PendingTransaction, reason: string) => options.dropped(txHash, height, reason);
  const withinLimits = mempool.filter((each) => {
    // Only the proposer of a block may add this command.
    const isWithinLimits =
      each.accepted.inputData.command.case !== "delayedTransactionsWrapper" &&
      countAgainstLimits(each.accepted, options);
    if (!isWithinLimits) {
      drop(each, "its block has served the transactions of its key");
    }
    return isWithinLimits;
  });
  const allowed = options.policies.beginBlock(
    height,
    withinLimits.map(({ accepted: { inputData, publicKey } }) => ({
      command: inputData.command,
      partyId: publicKey,
    })),
  );
  return withinLimits.filter((each, index) => {
    if (allowed[index] === false) {
      drop(each, "its party has sent the maximum number of such commands in this epoch");
    }
    return allowed[index] !== false;
  });
}

function blockTransaction({ tx, txHash, accepted: { inputData, publicKey } }: PendingTransaction): BlockTransaction {
  return {
    txHash,
    command: inputData.command,
    partyId: publicKey,
    signature: decodeHex(tx.signature?.value ?? "", SIGNATURE_BYTES) ?? new Uint8Array(),
  };
}

function withTransaction(totals: ChainTotals, { bytes, accepted }: PendingTransaction): ChainTotals {
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

/** Maximum number of cached transactions, the default of CometBFT (`CacheSize` in its `config/config.go`). */
const CAPACITY = 10_000;

/** The hashes of accepted transactions, most recently used last. */
interface TxCache {
  /** Adds a hash. Returns whether it is new. */
  push(hash: string): boolean;
  remove(hash: string): void;
  save(): readonly string[];
  restore(hashes: readonly string[]): void;
}

/**
 * Creates an LRU cache of transaction hashes (`LRUTxCache` in CometBFT's `mempool/cache.go`). Cached transactions are
 * rejected without a check.
 */
function createTxCache(): TxCache {
  let hashes = new Set<string>();
  return {
    push(hash) {
      const isNew = !hashes.delete(hash);
      const [oldest] = hashes;
      if (isNew && oldest !== undefined && hashes.size >= CAPACITY) {
        hashes.delete(oldest);
      }
      hashes.add(hash);
      return isNew;
    },
    remove(hash) {
      hashes.delete(hash);
    },
    save: () => [...hashes],
    restore(saved) {
      hashes = new Set(saved);
    },
  };
}
