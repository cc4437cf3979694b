import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { SubmitTransactionRequest_Type } from "../../gen/vega/api/v1/core_pb.js";
import { SignatureSchema } from "../../gen/vega/commands/v1/signature_pb.js";
import { ProofOfWorkSchema, type Transaction } from "../../gen/vega/commands/v1/transaction_pb.js";
import { type Client, createClient } from "../../src/client.js";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { RequestError, TransactionError } from "../../src/errors/index.js";
import { solve, verify } from "../../src/transaction/proof-of-work.js";
import { chainIdPrefixOf } from "../../src/transaction/signature.js";
import { signerFromSeed } from "../../src/transaction/signer.js";
import type { BlockTask } from "../../src/transaction/transaction.js";
import { craft, market, sender, stopOrder } from "../support/transactions.js";

/** A number that no enumeration has: over the wire any may come. */
const unknownNumber: number = 9;

const SYNC = SubmitTransactionRequest_Type.SYNC;

let node: Devnode;
let client: Client;
beforeAll(async () => {
  node = await startDevnode({ chainId: "devnode-1", segments: 2, blocksPerSegment: 200, blockMs: 0 });
  client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
});
afterAll(async () => {
  await client.close();
  await node.close();
});

/** A new block, which has served nothing yet. */
let block: BlockTask;
beforeEach(async () => {
  await node.makeBlock();
  const { height, hash, chainId, spamPowDifficulty, spamPowHashFunction } = await client.lastBlockHeight();
  block = { height, hash, chainId, difficulty: spamPowDifficulty, hashFunction: spamPowHashFunction };
});

function submit(tx: Transaction) {
  return client.submitTransaction({ tx, type: SYNC }, { throwOnRejection: false });
}

describe.each(["grpc", "grpc-js", "rest"] as const)("over %s", (transport) => {
  const over = () =>
    createClient(
      transport === "rest" ? { transport, rest: { url: node.restUrl } } : { transport, grpc: { url: node.grpcUrl } },
    );

  test("a stop order is listed after the next block, and no more as live once it is cancelled", async () => {
    await using connected = over();
    const price = String(9_000_000 + transport.length);
    const signer = signerFromSeed(block.hash);
    const sent = await connected.sendCommand(stopOrder(price), { signer });
    expect(sent).toMatchObject({ success: true, code: 0, data: "", log: "", height: 0n });
    expect(sent.txHash).toMatch(/^[0-9A-F]{64}$/);
    const list = async (liveOnly: boolean) => {
      const found = [];
      for await (const { node: record } of connected.stopOrders({
        filter: { partyIds: [signer.publicKey], liveOnly },
      })) {
        found.push(record);
      }
      return found.filter(({ stopOrder: { trigger } }) => trigger.value === price);
    };
    expect(await list(true)).toEqual([]);
    await node.makeBlock();
    const [record, ...more] = await list(true);
    expect(more).toEqual([]);
    expect(record).toMatchObject({
      stopOrder: { partyId: signer.publicKey, marketId: market, status: 1, triggerDirection: 1 },
      submission: { marketId: market, size: 10n, side: 2, reduceOnly: true },
    });
    const value = { marketId: market, stopOrderId: record?.stopOrder.id ?? "" };
    await connected.sendCommand({ case: "stopOrdersCancellation", value }, { signer });
    await node.makeBlock();
    expect(await list(true)).toEqual([]);
    expect((await list(false))[0]).toMatchObject({ stopOrder: { status: 2, updatedAt: expect.anything() } });
  });

  test("the same transaction sent again is refused", async () => {
    await using connected = over();
    const { transaction: tx } = await connected.sendCommand(stopOrder(), { signer: sender });
    const error = await connected.submitTransaction({ tx, type: SYNC }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransactionError);
    expect(error).toMatchObject({
      result: { success: false, code: 89, log: "tx.pow.tid was used by another transaction" },
      data: { "tx.pow.tid": ["was used by another transaction"] },
      message: expect.stringMatching(/^the network refused the transaction \(code 89\): .*tx\.pow\.tid/),
    });
  });

  test("a transaction is checked without being taken", async () => {
    await using connected = over();
    const tx = await connected.signCommand(stopOrder(), { signer: sender });
    expect(await connected.checkTransaction(tx)).toMatchObject({ success: true, code: 0 });
    expect(await connected.checkTransaction(tx)).toMatchObject({ success: true, code: 0 });
    const wrong = { ...tx, version: 0 };
    expect(await connected.checkTransaction(wrong)).toMatchObject({ success: false, code: 51 });
    expect(await submit(tx)).toMatchObject({ success: true });
  });

  test("statistics tell what a block has served, and the last block what is needed", async () => {
    await using connected = over();
    const publicKey = signerFromSeed(block.hash).publicKey;
    await connected.sendCommand(stopOrder(), { signer: signerFromSeed(block.hash) });
    const { height, hash } = await connected.lastBlockHeight();
    expect({ height, hash }).toEqual({ height: block.height, hash: block.hash });
    const statistics = await connected.spamStatistics(publicKey);
    expect(statistics?.pow?.blockStates.at(-1)).toMatchObject({
      blockHeight: height,
      blockHash: hash,
      transactionsSeen: 1n,
      difficulty: 15n,
      txPerBlock: 2n,
      increasingDifficulty: true,
    });
  });

  test("a request without a transaction is an error, not a result", async () => {
    await using connected = over();
    await expect(connected.submitTransaction({ type: SYNC })).rejects.toThrow(RequestError);
    await expect(connected.spamStatistics("x")).rejects.toThrow("partyId is not a public key");
  });
});

