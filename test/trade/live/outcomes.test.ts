import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  createClient,
  createTransaction,
  OutcomeUnknownError,
  RequestError,
  signerFromMnemonic,
  TransactionError,
} from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { transports } from "../../contract/transports.js";
import { committed } from "../../support/committed.js";
import { type CuttingProxy, startCuttingProxy } from "../../support/cutting-proxy.js";
import { eventually, standsStill } from "../../support/eventually.js";
import { lastBlock, market, stopOrder } from "../../support/transactions.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

function order(marketId = market, size = 1n) {
  const { GTC } = Order_TimeInForce;
  return { marketId, size, side: Side.BUY, timeInForce: GTC, type: Order_Type.LIMIT, price: "1" };
}

/** An order that is taken, and rejected when it is executed. */
const expired = () => ({ ...order(), timeInForce: Order_TimeInForce.GTT, expiresAt: 1n });

const submission = (marketId = market): CommandInit => ({ case: "orderSubmission", value: order(marketId) });

/** A stop order as `stopOrder` makes it, alone: one that waits for a price above, or below. */
function half(price: string) {
  const command = stopOrder(price);
  return command.case === "stopOrdersSubmission" ? command.value.risesAbove : undefined;
}

function clientOf(node: Devnode, url = node.grpcUrl): Client {
  return createClient({ transport: "grpc", grpc: { url }, retry: { baseMs: 10, maxMs: 20 } });
}

/** Make blocks until something has come to its end. */
async function whileBlocks<T>(node: Devnode, work: Promise<T>, everyMs = 20): Promise<T> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) {
    await sleep(everyMs); // The time between two blocks.
    await node.makeBlock();
  }
  return over;
}

const ways = transports.filter(({ name }) => name !== "rest envelopes");

describe.each(ways)("what becomes of a transaction, over $name", ({ config }) => {
  test("is told with the block, and for each part", async () => {
    await using node = await startDevnode({ blockMs: 50 });
    const endpoints = { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl }, nowhere: "127.0.0.1:1" };
    await using client = createClient(config(endpoints));
    using signer = await signerFromMnemonic(node.mnemonic);
    const until = "executed";
    const before = (await client.lastBlockHeight()).height;

    const single = await client.sendCommand(submission(), { signer, until });
    expect(single.outcome).toMatchObject({ status: "executed", txHash: single.txHash, parts: [{ path: "" }] });
    expect(single.txHash).toMatch(/^[0-9A-F]{64}$/);
    expect(single.outcome.status === "executed" && (single.outcome.block ?? 0n) > before).toBe(true);

    const refused = await client.sendCommand({ case: "orderSubmission", value: expired() }, { signer, until });
    expect(refused.outcome).toMatchObject({ status: "failed", reason: "invalid expiresAt time" });

    const batch: CommandInit = {
      case: "batchMarketInstructions",
      value: {
        cancellations: [{ marketId: market, orderId: "cd".repeat(32) }],
        submissions: [order(), expired(), order()],
        stopOrdersSubmission: [{ risesAbove: half("9000001") }],
      },
    };
    const { outcome } = await client.sendCommand(batch, { signer, until });
    expect(outcome).toMatchObject({
      status: "partial",
      parts: [
        { path: "cancellations[0]", status: "failed", reason: "unable to find the order in the market", id: undefined },
        { path: "submissions[0]", status: "executed", reason: undefined },
        { path: "submissions[1]", status: "failed", reason: "invalid expiresAt time" },
        { path: "submissions[2]", status: "executed" },
        { path: "stopOrdersSubmission[0].risesAbove", brings: "stop order", status: "executed" },
      ],
    });
    const stop = outcome.status === "unknown" ? undefined : outcome.parts.at(-1);
    await committed(client);
    expect((await client.stopOrder(stop?.id ?? "")).stopOrder.partyId).toBe(signer.publicKey);

    const halves = { risesAbove: half("9000000"), fallsBelow: half("1") };
    const pair: CommandInit = { case: "stopOrdersSubmission", value: halves };
    const linked = await client.sendCommand(pair, { signer, until });
    expect(linked.outcome).toMatchObject({
      status: "executed",
      parts: [
        { path: "fallsBelow", status: "executed" },
        { path: "risesAbove", status: "executed" },
      ],
    });
  });
});

