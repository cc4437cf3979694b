import { createHash } from "node:crypto";

/**
 * Make the identifiers of what a transaction brings, such as its orders, as the network makes them: the hash of the
 * signature, then the hash of that hash, and so on.
 *
 * @param signature the signature of a transaction
 * @returns 64 hex digits in lower case each, without end
 *
 * @example
 * const [orderId] = identifiers(signature); // The order of a transaction that submits one.
 */
export function* identifiers(signature: Uint8Array): Generator<string, never> {
  let hash = sha3(signature);
  for (;;) {
    yield hash.toString("hex");
    hash = sha3(hash);
  }
}

function sha3(bytes: Uint8Array): Buffer {
  return createHash("sha3-256").update(bytes).digest();
}
