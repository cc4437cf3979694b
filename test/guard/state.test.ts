// What a guard does when it does not know what it needs, and what it knows of orders of each kind.
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  type Guard,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  PolicyError,
  Side,
  signerFromMnemonic,
} from "tradewire";
import type { Devnode } from "tradewire/devnode";
import { clientOfChangedMarkets } from "../support/changed-markets.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";
import { clientOf, limitOrder, startNode, trade, volumeOf } from "../support/leases.js";
import { startStallingProxy } from "../support/stalling-proxy.js";
import { nodeRuntime, useRuntime } from "../support/virtual-runtime.js";

let node: Devnode;
let client: Client;
let one: bigint;
beforeAll(async () => {
  node = await startNode();
  client = clientOf(node.grpcUrl);
  one = (await client.marketUnits(openMarket)).size.parse("1");
});
afterAll(async () => {
  await client.close();
  await node.close();
});

/** Each test has a key of its own. */
let index = 2;
const newSigner = () => {
  index += 1;
  return signerFromMnemonic(node.mnemonic, { index });
};

const { GTC, IOC } = Order_TimeInForce;
const rules = { maxSize: "10", maxNotional: "99999999999", maxPosition: "12" };
const policyOf = (more: object = {}) => ({
  maxOrdersPerMinute: 1000,
  markets: { [openMarket]: { ...rules, ...more } },
});
const order = (size: bigint, more: object = {}) => limitOrder({ size, timeInForce: GTC, ...more });
const cancellation: CommandInit = { case: "orderCancellation", value: {} };

/** Why a guard refuses a command; `undefined` if it allows it. */
async function refusal(guard: Guard, command: CommandInit): Promise<PolicyError | undefined> {
  const error = await guard.check(command).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !(error instanceof PolicyError)) {
    throw error;
  }
  return error;
}

describe("a guard that does not know", () => {
  it("what the node shows, for longer than 10 s, refuses all but cancellations", async () => {
    using signer = await newSigner();
    await using proxy = await startStallingProxy(node.grpcUrl);
    await using stalled = clientOf(proxy.url);
    await using guard = await stalled.guard({ signer, policy: policyOf() });
    proxy.stall();
    expect(await refusal(guard, order(one))).toBeUndefined();
    const from = nodeRuntime.monotonicMs();
    using _ = useRuntime({ monotonicMs: () => from + 11_000 });
    const refused = await refusal(guard, order(one));
    expect(refused).toMatchObject({ rule: "state", summary: expect.stringContaining("for 10000 ms") });
    expect(await refusal(guard, cancellation)).toBeUndefined();
  });

  it("why the node does not answer any more says so, and goes on after that", async () => {
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    await using guard = await failing.guard({ signer, policy: policyOf() });
    proxy.isDown = true;
    proxy.cut();
    let lateMs = 11_000;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + lateMs });
    await eventually(async () => /not known/.test((await refusal(guard, order(one)))?.summary ?? ""));
    expect(await refusal(guard, order(one))).toMatchObject({ rule: "state" });
    proxy.isDown = false;
    lateMs = 0;
    await eventually(async () => (await refusal(guard, order(one))) === undefined);
  });

  it("the mark price refuses what counts by it", async () => {
    using signer = await newSigner();
    await using unmarked = clientOfChangedMarkets(node, (data) => {
      data.markPrice = data.market === openMarket ? "0" : data.markPrice;
    });
    await using guard = await unmarked.guard({ signer, policy: policyOf() });
    const market = { type: Order_Type.MARKET, price: "", timeInForce: IOC };
    const peggedOrder = { reference: PeggedReference.BEST_BID, offset: "5" };
    expect(await refusal(guard, order(one))).toBeUndefined(); // A buy order counts by its own price.
    expect(await refusal(guard, order(one, { side: Side.SELL }))).toMatchObject({ rule: "state" });
    expect(await refusal(guard, order(one, market))).toMatchObject({ rule: "state" });
    expect(await refusal(guard, order(one, { price: "", peggedOrder }))).toMatchObject({ rule: "state" });
    await using near = await unmarked.guard({ signer, policy: policyOf({ maxDistance: "0.5" }) });
    expect(await refusal(near, order(one))).toMatchObject({ rule: "state" });
  });
});

