import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { HARDENED, VegaWallet } from "@vegaprotocol/crypto";
import fc from "fast-check";
import { RequestError, signerFromMnemonic, verifySignature } from "tradewire";
import { chainPrefix } from "../../support/transactions.js";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const text = (value: string) => new TextEncoder().encode(value);

const words =
  "swing ceiling chaos green put insane ripple desk match tip melt usual shrug turkey renew icon parade veteran lens govern path rough page render";
const publicKey = "b5fd9d3c4ad553cb3196303b6e6df7f484cf7f5331a572a45031239fd71ad8a0";
const signature =
  "d1c497702086b54f98821e6cbbd9b3f3390d9531b10a23dabf155f9b5a7f371b8e49210d21ef3a399700c6d407ec50edcf4cc3cefe1657213e479d32bbaa520f";

describe("a signer from a mnemonic", () => {
  test("has the key and makes the signature of the network's own software", async () => {
    const signer = await signerFromMnemonic(words, { index: 1 });
    const message = Buffer.concat([chainPrefix("mainnet-v1"), text("hello world")]);
    expect(signer.publicKey).toBe(publicKey);
    expect(hex(await signer.sign(message))).toBe(signature);
    expect(verifySignature(message, signature, publicKey)).toBe(true);
    expect(verifySignature(text("hello world"), signature, publicKey)).toBe(false);
  });

  test("has the keys that the network's own client library has", async () => {
    const strength = fc.constantFrom(128, 160, 192, 224, 256);
    await fc.assert(
      fc.asyncProperty(strength, fc.integer({ min: 0, max: 2 ** 31 - 1 }), async (bits, index) => {
        const mnemonic = generateMnemonic(wordlist, bits);
        const wallet = await VegaWallet.fromMnemonic(mnemonic);
        const pair = await wallet.keyPair(HARDENED + index);
        expect((await signerFromMnemonic(mnemonic, { index })).publicKey).toBe(String(pair.publicKey));
      }),
      { numRuns: 8 },
    );
  });

  test("takes the words as they were typed, and the first key by default", async () => {
    const typed = `\n ${words.toUpperCase().replaceAll(" ", " \t")} `;
    expect((await signerFromMnemonic(typed)).publicKey).toBe(publicKey);
  });

  test("has another key with each index, 0 among them, and with a passphrase", async () => {
    const wallet = await VegaWallet.fromMnemonic(words);
    const pair = await wallet.keyPair(HARDENED);
    expect((await signerFromMnemonic(words, { index: 0 })).publicKey).toBe(String(pair.publicKey));
    expect((await signerFromMnemonic(words, { passphrase: "more" })).publicKey).not.toBe(publicKey);
  });

  const noMnemonic = "Check the words and their order. A mnemonic has 12, 15, 18, 21 or 24 English words.";
  const noIndex = "index must be a whole number from 0 to 2147483647";
  test.each([
    ["a wrong checksum", words.replace("render", "swing"), {}, noMnemonic],
    ["an unknown word", words.replace("render", "tradewire"), {}, noMnemonic],
    ["a negative index", words, { index: -1 }, noIndex],
    ["an index that is not whole", words, { index: 0.5 }, noIndex],
    ["an index too large", words, { index: 2 ** 31 }, noIndex],
  ])("refuses %s, without a word of it in the error", async (_, mnemonic, options, advice) => {
    const error: unknown = await signerFromMnemonic(mnemonic, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RequestError);
    expect(String(error)).toContain(advice);
    expect(inspect(error)).not.toMatch(/swing|parade|veteran/);
  });
});
