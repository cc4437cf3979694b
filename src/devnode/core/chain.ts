import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { type InputData, type Transaction, TransactionSchema } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { isSpecified, type Problem } from "../../transaction/check/index.js";
import { decodeHex } from "../../transaction/hex.js";
import { verify } from "../../transaction/proof-of-work.js";
import { SIGNATURE_BYTES } from "../../transaction/signature.js";
import type { ChainIdPrefix } from "../../transaction/transaction.js";
import { inputDataProblems, openTransactionSync, proofProblem } from "../../transaction/verify.js";
import type { ExecutedCommand } from "./apply-stop-orders.js";
import { type Block, type Blocks, createBlocks, expectedDifficulty, type SpamRules } from "./blocks.js";

/** Codes of failed submissions (specification, 2.6), as deployed nodes number them. */
export const FAILURE = { validation: 51, decoding: 60, unknownCommand: 80, spam: 89 } as const;

/** The reason why a transaction is refused. */
export interface Refusal {
  readonly code: number;
  readonly problems: readonly Problem[];
}

/** Options of {@link createLocalChain}. */
export interface LocalChainOptions {
  readonly chainId: string;
  readonly chainIdPrefix: ChainIdPrefix;
  /** Height of the last block that was made. */
  readonly height: bigint;
  readonly rules: SpamRules;
  /** Carries out a command in a block. A command that rejects is skipped. */
  readonly execute: (command: ExecutedCommand) => Promise<void>;
}

/** A chain of one node. It checks transactions, keeps them in its mempool, and puts them into blocks. */
export interface LocalChain {
  readonly blocks: Blocks;
  /** Check a transaction. The result is `undefined` if it would be accepted. */
  check(tx: Transaction): Refusal | undefined;
  /** Check a transaction, and put it into the mempool unless it is refused. */
  submit(tx: Transaction): Refusal | undefined;
  /** Make a block from the mempool, and carry out its commands. */
  makeBlock(): Promise<Block>;
  /** Wait for the next block. */
  nextBlock(): Promise<Block>;
}

/** A transaction that passed all checks. */
interface Accepted {
  readonly inputData: InputData;
  readonly publicKey: string;
  readonly block: Block;
  readonly zeroBits: number;
  /** The names of the transaction identifier and the nonce that it uses. */
  readonly uses: readonly string[];
}

/**
 * Create a chain that continues from a height.
 *
 * @param options the chain, its last height, the rules for proofs of work, and the function that carries out commands
 * @returns the chain; it makes blocks only when `makeBlock()` is called
 */
export function createLocalChain(options: LocalChainOptions): LocalChain {
  const { rules } = options;
  const blocks = createBlocks(options.height, rules.pastBlocks);
  let mempool: ExecutedCommand[] = [];
  let waiting: ((block: Block) => void)[] = [];
  let making: Promise<Block> = Promise.resolve(blocks.last());

  function examine(tx: Transaction): Accepted | Refusal {
    const { inputData, publicKey, problems } = openTransactionSync(tx, options);
    if (inputData === undefined) {
      const isUnread = problems.every(({ path }) => path === "tx.inputData");
      return { code: isUnread ? FAILURE.decoding : FAILURE.validation, problems };
    }
    const wrong = inputDataProblems(inputData);
    if (wrong.length > 0) {
      const isUnknown = !isSpecified(inputData.command.case);
      return { code: isUnknown ? FAILURE.unknownCommand : FAILURE.validation, problems: wrong };
    }
    return examineWork(tx, inputData, publicKey);
  }

  function examineWork(tx: Transaction, inputData: InputData, publicKey: string): Accepted | Refusal {
    const spam = (path: string, message: string) => ({ code: FAILURE.spam, problems: [{ path, message }] });
    const block = blocks.at(inputData.blockHeight);
    if (block === undefined) {
      const last = blocks.last().height;
      const first = blocks.recent()[0]?.height ?? last;
      return spam("tx.inputData.blockHeight", `is ${inputData.blockHeight}, not one of the blocks ${first} to ${last}`);
    }
    const { tid = "" } = tx.pow ?? {};
    const uses = [`tid ${tid}`, `nonce ${publicKey} ${inputData.nonce}`] as const;
    if (blocks.isUsed(uses[0])) {
      return spam("tx.pow.tid", "was used by another transaction");
    }
    if (blocks.isUsed(uses[1])) {
      return spam("tx.inputData.nonce", "was used by another transaction of tx.pubKey");
    }
    const difficulty = expectedDifficulty(rules, block.usage.get(publicKey) ?? { seen: 0, zeroBits: 0 });
    if (difficulty === undefined) {
      return spam("tx.inputData.blockHeight", `is that of a block that has served its transactions of tx.pubKey`);
    }
    const { height, hash } = block;
    const problem = proofProblem(tx, { height, hash, difficulty, hashFunction: rules.hashFunction });
    if (problem !== undefined) {
      return { code: FAILURE.spam, problems: [problem] };
    }
    return { inputData, publicKey, block, zeroBits: zeroBits(tx, hash, difficulty), uses };
  }

  /** The zero bits of a proof of work that has at least `difficulty` of them. */
  function zeroBits({ pow }: Transaction, blockHash: string, difficulty: number): number {
    const { tid = "", nonce = 0n } = pow ?? {};
    let bits = difficulty;
    while (bits < 256 && verify({ blockHash, tid, nonce, difficulty: bits + 1, hashFunction: rules.hashFunction })) {
      bits += 1;
    }
    return bits;
  }

  function accept(tx: Transaction, { inputData, publicKey, block, zeroBits: bits, uses }: Accepted): void {
    const usage = block.usage.get(publicKey) ?? { seen: 0, zeroBits: 0 };
    block.usage.set(publicKey, { seen: usage.seen + 1, zeroBits: usage.zeroBits + bits });
    for (const name of uses) {
      block.used.add(name);
    }
    const signature = decodeHex(tx.signature?.value ?? "", SIGNATURE_BYTES) ?? new Uint8Array();
    mempool.push({ command: inputData.command, partyId: publicKey, signature, timestamp: 0n });
  }

  async function makeBlock(): Promise<Block> {
    const commands = mempool;
    const waiters = waiting;
    mempool = [];
    waiting = [];
    const block = blocks.add();
    const timestamp = BigInt(Date.now()) * 1_000_000n;
    for (const command of commands) {
      // A command that cannot be carried out does not stop the others.
      await options.execute({ ...command, timestamp }).catch(() => undefined);
    }
    for (const resolve of waiters) {
      resolve(block);
    }
    return block;
  }

  return {
    blocks,
    check(tx) {
      const examined = examine(tx);
      return "code" in examined ? examined : undefined;
    },
    submit(tx) {
      const examined = examine(tx);
      if ("code" in examined) {
        return examined;
      }
      accept(tx, examined);
      return undefined;
    },
    makeBlock() {
      making = making.then(makeBlock);
      return making;
    },
    nextBlock: () => new Promise((resolve) => waiting.push(resolve)),
  };
}

/**
 * Compute the hash that identifies a transaction in the event stream (specification, 2.6). Like the consensus layer, it
 * hashes the transaction's bytes.
 *
 * @param tx the signed transaction
 * @returns 64 hex digits in upper case
 */
export function transactionHash(tx: Transaction): string {
  return createHash("sha256").update(toBinary(TransactionSchema, tx)).digest("hex").toUpperCase();
}
