import { createHash } from "node:crypto";
import type { PGlite } from "@electric-sql/pglite";

/** The network's rules for proofs of work, out of its parameters. */
export interface SpamRules {
  readonly hashFunction: string;
  /** Zero bits that a hash has to start with at least. */
  readonly difficulty: number;
  /** How many transactions of a key a block serves at that difficulty. */
  readonly transactionsPerBlock: number;
  /** Whether it serves more, each further batch for one more zero bit. */
  readonly increasing: boolean;
  /** How many blocks back a block may lie that a transaction is tied to. */
  readonly pastBlocks: number;
}

/** What a key has tied to a block. */
export interface Usage {
  seen: number;
  /** The zero bits of its proofs of work together. */
  zeroBits: number;
}

/** A block that transactions may be tied to. */
export interface Block {
  readonly height: bigint;
  /** 64 hex digits. */
  readonly hash: string;
  readonly usage: Map<string, Usage>;
  /** The transaction identifiers and the nonces that transactions tied to it have used up. */
  readonly used: Set<string>;
}

/** The last blocks of a chain. */
export interface Blocks {
  last(): Block;
  /** The block of a height; `undefined` where it is too old, or not made yet. */
  at(height: bigint): Block | undefined;
  /** All that transactions may be tied to, oldest first. */
  recent(): readonly Block[];
  /** Whether a transaction identifier or a nonce was used up. */
  isUsed(name: string): boolean;
  /** Make the next one. */
  add(): Block;
}

/** Keep the last blocks of a chain, of which `height` is the last one made. */
export function createBlocks(height: bigint, pastBlocks: number): Blocks {
  const recent: Block[] = [];
  const add = (next: bigint) => {
    const block: Block = { height: next, hash: blockHash(next), usage: new Map(), used: new Set() };
    recent.push(block);
    if (recent.length > pastBlocks + 1) {
      recent.shift();
    }
    return block;
  };
  let last = add(height);
  for (let past = 1n; past <= BigInt(pastBlocks) && past < height; past += 1n) {
    recent.unshift({ height: height - past, hash: blockHash(height - past), usage: new Map(), used: new Set() });
  }
  return {
    last: () => last,
    at: (wanted) => recent.find((block) => block.height === wanted),
    recent: () => recent,
    isUsed: (name) => recent.some(({ used }) => used.has(name)),
    add() {
      last = add(last.height + 1n);
      return last;
    },
  };
}

/** The hash of a block, the same that the history of blocks has. */
function blockHash(height: bigint): string {
  return createHash("sha256").update(`block:${height}`).digest("hex");
}

/** Read the rules out of the network's parameters. */
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
 * The zero bits that a key's next proof of work needs on a block: as many as all its proofs together lack.
 *
 * @returns `undefined` where the block serves no more of the key's transactions
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
