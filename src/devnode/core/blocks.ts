import { createHash } from "node:crypto";
import type { PGlite } from "@electric-sql/pglite";
import { type Row, readRow } from "../data/row.js";

/** The network's rules for proofs of work, from its parameters. */
export interface SpamRules {
  readonly hashFunction: string;
  /** The number of zero bits that a hash must start with, at least. */
  readonly difficulty: number;
  /** The number of transactions of one key that a block serves at that difficulty. */
  readonly transactionsPerBlock: number;
  /** Whether a block serves further batches of transactions, each batch for one more zero bit. */
  readonly increasing: boolean;
  /** The number of blocks before the last one that transactions may be tied to. */
  readonly pastBlocks: number;
}

/** The transactions of one key that are tied to a block. */
export interface Usage {
  /** The number of transactions. */
  seen: number;
  /** The sum of the zero bits of their proofs of work. */
  zeroBits: number;
}

/** A block that transactions may be tied to. */
export interface Block {
  readonly height: bigint;
  /** 64 hex digits. */
  readonly hash: string;
  /** Unix nanoseconds. */
  readonly time: bigint;
  /** The usage of each key, by public key in hex. */
  readonly usage: Map<string, Usage>;
  /** The names of the transaction identifiers and nonces that transactions tied to this block have used. */
  readonly used: Set<string>;
}

/** The last blocks of a chain. */
export interface Blocks {
  last(): Block;
  /** The block at a height, or `undefined` if it is too old or not made yet. */
  at(height: bigint): Block | undefined;
  /** All blocks that transactions may be tied to, oldest first. */
  recent(): readonly Block[];
  /** Whether a transaction identifier or a nonce was used. */
  isUsed(name: string): boolean;
  /** Make the next block, of a time in Unix nanoseconds; at least a millisecond after the last one. */
  add(time: bigint): Block;
}

/** A block of the history. */
export type PastBlock = Pick<Block, "height" | "hash" | "time">;

/**
 * Create the last blocks of a chain.
 *
 * @param history the last blocks that were made, oldest first; at least one
 * @param pastBlocks the number of earlier blocks to keep
 * @returns the blocks, to which more can be added
 */
export function createBlocks(history: readonly [PastBlock, ...PastBlock[]], pastBlocks: number): Blocks {
  const begin = (block: PastBlock): Block => ({ ...block, usage: new Map(), used: new Set() });
  const recent = history.slice(-1 - pastBlocks).map(begin);
  let last = recent.at(-1) ?? begin(history[0]);
  return {
    last: () => last,
    at: (wanted) => recent.find((block) => block.height === wanted),
    recent: () => recent,
    isUsed: (name) => recent.some(({ used }) => used.has(name)),
    add(wanted) {
      const height = last.height + 1n;
      const earliest = last.time + 1_000_000n;
      last = begin({ height, hash: blockHash(height), time: wanted < earliest ? earliest : wanted });
      recent.push(last);
      if (recent.length > pastBlocks + 1) {
        recent.shift();
      }
      return last;
    },
  };
}

/** The hash of a block, as the history of blocks has it. */
function blockHash(height: bigint): string {
  return createHash("sha256").update(`block:${height}`).digest("hex");
}

/**
 * Read the last blocks of the history.
 *
 * @param pg the database with the history
 * @param count the most blocks to read
 * @returns the blocks, oldest first
 * @throws Error if the history has no block
 */
export async function readLastBlocks(pg: PGlite, count: number): Promise<[PastBlock, ...PastBlock[]]> {
  const { rows } = await pg.query<Row>("SELECT height, hash, vega_time FROM blocks ORDER BY row_height DESC LIMIT $1", [
    count,
  ]);
  const [first, ...others] = rows.toReversed().map((row) => {
    const { text, integer } = readRow(row);
    return { height: integer("height"), hash: text("hash"), time: integer("vega_time") };
  });
  if (first === undefined) {
    throw new Error("the history has no block");
  }
  return [first, ...others];
}

/**
 * Keep a block that was made since the start.
 *
 * @param pg the database
 * @param block the block
 */
export async function recordBlock(pg: PGlite, { height, hash, time }: PastBlock): Promise<void> {
  await pg.query(
    `INSERT INTO made_block VALUES
       ($1, decode($2, 'hex'), timestamptz 'epoch' + $3::text::bigint / 1000 * interval '1 microsecond')`,
    [height, hash, String(time)],
  );
}

/**
 * Read the rules for proofs of work from the network's parameters.
 *
 * @param pg the database with the table of network parameters
 * @returns the rules
 */
export async function readSpamRules(pg: PGlite): Promise<SpamRules> {
  const { rows } = await pg.query<{ readonly key: string; readonly value: string }>(
    "SELECT key, value FROM network_parameter WHERE key LIKE 'spam.pow.%'",
  );
  const values = new Map(rows.map(({ key, value }) => [key, value]));
  const number = (name: string) => Number(values.get(`spam.pow.${name}`));
  return {
    hashFunction: values.get("spam.pow.hashFunction") ?? "",
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
