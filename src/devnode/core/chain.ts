import type { Transaction } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { decodeHex } from "../../transaction/hex.js";
import { SIGNATURE_BYTES } from "../../transaction/signature.js";
import { hashOfBytes } from "../../transaction/transaction-hash.js";
import type { ExecutedCommand } from "../engine/engine.js";
import type { Block } from "../world/event.js";
import type { SpamBlock } from "./blocks.js";
import { type Accepted, countServed, type ExamineOptions, examine, type Refusal } from "./examine.js";

/** A transaction that waits for a block. */
interface Waiting {
  readonly tx: Transaction;
  /** Its bytes as they came: those that its hash is of. */
  readonly bytes: Uint8Array;
  /** Its hash, 64 hex digits in upper case. */
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

/** What a chain knows of its last blocks and of what waits. It is plain data. */
export interface ChainState {
  readonly blocks: readonly SpamBlock[];
  readonly mempool: readonly Waiting[];
  readonly inLastBlock: number;
}

/** A transaction in a block. */
export interface BlockTransaction extends ExecutedCommand {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
}

/** Options of {@link createLocalChain}. */
export interface LocalChainOptions extends ExamineOptions {
  /** Carries out the transactions of a block. */
  readonly execute: (block: Block, transactions: readonly BlockTransaction[]) => void;
  /** Told of a transaction that was taken, and is dropped when its block is made. */
  readonly dropped: (txHash: string, reason: string) => void;
}

/** A chain of one node. It checks transactions, keeps them in its mempool, and puts them into blocks. */
export interface LocalChain {
  /** The number of transactions that wait for a block, and of those in the last one. */
  counts(): { readonly waiting: number; readonly inLastBlock: number };
  /** Check a transaction. The result is `undefined` if it would be accepted. */
  check(tx: Transaction): Refusal | undefined;
  /** Check a transaction, and put it into the mempool unless it is refused. */
  submit(tx: Transaction, bytes: Uint8Array): Refusal | undefined;
  /** Make a block of a time, in Unix nanoseconds, from the mempool, and carry out its commands. */
  makeBlock(time: bigint): MadeBlock;
  /** Wait for the next block. */
  nextBlock(): Promise<Block>;
  /** Keep the chain as it is. */
  save(): ChainState;
  restore(state: ChainState): void;
}

/**
 * Create a chain that continues from its last blocks.
 *
 * @param options the chain, its last blocks, the rules for proofs of work, and the function that carries out commands
 * @returns the chain; it makes blocks only when `makeBlock()` is called
 */
export function createLocalChain(options: LocalChainOptions): LocalChain {
  const { blocks, rules, profile } = options;
  let mempool: Waiting[] = [];
  let waiting: ((block: Block) => void)[] = [];
  let inLastBlock = 0;

  /** What a block serves of the mempool. Deployed nodes count it only now, and drop the rest without a word. */
  function served(): readonly Waiting[] {
    return profile === "specification"
      ? mempool
      : mempool.filter(({ accepted, txHash }) => {
          const current = blocks.at(accepted.block.height);
          const isServed = current !== undefined && countServed({ ...accepted, block: current }, rules);
          if (!isServed) {
            options.dropped(txHash, "its block has served the transactions of its key");
          }
          return isServed;
        });
  }

  return {
    counts: () => ({ waiting: mempool.length, inLastBlock }),

    check(tx) {
      const examined = examine(tx, options);
      return "code" in examined ? examined : undefined;
    },

    submit(tx, bytes) {
      const accepted = examine(tx, options);
      if ("code" in accepted) {
        return accepted;
      }
      if (profile === "specification") {
        countServed(accepted, rules);
      }
      for (const name of accepted.uses) {
        accepted.block.used.add(name);
      }
      mempool.push({ tx, bytes, txHash: hashOfBytes(bytes), accepted });
      return undefined;
    },

    makeBlock(time) {
      const block = blocks.add(time);
      const transactions = served().map(({ tx, txHash, accepted: { inputData, publicKey } }) => ({
        txHash,
        command: inputData.command,
        partyId: publicKey,
        signature: decodeHex(tx.signature?.value ?? "", SIGNATURE_BYTES) ?? new Uint8Array(),
      }));
      const made = { height: block.height, time: block.time, transactions: mempool.map(({ bytes }) => bytes) };
      const waiters = waiting;
      mempool = [];
      waiting = [];
      inLastBlock = transactions.length;
      options.execute({ height: block.height, hash: block.hash, time: block.time }, transactions);
      for (const resolve of waiters) {
        resolve(block);
      }
      return made;
    },

    nextBlock: () => new Promise((resolve) => waiting.push(resolve)),

    save: () => ({ blocks: blocks.save(), mempool: [...mempool], inLastBlock }),

    restore(state) {
      blocks.restore(state.blocks);
      mempool = [...state.mempool];
      ({ inLastBlock } = state);
    },
  };
}
