// Proofs of work by another implementation, and a task whose solution is known.
import { sha3_256 } from "@noble/hashes/sha3.js";

/** A task of the network's own software. For difficulty 16 the first nonce is 23845. */
export const task = {
  blockHash: "dc4b61de2138856406acdabcc502be708bff7c945857ea032011a8b4b0cf54f4",
  tid: "3954a15b2e1ec457ae100c56e2aa43786b4612644926403d59fd8cdcb29d825f",
};

/** The hash by another implementation, as 256 binary digits. */
export function hashBits(blockHash: string, tid: string, nonce: bigint): string {
  const message = Buffer.concat([
    Buffer.from("Vega_SPAM_PoW"),
    Buffer.from(blockHash),
    Buffer.from(tid),
    Buffer.alloc(8),
  ]);
  message.writeBigUInt64BE(nonce, message.length - 8);
  return Array.from(sha3_256(message), (byte) => byte.toString(2).padStart(8, "0")).join("");
}

/** The first nonce by trying one after the other. */
export function firstNonce(blockHash: string, tid: string, difficulty: number, startNonce = 0n): bigint {
  let nonce = startNonce;
  while (!hashBits(blockHash, tid, nonce).startsWith("0".repeat(difficulty))) nonce++;
  return nonce;
}
