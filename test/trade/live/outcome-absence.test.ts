// A transaction is refused for good `spam.pow.numberOfPastBlocks` blocks after the block that it is tied to (v0.78.0,
// `verifyWithLock` in core/pow/engine.go). So where nothing is recorded by then of what it would have changed, nothing was executed.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  createClient,
  openFileJournal,
  signerFromMnemonic,
  solveProofOfWork,
  type Transaction,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../../support/devnode.js";
import { stopOrder } from "../../support/transactions.js";

const order = {
  marketId: openMarket,
  size: 1n,
  side: Side.BUY,
  timeInForce: Order_TimeInForce.GTC,
  type: Order_Type.LIMIT,
  price: "1",
};
const submission: CommandInit = { case: "orderSubmission", value: order };
const cancelAll: CommandInit = { case: "orderCancellation", value: { marketId: openMarket } };
const cancelOne: CommandInit = { case: "orderCancellation", value: { marketId: openMarket, orderId: "ab".repeat(32) } };

async function makeBlocks(node: Devnode, count: number): Promise<void> {
  for (let made = 0; made < count; made += 1) {
    await node.makeBlock();
  }
}

/** Signs a command with a node that makes blocks on demand, and takes a look at it after some blocks. */
async function withSigned(
  command: CommandInit,
  act: (signed: { readonly node: Devnode; readonly client: Client; readonly tx: Transaction }) => Promise<void>,
): Promise<void> {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = createClient({ grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
  using signer = await signerFromMnemonic(node.mnemonic);
  await act({ node, client, tx: await client.signCommand(command, { signer }) });
}

test.each<[string, CommandInit, number]>([
  ["order", submission, 1],
  ["pair of stop orders", stopOrder("9000001"), 1],
  ["cancellation of an order", cancelOne, 1],
  ["batch", { case: "batchMarketInstructions", value: { submissions: [order], cancellations: [cancelOne.value] } }, 2],
])("that no block took has failed once none can: %s", async (_, command, parts) => {
  await withSigned(command, async ({ node, client, tx }) => {
    await makeBlocks(node, 126);
    expect(await client.outcome(tx)).toEqual({
      status: "failed",
      evidence: "absence",
      txHash: expect.stringMatching(/^[0-9A-F]{64}$/),
      block: undefined,
      reason: "the data node has all blocks that could contain it, and no record of it",
      parts: Array.from({ length: parts }, () => expect.objectContaining({ status: "failed" })),
    });
  });
});

test("a transaction that may still be taken is not absent", async () => {
  await withSigned(submission, async ({ node, client, tx }) => {
    await makeBlocks(node, 125);
    expect(await client.outcome(tx, { timeoutMs: 1500 })).toMatchObject({ status: "unknown" });
  });
});

test("a command that leaves no record is not absent", async () => {
  await withSigned(cancelAll, async ({ node, client, tx }) => {
    await makeBlocks(node, 126);
    expect(await client.outcome(tx, { timeoutMs: 1500 })).toMatchObject({ status: "unknown" });
  });
});

test("the cancellation of a stop order has failed once none can take it and the stop order still waits", async () => {
  await withSigned(submission, async ({ node, client, tx: first }) => {
    using signer = await signerFromMnemonic(node.mnemonic);
    await client.submitTransaction({ tx: first }); // A party needs an order, or a position, to submit stop orders.
    const tx = await client.signCommand(stopOrder("9000001"), { signer });
    await client.submitTransaction({ tx });
    await node.makeBlock();
    const outcome = await client.outcome(tx);
    const stopOrderId = (outcome.status === "executed" && outcome.parts[0]?.id) || "";
    const cancellation: CommandInit = { case: "stopOrdersCancellation", value: { marketId: openMarket, stopOrderId } };
    const [unsent, sent] = [
      await client.signCommand(cancellation, { signer }),
      await client.signCommand(cancellation, { signer }),
    ];
    await makeBlocks(node, 126);
    expect(await client.outcome(unsent)).toMatchObject({ status: "failed", evidence: "absence" });
    const later = await client.signCommand(cancellation, { signer });
    await client.submitTransaction({ tx: later });
    await makeBlocks(node, 126);
    for (const each of [sent, later]) {
      // Which of the two has canceled it, no record says.
      expect(await client.outcome(each, { timeoutMs: 1000 })).toMatchObject({ status: "unknown" });
    }
  });
});

test("what was executed is not absent", async () => {
  await withSigned(submission, async ({ node, client, tx }) => {
    await client.submitTransaction({ tx });
    await makeBlocks(node, 130);
    expect(await client.outcome(tx)).toMatchObject({ status: "executed", evidence: "records" });
  });
});

test("what was executed is not absent after a hundred blocks full of trades", async () => {
  await using node = await startDevnode({ blockMs: 0, activity: 5 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  using signer = await signerFromMnemonic(node.mnemonic);
  const { transaction } = await client.sendCommand(submission, { signer });
  await makeBlocks(node, 150);
  expect(await client.outcome(transaction)).toMatchObject({ status: "executed", evidence: "records" });
});

// The identifier of an order is derived from the signature alone (v0.78.0, `DeterministicID` in core/processor/abci.go), so the
// same order may come by another proof of work, and then has another hash.
test("an order that the data node has is not absent, although it has another hash", async () => {
  await withSigned(submission, async ({ node, client, tx }) => {
    const { hash: blockHash, spamPowDifficulty: difficulty } = await client.lastBlockHeight();
    const { tid = "", nonce = 0n } = tx.pow ?? {};
    const other = await solveProofOfWork({ blockHash, tid, difficulty, startNonce: nonce + 1n });
    const { $typeName } = tx.pow ?? { $typeName: "vega.commands.v1.ProofOfWork" };
    await client.submitTransaction({ tx: { ...tx, pow: { $typeName, tid, nonce: other.nonce } } });
    await makeBlocks(node, 130);
    expect(await client.outcome(tx, { timeoutMs: 1500 })).toMatchObject({
      status: "unknown",
      reason: expect.stringContaining("is STATUS_ACTIVE, but no record has the hash"),
    });
  });
});

// The data node's row of an order's version in a block has the hash of the last transaction that changed it (v0.78.0, `OrderKey`
// in datanode/entities/order.go, and `Add` in datanode/sqlstore/batcher_map.go), here of the trade with the amended order.
test("an amendment is not absent although a trade of its block has taken its record", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  using signer = await signerFromMnemonic(node.mnemonic);
  using other = await signerFromMnemonic(node.mnemonic, { index: 2 });
  const resting = { ...order, price: "2600000", size: 20n };
  const { transaction: placed } = await client.sendCommand({ case: "orderSubmission", value: resting }, { signer });
  await node.makeBlock();
  const outcome = await client.outcome(placed);
  const orderId = (outcome.status === "executed" && outcome.parts[0]?.id) || "";
  const { transaction } = await client.sendCommand(
    { case: "orderAmendment", value: { marketId: openMarket, orderId, sizeDelta: -10n } },
    { signer },
  );
  const taking = { ...order, side: Side.SELL, price: "2600000", size: 100_000n, timeInForce: Order_TimeInForce.IOC };
  await client.sendCommand({ case: "orderSubmission", value: taking }, { signer: other });
  await makeBlocks(node, 130);
  const { order: amended } = await client.service(TradingDataService).getOrder({ orderId });
  expect(amended).toMatchObject({ version: 2n, size: 10n });
  expect((await client.outcome(transaction, { timeoutMs: 1500 })).status).not.toBe("failed");
});

test("an amendment that no block took has failed once none can, if its order was never amended", async () => {
  await withSigned(submission, async ({ node, client, tx }) => {
    using signer = await signerFromMnemonic(node.mnemonic);
    await client.submitTransaction({ tx });
    await node.makeBlock();
    const outcome = await client.outcome(tx);
    const orderId = (outcome.status === "executed" && outcome.parts[0]?.id) || "";
    const amendment: CommandInit = { case: "orderAmendment", value: { marketId: openMarket, orderId, sizeDelta: 5n } };
    const unsent = await client.signCommand(amendment, { signer });
    await makeBlocks(node, 130);
    expect(await client.outcome(unsent)).toMatchObject({ status: "failed", evidence: "absence" });
  });
});

// The network takes a stop order on an unknown market with code 0, reports success, and does nothing (v0.78.0,
// `DeliverStopOrdersSubmission` in core/processor/abci.go returns no error).
test("a stop order on an unknown market has failed, for all who ask", async () => {
  await using node = await startDevnode({ blockMs: 30 });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  using signer = await signerFromMnemonic(node.mnemonic);
  const folder = await mkdtemp(join(tmpdir(), "tradewire-absence-"));
  try {
    await using journal = await openFileJournal(join(folder, "orders.journal"));
    await using intents = client.intents({ signer, journal });
    const command = stopOrder("9000001", "ab".repeat(32));
    const { outcome, transaction } = await client.sendCommand(command, { signer, until: "executed" });
    const failed = { status: "failed", evidence: "absence" };
    expect(outcome).toMatchObject({ ...failed, block: expect.any(BigInt), parts: [{ status: "failed" }] });
    expect(await intents.submit(command, { id: "one" })).toMatchObject({ ...failed, block: expect.any(BigInt) });
    await makeBlocks(node, 126);
    expect(await client.outcome(transaction)).toMatchObject({ ...failed, parts: [{ status: "failed" }] });
  } finally {
    await rm(folder, { recursive: true });
  }
});
