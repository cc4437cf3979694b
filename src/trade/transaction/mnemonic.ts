import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, assertString, requireInteger } from "../../base/input/assert.js";
import { lazily } from "../../base/input/lazy.js";
import { snapshot } from "../../base/input/snapshot.js";
import { hmacSha512 } from "./crypto.js";
import { loadCurve, SEED_BYTES, type SeedSigner, signerFromSeed } from "./signer.js";

/** Which key of a mnemonic to use. */
export interface MnemonicOptions {
  /** The last step of the path `m/1789'/0'/INDEX'`, 0 to 2^31 - 1. Wallets count their keys from 1, the default. */
  readonly index?: number | undefined;
  /** BIP-39's passphrase, if the wallet has one; empty by default. */
  readonly passphrase?: string | undefined;
}

/** The network's number among the coins of BIP-44, and its only kind of keys. */
const PATH = [1789, 0];
const HARDENED = 2 ** 31;

const loadBip39 = lazily(() => Promise.all([import("@scure/bip39"), import("@scure/bip39/wordlists/english.js")]));

/**
 * Creates a signer from a wallet's mnemonic: BIP-39, then SLIP-0010 for Ed25519 by the path `m/1789'/0'/INDEX'`.
 *
 * @param mnemonic 12, 15, 18, 21 or 24 English words
 * @param options the index of the key, and BIP-39's passphrase
 * @returns the signer, which keeps the key's seed in memory until you close it
 * @throws {@link RequestError} if the words are not a valid mnemonic, or the index is not a whole number from 0 to 2^31
 *   - 1
 *
 * @example
 * using signer = await signerFromMnemonic(words, { index: 2 });
 */
export async function signerFromMnemonic(mnemonic: string, options: MnemonicOptions = {}): Promise<SeedSigner> {
  options = snapshot(options);
  const [{ mnemonicToSeed, validateMnemonic }, { wordlist }] = await loadBip39();
  await loadCurve();
  assertString("the mnemonic", mnemonic);
  assertKnownKeys("options", options, { index: true, passphrase: true });
  const { index = 1, passphrase = "" } = options;
  const words = mnemonic.trim().toLowerCase().split(/\s+/).join(" ");
  if (!validateMnemonic(words, wordlist)) {
    throw new RequestError("invalid BIP-39 mnemonic: a word is not on the list, or the checksum is wrong", {
      advice: "Check the words and their order. A mnemonic has 12, 15, 18, 21 or 24 English words.",
    });
  }
  requireInteger("index", index, 0, HARDENED - 1);
  const master = await mnemonicToSeed(words, passphrase);
  let node = hmacSha512(new TextEncoder().encode("ed25519 seed"), master);
  master.fill(0);
  for (const step of [...PATH, index]) {
    const parent = node;
    node = child(parent, step);
    parent.fill(0);
  }
  const signer = signerFromSeed(node.subarray(0, SEED_BYTES));
  node.fill(0);
  return signer;
}

/** A hardened child by SLIP-0010, the only kind for Ed25519. A node is 32 bytes of key and 32 of chain code. */
function child(node: Uint8Array, index: number): Uint8Array {
  const data = new Uint8Array(1 + SEED_BYTES + 4);
  data.set(node.subarray(0, SEED_BYTES), 1);
  new DataView(data.buffer).setUint32(1 + SEED_BYTES, HARDENED + index);
  const next = hmacSha512(node.subarray(SEED_BYTES), data);
  data.fill(0);
  return next;
}
