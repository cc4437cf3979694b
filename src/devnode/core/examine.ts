import type { InputData, Transaction } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { Profile } from "../../schema/profile.js";
import { type NetworkProblem, networkProblems, type Problem } from "../../transaction/check/index.js";
import { verify } from "../../transaction/proof-of-work.js";
import type { ChainIdPrefix } from "../../transaction/transaction.js";
import { inputDataProblems, openTransactionSync, proofProblem } from "../../transaction/verify.js";
import { type Blocks, expectedDifficulty, type SpamBlock, type SpamRules } from "./blocks.js";

/** Codes of failed submissions (specification, 2.6), as deployed nodes number them. */
export const FAILURE = { validation: 51, decoding: 60, unknownCommand: 80, spam: 89 } as const;

/** The reason why a transaction is refused. */
export interface Refusal {
  readonly code: number;
  readonly problems: readonly (Problem | NetworkProblem)[];
}

/** A transaction that passed all checks. */
export interface Accepted {
  readonly inputData: InputData;
  readonly publicKey: string;
  readonly block: SpamBlock;
  readonly zeroBits: number;
  /** The names of the transaction identifier and the nonce that it uses. */
  readonly uses: readonly string[];
}

/** What transactions are checked by. */
export interface ExamineOptions {
  readonly chainId: string;
  readonly chainIdPrefix: ChainIdPrefix;
  readonly profile: Profile;
  readonly rules: SpamRules;
  readonly blocks: Blocks;
}

/**
 * Check a transaction (specification, 4.2).
 *
 * A deployed node looks at the base difficulty alone when a transaction is submitted. How many transactions of a key a
 * block has served is counted when the block is made.
 *
 * @param tx the transaction
 * @param options the chain, its rules and its last blocks
 * @returns what it holds, or why it is refused
 */
export function examine(tx: Transaction, options: ExamineOptions): Accepted | Refusal {
  const { inputData, publicKey, problems } = openTransactionSync(tx, options);
  if (inputData === undefined) {
    const isUnread = problems.every(({ path }) => path === "tx.inputData");
    return { code: isUnread ? FAILURE.decoding : FAILURE.validation, problems };
  }
  const wrong = options.profile === "deployed" ? deployedProblems(inputData) : inputDataProblems(inputData);
  if (wrong.length > 0) {
    const isUnknown = inputData.command.case === undefined;
    return { code: isUnknown ? FAILURE.unknownCommand : FAILURE.validation, problems: wrong };
  }
  return examineWork(tx, inputData, publicKey, options);
}

/** What a deployed node finds. What it finds only when it executes a command is refused at once. */
function deployedProblems({ command, ...inputData }: InputData): readonly (Problem | NetworkProblem)[] {
  if (command.case === undefined) {
    return [{ path: "tx.inputData.command", message: "is required" }];
  }
  const problems = networkProblems(command);
  return problems.length > 0 ? problems : inputDataProblems({ ...inputData, command });
}

function examineWork(
  tx: Transaction,
  inputData: InputData,
  publicKey: string,
  { blocks, rules, profile }: ExamineOptions,
): Accepted | Refusal {
  const spam = (path: string, message: string) => ({ code: FAILURE.spam, problems: [{ path, message }] });
  const last = blocks.last().height;
  const past = BigInt(rules.pastBlocks);
  const block = blocks.at(inputData.blockHeight);
  if (block === undefined || (profile === "deployed" && block.height + past <= last)) {
    const first = profile === "deployed" ? last - past + 1n : (blocks.recent()[0]?.height ?? last);
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
  const difficulty = profile === "deployed" ? rules.difficulty : neededBits(publicKey, block, rules);
  if (difficulty === undefined) {
    return spam("tx.inputData.blockHeight", "is that of a block that has served its transactions of tx.pubKey");
  }
  const { height, hash } = block;
  const problem = proofProblem(tx, { height, hash, difficulty, hashFunction: rules.hashFunction });
  if (problem !== undefined) {
    return { code: FAILURE.spam, problems: [problem] };
  }
  return { inputData, publicKey, block, zeroBits: zeroBits(tx, hash, difficulty, rules), uses };
}

/** The zero bits that a key's next proof of work on a block needs; `undefined` if the block serves no more of them. */
const neededBits = (publicKey: string, block: SpamBlock, rules: SpamRules) =>
  expectedDifficulty(rules, block.usage.get(publicKey) ?? { seen: 0, zeroBits: 0 });

/** The zero bits of a proof of work that has at least `difficulty` of them. */
function zeroBits({ pow }: Transaction, blockHash: string, difficulty: number, { hashFunction }: SpamRules): number {
  const { tid = "", nonce = 0n } = pow ?? {};
  let bits = difficulty;
  while (bits < 256 && verify({ blockHash, tid, nonce, difficulty: bits + 1, hashFunction })) {
    bits += 1;
  }
  return bits;
}

/**
 * Count a transaction among those that its block has served.
 *
 * @param accepted the transaction
 * @param rules the rules for proofs of work
 * @returns whether its block serves it: the proof has the zero bits that are needed after those counted before
 */
export function countServed({ publicKey, block, zeroBits: bits }: Accepted, rules: SpamRules): boolean {
  const needed = neededBits(publicKey, block, rules);
  if (needed === undefined || bits < needed) {
    return false;
  }
  const usage = block.usage.get(publicKey) ?? { seen: 0, zeroBits: 0 };
  block.usage.set(publicKey, { seen: usage.seen + 1, zeroBits: usage.zeroBits + bits });
  return true;
}
