import type { ProposalSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import {
  type InputData,
  InputDataSchema,
  type Transaction,
  TxVersion,
} from "../../../gen/vega/commands/v1/transaction_pb.js";
import { tryDecode } from "../../base/input/decode.js";
import {
  commandProblems,
  type NetworkProblem,
  networkProblems,
  type Problem,
} from "../../trade/transaction/check/index.js";
import { verify } from "../../trade/transaction/proof-of-work.js";
import {
  type ChainIdPrefix,
  chainIdPrefixOf,
  SIGNATURE_ALGORITHM,
  SIGNATURE_VERSION,
  verifySignature,
} from "../../trade/transaction/signature.js";
import { commandName, isValidatorCommand, unsupportedProblem } from "./command-names.js";
import { type EligibilityOptions, eligibilityProblem } from "./eligibility.js";
import { type Blocks, expectedDifficulty, type SpamRules } from "./recent-blocks.js";
import type { SpamPolicies } from "./spam-policies.js";

/** Response codes of rejected transactions (`core/blockchain/response.go`). */
export const CODE = { decoding: 60, failed: 70, partlyFailed: 71, unsupported: 80, spam: 89 } as const;

/** Why a transaction is rejected. */
export interface CheckRefusal {
  readonly code: number;
  /** The network's error text, or that of the local node for a command that it does not execute. */
  readonly data: string;
}

export interface Received {
  /** The bytes that its hash is of. */
  readonly bytes: Uint8Array;
  /** Transaction hash, 64 hex digits in upper case. */
  readonly txHash: string;
  /** `undefined` if the bytes are not a transaction. */
  readonly tx: Transaction | undefined;
}

/** The chain, and where transactions carry its identifier. */
interface DecodeOptions {
  readonly chainId: string;
  readonly chainIdPrefix: ChainIdPrefix;
}

/** The contents of a transaction, or the network's error text. */
type Decoded =
  | { readonly inputData: InputData; readonly publicKey: string }
  | { readonly problem: string; readonly inputData?: undefined };

/** A transaction that passed all checks, as plain data. */
export interface CheckedTransaction {
  readonly inputData: InputData;
  readonly publicKey: string;
  /** Leading zero bits of its proof of work. */
  readonly zeroBits: number;
  /** Names of its hash, `tid` and nonce. The network accepts each of them once. */
  readonly uses: readonly string[];
}

/** The state against which transactions are checked. */
export interface CheckOptions extends DecodeOptions, EligibilityOptions {
  readonly rules: SpamRules;
  readonly blocks: Blocks;
  readonly policies: Pick<SpamPolicies, "refusal">;
}

/**
 * Checks a submitted transaction as the network does (`CheckTx` in `core/blockchain/abci/abci.go`): its form and
 * command, whether the local node executes it, its proof of work, replays, the limits of its sender, and whether it can be executed.
 */
export function checkTransaction(
  received: Received,
  options: CheckOptions,
  seenTids: Set<string>,
): CheckedTransaction | CheckRefusal {
  const decoded = decodeTransaction(received.tx, options);
  if (decoded.inputData === undefined) {
    return { code: CODE.decoding, data: decoded.problem };
  }
  const { inputData, publicKey } = decoded;
  const unsupported = unsupportedProblem(inputData.command);
  if (unsupported !== undefined) {
    return { code: CODE.unsupported, data: unsupported };
  }
  const pow = received.tx?.pow ?? { tid: "", nonce: 0n };
  const uses = [
    `hash ${received.txHash}`,
    ...(isValidatorCommand(inputData.command.case) ? [] : [`tid ${pow.tid}`, `nonce ${publicKey} ${inputData.nonce}`]),
  ];
  const proven = { ...received, inputData, publicKey, pow, uses };
  const problem =
    replayProblem(proven, options, seenTids) ??
    options.policies.refusal({ command: inputData.command, partyId: publicKey });
  if (problem !== undefined) {
    return { code: CODE.spam, data: problem };
  }
  const ineligible = eligibilityProblem(inputData.command, publicKey, options);
  return ineligible === undefined
    ? { inputData, publicKey, zeroBits: zeroBits(proven, options), uses }
    : { code: CODE.failed, data: ineligible };
}

interface DecodedTransaction extends Pick<CheckedTransaction, "inputData" | "publicKey" | "uses">, Received {
  readonly pow: { readonly tid: string; readonly nonce: bigint };
}

/**
 * First height that transactions may refer to. The network parameters are in force from the second block on; without
 * parameters, the network calls a transaction "too old".
 */
const FIRST_HEIGHT = 2n;

/** Checks replays and the proof of work (`CheckTx` in `core/pow/engine.go`). */
function replayProblem(
  proven: DecodedTransaction,
  { blocks, rules }: CheckOptions,
  seenTids: Set<string>,
): string | undefined {
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

type ProofOptions = Pick<CheckOptions, "blocks" | "rules">;

function isProof({ inputData, pow }: DecodedTransaction, { blocks, rules }: ProofOptions, difficulty: number): boolean {
  const { hash = "" } = blocks.at(inputData.blockHeight) ?? {};
  return pow.tid !== "" && verify({ blockHash: hash, ...pow, difficulty, hashFunction: rules.hashFunction });
}

function zeroBits(proven: DecodedTransaction, options: ProofOptions): number {
  let bits = options.rules.difficulty;
  while (bits < 256 && isProof(proven, options, bits + 1)) {
    bits += 1;
  }
  return bits;
}

/**
 * Counts a transaction against the proof-of-work limits of its block (`CheckBlockTx` in `core/pow/engine.go`). The
 * network counts when it makes a block, not when a transaction is submitted.
 */
export function countAgainstLimits(
  { inputData, publicKey, zeroBits: bits, uses }: CheckedTransaction,
  options: ProofOptions,
): boolean {
  const block = options.blocks.at(inputData.blockHeight);
  if (block === undefined || uses.some((name) => options.blocks.isUsed(name))) {
    return false;
  }
  if (!isValidatorCommand(inputData.command.case)) {
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

/** The network's error for malformed Protobuf. */
const NO_MESSAGE = "proto: cannot parse invalid wire-format data";

/**
 * Decodes a transaction and checks everything that needs no state, in the network's order (`CheckTransaction` in
 * `commands/transaction.go`).
 */
function decodeTransaction(tx: Transaction | undefined, options: DecodeOptions): Decoded {
  if (tx === undefined) {
    return { problem: `unable to unmarshal transaction: ${NO_MESSAGE}` };
  }
  const sender = senderOf(tx);
  if ("problem" in sender) {
    return sender;
  }
  const read = readInputData(tx, options);
  if ("problem" in read) {
    return read;
  }
  const signature = signatureErrors(tx, sender.publicKey, options);
  return signature.size > 0 ? { problem: textOf(signature) } : { ...read, ...sender };
}

function senderOf({ version, from }: Transaction): { readonly problem: string } | { readonly publicKey: string } {
  if (version === TxVersion.UNSPECIFIED) {
    return { problem: "tx.version (is required)" };
  }
  if (version !== TxVersion.V2 && version !== TxVersion.V3) {
    return { problem: "tx.version (is not supported)" };
  }
  if (from.case === undefined) {
    return { problem: "tx.from (is required)" };
  }
  if (from.case === "address" || from.value === "") {
    return { problem: "tx.from.pub_key (is required)" };
  }
  return /^[0-9a-f]{64}$/.test(from.value)
    ? { publicKey: from.value }
    : { problem: "tx.from.pub_key (should be a valid vega public key)" };
}

function readInputData(
  { inputData: bytes, version }: Transaction,
  { chainId, chainIdPrefix }: DecodeOptions,
): { readonly problem: string } | { readonly inputData: InputData } {
  if (bytes.length === 0) {
    return { problem: "tx.input_data (is required)" };
  }
  const prefix = version === TxVersion.V3 && chainIdPrefix === "signed-and-submitted" ? chainIdPrefixOf(chainId) : [];
  if (!Buffer.from(prefix).equals(bytes.subarray(0, prefix.length))) {
    return { problem: `tx.input_data (has to begin with the chain's identifier ${chainId} and a zero byte)` };
  }
  const inputData = tryDecode(InputDataSchema, bytes.subarray(prefix.length));
  if (inputData === undefined) {
    return { problem: `tx.input_data (couldn't unmarshall input data: ${NO_MESSAGE})` };
  }
  const errors = new Map<string, string[]>();
  if (inputData.nonce === 0n) {
    errors.set("tx.input_data.nonce", ["must be positive"]);
  }
  for (const problem of problemsOf(inputData.command)) {
    const property = propertyOf(problem);
    errors.set(property, [...(errors.get(property) ?? []), problem.message]);
  }
  return errors.size > 0 ? { problem: textOf(errors) } : { inputData };
}

/**
 * Returns the problems that the network finds on submission. Problems that it finds later, in a batch of a block, are
 * reported on submission too.
 */
function problemsOf(command: InputData["command"]): readonly (Problem | NetworkProblem)[] {
  if (command.case === undefined) {
    return [{ path: "tx.inputData.command", message: "is required" }];
  }
  if (command.case === "proposalSubmission") {
    return proposalProblems(command.value);
  }
  const problems = networkProblems(command);
  return problems.length > 0 ? problems : commandProblems(command);
}

function signatureErrors(
  { signature, version, inputData }: Transaction,
  publicKey: string,
  { chainId, chainIdPrefix }: DecodeOptions,
): ReadonlyMap<string, readonly string[]> {
  if (signature === undefined) {
    return new Map([["tx.signature", ["is required"]]]);
  }
  const { value, algo } = signature;
  const isKnown = algo === SIGNATURE_ALGORITHM && signature.version === SIGNATURE_VERSION;
  const isHex = /^([0-9a-f]{2})*$/i.test(value);
  const errors = [
    ["tx.signature.value", [...(value === "" ? ["is required"] : []), ...(isHex ? [] : ["should be hex encoded"])]],
    ["tx.signature.algo", [...(algo === "" ? ["is required"] : []), ...(isKnown ? [] : ["unsupported algorithm"])]],
    ["tx.signature.version", isKnown ? [] : ["unsupported algorithm"]],
  ] as const;
  const wrong = errors.filter(([, messages]) => messages.length > 0);
  if (wrong.length > 0) {
    return new Map(wrong);
  }
  const isPrefixSigned = version === TxVersion.V3 && chainIdPrefix === "signature-only";
  const message = isPrefixSigned ? Buffer.concat([chainIdPrefixOf(chainId), inputData]) : inputData;
  return verifySignature(message, value, publicKey)
    ? new Map()
    : new Map([["tx.signature.value", ["invalid signature"]]]);
}

/** Formats errors by property, sorted, as the network does (`Errors.Error` in `commands/errors.go`). */
function textOf(errors: ReadonlyMap<string, readonly string[]>): string {
  return [...errors]
    .map(([property, messages]) => `${property} (${messages.join(", ")})`)
    .toSorted()
    .join(", ");
}

/** Returns the network's name of a field: `stopOrdersSubmission.risesAbove` is `stop_orders_submission.rises_above`. */
function propertyOf(problem: Problem | NetworkProblem): string {
  return "property" in problem
    ? problem.property
    : problem.path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const REQUIRED = "is required";
const POSITIVE = "must be positive";

/** Checks the form of a proposal, as far as the local node uses it (`commands/proposal_submission.go`). */
function proposalProblems({ terms }: ProposalSubmission): readonly Problem[] {
  const path = "proposalSubmission.terms";
  if (terms === undefined || terms.change.case === undefined) {
    return [{ path: terms === undefined ? path : `${path}.change`, message: REQUIRED }];
  }
  const { change, closingTimestamp, enactmentTimestamp } = terms;
  const problems: Problem[] = [];
  const check = (isRight: boolean, field: string, message: string) => {
    if (!isRight) {
      problems.push({ path: `${path}.${field}`, message });
    }
  };
  switch (change.case) {
    case "newMarket":
    case "updateMarket":
    case "updateNetworkParameter":
      check(closingTimestamp > 0n, "closingTimestamp", POSITIVE);
      check(enactmentTimestamp > 0n, "enactmentTimestamp", POSITIVE);
      check(closingTimestamp <= enactmentTimestamp, "closingTimestamp", "cannot be after enactment time");
      check(change.value.changes !== undefined, `change.${change.case}.changes`, REQUIRED);
  }
  if (change.case === "newMarket") {
    const decimals = change.value.changes?.positionDecimalPlaces ?? 0n;
    const field = "change.newMarket.changes.positionDecimalPlaces";
    check(decimals > -7n && decimals < 7n, field, "must be between -7 and 7");
  }
  return problems;
}
