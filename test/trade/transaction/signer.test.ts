import { inspect } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { KeyPair } from "@vegaprotocol/crypto/keypair";
import fc from "fast-check";
import {
  createClient,
  createKeyFile,
  createTableSql,
  createTransaction,
  RequestError,
  signerFromEnvironment,
  signerFromKeyFile,
  signerFromMnemonic,
  signerFromSeed,
  transactionHash,
  verifySignature,
} from "tradewire";
import { chainPrefix } from "../../support/transactions.js";

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const text = (value: string) => new TextEncoder().encode(value);

describe("a signer from a seed", () => {
  test("signs as the network's own client library does, and each verifies the other's", async () => {
    await fc.assert(
      fc.asyncProperty(bytes32, fc.uint8Array({ maxLength: 400 }), fc.string(), async (seed, data, chainId) => {
        const pair = await KeyPair.fromSeed(0, seed);
        const signer = signerFromSeed(seed);
        const message = Buffer.concat([chainPrefix(chainId), data]);
        const made = await signer.sign(message);
        expect(signer.publicKey).toBe(String(pair.publicKey));
        expect(hex(made)).toBe(hex(await pair.sign(data, chainId)));
        expect(hex(await signer.sign(data))).toBe(hex(await pair.sign(data)));
        expect(await pair.verify(made, data, chainId)).toBe(true);
        expect(verifySignature(message, hex(made), signer.publicKey)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("takes bytes and hex of either case alike, and a copy of the bytes", async () => {
    const seed = Uint8Array.from({ length: 32 }, (_, index) => 7 * index);
    const signer = signerFromSeed(seed);
    expect(signerFromSeed(hex(seed)).publicKey).toBe(signer.publicKey);
    expect(signerFromSeed(hex(seed).toUpperCase()).publicKey).toBe(signer.publicKey);
    const before = hex(await signer.sign(text("x")));
    seed.fill(1);
    expect(hex(await signer.sign(text("x")))).toBe(before);
  });

  test("shows its seed to nobody", () => {
    const seed = "3f".repeat(32);
    const signer = signerFromSeed(seed);
    const seen = [inspect(signer, { showHidden: true, depth: 9 }), JSON.stringify(signer), String(signer)];
    expect(seen.join()).not.toContain("3f3f3f");
    expect(JSON.parse(JSON.stringify(signer))).toEqual({ publicKey: signer.publicKey });
  });

  test("signs no more once it is closed, and finishes what was begun before", async () => {
    const signer = signerFromSeed("3f".repeat(32));
    const begun = signer.sign(text("x"));
    signer[Symbol.dispose]();
    expect(verifySignature(text("x"), hex(await begun), signer.publicKey)).toBe(true);
    await expect(signer.sign(text("x"))).rejects.toThrow(
      `the signer of ${signer.publicKey} was closed\nSign before the end of the block`,
    );
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
    expect(error).toMatchObject({
      summary: "the seed must be the 32 bytes of an Ed25519 seed, or a string of 64 hex digits",
    });
    expect(inspect(error) + JSON.stringify(error)).not.toMatch(/abab|171, 171/);
  });
});

describe("a signer from the environment", () => {
  test("reads the variable", () => {
    const seed = "5a".repeat(32);
    expect(signerFromEnvironment("SEED", { SEED: seed }).publicKey).toBe(signerFromSeed(seed).publicKey);
  });

  test("names the variable in an error, and not its value", () => {
    for (const environment of [{}, { SEED: "" }]) {
      expect(() => signerFromEnvironment("SEED", environment)).toThrow(
        "the environment variable SEED is not set\nSet it to a seed of 64 hex digits, or use a key file.",
      );
    }
    const error = failure(() => signerFromEnvironment("SEED", { SEED: "5a5a5a" }));
    expect(error).toMatchObject({
      summary:
        "the environment variable SEED: the seed must be the 32 bytes of an Ed25519 seed, or a string of 64 hex digits",
    });
    expect(inspect(error)).not.toContain("5a5a");
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

describe("a secret in a wrong place is not shown", () => {
  const mnemonic = "test test test test test test test test test test test junk";
  const seed = "1f".repeat(32);
  const secrets = [mnemonic, seed, seed.replace("1", "e"), "Bearer junk", mnemonic.replaceAll("test", "mistyped12")];
  const command = { case: "orderCancellation", value: {} };
  const client = createClient({ grpc: { url: "http://127.0.0.1:1" } });
  const signer = signerFromSeed(seed);

  /** Calls that callers in plain JavaScript may write; the types of all of them forbid this. */
  const calls: readonly (readonly [string, (secret: never) => unknown])[] = [
    ["a signer", (secret) => client.sendCommand(command as never, { signer: secret })],
    ["a signer to sign with", (secret) => client.signCommand(command as never, { signer: secret })],
    [
      "a function of a signer",
      (secret) => client.sendCommand(command as never, { signer: { ...signer, takeShare: secret } }),
    ],
    ["options", (secret) => client.sendCommand(command as never, secret)],
    ["options of signCommand", (secret) => client.signCommand(command as never, secret)],
    ["a signal", (secret) => client.sendCommand(command as never, { signer, signal: secret })],
    ["a command", (secret) => client.sendCommand(secret, { signer })],
    [
      "the fields of a command",
      (secret) => client.sendCommand({ case: "orderCancellation", value: secret }, { signer }),
    ],
    [
      "a part of a command",
      (secret) => client.sendCommand({ case: "orderSubmission", value: { peggedOrder: secret } } as never, { signer }),
    ],
    ["options of createTransaction", (secret) => createTransaction(command as never, secret)],
    ["options of signerFromMnemonic", (secret) => signerFromMnemonic(mnemonic, secret)],
    ["the message of verifySignature", (secret) => verifySignature(secret, "", "")],
    ["a transaction", (secret) => transactionHash(secret)],
    ["an environment", (secret) => signerFromEnvironment("TRADING_SEED", secret)],
    ["headers", (secret) => client.listSegments({ headers: secret })],
    ["a request", (secret) => client.listSegments(secret)],
    ["a configuration", (secret) => createClient(secret)],
    ["a part of a configuration", (secret) => createClient({ grpc: secret })],
    ["hooks", (secret) => createClient({ grpc: { url: "http://127.0.0.1:1" } }, { hooks: secret })],
    ["interceptors", (secret) => createClient({ grpc: { url: "http://127.0.0.1:1" } }, { interceptors: secret })],
    ["the schema of a table", (secret) => createTableSql(secret, "postgres")],
  ];

  test.each(calls)("%s", async (_, call) => {
    for (const secret of secrets) {
      const reason = await reasonOf(() => call(secret as never));
      expect(reason).toMatchObject({ message: expect.stringContaining("got a string") });
      expect(inspect(reason, { depth: 9 })).not.toMatch(/junk|mistyped|f1f1f/);
    }
  });

  test.each([
    ["mnemonic", mnemonic, "got a string"],
    ["mistyped mnemonic", mnemonic.replace("junk", "jnk-junk1"), "got a string"],
    ["few words", "test junk", "got a string"],
    ["seed", seed, "got a string"],
    ["seed that could be a name", seed.replace("1", "e"), "variable *** is not set"],
    ["empty text", "", "got a string"],
  ])("a %s as the name of an environment variable", async (_, secret, said) => {
    const reason = await reasonOf(() => signerFromEnvironment(secret, {}));
    expect(reason).toMatchObject({ name: "RequestError", message: expect.stringContaining(said) });
    expect(inspect(reason, { depth: 9 })).not.toMatch(/junk|f1f1f/);
  });

  test.each([
    ["mnemonic", mnemonic],
    ["mnemonic in lines", mnemonic.replaceAll(" ", "\n")],
    ["mistyped mnemonic", mnemonic.replace("test", "t3st").replace("test", "a")],
    ["numbered mnemonic", mnemonic.replaceAll(/\w+/g, (word, at) => `${at}.${word}`)],
    ["mnemonic with a null byte", `${mnemonic.replace("junk", "a1")}\0`],
    ["mnemonic that is too long for a path", `${mnemonic} t3st`.repeat(500)],
    ["seed", seed],
  ])("a %s as the path of a key file", async (_, secret) => {
    for (const act of [signerFromKeyFile, (path: string) => createKeyFile(`${path}/none/x.key`)]) {
      const reason = await reasonOf(() => act(secret));
      expect(reason).toMatchObject({ name: "FileError", message: expect.stringContaining("***") });
      expect(inspect(reason, { depth: 9 })).not.toMatch(/junk|f1f1f/);
    }
  });

  test("a path of fewer words is shown", async () => {
    const path = "/none/the keys of my trading bot for the main network.key";
    expect(await reasonOf(() => signerFromKeyFile(path))).toMatchObject({ message: expect.stringContaining(path) });
  });

  async function reasonOf(act: () => unknown): Promise<unknown> {
    try {
      await act();
      return undefined;
    } catch (reason) {
      return reason;
    }
  }
});
