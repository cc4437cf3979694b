import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { type Transaction, TransactionSchema } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { invalidTypeError } from "../../base/input/assert.js";
import { sha256 } from "./crypto.js";
import { encodeHex } from "./hex.js";

/**
 * Serializes a transaction as the network does before it hashes it: the plain fields in the order of their numbers, the
 * member of `from` after them, and unknown fields last. Protobuf does not define the order of fields, and the network's
 * serializer writes members of a oneof after all other fields.
 */
export function networkBytes(transaction: Transaction): Uint8Array {
  const { from, $unknown: unknown = [] } = transaction;
  const plain = { ...transaction, from: { case: undefined }, $unknown: [] };
  return Buffer.concat([
    toBinary(TransactionSchema, plain),
    toBinary(TransactionSchema, create(TransactionSchema, { from })),
    toBinary(TransactionSchema, { ...create(TransactionSchema), $unknown: unknown }),
  ]);
}

/**
 * Computes the hash that identifies a transaction in a node's event stream: SHA-256 over the transaction as the network
 * serializes it, regardless of the order in which its fields arrived.
 *
 * @param transaction the signed transaction
 * @returns 64 hex digits in upper case
 * @throws {@link RequestError} if `transaction` is not a transaction
 *
 * @example
 * const txHash = transactionHash(await client.signCommand(command, { signer }));
 */
export function transactionHash(transaction: Transaction): string {
  if (!isMessage(transaction, TransactionSchema)) {
    throw invalidTypeError("transaction", transaction, "a signed transaction, such as signCommand() returns");
  }
  return hashOfBytes(networkBytes(transaction));
}

/** Computes the hash of a transaction that is submitted as bytes, which the network does not serialize again. */
export function hashOfBytes(bytes: Uint8Array): string {
  return encodeHex(sha256(bytes)).toUpperCase();
}
