import { create, isMessage, toBinary } from "@bufbuild/protobuf";
import { type Transaction, TransactionSchema, TxVersion } from "../../../gen/client/vega/commands/v1/transaction_pb.js";
import { quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { assertString, invalidTypeError, isBytes } from "../../base/input/assert.js";
import { decodeHex, encodeHex, sha3, sha256, verifyEd25519 } from "./crypto.js";

/** The algorithm of signatures, `tx.signature.algo`. */
export const SIGNATURE_ALGORITHM = "vega/ed25519";

/** The version of that algorithm, `tx.signature.version`. */
export const SIGNATURE_VERSION = 1;

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** The zero byte between the chain's identifier and the input data. */
const DELIMITER = "\0";

/**
 * Creates the prefix for the input data of version TX_VERSION_V3 or higher: the chain's identifier as bytes, and a zero
 * byte.
 */
export function chainIdPrefixOf(chainId: string): Uint8Array {
  return new TextEncoder().encode(chainId + DELIMITER);
}

/** A chain's identifier and a zero byte in front of input data. No message begins with a byte of these. */
const PREFIX = /^[A-Za-z0-9._-]{1,50}\0/;

export function submittedPrefix(inputData: Uint8Array): string {
  const [prefix = ""] = PREFIX.exec(Buffer.from(inputData.subarray(0, 51)).toString("latin1")) ?? [];
  return prefix;
}

/**
 * Verifies a signature by `vega/ed25519`, version 1: Ed25519 over the SHA3-256 digest of the message.
 *
 * @param message the complete signed message, including the prefix
 * @param signature 64 bytes as 128 hex digits
 * @param publicKey 32 bytes as 64 hex digits
 * @returns whether it is valid; also false if signature or key are not such hex digits
 *
 * @example
 * verifySignature(message, Buffer.from(await signer.sign(message)).toString("hex"), signer.publicKey) // true
 */
export function verifySignature(message: Uint8Array, signature: string, publicKey: string): boolean {
  if (!isBytes(message)) {
    throw invalidTypeError("message", message, "the bytes that were signed");
  }
  assertString("signature", signature);
  assertString("publicKey", publicKey);
  const signatureBytes = decodeHex(signature, SIGNATURE_BYTES);
  const keyBytes = decodeHex(publicKey, PUBLIC_KEY_BYTES);
  if (signatureBytes === undefined || keyBytes === undefined) {
    return false;
  }
  return verifyEd25519(sha3(message), signatureBytes, keyBytes);
}

/**
 * Requires that a signature covers the input data of its transaction. The rest of a transaction, such as its proof of
 * work, is not signed.
 *
 * @throws {@link RequestError} if the signature is for other input data, another key or another chain
 */
export async function requireSignature(transaction: Transaction, chainId: () => Promise<string>): Promise<void> {
  const { version, inputData, signature, from } = transaction;
  const isWithout = version === TxVersion.V3 && submittedPrefix(inputData) === "";
  const chain = isWithout ? await chainId() : undefined;
  const message = chain === undefined ? inputData : Uint8Array.from([...chainIdPrefixOf(chain), ...inputData]);
  if (!verifySignature(message, signature?.value ?? "", from.case === "pubKey" ? from.value : "")) {
    const where = chain === undefined ? "" : ` for chain ${quoted(chain)}`;
    throw new RequestError(`the transaction's signature does not match its input data${where}`, {
      advice:
        "Send the transaction unchanged to a node of the chain it was signed for, or sign the command again. Nothing was sent.",
    });
  }
}

/**
 * How the prefix of version TX_VERSION_V3, the chain's identifier and a zero byte, is used. The profile `specification`
 * uses `signed-and-submitted`; deployed nodes require `signature-only`.
 */
export type ChainIdPrefix = "signed-and-submitted" | "signature-only";

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
