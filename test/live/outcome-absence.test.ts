// A transaction is refused for good `spam.pow.numberOfPastBlocks` blocks after the block that it is tied to (v0.78.0,
// `verifyWithLock` in core/pow/engine.go), and the data node keeps each version of an order with the hash of the
// transaction that made it (`GetByTxHash` in datanode/sqlstore/orders.go). So where nothing is recorded by then, nothing
// was executed.
import { expect, test } from "@jest/globals";
import { type Client, type CommandInit, createClient, signerFromMnemonic, type Transaction } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../support/devnode.js";
import { stopOrder } from "../support/transactions.js";

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

test("what was executed is not absent", async () => {
  await withSigned(submission, async ({ node, client, tx }) => {
    await client.submitTransaction({ tx });
    await makeBlocks(node, 130);
    expect(await client.outcome(tx)).toMatchObject({ status: "executed", evidence: "records" });
  });
});
