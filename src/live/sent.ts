import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import type { InputData } from "../../gen/vega/commands/v1/transaction_pb.js";
import { shown } from "../errors/check-values.js";
import { OutcomeUnknownError, RequestError } from "../errors/index.js";
import { decodeHex } from "../transaction/hex.js";
import { identifiers } from "../transaction/identifiers.js";
import { SIGNATURE_BYTES } from "../transaction/signature.js";
import { transactionHash } from "../transaction/transaction-hash.js";
import { type CommandPart, commandParts, type NextId } from "./outcome.js";

/** A transaction that was sent, as far as it is known. */
export interface Sent {
  /** 64 hex digits in upper case. */
  readonly txHash: string;
  readonly publicKey?: string | undefined;
  readonly signature?: string | undefined;
  readonly blockHeight?: bigint | undefined;
  /** The kind of its command, such as `orderSubmission`. */
  readonly command?: string | undefined;
  /** The parts of its command. */
  readonly parts: readonly CommandPart[];
}

/**
 * Tell what is known of a transaction.
 *
 * @param transaction the transaction
 * @param inputData its input data; `undefined` where it cannot be read, which is the network's to judge
 * @returns what is known
 */
export function sentTransaction(
  transaction: Transaction,
  inputData: Pick<InputData, "command" | "blockHeight"> | undefined,
): Sent {
  const sent = {
    txHash: transactionHash(transaction),
    publicKey: transaction.from.case === "pubKey" ? transaction.from.value : undefined,
    signature: transaction.signature?.value,
    blockHeight: inputData?.blockHeight,
    command: inputData?.command.case,
  };
  const parts = inputData === undefined ? [] : commandParts(inputData.command, nextIdOf(sent));
  return { ...sent, parts };
}

/**
 * Read what a caller knows of a transaction that was sent earlier.
 *
 * @param given its hash, or the error that says that its outcome is unknown
 * @returns what is known
 * @throws {@link RequestError} where it is neither
 */
export function readSent(given: string | OutcomeUnknownError): Sent {
  if (given instanceof OutcomeUnknownError) {
    const { txHash, publicKey, signature, command } = given.transaction;
    return { txHash, publicKey, signature, command, parts: [{ path: "", id: nextIdOf({ signature })() }] };
  }
  if (typeof given !== "string" || !/^[0-9a-f]{64}$/i.test(given)) {
    throw new RequestError(`${shown(given)} is no hash of a transaction`, {
      advice: "Give 64 hex digits, as txHash of the submission's result has them.",
    });
  }
  return { txHash: given.toUpperCase(), parts: [] };
}

/**
 * Make the function that gives the identifiers that a transaction's orders get.
 *
 * @param sent its signature
 * @returns the function, which gives `undefined` where the signature is not known
 */
export function nextIdOf({ signature }: Pick<Sent, "signature">): NextId {
  const bytes = decodeHex(signature ?? "", SIGNATURE_BYTES);
  const ids = bytes && identifiers(bytes);
  return () => ids?.next().value;
}
