import { type Block, blockHash } from "../world/block-event.js";

/** Proof-of-work rules, from the network parameters. */
export interface SpamRules {
  readonly hashFunction: string;
  /** Minimum number of leading zero bits. */
  readonly difficulty: number;
  /** Number of transactions per key and block at this difficulty. */
  readonly transactionsPerBlock: number;
  /** Whether a key may send additional batches of transactions for a block, each requiring one more zero bit. */
  readonly increasing: boolean;
  /** Number of recent blocks, including the last one, that transactions may refer to. */
  readonly pastBlocks: number;
}

/** The included transactions of one key that refer to a block. */
export interface KeyUsage {
  /** Number of transactions. */
  seen: number;
  /** Sum of the leading zero bits of their proofs of work. */
  zeroBits: number;
}

/** A block that transactions may refer to. */
export interface SpamBlock extends Block {
  /** Usage by public key in hex. */
  readonly usage: Map<string, KeyUsage>;
  /** Names of the hashes, `tid`s and nonces of the included transactions that refer to this block. */
  readonly used: Set<string>;
}

/** The recent blocks of a chain. */
export interface Blocks {
  last(): SpamBlock;
  /** Returns the block at a height; `undefined` if it is too old or does not exist yet. */
  at(height: bigint): SpamBlock | undefined;
  /** Returns all blocks that transactions may refer to, oldest first. */
  recent(): readonly SpamBlock[];
  /** Returns whether an included transaction has the hash, `tid` or nonce of this name. */
  isUsed(name: string): boolean;
  /** Adds the next block. Its time, in Unix nanoseconds, is at least one millisecond after the last block's. */
  add(time: bigint): SpamBlock;
  /** Returns a copy of the blocks. */
  save(): readonly SpamBlock[];
  restore(blocks: readonly SpamBlock[]): void;
}

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
    restore(saved) {
      recent = saved.map(copyOf);
      last = recent.at(-1) ?? last;
    },
  };
}

function copyOf(block: SpamBlock): SpamBlock {
  const usage = new Map([...block.usage].map(([key, counts]) => [key, { ...counts }]));
  return { ...block, usage, used: new Set(block.used) };
}

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
 * Computes the difficulty that a key's next proof of work for a block requires. Surplus zero bits of earlier proofs
 * count towards it.
 */
export function expectedDifficulty(rules: SpamRules, { seen, zeroBits }: KeyUsage): number | undefined {
  if (!rules.increasing && seen >= rules.transactionsPerBlock) {
    return undefined;
  }
  let total = 0;
  for (let index = 0; index <= seen; index += 1) {
    total += rules.difficulty + Math.floor(index / rules.transactionsPerBlock);
  }
  return Math.max(rules.difficulty, total - zeroBits);
}
