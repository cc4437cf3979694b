import { createHash } from "node:crypto";

/**
 * Compute the hash that identifies a transaction in a node's event stream (specification, 2.6). Like the consensus layer,
 * it hashes the transaction's bytes.
 *
 * @param bytes the serialized transaction
 * @returns 64 hex digits in upper case
 *
 * @example
 * const txHash = transactionHash(toBinary(TransactionSchema, transaction));
 */
export function transactionHash(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex").toUpperCase();
}