test("a busy sender is never refused, nor the harder work ever missing", async () => {
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, index) => client.sendCommand(stopOrder(String(index + 1)), { signer: sender })),
  );
  expect(results.map(({ success }) => success)).toEqual(Array.from({ length: 8 }, () => true));
  const statistics = await client.spamStatistics(sender.publicKey);
  expect(statistics?.pow?.blockStates.at(-1)?.transactionsSeen).toBe(8n);
});

test("where a block has served enough, the next one is waited for", async () => {
  const signer = signerFromSeed(block.hash);
  const sends = Promise.all(Array.from({ length: 9 }, () => client.sendCommand(stopOrder(), { signer })));
  const heights = async () => {
    const statistics = await client.spamStatistics(signer.publicKey);
    return statistics?.pow?.blockStates.filter(({ transactionsSeen }) => transactionsSeen > 0n) ?? [];
  };
  while ((await heights()).at(-1)?.transactionsSeen !== 8n) {}
  await node.makeBlock();
  await sends;
  expect((await heights()).map(({ transactionsSeen }) => transactionsSeen)).toEqual([8n, 1n]);
});

test("what others send with the same key is counted in", async () => {
  await using other = createClient({ transport: "rest", rest: { url: node.restUrl } });
  const signer = signerFromSeed(block.hash);
  for (let sent = 0; sent < 3; sent += 1) {
    await other.sendCommand(stopOrder(), { signer });
  }
  expect(await client.sendCommand(stopOrder(), { signer })).toMatchObject({ success: true });
});

test("a batch and a pair are carried out", async () => {
  const signer = signerFromSeed(block.hash);
  const pair = stopOrder();
  if (pair.case !== "stopOrdersSubmission" || pair.value.risesAbove === undefined) {
    throw new Error("no stop order");
  }
  const { risesAbove } = pair.value;
  const submission = { risesAbove, fallsBelow: { ...risesAbove, trigger: { case: "price", value: "5" } as const } };
  await client.sendCommand(
    { case: "batchMarketInstructions", value: { stopOrdersSubmission: [submission] } },
    { signer },
  );
  await node.makeBlock();
  const { orders } = await client.listStopOrders({ filter: { partyIds: [signer.publicKey] } });
  const found = orders?.edges.map(({ node: record }) => record?.stopOrder);
  expect(found).toHaveLength(2);
  expect(found?.[0]?.ocoLinkId).toBe(found?.[1]?.id);
  expect(found?.[1]?.ocoLinkId).toBe(found?.[0]?.id);
});