describe("a guard that counts", () => {
  it("the hidden part of iceberg orders, and pegged orders by the mark price", async () => {
    using signer = await newSigner();
    await using guard = await client.guard({ signer, policy: policyOf() });
    const icebergOpts = { peakSize: one, minimumVisibleSize: one };
    await client.sendCommand(order(8n * one, { icebergOpts }), { signer: guard, until: "executed" });
    // A second guard knows of the order only what the node lists.
    await using second = await client.guard({ signer, policy: policyOf() });
    expect(await refusal(second, order(4n * one))).toBeUndefined();
    expect(await refusal(second, order(5n * one))).toMatchObject({ rule: "maxPosition", limit: "12", value: "13" });
    const peggedOrder = { reference: PeggedReference.BEST_BID, offset: "5" };
    await client.sendCommand(order(3n * one, { price: "", peggedOrder }), { signer: guard, until: "executed" });
    await using third = await client.guard({ signer, policy: policyOf() });
    expect(await refusal(third, order(one))).toBeUndefined();
    expect(await refusal(third, order(2n * one))).toMatchObject({ rule: "maxPosition", limit: "12", value: "13" });
    await using small = await client.guard({ signer, policy: policyOf({ maxNotional: "500000" }) });
    expect(await refusal(small, order(one, { price: "", peggedOrder }))).toBeUndefined();
    expect(await refusal(small, order(2n * one, { price: "", peggedOrder }))).toMatchObject({ rule: "maxNotional" });
  });
});

describe("the kill switch", () => {
  it("halts, and reports what it could not do, if the node does not answer", async () => {
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    await using guard = await failing.guard({ signer, policy: policyOf() });
    await client.sendCommand(order(one), { signer, until: "executed" });
    proxy.isDown = true;
    proxy.cut();
    const report = await guard.kill({ timeoutMs: 1500 });
    expect(report).toMatchObject({ isClear: false, orders: undefined, stopOrders: undefined, positions: undefined });
    expect(report.cancellations.executed).toBe(0);
    expect(report.problems.length).toBeGreaterThan(0);
    expect(report.problems.length).toBeLessThanOrEqual(10);
    expect(guard.mode).toBe("halted");
    proxy.isDown = false;
    expect(await guard.kill()).toMatchObject({ isClear: true, orders: [], stopOrders: [] });
  });

  it("goes on until a node that failed answers again", async () => {
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    await using guard = await failing.guard({ signer, policy: policyOf() });
    await trade({ client, signer }, one);
    await client.sendCommand(order(one), { signer, until: "executed" });
    proxy.isDown = true;
    proxy.cut();
    const killing = guard.kill();
    await eventually(() => proxy.refused > 5);
    proxy.isDown = false;
    const report = await killing;
    expect(report).toMatchObject({ isClear: true, orders: [], stopOrders: [] });
    expect(report.positions).toEqual({ [openMarket]: String(await volumeOf({ client, signer })) });
  });

  it("halts and sends nothing, if its signal is aborted already", async () => {
    using signer = await newSigner();
    await using guard = await client.guard({ signer, policy: policyOf() });
    await client.sendCommand(order(one), { signer: guard, until: "executed" });
    const report = await guard.kill({ signal: AbortSignal.abort() });
    expect(report).toMatchObject({ isClear: false, cancellations: { sent: 0, executed: 0 }, orders: undefined });
    expect(guard.mode).toBe("halted");
    await using second = await client.guard({ signer, policy: policyOf({ maxPosition: "10" }) });
    expect(await refusal(second, order(10n * one))).toMatchObject({ rule: "maxPosition", value: "11" });
    expect(await refusal(guard, order(one))).toMatchObject({ rule: "mode" });
  });
});
