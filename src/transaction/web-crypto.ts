// What node-crypto.ts does, for browsers and other places without Node's modules.
import { ed25519 } from "@noble/curves/ed25519.js";
import { hmac } from "@noble/hashes/hmac.js";
import { sha256, sha512 } from "@noble/hashes/sha2.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import type * as node from "./node-crypto.js";

export { sha3_256 as sha3, sha256 };

export const hmacSha512: typeof node.hmacSha512 = (key, bytes) => hmac(sha512, key, bytes);

export const publicKeyOf: typeof node.publicKeyOf = (seed) => ed25519.getPublicKey(seed);

const { Point } = ed25519;

/** The size of the encoded point of a signature, which precedes its scalar. */
const POINT_BYTES = 32;

/**
 * Verifies a signature like `verify` in Go's crypto/ed25519. The key may be a non-canonical encoding of a point. The
 * signature's scalar must be less than the order of the group. The computed point must have the same encoding as the
 * signature's point.
 */
export const verifyEd25519: typeof node.verifyEd25519 = (bytes, signature, publicKey) => {
  const encoded = signature.subarray(0, POINT_BYTES);
  const scalar = littleEndian(signature.subarray(POINT_BYTES));
  const key = decodePoint(publicKey);
  if (key === undefined || scalar >= Point.Fn.ORDER) {
    return false;
  }
  const hashed = sha512(Uint8Array.from([...encoded, ...publicKey, ...bytes]));
  const point = Point.BASE.multiplyUnsafe(scalar).subtract(key.multiplyUnsafe(Point.Fn.create(littleEndian(hashed))));
  return point.toBytes().every((byte, index) => byte === encoded[index]);
};

function decodePoint(bytes: Uint8Array) {
  try {
    return Point.fromBytes(bytes, true); // Also encodings that are not canonical, as ZIP 215 and Go have it.
  } catch {
    return undefined; // No point of the curve.
  }
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((number, byte) => number * 256n + BigInt(byte), 0n);
}
