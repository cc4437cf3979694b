import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  type ClientConfig,
  ConnectionError,
  createClient,
  createTransaction,
  RequestError,
  type Signer,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { serveNode } from "../../support/node.js";
import { craft, sender, stopOrder } from "../../support/transactions.js";
import { openTransactionSync } from "./inside.js";

const block = { chainId: "test-1", height: 1n, hash: "00".repeat(32), difficulty: 1, hashFunction: "sha3_24_rounds" };

/** A signer that counts what it signs. */
function counting(): Signer & { signed: number } {
  return {
    publicKey: sender.publicKey,
    signed: 0,
    sign(message) {
      this.signed += 1;
      return sender.sign(message);
    },
  };
}

/** A node on loopback that names a chain. */
function nodeOf(chainId: string) {
  const last = { height: 1n, hash: "00".repeat(32), chainId, spamPowHashFunction: "sha3_24_rounds" };
  return serveNode({}, { lastBlockHeight: () => ({ ...last, spamPowDifficulty: 1, spamPowNumberOfTxPerBlock: 2 }) });
}

const failure = (promise: Promise<unknown>) => promise.then(undefined, (reason: unknown) => reason);

describe("the chain that is signed for", () => {
  test.each(["grpc", "rest"] as const)("is the one named, or nothing is signed, over %s", async (transport) => {
    await using node = await nodeOf("vega-mainnet-0011");
    const config = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    const said = 'the node is on chain "vega-mainnet-0011", not on "test-1"';
    await using named = createClient({ ...config, chainId: "test-1" });
    await using unnamed = createClient(config);
    const signer = counting();
    for (const attempt of [
      () => named.signCommand(stopOrder(), { signer }),
      () => named.sendCommand(stopOrder(), { signer }),
      () => unnamed.signCommand(stopOrder(), { signer, chainId: "test-1" }),
      () => unnamed.sendCommand(stopOrder(), { signer, chainId: "test-1" }),
    ]) {
      const error = await failure(attempt());
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({ summary: said });
    }
    expect(signer.signed).toBe(0);
    await unnamed.signCommand(stopOrder(), { signer, chainId: "vega-mainnet-0011" });
    await unnamed.signCommand(stopOrder(), { signer });
    expect(signer.signed).toBe(2);
  });

  test.each([
    ["with a zero byte", "vega-mainnet-0011\0"],
    ["that begins a message", "\u0008\u0001\u0010\u0002"],
    ["with a line break", "a\nb"],
    ["that is empty", ""],
    ["of 51 characters", "a".repeat(51)],
    ["of a megabyte", "a\u202e".repeat(2 ** 19)],
  ])("is none %s, whatever the node says; the error is one short line", async (_, chainId) => {
    await using node = await nodeOf(chainId);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const signer = counting();
    for (const named of [undefined, "test-1"]) {
      const error = await failure(client.signCommand(stopOrder(), { signer, chainId: named }));
      expect(error).toBeInstanceOf(RequestError);
      expect(error).toMatchObject({ summary: expect.stringMatching(/^[^\n\0]{1,250}$/) });
    }
    expect(signer.signed).toBe(0);
  });

  const local = "http://127.0.0.1:1";
  const remote = "http://node.invalid:1";
  test.each<ClientConfig>([
    { transport: "grpc", grpc: { url: remote } },
    { transport: "grpc", grpc: { url: "http://0.0.0.0:1" } },
    { transport: "rest", rest: { url: remote }, grpc: { url: local } },
    { transport: "grpc", grpc: { url: remote }, rest: { url: local } },
    { transport: "auto", grpc: { url: local }, rest: { url: remote } },
    { grpc: { url: remote }, rest: { url: local } },
    { transport: "grpc-js", grpc: { url: local, addresses: ["127.0.0.1:1", "192.0.2.1:1"] } },
  ])("has to be named for a node elsewhere: %j", async (config) => {
    const signer = counting();
    const quick = { ...config, timeouts: { connectMs: 300, callMs: 600 }, retry: { tries: 1 } };
    await using unnamed = createClient(quick);
    const error = await failure(unnamed.sendCommand(stopOrder(), { signer }));
    expect(error).toBeInstanceOf(RequestError);
    expect(error).toMatchObject({
      summary: "the chain ID is required, because the node is not on loopback",
      advice: expect.stringMatching(/chainId.*TRADEWIRE_CHAIN_ID.*--chain-id/),
    });
    await using named = createClient({ ...quick, chainId: "test-1" });
    expect(await failure(named.sendCommand(stopOrder(), { signer }))).toBeInstanceOf(ConnectionError);
    expect(signer.signed).toBe(0);
  });

  test.each<ClientConfig>([
    { transport: "grpc", grpc: { url: "http://[::1]:1" }, rest: { url: remote } },
    { transport: "grpc-js", grpc: { url: remote, addresses: ["127.0.0.1:1"] } },
    { grpc: { url: "http://localhost:1" }, rest: { url: local } },
  ])("may be the node's where only loopback is called: %j", async (config) => {
    await using client = createClient({ ...config, retry: { tries: 1 } });
    expect(await failure(client.signCommand(stopOrder(), { signer: sender }))).toBeInstanceOf(ConnectionError);
  });
});

test("a configuration takes identifiers of chains only", () => {
  const grpc = { url: "http://127.0.0.1:1" };
  for (const chainId of ["", "a b", "a\0", "a".repeat(51), "é"]) {
    expect(() => createClient({ grpc, chainId })).toThrow("must be 1 to 50 characters");
  }
});

test("no transaction is made or opened for what is no identifier of a chain", async () => {
  const tx = await craft({ block });
  const character = fc.constantFrom(..."aZ09._-", "\0", " ", "/", "é", "\n");
  const text = fc.oneof(fc.string({ unit: character, maxLength: 60 }), fc.string({ maxLength: 60 }));
  await fc.assert(
    fc.asyncProperty(text, async (chainId) => {
      const signer = counting();
      const isGood = /^[A-Za-z0-9._-]{1,50}$/.test(chainId);
      const made = await failure(createTransaction(stopOrder(), { signer, block: { ...block, chainId } }));
      expect(signer.signed).toBe(isGood ? 1 : 0);
      expect(made instanceof RequestError).toBe(!isGood);
      const open = () => openTransactionSync(tx, { chainId });
      if (isGood) {
        expect(open().problems.length > 0).toBe(chainId !== "test-1");
      } else {
        expect(open).toThrow(RequestError);
      }
    }),
  );
});

test.each(["a\0b", "a".repeat(51), "a b"])("the local node is none of chain %j", async (chainId) => {
  await expect(startDevnode({ chainId, segments: 1, blocksPerSegment: 1 })).rejects.toThrow(RequestError);
});
