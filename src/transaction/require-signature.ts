import { type Transaction, TxVersion } from "../../gen/client/vega/commands/v1/transaction_pb.js";
import { RequestError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { chainIdPrefixOf, submittedPrefix, verifySignature } from "./signature.js";

/**
 * Requires that a signature covers the input data of its transaction (specification, 2.5). Whatever else is in a
 * transaction, such as its proof of work, is not signed.
 *
 * @param transaction the signed transaction
 * @param chainId gives the chain's identifier. It is asked only where the input data is signed with it, but does not hold it
 * @throws {@link RequestError} where the signature is of other input data, of another key, or of another chain
 */
export async function requireSignature(transaction: Transaction, chainId: () => Promise<string>): Promise<void> {
  const { version, inputData, signature, from } = transaction;
  const isWithout = version === TxVersion.V3 && submittedPrefix(inputData) === "";
  const chain = isWithout ? await chainId() : undefined;
  const message = chain === undefined ? inputData : Uint8Array.from([...chainIdPrefixOf(chain), ...inputData]);
  if (!verifySignature(message, signature?.value ?? "", from.case === "pubKey" ? from.value : "")) {
    const where = chain === undefined ? "" : ` for chain ${quoted(chain)}`;
    throw new RequestError(`the transaction's signature does not cover its input data${where}, so nothing was sent`, {
      advice: "Give the transaction as it was signed, of the chain of this node; or sign the command again.",
    });
  }
}
