import { ed25519 } from "@noble/curves/ed25519.js";
import { sha3_256 } from "@noble/hashes/sha3.js";
import { RequestError } from "../errors/index.js";
import { decodeHex, encodeHex } from "./hex.js";

/** Who signs: a key in memory, a key file, a hardware device, a service elsewhere. */
export interface Signer {
  /** The Ed25519 public key: 64 hex digits in lower case. */
  readonly publicKey: string;
  /**
   * Sign a message by the algorithm `vega/ed25519`, version 1: Ed25519 over the SHA3-256 digest of the message.
   *
   * @param message the whole message, not its digest, so that a device can show what it signs
   * @returns the signature, 64 bytes
   */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
}

/** A signer that holds a secret in memory until it is disposed of. */
export interface SeedSigner extends Signer, Disposable {
  sign(message: Uint8Array): Uint8Array;
}

/** The bytes of a seed. */
export const SEED_BYTES = 32;

/**
 * A signer from a seed, which it keeps to itself: it is in no property, and no error holds it.
 *
 * @param seed 32 bytes, or the same as 64 hex digits. Bytes are copied: wipe your own when you no longer need them
 * @throws {@link RequestError} where it is no seed
 *
 * @example
 * using signer = signerFromSeed(seed); // Wiped from memory at the end of the block.
 */
export function signerFromSeed(seed: Uint8Array | string): SeedSigner {
  const secret = copyOf(seed);
  const publicKey = encodeHex(ed25519.getPublicKey(secret));
  let disposed = false;
  return Object.freeze({
    publicKey,
    sign(message: Uint8Array): Uint8Array {
      if (disposed) {
        throw new RequestError(`the signer of ${publicKey} was disposed of`, {
          advice: "Sign before the end of the block that holds it with `using`, or make another.",
        });
      }
      return ed25519.sign(sha3_256(message), secret);
    },
    [Symbol.dispose](): void {
      secret.fill(0);
      disposed = true;
    },
  });
}

/**
 * A signer from a seed in an environment variable: 64 hex digits.
 *
 * The variable stays where it is, for all of the process to read: a key file is safer.
 *
 * @param name the name of the variable
 * @throws {@link RequestError} where it is not set, or holds no seed
 */
export function signerFromEnvironment(name: string, environment: NodeJS.ProcessEnv = process.env): SeedSigner {
  const text = environment[name];
  if (text === undefined || text === "") {
    throw new RequestError(`the environment variable ${name} is not set`, {
      advice: "Set it to a seed of 64 hex digits, or use a key file.",
    });
  }
  return namingSource(`the environment variable ${name}`, () => signerFromSeed(text));
}

/** Say in an error about a seed where it was found. */
export function namingSource<T>(source: string, make: () => T): T {
  try {
    return make();
  } catch (reason) {
    throw reason instanceof RequestError
      ? new RequestError(`${source}: ${reason.summary}`, { advice: reason.advice })
      : reason;
  }
}

/**
 * Memory for a secret. Small arrays of their own lie where the engine moves them about, and leaves copies behind that nobody
 * can wipe; what an `ArrayBuffer` holds stays in its place.
 */
export function secretBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length));
}

/** A copy of a seed's bytes. What was given is never part of an error: nearly a seed is nearly as secret. */
function copyOf(seed: Uint8Array | string): Uint8Array {
  const bytes = typeof seed === "string" ? decodeHex(seed, SEED_BYTES) : seed;
  if (bytes?.length !== SEED_BYTES) {
    const given = typeof seed === "string" ? "a text of other than 64 hex digits" : "not of 32 bytes";
    throw new RequestError(`the seed is ${given}`, {
      advice: "Give the 32 bytes of an Ed25519 seed, or the same as 64 hex digits.",
    });
  }
  const secret = secretBytes(SEED_BYTES);
  secret.set(bytes);
  return secret;
}
