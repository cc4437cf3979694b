import { fromBinary } from "@bufbuild/protobuf";
import {
  type InputData,
  InputDataSchema,
  type Transaction,
  TxVersion,
} from "../../../gen/vega/commands/v1/transaction_pb.js";
import { commandProblems, type NetworkProblem, networkProblems, type Problem } from "../../transaction/check/index.js";
import {
  chainIdPrefixOf,
  SIGNATURE_ALGORITHM,
  SIGNATURE_VERSION,
  verifySignature,
} from "../../transaction/signature.js";
import type { ChainIdPrefix } from "../../transaction/transaction.js";

/** The chain that transactions are for, and where they carry its identifier. */
export interface DecodeOptions {
  readonly chainId: string;
  readonly chainIdPrefix: ChainIdPrefix;
}

/** What a transaction holds, or the network's text of what is wrong with it. */
export type Decoded =
  | { readonly inputData: InputData; readonly publicKey: string }
  | { readonly problem: string; readonly inputData?: undefined };

/** What the network says of bytes that are no message. */
const NO_MESSAGE = "proto: cannot parse invalid wire-format data";

/**
 * Decodes a transaction and checks all of it that needs no state, in the network's order and words
 * (`CheckTransaction` in `commands/transaction.go`).
 *
 * @param tx the transaction; `undefined` where its bytes are no message
 * @param options the chain, and where transactions carry its identifier
 * @returns the input data and the sender's public key (64 hex digits), or the text of what is wrong
 */
export function decodeTransaction(tx: Transaction | undefined, options: DecodeOptions): Decoded {
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
  const inputData = decoded(bytes.subarray(prefix.length));
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

/** What the network finds when a command is submitted; what it finds only in a block's batch is refused at once. */
function problemsOf(command: InputData["command"]): readonly (Problem | NetworkProblem)[] {
  if (command.case === undefined) {
    return [{ path: "tx.inputData.command", message: "is required" }];
  }
  const problems = networkProblems(command);
  return problems.length > 0 ? problems : commandProblems(command);
}

function decoded(bytes: Uint8Array): InputData | undefined {
  try {
    return fromBinary(InputDataSchema, bytes);
  } catch {
    return undefined;
  }
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

/** Writes errors as the network does (`Errors.Error` in `commands/errors.go`): by property, sorted. */
function textOf(errors: ReadonlyMap<string, readonly string[]>): string {
  return [...errors]
    .map(([property, messages]) => `${property} (${messages.join(", ")})`)
    .toSorted()
    .join(", ");
}

/** The network's name of a field: `stopOrdersSubmission.risesAbove` is `stop_orders_submission.rises_above`. */
function propertyOf(problem: Problem | NetworkProblem): string {
  return "property" in problem
    ? problem.property
    : problem.path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
