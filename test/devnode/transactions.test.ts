import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { SubmitTransactionRequest_Type } from "../../gen/vega/api/v1/core_pb.js";
import { type Client, createClient } from "../../src/client.js";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { RequestError, TransactionError } from "../../src/errors/index.js";
import { signerFromSeed } from "../../src/transaction/signer.js";
import type { BlockTask } from "../../src/transaction/transaction.js";
import { lastBlock, market, restingOrder, sender, stopOrder } from "../support/transactions.js";

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
  block = await lastBlock(client);
});

describe.each(["grpc", "grpc-js", "rest"] as const)("over %s", (transport) => {
  const over = () =>
    createClient(
      transport === "rest" ? { transport, rest: { url: node.restUrl } } : { transport, grpc: { url: node.grpcUrl } },
    );

  test("a stop order is listed after the next block, and no more as live once it is cancelled", async () => {
    await using connected = over();
    const price = String(9_000_000 + transport.length);
    const signer = signerFromSeed(block.hash);
    // Without an order or a position, the stop order would be rejected.
    await connected.sendCommand(restingOrder, { signer });
    await node.makeBlock();
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
    expect(await connected.submitTransaction({ tx, type: SYNC })).toMatchObject({ success: true });
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