test("a transaction that was signed before is waited for, too", async () => {
  await using node = await startDevnode({ blockMs: 50 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  const tx = await client.signCommand(submission(), { signer });
  const { outcome } = await client.submitTransaction({ tx, type: 2 }, { until: "executed" });
  expect(outcome).toMatchObject({ status: "executed", parts: [{ path: "" }] });
});

test("a transaction that is submitted once more has the outcome of the first submission", async () => {
  await using node = await startDevnode({ blockMs: 50 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  const tx = await client.signCommand(submission(), { signer });
  const first = await client.submitTransaction({ tx, type: 2 }, { until: "executed" });
  const { txHash, outcome } = await client.submitTransaction({ tx, type: 2 }, { until: "executed" });
  expect(txHash).toBe(first.txHash);
  expect(outcome).toMatchObject({ status: "executed", evidence: "records", parts: [{ brings: "order" }] });
});

test.each(["grpc", "grpc-js"] as const)(
  "the result comes although the connection of the submission is lost, over %s",
  async (transport) => {
    await using node = await startDevnode({ blockMs: 0 });
    node.failNext({ method: "vega.api.v1.CoreService/SubmitTransaction", with: "cut" });
    let blocks: Promise<unknown> | undefined;
    // The transaction is executed before a lost stream could be opened again.
    const makeBlocks = () => Promise.all([node.makeBlock(), node.makeBlock(), node.makeBlock()]);
    const onCallEnd = ({ method }: { method: string }) => {
      blocks ??= method.endsWith("/SubmitTransaction") ? makeBlocks() : undefined;
    };
    await using client = createClient({ transport, grpc: { url: node.grpcUrl } }, { hooks: { onCallEnd } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const { outcome } = await whileBlocks(node, client.sendCommand(submission(), { signer, until: "executed" }), 100);
    expect(outcome).toMatchObject({ status: "executed", block: expect.any(BigInt) });
    await blocks;
  },
);

test("a refusal is thrown, and so is what is no way to wait", async () => {
  await using node = await startDevnode({ blockMs: 50 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  const signed = await client.signCommand(submission(), { signer });
  const tx = { ...signed, version: 2 }; // Its signature is that of the other version.
  const submitted = client.submitTransaction({ tx, type: 2 }, { until: "executed" });
  await expect(submitted).rejects.toThrow(TransactionError);
  const wrong = JSON.parse('{"until":"mined"}');
  await expect(client.sendCommand(submission(), { signer, ...wrong })).rejects.toThrow(RequestError);
});

test("nothing is sent where the events cannot be followed", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  for (const service of ["datanode.api.v2.TradingDataService", "vega.api.v1.CoreService"]) {
    node.failNext({ method: `${service}/ObserveEventBus`, with: "UNIMPLEMENTED", times: 9 });
  }
  await expect(client.sendCommand(submission(), { signer, until: "executed" })).rejects.toMatchObject({
    name: "ProtocolError",
    summary: "the node offers no stream of events",
  });
  await node.makeBlock();
  const { blockStates = [] } = (await client.spamStatistics(signer.publicKey))?.pow ?? {};
  expect(blockStates.filter(({ transactionsSeen }) => transactionsSeen > 0n)).toEqual([]);
});

test("a core node alone is enough to observe an outcome", async () => {
  await using node = await startDevnode({ blockMs: 50 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  // A core without a data node answers so to each call of the data node's service.
  node.failNext({ method: "datanode.api.v2.TradingDataService/ObserveEventBus", with: "UNIMPLEMENTED" });
  const { outcome } = await client.sendCommand(submission(), { signer, until: "executed" });
  expect(outcome).toMatchObject({ status: "executed", evidence: "result", block: expect.anything() });
});

test("an order that came while the events were lost proves that it was carried out", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using proxy = await startCuttingProxy(node.grpcUrl);
  await using client = clientOf(node, proxy.url);
  using signer = await signerFromMnemonic(node.mnemonic);
  await expect(lostMeanwhile(node, proxy, client, submission(), signer)).resolves.toMatchObject({
    status: "executed",
    evidence: "records",
  });
});

test("a batch that was carried out while the events were lost is unknown, and what was looked at is told", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using proxy = await startCuttingProxy(node.grpcUrl);
  await using client = clientOf(node, proxy.url);
  using signer = await signerFromMnemonic(node.mnemonic);
  const batch: CommandInit = {
    case: "batchMarketInstructions",
    value: { cancellations: [{ marketId: market, orderId: "cd".repeat(32) }], submissions: [order()] }, // A cancellation leaves no record.
  };
  const outcome = await lostMeanwhile(node, proxy, client, batch, signer);
  expect(outcome).toMatchObject({
    status: "unknown",
    reason: expect.stringMatching(/^the results of blocks \d+ to \d+ may be missing,/),
    lookedAt: expect.arrayContaining([
      expect.objectContaining({ place: "events" }),
      { place: "order", found: expect.stringMatching(/^order [0-9a-f]{64} is STATUS_ACTIVE$/) },
      { place: "spam statistics", found: expect.stringContaining("was used by 1 transactions") },
      expect.objectContaining({ place: "last block" }),
    ]),
  });
});

describe("a transaction that no block had taken when the events were lost", () => {
  /** Sends an order that does not reach the node, and waits for its outcome. */
  async function lost(node: Devnode, client: Client) {
    using signer = await signerFromMnemonic(node.mnemonic);
    const tx = await client.signCommand(submission(), { signer });
    node.failNext({ method: "vega.api.v1.CoreService/SubmitTransaction", with: "UNAVAILABLE" });
    let isWaiting = (): void => {};
    const waits = new Promise<void>((resolve) => {
      isWaiting = resolve;
    });
    const sending = client.submitTransaction({ tx }, { until: "executed", timeoutMs: 60_000, onWait: isWaiting });
    return { tx, waits, sending };
  }

  async function loseBlock(node: Devnode, proxy: CuttingProxy): Promise<void> {
    proxy.isDown = true;
    proxy.cut();
    await node.makeBlock();
    proxy.isDown = false;
  }

  // The network refuses it 100 blocks after its own (v0.78.0, `verifyWithLock` in core/pow/engine.go).
  test("is waited for until the absence of its order proves that it has failed, 20 seconds later", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await startDevnode({ blockMs: 160 });
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using client = clientOf(node, proxy.url);
    const { waits, sending } = await lost(node, client);
    await runtime.until(waits);
    await loseBlock(node, proxy);
    const lostAt = runtime.monotonicMs();
    const { outcome } = await runtime.until(sending);
    expect(outcome).toMatchObject({ status: "failed", evidence: "absence", parts: [{ status: "failed" }] });
    expect(runtime.monotonicMs() - lostAt).toBeGreaterThan(19_000);
    expect(runtime.monotonicMs() - lostAt).toBeLessThan(30_000);
  });

  test("has the result of the block that takes it 20 blocks later", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await startDevnode({ blockMs: 160 });
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using client = clientOf(node, proxy.url);
    await using other = clientOf(node);
    const { tx, waits, sending } = await lost(node, client);
    await runtime.until(waits);
    await loseBlock(node, proxy);
    await runtime.pass(20 * 160);
    await runtime.until(other.submitTransaction({ tx }));
    const { outcome } = await runtime.until(sending);
    expect(outcome).toMatchObject({ status: "executed", evidence: "result" });
  });
});

/** Wait until so many transactions wait for a block. */
async function backlog(node: Devnode, length = 1n): Promise<void> {
  await using client = clientOf(node);
  const core = client.service(CoreService);
  await eventually(async () => ((await core.statistics({})).statistics?.backlogLength ?? 0n) >= length);
}

/** Send a command, and cut the connection before the block that carries it out. */
async function lostMeanwhile(
  node: Devnode,
  proxy: { isDown: boolean; cut(): void },
  client: Client,
  command: Parameters<Client["sendCommand"]>[0],
  signer: Awaited<ReturnType<typeof signerFromMnemonic>>,
) {
  // The stream is open from the first one on.
  await whileBlocks(node, client.sendCommand(submission(), { signer, until: "executed" }));
  const sending = client.sendCommand(command, { signer, until: "executed" });
  await backlog(node);
  proxy.isDown = true;
  proxy.cut();
  await node.makeBlock();
  proxy.isDown = false;
  return (await whileBlocks(node, sending, 100)).outcome;
}

test("closing the client ends the waits: before it was sent by an error, afterwards with an unknown outcome", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  using signer = await signerFromMnemonic(node.mnemonic);
  let calls = 0;
  const count = () => {
    calls += 1;
  };
  const hooks = { onCallStart: count, onCallEnd: count };
  const early = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }, { hooks });
  const unsent = early.sendCommand(submission(), { signer, until: "executed" });
  await eventually(() => calls > 0);
  await standsStill(() => calls); // It waits for a block, before which the events do not begin.
  await early.close();
  await expect(unsent).rejects.toThrow("the client was closed");

  const late = clientOf(node);
  await whileBlocks(node, late.sendCommand(submission(), { signer, until: "executed" }));
  const waiting = late.sendCommand(submission(), { signer, until: "executed" });
  await backlog(node);
  await late.close();
  const reason = "the event stream failed: the client was closed";
  await expect(waiting).resolves.toMatchObject({ outcome: { status: "unknown", reason } });
});

test("a transaction that no block takes until it is too old has failed", async () => {
  await using node = await startDevnode({ blockMs: 0, profile: "deployed" });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl }, profile: "deployed" });
  using signer = await signerFromMnemonic(node.mnemonic);
  let size = 0n;
  const numbered = () => {
    size += 1n; // An equal command that is executed leaves the others in doubt.
    return { case: "orderSubmission", value: order(market, size) } as const;
  };
  await whileBlocks(node, client.sendCommand(numbered(), { signer, until: "executed" })); // The stream is open now.
  // Too many for one block's hash are taken into the mempool, and dropped when the block is made.
  const form = { signer, block: await lastBlock(client), chainIdPrefix: "signature-only" } as const;
  const signed = await Promise.all(Array.from({ length: 12 }, () => createTransaction(numbered(), form)));
  const sending = signed.map((tx) => client.submitTransaction({ tx, type: 2 }, { until: "executed" }));
  await backlog(node, 12n);
  // The blocks are far faster than those of the chain before, which took a second each.
  const outcomes = await whileBlocks(node, Promise.all(sending), 1);
  const dropped = outcomes.flatMap(({ outcome }) => (outcome.status === "executed" ? [] : [outcome]));
  expect(dropped.length).toBeGreaterThan(0);
  expect(dropped.length).toBeLessThan(11);
  for (const outcome of dropped) {
    const reason = expect.stringMatching(/^no block up to \d+ contains it, and later blocks cannot$/);
    expect(outcome).toMatchObject({
      status: "failed",
      evidence: "blocks",
      block: undefined,
      reason,
      parts: [{ status: "failed" }],
    });
  }
});