test("what the network rejects is listed as rejected, with the reason", async () => {
  const signer = signerFromSeed(block.hash);
  const command = stopOrder();
  if (command.case !== "stopOrdersSubmission" || command.value.risesAbove === undefined) {
    throw new Error("no stop order");
  }
  const expired = { ...command.value.risesAbove, expiresAt: 1n, expiryStrategy: 1 };
  await client.sendCommand({ case: "stopOrdersSubmission", value: { risesAbove: expired } }, { signer });
  await node.makeBlock();
  const { orders } = await client.listStopOrders({ filter: { partyIds: [signer.publicKey] } });
  expect(orders?.edges.map(({ node: record }) => record?.stopOrder)).toMatchObject([{ status: 6, rejectionReason: 2 }]);
});

test("each type of submission answers when it should", async () => {
  const signer = signerFromSeed(block.hash);
  const committed = client.sendCommand(stopOrder(), { signer, type: "commit" });
  const seen = async () => (await client.spamStatistics(signer.publicKey))?.pow?.blockStates.at(-1)?.transactionsSeen;
  while ((await seen()) !== 1n) {}
  await node.makeBlock();
  expect(await committed).toMatchObject({ success: true });
  const tx = await client.signCommand(stopOrder(), { signer });
  const bad = { ...tx, version: 0 };
  const type = SubmitTransactionRequest_Type.ASYNC;
  expect(await client.submitTransaction({ tx: bad, type })).toMatchObject({ success: true });
  await expect(client.submitTransaction({ tx, type: unknownNumber })).rejects.toThrow("type is 9");
});

describe("a node of the deployed form", () => {
  test("takes the prefix in the signature only", async () => {
    await using deployed = await startDevnode({
      segments: 1,
      blocksPerSegment: 5,
      blockMs: 0,
      chainIdPrefix: "signature-only",
    });
    await using connected = createClient({ transport: "rest", rest: { url: deployed.restUrl } });
    const chainIdPrefix = "signature-only";
    expect(await connected.sendCommand(stopOrder(), { signer: sender, chainIdPrefix })).toMatchObject({
      success: true,
    });
    expect(await connected.sendCommand(stopOrder(), { signer: sender, version: "TX_VERSION_V2" })).toMatchObject({
      success: true,
    });
    await expect(connected.sendCommand(stopOrder(), { signer: sender })).rejects.toThrow(
      "tx.inputData must not begin, as it is submitted, with the chain's identifier tradewire-devnet",
    );
  });
});

/** A change to a good transaction, and the field that the refusal has to name. */
type Tampering = readonly [what: string, field: string, make: () => Promise<Transaction>];

const signature = (tx: Transaction, change: { algo?: string; value?: string; version?: number }): Transaction => ({
  ...tx,
  signature: Object.assign(create(SignatureSchema, tx.signature), change),
});
const signatureBytes = (tx: Transaction) => Buffer.from(tx.signature?.value ?? "", "hex");
const pow = (tx: Transaction, change: { tid?: string; nonce?: bigint }): Transaction => ({
  ...tx,
  pow: Object.assign(create(ProofOfWorkSchema, tx.pow), change),
});
const good = () => craft({ block });
const changed = (change: (tx: Transaction) => Transaction) => async () => change(await good());
const flipped = (bytes: Uint8Array, at: number) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));

/** The order of Ed25519's group: adding it to a signature's second half gives another that sloppy verifiers take. */
const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** A nonce that is a proof of work of one difficulty and not of another. */
function nonceBetween(tid: string, blockHash: string, difficulty: number, below: number): bigint {
  let nonce = 0n;
  const is = (bits: number) => verify({ blockHash, tid, nonce, difficulty: bits });
  while (!is(difficulty) || is(below)) {
    nonce += 1n;
  }
  return nonce;
}

