import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { generateMnemonic } from "@scure/bip39";
import { wordlist } from "@scure/bip39/wordlists/english.js";
import { HARDENED, VegaWallet } from "@vegaprotocol/crypto";
import { KeyPair } from "@vegaprotocol/crypto/keypair";
import fc from "fast-check";
import { FileError, RequestError } from "../../src/errors/index.js";
import { createKeyFile, signerFromKeyFile } from "../../src/transaction/key-file.js";
import { signerFromMnemonic } from "../../src/transaction/mnemonic.js";
import { chainIdPrefixOf, verifySignature } from "../../src/transaction/signature.js";
import { signerFromEnvironment, signerFromSeed } from "../../src/transaction/signer.js";

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
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
    const message = Buffer.concat([chainIdPrefixOf("mainnet-v1"), text("hello world")]);
    expect(signer.publicKey).toBe(publicKey);
    expect(hex(signer.sign(message))).toBe(signature);
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

  test.each([
    ["a wrong checksum", words.replace("render", "swing"), {}],
    ["an unknown word", words.replace("render", "tradewire"), {}],
    ["a negative index", words, { index: -1 }],
    ["an index that is not whole", words, { index: 0.5 }],
    ["an index too large", words, { index: 2 ** 31 }],
  ])("refuses %s, without a word of it in the error", async (_, mnemonic, options) => {
    const error: unknown = await signerFromMnemonic(mnemonic, options).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RequestError);
    expect(inspect(error)).not.toMatch(/swing|parade|veteran/);
  });
});

