import type { InputData, Transaction } from "../../../gen/vega/commands/v1/transaction_pb.js";
import { verify } from "../../transaction/proof-of-work.js";
import { type Blocks, expectedDifficulty, type SpamRules } from "./blocks.js";
import { commandName, isOfValidators } from "./command-names.js";
import { type DecodeOptions, decodeTransaction } from "./decode.js";
import { type EligibilityOptions, ineligibility } from "./eligibility.js";
import type { SpamPolicies } from "./spam-policies.js";

/** Codes of refused transactions (`core/blockchain/response.go`). */
export const CODE = { decoding: 60, failed: 70, partlyFailed: 71, spam: 89 } as const;

/** The reason why a transaction is refused. */
export interface Refusal {
  readonly code: number;
  /** The network's text. */
  readonly data: string;
}

/** A transaction as it reached the node. */
export interface Received {
  /** Its bytes as the node keeps them: those that its hash is of. */
  readonly bytes: Uint8Array;
  /** Its hash, 64 hex digits in upper case. */
  readonly txHash: string;
  /** `undefined` where the bytes are no transaction. */
  readonly tx: Transaction | undefined;
}

/** A transaction that passed all checks. It is plain data. */
export interface Accepted {
  readonly inputData: InputData;
  readonly publicKey: string;
  /** The zero bits of its proof of work. */
  readonly zeroBits: number;
  /** The names of its hash, `tid` and nonce, each of which the network takes once. */
  readonly uses: readonly string[];
}

/** What transactions are checked by. */
export interface ExamineOptions extends DecodeOptions, EligibilityOptions {
  readonly rules: SpamRules;
  readonly blocks: Blocks;
  readonly policies: Pick<SpamPolicies, "refusal">;
}

/**
 * Checks a transaction as the network does when it is submitted (`CheckTx` in `core/blockchain/abci/abci.go`): its form and
 * its command, the proof of work and replays, the limits of its sender, and whether it can be executed.
 *
 * @param received the transaction
 * @param options the chain, its rules, its last blocks and what is in its state
 * @param seenTids the `tid`s that the node has seen since the last block; that of the transaction is added
 * @returns what it holds, or why it is refused
 */
export function examine(received: Received, options: ExamineOptions, seenTids: Set<string>): Accepted | Refusal {
  const decoded = decodeTransaction(received.tx, options);
  if (decoded.inputData === undefined) {
    return { code: CODE.decoding, data: decoded.problem };
  }
  const { inputData, publicKey } = decoded;
  const pow = received.tx?.pow ?? { tid: "", nonce: 0n };
  const uses = [
    `hash ${received.txHash}`,
    ...(isOfValidators(inputData.command.case) ? [] : [`tid ${pow.tid}`, `nonce ${publicKey} ${inputData.nonce}`]),
  ];
  const proven = { ...received, inputData, publicKey, pow, uses };
  const problem =
    replayProblem(proven, options, seenTids) ??
    options.policies.refusal({ command: inputData.command, partyId: publicKey });
  if (problem !== undefined) {
    return { code: CODE.spam, data: problem };
  }
  const ineligible = ineligibility(inputData.command, publicKey, options);
  return ineligible === undefined
    ? { inputData, publicKey, zeroBits: zeroBits(proven, options), uses }
    : { code: CODE.failed, data: ineligible };
}

/** A transaction whose form is right. */
interface Proven extends Pick<Accepted, "inputData" | "publicKey" | "uses">, Received {
  readonly pow: { readonly tid: string; readonly nonce: bigint };
}

/**
 * The height from which transactions may be tied to blocks: the network's parameters are in force from the second block
 * on, and for blocks without parameters a transaction is "too old".
 */
const FIRST_HEIGHT = 2n;

/** `CheckTx` in `core/pow/engine.go`. */
function replayProblem(proven: Proven, { blocks, rules }: ExamineOptions, seenTids: Set<string>): string | undefined {
  const { inputData, publicKey, pow, txHash, uses } = proven;
  const [hash = "", tid, nonce] = uses;
  if (tid !== undefined) {
    if (seenTids.has(pow.tid)) {
      return "proof of work tid already seen by the node";
    }
    seenTids.add(pow.tid);
  }
  if (blocks.isUsed(hash)) {
    return "transaction hash already used";
  }
  if (blocks.at(inputData.blockHeight) === undefined) {
    if (inputData.blockHeight < FIRST_HEIGHT) {
      return "transaction too old";
    }
    const name = commandName(inputData.command.case);
    return `unknown block height for tx:${txHash.toLowerCase()}, command:${name}, party:${publicKey}`;
  }
  if (tid === undefined || nonce === undefined) {
    return undefined;
  }
  if (blocks.isUsed(tid)) {
    return "proof of work tid already used";
  }
  if (blocks.isUsed(nonce)) {
    return "nonce already used by party";
  }
  return isProof(proven, { blocks, rules }, rules.difficulty) ? undefined : "failed to verify proof of work";
}

type ProofOptions = Pick<ExamineOptions, "blocks" | "rules">;

function isProof({ inputData, pow }: Proven, { blocks, rules }: ProofOptions, difficulty: number): boolean {
  const { hash = "" } = blocks.at(inputData.blockHeight) ?? {};
  return pow.tid !== "" && verify({ blockHash: hash, ...pow, difficulty, hashFunction: rules.hashFunction });
}

/** The zero bits of a proof of work that has as many as the rules ask for, or more. */
function zeroBits(proven: Proven, options: ProofOptions): number {
  let bits = options.rules.difficulty;
  while (bits < 256 && isProof(proven, options, bits + 1)) {
    bits += 1;
  }
  return bits;
}

/**
 * Counts a transaction among those that its block has served (`CheckBlockTx` in `core/pow/engine.go`). The network counts
 * when a block is made, and not when a transaction is submitted.
 *
 * @param accepted the transaction
 * @param options the rules for proofs of work, and the last blocks
 * @returns whether its block serves it: the proof has the zero bits that are needed after those counted before
 */
export function countServed({ inputData, publicKey, zeroBits: bits, uses }: Accepted, options: ProofOptions): boolean {
  const block = options.blocks.at(inputData.blockHeight);
  if (block === undefined || uses.some((name) => options.blocks.isUsed(name))) {
    return false;
  }
  if (!isOfValidators(inputData.command.case)) {
    const usage = block.usage.get(publicKey) ?? { seen: 0, zeroBits: 0 };
    const needed = expectedDifficulty(options.rules, usage);
    if (needed === undefined || bits < needed) {
      return false;
    }
    block.usage.set(publicKey, { seen: usage.seen + 1, zeroBits: usage.zeroBits + bits });
  }
  for (const name of uses) {
    block.used.add(name);
  }
  return true;
}
