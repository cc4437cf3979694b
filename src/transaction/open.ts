import type { Transaction } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import type { Chain, OpenedTransaction } from "./verify.js";

/**
 * Check all of a transaction that can be checked without a block: version, key, signature, prefix, nonce
 * (specification, 2.5).
 *
 * @param tx the signed transaction
 * @param chain the chain that the transaction is for, and whether the prefix is submitted
 * @returns its input data and public key (64 hex digits), or the problems by the path of the field
 * @throws {@link RequestError} where `chain.chainId` is no identifier of a chain
 *
 * @example
 * const { inputData, problems } = await openTransaction(tx, { chainId: "chain-1" });
 */
export async function openTransaction(tx: Transaction, chain: Chain): Promise<OpenedTransaction> {
  const { openTransactionSync } = await import("./verify.js"); // It needs the definitions of all commands.
  return openTransactionSync(tx, chain);
}
