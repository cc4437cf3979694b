import { createHash } from "node:crypto";
import type { Block } from "../world/event.js";

/** The network's rules for proofs of work, from its parameters. */
export interface SpamRules {
  readonly hashFunction: string;
  /** The number of zero bits that a hash must start with, at least. */
  readonly difficulty: number;
  /** The number of transactions of one key that a block serves at that difficulty. */
  readonly transactionsPerBlock: number;
  /** Whether a block serves further batches of transactions, each batch for one more zero bit. */
  readonly increasing: boolean;
  /** The number of blocks, the last one included, that transactions may be tied to. */
  readonly pastBlocks: number;
}

/** The transactions of one key that blocks hold, of those that are tied to a block. */
export interface Usage {
  /** The number of transactions. */
  seen: number;
  /** The sum of the zero bits of their proofs of work. */
  zeroBits: number;
}

/** A block that transactions may be tied to. */
export interface SpamBlock extends Block {
  /** The usage of each key, by public key in hex. */
  readonly usage: Map<string, Usage>;
  /** The names of the hashes, `tid`s and nonces of the transactions that blocks hold and that are tied to this block. */
  readonly used: Set<string>;
}

/** The last blocks of a chain. */
export interface Blocks {
  last(): SpamBlock;
  /** The block at a height, or `undefined` if it is too old or not made yet. */
  at(height: bigint): SpamBlock | undefined;
  /** All blocks that transactions may be tied to, oldest first. */
  recent(): readonly SpamBlock[];
  /** Whether a hash, a `tid` or a nonce of that name is in a block. */
  isUsed(name: string): boolean;
  /** Make the next block, of a time in Unix nanoseconds; at least a millisecond after the last one. */
  add(time: bigint): SpamBlock;
  /** Keep the blocks as they are. */
  save(): readonly SpamBlock[];
  restore(blocks: readonly SpamBlock[]): void;
}

/**
 * Create the last blocks of a chain.
 *
 * @param history the last blocks that were made, oldest first; at least one
 * @param pastBlocks the number of blocks to keep: a transaction is too old when its height and this number are not above
 *   the last block's height (`core/pow/engine.go`)
 * @returns the blocks, to which more can be added
 */
export function createBlocks(history: readonly [Block, ...Block[]], pastBlocks: number): Blocks {
  const begin = (block: Block): SpamBlock => ({ ...block, usage: new Map(), used: new Set() });
  let recent = history.slice(-pastBlocks).map(begin);
  let last = recent.at(-1) ?? begin(history[0]);
  return {
    last: () => last,
    at: (wanted) => recent.find((block) => block.height === wanted),
    recent: () => recent,
    isUsed: (name) => recent.some(({ used }) => used.has(name)),
    add(wanted) {
      const height = last.height + 1n;
      const earliest = last.time + 1_000_000n;
      const time = wanted < earliest ? earliest : wanted;
      last = begin({ height, hash: blockHash(`${last.hash}:${height}:${time}`), time });
      recent.push(last);
      if (recent.length > pastBlocks) {
        recent.shift();
      }
      return last;
    },
    save: () => recent.map(copyOf),
    restore(kept) {
      recent = kept.map(copyOf);
      last = recent.at(-1) ?? last;
    },
  };
}

function copyOf(block: SpamBlock): SpamBlock {
  const usage = new Map([...block.usage].map(([key, counts]) => [key, { ...counts }]));
  return { ...block, usage, used: new Set(block.used) };
}

/**
 * Compute the hash of a block.
 *
 * @param content what the block is told from others by
 * @returns 64 hex digits in lower case
 */
export function blockHash(content: string): string {
  return createHash("sha256").update(`block:${content}`).digest("hex");
}

/**
 * Read the rules for proofs of work from the network's parameters.
 *
 * @param parameters the parameters, by key
 * @returns the rules
 */
export function spamRules(parameters: ReadonlyMap<string, string>): SpamRules {
  const number = (name: string) => Number(parameters.get(`spam.pow.${name}`));
  return {
    hashFunction: parameters.get("spam.pow.hashFunction") ?? "",
    difficulty: number("difficulty"),
    transactionsPerBlock: number("numberOfTxPerBlock"),
    increasing: number("increaseDifficulty") === 1,
    pastBlocks: number("numberOfPastBlocks"),
  };
}

/**
 * Compute the zero bits that a key's next proof of work on a block needs. Surplus zero bits of earlier proofs count
 * towards it.
 *
 * @param rules the network's rules for proofs of work
 * @param usage the key's transactions that are tied to the block
 * @returns the number of zero bits, or `undefined` if the block serves no more of the key's transactions
 */
export function expectedDifficulty(rules: SpamRules, { seen, zeroBits }: Usage): number | undefined {
  if (!rules.increasing && seen >= rules.transactionsPerBlock) {
    return undefined;
  }
  let total = 0;
  for (let index = 0; index <= seen; index += 1) {
    total += rules.difficulty + Math.floor(index / rules.transactionsPerBlock);
  }
  return Math.max(rules.difficulty, total - zeroBits);
}
