import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { type BlockTask, type Client, createClient, signerFromSeed, TransactionError } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { CoreService, SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
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

/** A new block, which was used by nothing yet. */
let block: BlockTask;
beforeEach(async () => {
  await node.makeBlock();
  block = await lastBlock(client);
});

/** How many transactions wait for a block. */
const waiting = async () => (await client.service(CoreService).statistics({})).statistics?.backlogLength;

/** How many transactions of a key blocks hold that are tied to a block. */
async function servedBy({ height }: BlockTask, publicKey: string): Promise<bigint> {
  const statistics = await client.spamStatistics(publicKey);
  const state = statistics?.pow?.blockStates.find(({ blockHeight }) => blockHeight === height);
  return state?.transactionsSeen ?? 0n;
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
    // Without an order or a position, the stop order would be rejected.
    await connected.sendCommand(restingOrder, { signer });
    await node.makeBlock();
    const sent = await connected.sendCommand(stopOrder(price), { signer });
    expect(sent).toMatchObject({ success: true, code: 0, data: "", log: "", height: 0n });
    expect(sent.txHash).toMatch(/^[0-9A-F]{64}$/);
    const list = async (liveOnly: boolean) => {
      const found = [];
      const request = { filter: { partyIds: [signer.publicKey], liveOnly } };
      for await (const { node: record } of connected.records(TradingDataService.method.listStopOrders, request)) {
        found.push(record);
      }
      return found.filter(({ stopOrder: stop }) => stop?.trigger.value === price);
    };
    expect(await list(true)).toEqual([]);
    await node.makeBlock();
    const [record, ...more] = await list(true);
    expect(more).toEqual([]);
    expect(record).toMatchObject({
      stopOrder: { partyId: signer.publicKey, marketId: market, status: 1, triggerDirection: 1 },
      submission: { marketId: market, size: 10n, side: 2, reduceOnly: true },
    });
    const value = { marketId: market, stopOrderId: record?.stopOrder?.id ?? "" };
    await connected.sendCommand({ case: "stopOrdersCancellation", value }, { signer });
    await node.makeBlock();
    expect(await list(true)).toEqual([]);
    expect((await list(false))[0]).toMatchObject({ stopOrder: { status: 2, updatedAt: expect.anything() } });
  });

  test("a transaction that failed is refused when it is sent again", async () => {
    await using connected = over();
    const value = { marketId: market, orderId: "ab".repeat(32) };
    const { transaction: tx } = await connected.sendCommand({ case: "orderCancellation", value }, { signer: sender });
    await node.makeBlock();
    const error = await connected.submitTransaction({ tx, type: SYNC }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TransactionError);
    expect(error).toMatchObject({
      result: { success: false, code: 89, data: "transaction hash already used", log: "" },
      message: expect.stringMatching(/^the network refused the transaction \(code 89\): transaction hash already used/),
    });
  });

  test("a transaction is checked without being taken, and counts as seen until the next block", async () => {
    await using connected = over();
    const tx = await connected.signCommand(stopOrder(), { signer: sender });
    const seen = { success: false, code: 89, data: "proof of work tid already seen by the node" };
    expect(await connected.checkTransaction(tx)).toMatchObject({ success: true, code: 0 });
    expect(await connected.checkTransaction(tx)).toMatchObject(seen);
    const wrong = { ...tx, version: 0 };
    expect(await connected.checkTransaction(wrong)).toMatchObject({ success: false, code: 60 });
    expect(await connected.submitTransaction({ tx, type: SYNC }, { throwOnRejection: false })).toMatchObject(seen);
    await node.makeBlock();
    expect(await connected.submitTransaction({ tx, type: SYNC })).toMatchObject({ success: true });
  });

  test("statistics tell what a block has served, and the last block what is needed", async () => {
    await using connected = over();
    const publicKey = signerFromSeed(block.hash).publicKey;
    await connected.sendCommand(stopOrder(), { signer: signerFromSeed(block.hash) });
    expect((await connected.spamStatistics(publicKey))?.pow?.blockStates).toMatchObject([{ transactionsSeen: 0n }]);
    await node.makeBlock();
    const statistics = await connected.spamStatistics(publicKey);
    const [used, last, ...others] = statistics?.pow?.blockStates ?? [];
    expect([last?.blockHeight, last?.transactionsSeen, others]).toEqual([block.height + 1n, 0n, []]);
    expect(used).toMatchObject({
      blockHeight: block.height,
      blockHash: block.hash,
      transactionsSeen: 1n,
      difficulty: 15n,
      txPerBlock: 2n,
      increasingDifficulty: true,
    });
  });

  test("a request without a transaction is an error, not a result", async () => {
    await using connected = over();
    const core = connected.service(CoreService);
    await expect(core.submitTransaction({ type: SYNC })).rejects.toMatchObject({ code: Code.Internal });
    expect((await connected.spamStatistics("x"))?.pow?.blockStates).toHaveLength(1);
  });
});

test("a busy sender is never refused, nor the harder work ever missing", async () => {
  const results = await Promise.all(
    Array.from({ length: 8 }, (_, index) => client.sendCommand(stopOrder(String(index + 1)), { signer: sender })),
  );
  expect(results.map(({ success }) => success)).toEqual(Array.from({ length: 8 }, () => true));
  await node.makeBlock();
  expect(await servedBy(block, sender.publicKey)).toBe(8n);
});

test("where a block has served enough, the next one is waited for", async () => {
  const signer = signerFromSeed(block.hash);
  const sends = Promise.all(Array.from({ length: 9 }, () => client.sendCommand(stopOrder(), { signer })));
  while ((await waiting()) !== 8n) {}
  await node.makeBlock();
  await sends;
  const next = await lastBlock(client);
  await node.makeBlock();
  expect([await servedBy(block, signer.publicKey), await servedBy(next, signer.publicKey)]).toEqual([8n, 1n]);
});

// A node counts what blocks hold, not what waits (core/pow/engine.go).
test("what others send with the same key is not known before it is in a block", async () => {
  await using other = createClient({ transport: "rest", rest: { url: node.restUrl } });
  const signer = signerFromSeed(block.hash);
  for (let sent = 0; sent < 3; sent += 1) {
    await other.sendCommand(stopOrder(), { signer });
  }
  expect(await client.sendCommand(stopOrder(), { signer })).toMatchObject({ success: true });
  expect(await servedBy(block, signer.publicKey)).toBe(0n);
  await node.makeBlock();
  expect([3n, 4n]).toContain(await servedBy(block, signer.publicKey)); // By chance a proof has zero bits to spare.
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
  while ((await waiting()) !== 1n) {}
  await node.makeBlock();
  expect(await committed).toMatchObject({ success: true });
  const tx = await client.signCommand(stopOrder(), { signer });
  const bad = { ...tx, version: 0 };
  const type = SubmitTransactionRequest_Type.ASYNC;
  expect(await client.submitTransaction({ tx: bad, type })).toMatchObject({ success: true });
  expect(await client.submitTransaction({ tx, type: unknownNumber })).toMatchObject({ success: true, code: 0 });
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
      "tx.input_data (couldn't unmarshall input data: proto: cannot parse invalid wire-format data)",
    );
  });
});