describe("a signer from a seed", () => {
  test("signs as the network's own client library does, and each verifies the other's", async () => {
    await fc.assert(
      fc.asyncProperty(bytes32, fc.uint8Array({ maxLength: 400 }), fc.string(), async (seed, data, chainId) => {
        const pair = await KeyPair.fromSeed(0, seed);
        const signer = signerFromSeed(seed);
        const message = Buffer.concat([chainIdPrefixOf(chainId), data]);
        const made = signer.sign(message);
        expect(signer.publicKey).toBe(String(pair.publicKey));
        expect(hex(made)).toBe(hex(await pair.sign(data, chainId)));
        expect(hex(signer.sign(data))).toBe(hex(await pair.sign(data)));
        expect(await pair.verify(made, data, chainId)).toBe(true);
        expect(verifySignature(message, hex(made), signer.publicKey)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("takes bytes and hex of either case alike, and a copy of the bytes", () => {
    const seed = Uint8Array.from({ length: 32 }, (_, index) => 7 * index);
    const signer = signerFromSeed(seed);
    expect(signerFromSeed(hex(seed)).publicKey).toBe(signer.publicKey);
    expect(signerFromSeed(hex(seed).toUpperCase()).publicKey).toBe(signer.publicKey);
    const before = hex(signer.sign(text("x")));
    seed.fill(1);
    expect(hex(signer.sign(text("x")))).toBe(before);
  });

  test("shows its seed to nobody", () => {
    const seed = "3f".repeat(32);
    const signer = signerFromSeed(seed);
    const seen = [inspect(signer, { showHidden: true, depth: 9 }), JSON.stringify(signer), String(signer)];
    expect(seen.join()).not.toContain("3f3f3f");
    expect(JSON.parse(JSON.stringify(signer))).toEqual({ publicKey: signer.publicKey });
  });

  test("signs no more once it is disposed of", () => {
    const signer = signerFromSeed("3f".repeat(32));
    signer[Symbol.dispose]();
    expect(() => signer.sign(text("x"))).toThrow("disposed of");
  });

  test.each([
    ["short", "ab".repeat(31)],
    ["long", "ab".repeat(33)],
    ["no hex", `${"ab".repeat(31)}zz`],
    ["with a prefix", `0x${"ab".repeat(31)}`],
    ["short bytes", new Uint8Array(31).fill(0xab)],
    ["long bytes", new Uint8Array(64).fill(0xab)],
  ])("refuses one that is %s, without it in the error", (_, seed) => {
    const error = failure(() => signerFromSeed(seed));
    expect(error).toBeInstanceOf(RequestError);
    expect(inspect(error) + JSON.stringify(error)).not.toMatch(/abab|171, 171/);
  });
});

describe("a signer from the environment", () => {
  test("reads the variable", () => {
    const seed = "5a".repeat(32);
    expect(signerFromEnvironment("SEED", { SEED: seed }).publicKey).toBe(signerFromSeed(seed).publicKey);
  });

  test("names the variable in an error, and not its value", () => {
    expect(() => signerFromEnvironment("SEED", {})).toThrow("the environment variable SEED is not set");
    const error = failure(() => signerFromEnvironment("SEED", { SEED: "5a5a5a" }));
    expect(String(error)).toContain("the environment variable SEED: the seed is");
    expect(inspect(error)).not.toContain("5a5a");
  });
});

describe("a key file", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewire-keys-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("is made for its owner alone, and signs", async () => {
    const path = join(folder, "new");
    const { publicKey: made } = await createKeyFile(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const seed = (await readFile(path, "latin1")).trim();
    expect(seed).toMatch(/^[0-9a-f]{64}$/);
    const signer = await signerFromKeyFile(path);
    expect(signer.publicKey).toBe(made);
    expect(hex(await signer.sign(text("x")))).toBe(hex(signerFromSeed(seed).sign(text("x"))));
    expect(inspect(signer, { showHidden: true })).not.toContain(seed);
  });

  test("does not take the place of a file", async () => {
    const path = join(folder, "there");
    await writeFile(path, "mine");
    await expect(createKeyFile(path)).rejects.toThrow("it exists already");
    expect(await readFile(path, "utf8")).toBe("mine");
  });

  test.each([0o640, 0o604, 0o620, 0o601, 0o644])("is refused with mode %o", async (mode) => {
    const path = join(folder, `mode-${mode}`);
    await writeFile(path, "ab".repeat(32));
    await chmod(path, mode);
    const error = await signerFromKeyFile(path).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FileError);
    expect(String(error)).toMatch(/others than its owner may use the key file \(mode 6\d\d\)\n.*chmod 600/);
  });

  test.each([
    ["", true],
    ["\n", true],
    ["\r\n", true],
    ["\n\n", false],
    ["0", false],
    ["\nmore of it", false],
  ])("may end in %j: %j", async (end, good) => {
    const path = join(folder, `end-${Buffer.from(end).toString("hex")}`);
    await writeFile(path, "AB".repeat(32) + end, { mode: 0o600 });
    const made = signerFromKeyFile(path).then(({ publicKey: key }) => key);
    if (good) {
      expect(await made).toBe(signerFromSeed("ab".repeat(32)).publicKey);
    } else {
      const error = await made.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(FileError);
      expect(inspect(error)).not.toMatch(/abab/i);
    }
  });

  test("of less than a seed, or of none, is refused", async () => {
    for (const content of ["", "ab".repeat(31), "zz".repeat(32)]) {
      const path = join(folder, `bad-${content.length}`);
      await writeFile(path, content, { mode: 0o600 });
      await expect(signerFromKeyFile(path)).rejects.toThrow("it is no key file");
    }
    await expect(signerFromKeyFile(join(folder, "missing"))).rejects.toThrow("it does not exist");
  });

  test("that changed signs nothing", async () => {
    const path = join(folder, "changed");
    await writeFile(path, "ab".repeat(32), { mode: 0o600 });
    const signer = await signerFromKeyFile(path);
    await writeFile(path, "cd".repeat(32));
    await expect(signer.sign(text("x"))).rejects.toThrow("holds another key than before");
  });
});

function failure(act: () => unknown): unknown {
  try {
    act();
  } catch (reason) {
    return reason;
  }
  return undefined;
}
