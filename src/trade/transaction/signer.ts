import { RequestError } from "../../base/errors/index.js";
import { shownPath } from "../../base/errors/node-errors.js";
import { assertObject, assertString, invalidTypeError } from "../../base/input/assert.js";
import { lazily, startLoading } from "../../base/input/lazy.js";
import { decodeHex, encodeHex, publicKeyOf, sha3 } from "./crypto.js";

/** Signs messages with a key in memory, a key file, a hardware device or a remote service. */
export interface Signer {
  /** The Ed25519 public key: 64 hex digits in lower case. */
  readonly publicKey: string;
  /**
   * Signs a message by the algorithm `vega/ed25519`, version 1: Ed25519 over the SHA3-256 digest of the message.
   *
   * @param message the complete message, not its digest, so that a device can display it
   * @returns the signature, 64 bytes
   */
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>;
  /**
   * Counts one more transaction of the key that is tied to a block, if several programs or clients share the key. Without
   * this function, each client counts only its own transactions, and the transactions beyond a block's allowance are lost.
   *
   * @param block the block
   * @returns the share of the block's allowance; `undefined` if it is not known how many transactions are tied to the
   *   block, so that a later block must be used
   */
  takeShare?(block: SharedBlock): Promise<SignerShare | undefined> | SignerShare | undefined;
}

/** A block to which transactions are tied. */
export interface SharedBlock {
  readonly height: bigint;
  /** 64 hex digits, as the node writes them. */
  readonly hash: string;
}

/** One transaction that is counted by a signer which several programs or clients share. */
export interface SignerShare {
  /** How many transactions of the key were tied to the block before this one, at most. */
  readonly count: number;
  /**
   * Returns the share, because the transaction was not sent. Further calls have no effect. If a share is never given
   * back, later transactions need a harder proof of work than necessary.
   */
  giveBack(): void;
}

/** A signer that holds a secret in memory until it is closed: by `close()`, or at the end of `using` or `await using`. */
export interface SeedSigner extends Signer, Disposable, AsyncDisposable {
  /**
   * Signs a message, as described in {@link Signer}, with the seed in memory.
   *
   * @param message the complete message, not its digest
   * @returns the signature, 64 bytes
   * @throws {@link RequestError} if the signer was closed before the call
   */
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Wipes the secret from memory. Further calls have no effect. */
  close(): void;
}

/** Loads what signs. Functions that return signers asynchronously await it. */
export const loadCurve = lazily(() => import("@noble/curves/ed25519.js"));

/** The size of a seed in bytes. */
export const SEED_BYTES = 32;

/**
 * Creates a signer from a seed. The seed is not in any property of the signer or in any error.
 *
 * @param seed 32 bytes, or 64 hex digits; bytes are copied, so wipe your own when you no longer need them
 * @returns the signer, which keeps the seed in memory until you close it
 * @throws {@link RequestError} if the seed has another form
 *
 * @example
 * using signer = signerFromSeed(seed); // Wiped from memory at the end of the block.
 */
export function signerFromSeed(seed: Uint8Array | string): SeedSigner {
  const secret = copyOf(seed);
  startLoading(loadCurve);
  const publicKey = encodeHex(publicKeyOf(secret));
  let isClosed = false;
  const close = () => {
    secret.fill(0);
    isClosed = true;
  };
  return Object.freeze({
    publicKey,
    async sign(message: Uint8Array): Promise<Uint8Array> {
      if (isClosed) {
        throw new RequestError(`the signer of ${publicKey} was closed`, {
          advice: "Sign before the end of the block that declares it with `using`, or create another signer.",
        });
      }
      const digest = sha3(message);
      const key = copyOf(secret); // The signer may be closed meanwhile.
      try {
        const { ed25519 } = await loadCurve();
        return ed25519.sign(digest, key);
      } finally {
        key.fill(0);
      }
    },
    close,
    [Symbol.dispose]: close,
    [Symbol.asyncDispose]: async () => close(),
  });
}

/**
 * Creates a signer from a seed in an environment variable.
 *
 * The variable stays set, so all code in the process can read it. A key file is safer.
 *
 * @param name the name of the variable, which contains 64 hex digits
 * @param environment the variables; those of the process by default
 * @returns the signer, which keeps the seed in memory until you close it
 * @throws {@link RequestError} if the variable is not set, or does not contain a seed; it shows only what can be a name
 *
 * @example
 * using signer = signerFromEnvironment("TRADING_SEED");
 */
export function signerFromEnvironment(name: string, environment: NodeJS.ProcessEnv = process.env): SeedSigner {
  assertString("the name of the environment variable", name);
  assertObject("environment", environment);
  const text = environment[name];
  if (text === undefined || text === "") {
    if (!/^[A-Za-z_]\w*$/.test(name)) {
      throw invalidTypeError("the name of the environment variable", name, "a name of letters, digits and _");
    }
    throw new RequestError(`the environment variable ${shownPath(name)} is not set`, {
      errorCode: "TW_NO_KEY",
      advice: "Set it to a seed of 64 hex digits, or use a key file.",
    });
  }
  return namingSource(`the environment variable ${shownPath(name)}`, () => signerFromSeed(text));
}

/**
 * Creates a signer, and names the source of its seed in a {@link RequestError}.
 *
 * @throws {@link RequestError} if `make` throws one
 */
function namingSource<T>(source: string, make: () => T): T {
  try {
    return make();
  } catch (reason) {
    throw reason instanceof RequestError
      ? new RequestError(`${source}: ${reason.summary}`, { advice: reason.texts.advice })
      : reason;
  }
}

/**
 * Allocates memory for a secret. The engine may move small typed arrays and leave copies that cannot be wiped. The
 * bytes of an `ArrayBuffer` stay in their place.
 */
export function secretBytes(length: number): Uint8Array {
  return new Uint8Array(new ArrayBuffer(length));
}

/** Copies a seed's bytes. The argument never becomes part of an error, as even a mistyped seed is a secret. */
function copyOf(seed: Uint8Array | string): Uint8Array {
  const bytes = typeof seed === "string" ? decodeHex(seed, SEED_BYTES) : seed;
  if (bytes?.length !== SEED_BYTES) {
    throw new RequestError("the seed must be the 32 bytes of an Ed25519 seed, or a string of 64 hex digits");
  }
  const secret = secretBytes(SEED_BYTES);
  secret.set(bytes);
  return secret;
}
