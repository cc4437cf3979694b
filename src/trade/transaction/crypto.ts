// Hashes and signatures by Node's OpenSSL.
import { createHash, createHmac, createPrivateKey, createPublicKey, verify } from "node:crypto";

/** Computes a SHA-256 hash. */
export function sha256(bytes: Uint8Array): Uint8Array {
  return createHash("sha256").update(bytes).digest();
}

/** Computes a SHA3-256 hash. */
export function sha3(bytes: Uint8Array): Uint8Array {
  return createHash("sha3-256").update(bytes).digest();
}

/** Computes an HMAC with SHA-512. */
export function hmacSha512(key: Uint8Array, bytes: Uint8Array): Uint8Array {
  return createHmac("sha512", key).update(bytes).digest();
}

/** The encoding of an Ed25519 seed as PKCS #8 (RFC 8410, 7), without the seed at its end. */
const PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** Derives the Ed25519 public key of a seed. */
export function publicKeyOf(seed: Uint8Array): Uint8Array {
  // The engine does not move the bytes of an ArrayBuffer, so no copy stays behind that cannot be wiped.
  const key = Buffer.from(new ArrayBuffer(PKCS8.length + seed.length));
  key.set(PKCS8);
  key.set(seed, PKCS8.length);
  const { x = "" } = createPublicKey(createPrivateKey({ key, format: "der", type: "pkcs8" })).export({ format: "jwk" });
  key.fill(0);
  return Buffer.from(x, "base64url");
}

/**
 * Verifies an Ed25519 signature by the rules of Go's crypto/ed25519, which nodes use: OpenSSL accepts the same
 * signatures, including those of keys of small order. Stricter rules reject some signatures that nodes accept, and the
 * rules of ZIP 215 accept some that nodes reject.
 */
export function verifyEd25519(bytes: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean {
  const x = Buffer.from(publicKey).toString("base64url");
  return verify(null, bytes, createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }), signature);
}

/** Encodes bytes as hex. */
export function encodeHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
}

export function decodeHex(text: string, length: number): Uint8Array | undefined {
  return text.length === 2 * length && /^[0-9a-f]*$/i.test(text)
    ? Uint8Array.from(Buffer.from(text, "hex"))
    : undefined;
}
