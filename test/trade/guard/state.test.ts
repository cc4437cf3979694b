// What a guard does when it does not know what it needs, and what it knows of orders of each kind.
import { isMessage } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import {
  type CommandInit,
  createClient,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  Side,
  SubmitTransactionRequest_Type,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { GetOrderRequestSchema, ListOrdersResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { Order_Status, StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { clientOfChangedMarkets } from "../../support/changed-markets.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { marketRules, order, policyOf, refusal, signingAlone, useGuardedNode } from "../../support/guarded-node.js";
import { clientOf, limitOrder, trade, volumeOf } from "../../support/leases.js";
import { startStallingProxy } from "../../support/stalling-proxy.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";

const started = useGuardedNode();
const { newSigner, liveOrders } = started;
const { IOC } = Order_TimeInForce;
const cancellation: CommandInit = { case: "orderCancellation", value: {} };

describe("a guard that does not know", () => {
  it("what the node shows, for longer than 10 s, refuses all but cancellations", async () => {
    const { node, one } = started;
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

  it.each([
    ["stops while the machine is suspended", "monotonicMs"],
    ["is set back", "unixMs"],
  ] as const)("the time, because one of the clocks %s, goes by the other one", async (_, stopped) => {
    const { node, one } = started;
    using signer = await newSigner();
    await using proxy = await startStallingProxy(node.grpcUrl);
    await using stalled = clientOf(proxy.url);
    await using guard = await stalled.guard({ signer, policy: policyOf() });
    proxy.stall();
    const from = { monotonicMs: nodeRuntime.monotonicMs() + 11_000, unixMs: nodeRuntime.unixMs() + 11_000 };
    const still = stopped === "monotonicMs" ? nodeRuntime.monotonicMs() : nodeRuntime.unixMs() - 3_600_000;
    using __ = useRuntime({ monotonicMs: () => from.monotonicMs, unixMs: () => from.unixMs, [stopped]: () => still });
    expect(await refusal(guard, order(one))).toMatchObject({ rule: "state" });
  });

  it("the decimals of a market that `*` allows says that nothing was signed", async () => {
    const { node, one } = started;
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    const policy = { maxOrdersPerMinute: 10, markets: { "*": marketRules } };
    await using guard = await failing.guard({ signer, policy });
    proxy.isDown = true;
    proxy.cut();
    expect(await refusal(guard, order(one))).toMatchObject({
      rule: "state",
      value: openMarket,
      summary: expect.stringContaining("the decimals of market"),
      advice: expect.stringContaining("Nothing was signed."),
    });
    proxy.isDown = false;
    await eventually(async () => (await refusal(guard, order(one))) === undefined);
  });

  it("why the node does not answer any more says so, and goes on after that", async () => {
    const { node, one } = started;
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    await using guard = await failing.guard({ signer, policy: policyOf() });
    proxy.isDown = true;
    proxy.cut();
    let lateMs = 11_000;
    using _ = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + lateMs });
    await eventually(async () => /unknown/.test((await refusal(guard, order(one)))?.summary ?? ""));
    expect(await refusal(guard, order(one))).toMatchObject({ rule: "state" });
    proxy.isDown = false;
    lateMs = 0;
    await eventually(async () => (await refusal(guard, order(one))) === undefined);
  });

  it("the mark price refuses what counts by it", async () => {
    const { node, one } = started;
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
    const { client, one } = started;
    using signer = await newSigner();
    await using guard = await client.guard({ signer, policy: policyOf() });
    const icebergOpts = { peakSize: one, minimumVisibleSize: one };
    await client.sendCommand(order(8n * one, { icebergOpts }), { signer: guard, until: "executed" });
    // A second guard knows of the order only what the node lists.
    await using second = await client.guard({ signer, policy: policyOf() });
    expect(await refusal(second, order(4n * one))).toBeUndefined();
    expect(await refusal(second, order(5n * one))).toMatchObject({
      rule: "maxPosition",
      limit: "12",
      value: "13",
    });
    const peggedOrder = { reference: PeggedReference.BEST_BID, offset: "5" };
    const pegged = order(3n * one, { price: "", peggedOrder });
    await eventually(async () => (await refusal(guard, pegged)) === undefined); // A look that began before counts orders twice.
    await client.sendCommand(pegged, { signer: guard, until: "executed" });
    await using third = await client.guard({ signer, policy: policyOf() });
    expect(await refusal(third, order(one))).toBeUndefined();
    expect(await refusal(third, order(2n * one))).toMatchObject({
      rule: "maxPosition",
      limit: "12",
      value: "13",
    });
    await using small = await client.guard({ signer, policy: policyOf({ maxNotional: "500000" }) });
    expect(await refusal(small, order(one, { price: "", peggedOrder }))).toBeUndefined();
    expect(await refusal(small, order(2n * one, { price: "", peggedOrder }))).toMatchObject({
      rule: "maxNotional",
    });
  });

  // A data node sends the time of a block, and its events, before it commits the block's records, and begins the next block after
  // that: v0.78.0, `processBlock` in datanode/broker/sqlstore_broker.go. So the time of a block says that it has the blocks before.
  it("a signed order until the node has begun a block after the last one that may contain the order", async () => {
    const { one } = started;
    using signer = await newSigner();
    await using node = await startDevnode({ profile: "deployed", blockMs: 0, segments: 1, blocksPerSegment: 120 });
    let looks = 0;
    await using client = clientThat((name) => {
      looks += name === "ListLatestMarketData" ? 1 : 0;
    }, node);
    const nextLook = async () => {
      const before = looks;
      await eventually(() => looks >= before + 2); // The second one ends after the first one was applied.
    };
    await using guard = await client.guard({ signer, policy: policyOf() });
    const { chainId, height, spamPowNumberOfPastBlocks: past } = await client.lastBlockHeight();
    const DELAY_BLOCKS = 2; // A market may delay a transaction: see `createLedger`.
    const tied = height + 1n - BigInt(past + DELAY_BLOCKS);
    await signingAlone(guard, chainId)(order(10n * one), tied);
    expect(await node.makeBlock()).toBe(height + 1n);
    await nextLook();
    expect(await refusal(guard, order(3n * one))).toMatchObject({ rule: "maxPosition", value: "13" });
    await node.makeBlock();
    await eventually(async () => (await refusal(guard, order(3n * one))) === undefined);
  });
});

/** Creates a client that waits for a function after each call, before its response is used. */
const clientThat = (
  afterCall: (name: string, request: unknown, answer?: unknown) => Promise<void> | void,
  node = started.node,
) =>
  createClient(
    { profile: "deployed", grpc: { url: node.grpcUrl } },
    {
      interceptors: [
        (next) => async (request) => {
          const answer = await next(request).catch(async (reason: unknown) => {
            await afterCall(request.method.name, request.message);
            throw reason;
          });
          await afterCall(request.method.name, request.message, answer.message);
          return answer;
        },
      ],
    },
  );

describe("a look at the node", () => {
  it("asks for no more than 50 signed orders alone, and for others the next time", async () => {
    const { one } = started;
    using signer = await newSigner();
    const looks: string[][] = [];
    let ids: string[] = [];
    await using client = clientThat((name, message) => {
      if (isMessage(message, GetOrderRequestSchema)) {
        ids.push(message.orderId);
      } else if (name === "ListLatestMarketData") {
        looks.push(ids);
        ids = [];
      }
    });
    await using guard = await client.guard({ signer, policy: policyOf({ maxPosition: "120" }) });
    const submissions = Array.from({ length: 120 }, () => order(one).value);
    await client.signCommand({ case: "batchMarketInstructions", value: { submissions } }, { signer: guard });
    await eventually(() => looks.filter((look) => look.length > 0).length >= 3);
    const [first = [], second = [], third = []] = looks.filter((look) => look.length > 0);
    expect([first, second, third].map(({ length }) => length)).toEqual([50, 50, 50]);
    expect(new Set([...first, ...second, ...third]).size).toBe(120);
  });

  it("counts an order once that was signed after it began, and that it lists", async () => {
    const { client: other, one } = started;
    using signer = await newSigner();
    const held: (() => void)[] = [];
    let isHolding = false;
    await using client = clientThat(async (name) => {
      if (name === "LastBlockHeight" && isHolding) {
        isHolding = false;
        await new Promise<void>((release) => held.push(release));
      }
    });
    const holdLook = async (): Promise<() => void> => {
      isHolding = true;
      await eventually(() => held.length === 1);
      return held.pop() ?? (() => {});
    };
    await using guard = await client.guard({ signer, policy: policyOf() });
    const releaseFirst = await holdLook();
    const tx = await client.signCommand(order(10n * one), { signer: guard });
    await other.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC });
    await eventually(async () => (await liveOrders(signer)).length === 1);
    releaseFirst();
    const releaseSecond = await holdLook();
    const beyond = await refusal(guard, order(3n * one));
    const within = await refusal(guard, order(2n * one));
    releaseSecond();
    expect(beyond).toMatchObject({ rule: "maxPosition", value: "13" });
    expect(within).toBeUndefined();
  });

  it("does not replace what a later one has shown", async () => {
    const { one } = started;
    using signer = await newSigner();
    let isHeld: Promise<void> | undefined;
    let holding = 0;
    let looks = 0;
    await using client = clientThat(async (name) => {
      looks += name === "LastBlockHeight" ? 1 : 0;
      const held = isHeld;
      if (name === "ListLatestMarketData" && held !== undefined) {
        isHeld = undefined;
        holding += 1;
        await held;
      }
    });
    await using guard = await client.guard({ signer, policy: policyOf() });
    let release = () => {};
    isHeld = new Promise<void>((resolve) => {
      release = resolve;
    });
    await eventually(() => holding === 1);
    await trade({ client, signer: guard }, 5n * one);
    await guard.kill();
    guard.setMode("active");
    const isBeyond = order(8n * one);
    expect(await refusal(guard, isBeyond)).toMatchObject({ rule: "maxPosition" });
    release();
    const before = looks;
    await eventually(async () => {
      expect(await refusal(guard, isBeyond)).toMatchObject({ rule: "maxPosition" });
      return looks > before;
    });
  });
});

describe("the kill switch", () => {
  it("halts, and reports what it could not do, if the node does not answer", async () => {
    const { node, client, one } = started;
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

  it("is not clear while an order lives that was sent after the live orders were listed", async () => {
    const { client, one } = started;
    using signer = await newSigner();
    let afterStopOrders = async (): Promise<void> => undefined; // They are listed after the live orders.
    await using listing = clientThat((name) => (name === "ListStopOrders" ? afterStopOrders() : undefined));
    await using guard = await listing.guard({ signer, policy: policyOf() });
    const tx = await listing.signCommand(order(one), { signer: guard });
    let isSent = false;
    afterStopOrders = async () => {
      if (!isSent) {
        isSent = true;
        await client.submitTransaction({ tx, type: SubmitTransactionRequest_Type.SYNC });
        await eventually(async () => (await liveOrders(signer)).length === 1);
      }
    };
    const report = await guard.kill();
    expect([isSent, await liveOrders(signer)]).toEqual([true, []]);
    expect(report).toMatchObject({ isClear: true, orders: [], stopOrders: [], unseen: 0 });
  });

  // A data node commits a block after it has told the block's time and sent its events, and before it begins the next one: v0.78.0,
  // `processBlock` in datanode/broker/sqlstore_broker.go.
  it("is not clear while the node may not list what follows the cancellations in their block", async () => {
    const { one } = started;
    using signer = await newSigner();
    await using node = await startDevnode({ profile: "deployed", blockMs: 0, segments: 1, blocksPerSegment: 20 });
    let [submissions, looks] = [0, 0];
    let isUncommitted = false;
    await using client = clientThat((name, _, answer) => {
      submissions += name === "SubmitTransaction" ? 1 : 0;
      looks += name === "ListLatestMarketData" ? 1 : 0;
      if (isUncommitted && isMessage(answer, ListOrdersResponseSchema)) {
        answer.orders?.edges.splice(0);
      }
    }, node);
    await using other = clientOf(node.grpcUrl);
    await using guard = await client.guard({ signer, policy: policyOf() });
    let isExecuted = false;
    const first = client.sendCommand(cancellation, { signer, until: "executed" }).finally(() => {
      isExecuted = true; // So the client follows the blocks, and commands need none to be sent.
    });
    await eventually(async () => (await node.makeBlock()) > 0n && isExecuted);
    await first;
    submissions = 0;
    let isOver = false;
    const killing = guard.kill().finally(() => {
      isOver = true;
    });
    await eventually(() => submissions === 2);
    await other.sendCommand(order(one), { signer });
    isUncommitted = true;
    await node.makeBlock();
    const before = looks;
    await eventually(() => isOver || looks >= before + 3);
    isUncommitted = false;
    await eventually(async () => (await node.makeBlock()) > 0n && isOver);
    expect(await killing).toMatchObject({ isClear: true, orders: [], unseen: 0 });
    const filter = { partyIds: [signer.publicKey], liveOnly: true };
    expect((await other.service(TradingDataService).listOrders({ filter })).orders?.edges).toEqual([]);
  });

  // v0.78.0, `submitStopOrders` in core/execution/future/market.go: without a position, the stop order ends without an event.
  it("is clear although the node still lists a stop order as pending that has expired without a position", async () => {
    const { client } = started;
    using signer = await newSigner();
    await using leases = client.leases({ signer, leaseMs: 1000, flattenAfterMs: 1000 });
    const { id } = await leases.submit(limitOrder());
    leases.close();
    const filter = { partyIds: [signer.publicKey] };
    const data = client.service(TradingDataService);
    await eventually(async () => (await data.getOrder({ orderId: id })).order?.status === Order_Status.EXPIRED);
    const { orders } = await data.listStopOrders({ filter: { ...filter, statuses: [StopOrder_Status.PENDING] } });
    expect(orders?.edges).not.toEqual([]);
    await using guard = await client.guard({ signer, policy: policyOf() });
    expect(await guard.kill({ timeoutMs: 30_000 })).toMatchObject({ isClear: true, stopOrders: [] });
  });

  it("goes on until a node that failed answers again", async () => {
    const { node, client, one } = started;
    using signer = await newSigner();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using failing = clientOf(proxy.url);
    await using guard = await failing.guard({ signer, policy: policyOf() });
    await trade({ client: client, signer }, one);
    await client.sendCommand(order(one), { signer, until: "executed" });
    proxy.isDown = true;
    proxy.cut();
    const killing = guard.kill();
    await eventually(() => proxy.refused > 5);
    proxy.isDown = false;
    const report = await killing;
    expect(report).toMatchObject({ isClear: true, orders: [], stopOrders: [] });
    expect(report.positions).toEqual({ [openMarket]: String(await volumeOf({ client: client, signer })) });
  });

  it("halts and sends nothing, if its signal is aborted already", async () => {
    const { client, one } = started;
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
