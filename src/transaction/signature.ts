import { ed25519 } from "@noble/curves/ed25519.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { decodeHex } from "./hex.js";

/** The algorithm of signatures, `tx.signature.algo`. */
export const SIGNATURE_ALGORITHM = "vega/ed25519";

/** The version of that algorithm, `tx.signature.version`. */
export const SIGNATURE_VERSION = 1;

export const PUBLIC_KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** What stands between the chain's identifier and the input data. */
const DELIMITER = "\0";

/**
 * What is put before the input data of a transaction of version TX_VERSION_V3 or higher: the chain's identifier as bytes, and
 * a zero byte (specification, 2.5).
 */
export function chainIdPrefixOf(chainId: string): Uint8Array {
  return new TextEncoder().encode(chainId + DELIMITER);
}

/**
 * Whether a signature by `vega/ed25519`, version 1, verifies: Ed25519 over the SHA3-256 digest of the message.
 *
 * @param message all that was signed, the prefix included
 * @param signature 64 bytes in hex
 * @param publicKey 32 bytes in hex
 */
export function verifySignature(message: Uint8Array, signature: string, publicKey: string): boolean {
  const signatureBytes = decodeHex(signature, SIGNATURE_BYTES);
  const keyBytes = decodeHex(publicKey, PUBLIC_KEY_BYTES);
  if (signatureBytes === undefined || keyBytes === undefined) {
    return false;
  }
  // Strictly by RFC 8032, as nodes do: ZIP 215 would let in what they refuse.
  return ed25519.verify(signatureBytes, sha3_256(message), keyBytes, { zip215: false });
}