test("a transaction that was carried out before it is sent again has not failed as no block takes it", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  const tx = await client.signCommand({ case: "cancelTransfer", value: { transferId: "ab".repeat(32) } }, { signer });
  await client.submitTransaction({ tx, type: 2 });
  await node.makeBlock();
  const again = client.submitTransaction({ tx, type: 1 }, { until: "executed" }); // The node answers before it checks.
  const { outcome } = await whileBlocks(node, again, 1);
  expect(outcome).toMatchObject({
    status: "unknown",
    reason: expect.stringMatching(/^no block up to \d+ contains it, .*; an earlier block may have it/),
  });
});

test("what became of an earlier one is found by its order, where its signature is known", async () => {
  await using node = await startDevnode({ blockMs: 0 });
  await using client = clientOf(node);
  using signer = await signerFromMnemonic(node.mnemonic);
  const abort = new AbortController();
  // The node answers once the block is made: the wait is given up before.
  const sending = client.sendCommand(submission(), { signer, type: "commit", signal: abort.signal });
  await backlog(node);
  abort.abort();
  const error: unknown = await sending.catch((reason: unknown) => reason);
  if (!(error instanceof OutcomeUnknownError)) {
    throw error;
  }
  expect(error.transaction).toMatchObject({ command: "orderSubmission", publicKey: signer.publicKey });
  await node.makeBlock();
  const outcome = await client.outcome(error);
  expect(outcome).toMatchObject({ status: "executed", txHash: error.transaction.txHash, evidence: "records" });
});

test("what became of an earlier one is unknown where nothing tells of it", async () => {
  await using node = await startDevnode({ blockMs: 50 });
  await using client = clientOf(node);
  const outcome = await client.outcome("AB".repeat(32), { timeoutMs: 3000 });
  expect(outcome).toEqual({
    status: "unknown",
    txHash: "AB".repeat(32),
    reason: expect.any(String),
    lookedAt: [
      { place: "events", found: expect.any(String) },
      { place: "records", found: expect.any(String) },
      { place: "last block", found: expect.stringMatching(/^the last block is \d+$/) },
      { place: "data node", found: expect.any(String) },
    ],
  });
  await expect(client.outcome("no hash")).rejects.toThrow(RequestError);
});
