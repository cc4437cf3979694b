import { ed25519 } from "@noble/curves/ed25519.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { requireString } from "../errors/check-kinds.js";
import { wrong } from "../errors/check-values.js";
import { decodeHex } from "./hex.js";

/** The algorithm of signatures, `tx.signature.algo` (specification, 2.5). */
export const SIGNATURE_ALGORITHM = "vega/ed25519";

/** The version of that algorithm, `tx.signature.version`. */
export const SIGNATURE_VERSION = 1;

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** The zero byte between the chain's identifier and the input data. */
const DELIMITER = "\0";

/**
 * Make the prefix for the input data of version TX_VERSION_V3 or higher: the chain's identifier as bytes, and a zero
 * byte (specification, 2.5).
 *
 * @param chainId the chain's identifier
 * @returns the prefix
 */
export function chainIdPrefixOf(chainId: string): Uint8Array {
  return new TextEncoder().encode(chainId + DELIMITER);
}

/** A chain's identifier and a zero byte in front of input data. No message begins with a byte of these. */
const PREFIX = /^[A-Za-z0-9._-]{1,50}\0/;

/**
 * Finds the prefix of input data as it is submitted (specification, 2.5).
 *
 * @param inputData the input data of a transaction
 * @returns the chain's identifier and the zero byte; empty where there is none
 */
export function submittedPrefix(inputData: Uint8Array): string {
  const [prefix = ""] = PREFIX.exec(Buffer.from(inputData.subarray(0, 51)).toString("latin1")) ?? [];
  return prefix;
}

/**
 * Verify a signature by `vega/ed25519`, version 1: Ed25519 over the SHA3-256 digest of the message.
 *
 * @param message the whole signed message, prefix included
 * @param signature 64 bytes as 128 hex digits
 * @param publicKey 32 bytes as 64 hex digits
 * @returns whether it verifies; false also where signature or key are not such hex digits
 *
 * @example
 * verifySignature(message, Buffer.from(await signer.sign(message)).toString("hex"), signer.publicKey) // true
 */
export function verifySignature(message: Uint8Array, signature: string, publicKey: string): boolean {
  if (!(message instanceof Uint8Array)) {
    throw wrong("message", message, "Give the bytes that were signed.");
  }
  requireString("signature", signature);
  requireString("publicKey", publicKey);
  const signatureBytes = decodeHex(signature, SIGNATURE_BYTES);
  const keyBytes = decodeHex(publicKey, PUBLIC_KEY_BYTES);
  if (signatureBytes === undefined || keyBytes === undefined) {
    return false;
  }
  // Strictly by RFC 8032, as nodes do. The rules of ZIP 215 would accept signatures that nodes refuse.
  return ed25519.verify(signatureBytes, sha3_256(message), keyBytes, { zip215: false });
}