const tamperings: readonly Tampering[] = [
  ["no version", "tx.version", changed((tx) => ({ ...tx, version: 0 }))],
  ["an unknown version", "tx.version", changed((tx) => ({ ...tx, version: unknownNumber }))],
  ["the older version, with the prefix", "tx.inputData", changed((tx) => ({ ...tx, version: 2 }))],
  ["an address", "tx.address", changed((tx) => ({ ...tx, from: { case: "address", value: sender.publicKey } }))],
  ["no key", "tx.pubKey", changed((tx) => ({ ...tx, from: { case: undefined } }))],
  [
    "a short key",
    "tx.pubKey",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: sender.publicKey.slice(2) } })),
  ],
  [
    "a key in capitals",
    "tx.pubKey",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: sender.publicKey.toUpperCase() } })),
  ],
  [
    "another's key",
    "tx.signature.value",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: signerFromSeed("01".repeat(32)).publicKey } })),
  ],
  [
    "a key that is no point",
    "tx.signature.value",
    changed((tx) => ({ ...tx, from: { case: "pubKey", value: "ff".repeat(32) } })),
  ],
  ["no signature", "tx.signature", changed(({ signature: _, ...tx }) => tx)],
  ["another algorithm", "tx.signature.algo", changed((tx) => signature(tx, { algo: "ed25519" }))],
  ["no algorithm", "tx.signature.algo", changed((tx) => signature(tx, { algo: "" }))],
  ["another version of the algorithm", "tx.signature.version", changed((tx) => signature(tx, { version: 2 }))],
  ["an empty signature", "tx.signature.value", changed((tx) => signature(tx, { value: "" }))],
  ["a signature that is no hex", "tx.signature.value", changed((tx) => signature(tx, { value: "x".repeat(128) }))],
  [
    "a short signature",
    "tx.signature.value",
    changed((tx) => signature(tx, { value: tx.signature?.value.slice(2) ?? "" })),
  ],
  [
    "a flipped bit in the signature's first half",
    "tx.signature.value",
    changed((tx) => signature(tx, { value: Buffer.from(flipped(signatureBytes(tx), 3)).toString("hex") })),
  ],
  [
    "a flipped bit in its second half",
    "tx.signature.value",
    changed((tx) => signature(tx, { value: Buffer.from(flipped(signatureBytes(tx), 40)).toString("hex") })),
  ],
  [
    "the signature's other form",
    "tx.signature.value",
    changed((tx) => {
      const bytes = signatureBytes(tx);
      const half = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString("hex")}`) + GROUP_ORDER;
      bytes.set(Buffer.from(half.toString(16).padStart(64, "0"), "hex").toReversed(), 32);
      return signature(tx, { value: bytes.toString("hex") });
    }),
  ],
  ["a signature without the prefix", "tx.signature.value", () => craft({ block, signedPrefix: new Uint8Array() })],
  [
    "a signature for another chain",
    "tx.signature.value",
    () => craft({ block, signedPrefix: chainIdPrefixOf("devnode-2") }),
  ],
  ["no input data", "tx.inputData", changed((tx) => ({ ...tx, inputData: new Uint8Array() }))],
  ["no prefix", "tx.inputData", () => craft({ block, submittedPrefix: new Uint8Array() })],
  [
    "another chain's prefix",
    "tx.inputData",
    () => craft({ block, signedPrefix: chainIdPrefixOf("devnode-2"), submittedPrefix: chainIdPrefixOf("devnode-2") }),
  ],
  ["a prefix without the zero byte", "tx.inputData", () => craft({ block, submittedPrefix: Buffer.from("devnode-1") })],
  ["the prefix twice", "tx.inputData", () => craft({ block, submittedPrefix: Buffer.from("devnode-1\0devnode-1\0") })],
  [
    "a flipped bit in the price",
    "tx.signature.value",
    changed((tx) => ({ ...tx, inputData: flipped(tx.inputData, Buffer.from(tx.inputData).indexOf("9000000")) })),
  ],
  [
    "a byte more",
    "tx.inputData",
    changed((tx) => ({ ...tx, inputData: Buffer.concat([tx.inputData, Buffer.alloc(1)]) })),
  ],
  ["a byte less", "tx.inputData", changed((tx) => ({ ...tx, inputData: tx.inputData.subarray(0, -1) }))],
  [
    "a field more",
    "tx.signature.value",
    changed((tx) => ({ ...tx, inputData: Buffer.concat([tx.inputData, Buffer.from([0x18, 1])]) })),
  ],
  ["nonce 0", "tx.inputData.nonce", () => craft({ block, inputData: { nonce: 0n } })],
  ["an old block", "tx.inputData.blockHeight", () => craft({ block, inputData: { blockHeight: block.height - 101n } })],
  [
    "a block to come",
    "tx.inputData.blockHeight",
    () => craft({ block, inputData: { blockHeight: block.height + 1n } }),
  ],
  ["no block", "tx.inputData.blockHeight", () => craft({ block, inputData: { blockHeight: 0n } })],
  ["no command", "tx.inputData.command", () => craft({ block, inputData: { command: { case: undefined } } })],
  [
    "an unknown command",
    "tx.inputData.command",
    () => {
      const $unknown = [{ no: 5000, wireType: 2, data: Uint8Array.of(1, 7) }];
      return craft({ block, inputData: { command: { case: undefined }, $unknown } });
    },
  ],
  [
    "a command beside those of the specification",
    "tx.inputData.command",
    () => craft({ block, inputData: { command: { case: "nodeVote", value: {} } } }),
  ],
  [
    "a price that is not whole",
    "stopOrdersSubmission.risesAbove.price",
    () => craft({ block, inputData: { command: stopOrder("1.5") } }),
  ],
  [
    "no market",
    "stopOrdersSubmission.risesAbove.orderSubmission.marketId",
    () => craft({ block, inputData: { command: stopOrder("1", "") } }),
  ],
  ["no proof of work", "tx.pow.tid", changed(({ pow: _, ...tx }) => tx)],
  ["no tid", "tx.pow.tid", changed((tx) => pow(tx, { tid: "" }))],
  [
    "a reused tid",
    "tx.pow.tid",
    async () => {
      const { transaction } = await client.sendCommand(stopOrder(), { signer: sender });
      return pow(await good(), { tid: transaction.pow?.tid ?? "" });
    },
  ],
  [
    "what was signed and sent before, under a new tid",
    "tx.inputData.nonce",
    async () => {
      const { transaction } = await client.sendCommand(stopOrder(), { signer: sender });
      const tid = "77".repeat(32);
      const { nonce } = await solve({ blockHash: block.hash, tid, difficulty: block.difficulty });
      return pow(transaction, { tid, nonce });
    },
  ],
  [
    "too low a difficulty",
    "tx.pow.nonce",
    changed((tx) =>
      pow(tx, { nonce: nonceBetween(tx.pow?.tid ?? "", block.hash, block.difficulty - 3, block.difficulty) }),
    ),
  ],
  [
    "a proof of work for another block",
    "tx.pow.nonce",
    async () => {
      const older = "00".repeat(32);
      const tx = await craft({ block: { ...block, hash: older } });
      const { tid = "" } = tx.pow ?? {};
      let { nonce = 0n } = tx.pow ?? {};
      while (verify({ blockHash: block.hash, tid, nonce, difficulty: block.difficulty })) {
        ({ nonce } = await solve({ blockHash: older, tid, difficulty: block.difficulty, startNonce: nonce + 1n }));
      }
      return pow(tx, { nonce });
    },
  ],
];

describe("tampered transactions are refused, by result, with the field's name", () => {
  test.each(tamperings)("%s: %s", async (_, field, make) => {
    const result = await submit(await make());
    expect(result.success).toBe(false);
    expect(result.code).toBeGreaterThan(0);
    expect(Object.keys(JSON.parse(result.data))).toEqual([field]);
    expect(result.log).toMatch(new RegExp(`^${field.replaceAll(".", "\\.")} [a-z]`));
  });

  test("and what they were made of is not", async () => {
    expect(await submit(await good())).toMatchObject({ success: true, log: "" });
    expect(tamperings.length).toBeGreaterThanOrEqual(30);
  });
});
