import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { Code, type Client as ServiceClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Client, createClient, type Signer, signerFromSeed } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService, SubmitRawTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { TransactionSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import {
  Order_Status,
  Order_TimeInForce,
  Order_Type,
  OrderError,
  PeggedReference,
  Side,
} from "tradewire/gen/vega/vega_pb.js";
import { collect } from "../support/listing-clients.js";

let node: Devnode;
let clients: Record<"grpc" | "rest", Client>;
let markets: Map<Market_State, string>;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 20, blockMs: 0 });
  clients = {
    grpc: createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }),
    rest: createClient({ transport: "rest", rest: { url: node.restUrl } }),
  };
  const { markets: page } = await clients.grpc.service(TradingDataService).listMarkets({ includeSettled: true });
  markets = new Map(page?.edges.map((edge) => [edge.node?.state ?? 0, edge.node?.id ?? ""]));
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

const open = () => markets.get(Market_State.ACTIVE) ?? "";
const limit = { price: "100", size: 7n, side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };

describe.each(["grpc", "rest"] as const)("over %s", (transport) => {
  const signer = signerFromSeed((transport === "grpc" ? "a1" : "b2").repeat(32));
  let client: Client;
  let data: ServiceClient<typeof TradingDataService>;
  beforeAll(() => {
    client = clients[transport];
    data = client.service(TradingDataService);
  });
  const own = async () => {
    const { orders } = await data.listOrders({ filter: { partyIds: [signer.publicKey] } });
    return orders?.edges.flatMap((edge) => edge.node ?? []) ?? [];
  };

  test("an order is listed from the next block on, and cancelled", async () => {
    await expect(data.getParty({ partyId: signer.publicKey })).rejects.toMatchObject({ code: Code.NotFound });
    const value = {
      ...limit,
      marketId: open(),
      reference: "mine\0",
      postOnly: true,
      timeInForce: Order_TimeInForce.GTT,
      expiresAt: 2n ** 62n,
      icebergOpts: { peakSize: 5n, minimumVisibleSize: 2n },
      peggedOrder: { reference: PeggedReference.MID, offset: "3" },
    };
    const { marketData: before } = await data.getLatestMarketData({ marketId: open() });
    await client.sendCommand({ case: "orderSubmission", value }, { signer });
    expect(await own()).toEqual([]);
    await node.makeBlock();
    const { timestamp } = await data.getVegaTime({});
    const [order, ...others] = await own();
    expect(others).toEqual([]);
    expect(order).toMatchObject({
      id: expect.stringMatching(/^[0-9a-f]{64}$/),
      marketId: open(),
      partyId: signer.publicKey,
      side: Side.BUY,
      price: String(BigInt(before?.midPrice ?? "") - 3n),
      size: 7n,
      remaining: 5n,
      type: Order_Type.LIMIT,
      timeInForce: Order_TimeInForce.GTT,
      status: Order_Status.ACTIVE,
      createdAt: timestamp,
      updatedAt: 0n,
      expiresAt: (2n ** 62n / 1000n) * 1000n,
      reference: "mine",
      version: 1n,
      postOnly: true,
      icebergOrder: { peakSize: 5n, minimumVisibleSize: 2n, reservedRemaining: 2n },
      peggedOrder: { reference: PeggedReference.MID, offset: "3" },
    });
    expect((await data.getOrder({ orderId: order?.id ?? "" })).order).toEqual(order);
    expect((await data.getParty({ partyId: signer.publicKey })).party?.id).toBe(signer.publicKey);
    expect((await data.listOrders({ pagination: { first: 1 } })).orders?.edges[0]?.node).toEqual(order);
    const cancellation = { marketId: open(), orderId: order?.id ?? "" };
    await client.sendCommand({ case: "orderCancellation", value: cancellation }, { signer });
    await node.makeBlock();
    const cancelled = { status: Order_Status.CANCELLED, updatedAt: (await data.getVegaTime({})).timestamp };
    expect(await own()).toEqual([expect.objectContaining({ ...order, ...cancelled })]);
  });

  test("a batch is carried out in its order, and each order has its own identifier", async () => {
    const submissions = [1n, 2n, 3n].map((size) => ({ ...limit, size, marketId: open() }));
    await client.sendCommand({ case: "batchMarketInstructions", value: { submissions } }, { signer });
    await node.makeBlock();
    const orders = (await own()).filter(({ status }) => status === Order_Status.ACTIVE);
    expect(orders.map(({ size }) => size)).toEqual([3n, 2n, 1n]);
    expect(new Set(orders.map(({ id }) => id)).size).toBe(3);
    const value = { cancellations: [{ marketId: open() }], submissions: [{ ...limit, size: 9n, marketId: open() }] };
    await client.sendCommand({ case: "batchMarketInstructions", value }, { signer });
    await node.makeBlock();
    const live = (await own()).filter(({ status }) => status === Order_Status.ACTIVE);
    expect(live.map(({ size }) => size)).toEqual([9n]);
  });

  test.each([
    ["unmatched", { timeInForce: Order_TimeInForce.IOC }, undefined],
    ["expired", { timeInForce: Order_TimeInForce.GTT, expiresAt: 1n }, OrderError.INVALID_EXPIRATION_DATETIME],
  ])("an order that cannot rest is told (%s)", async (_kind, change, reason) => {
    const value = { ...limit, ...change, marketId: open() };
    await client.sendCommand({ case: "orderSubmission", value }, { signer });
    await node.makeBlock();
    const [order] = await own();
    expect(order?.status).toBe(reason === undefined ? Order_Status.STOPPED : Order_Status.REJECTED);
    expect(order?.reason).toBe(reason);
  });

  // The network's state has neither, and compares identifiers letter by letter (core/execution/engine.go).
  test.each([
    ["settled", () => markets.get(Market_State.SETTLED) ?? ""],
    ["unknown", () => "ab".repeat(32)],
    ["in upper case", () => open().toUpperCase()],
  ])("an order on a market that is %s is refused", async (_kind, marketId) => {
    const value = { ...limit, marketId: marketId() };
    await expect(client.sendCommand({ case: "orderSubmission", value }, { signer })).rejects.toMatchObject({
      result: { code: 70, data: "market does not exist" },
    });
  });

  test("a market order trades with the best orders on the other side", async () => {
    const { sell } = await data.getLatestMarketDepth({ marketId: open() });
    const market = { type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC, price: "" };
    const value = { ...limit, ...market, marketId: open() };
    await client.sendCommand({ case: "orderSubmission", value }, { signer });
    await node.makeBlock();
    const [order] = await own();
    expect(order).toMatchObject({ status: Order_Status.FILLED, size: 7n, remaining: 0n });
    expect(order?.reason).toBeUndefined();
    const { trades } = await data.listTrades({ orderIds: [order?.id ?? ""] });
    const traded = trades?.edges.flatMap((edge) => edge.node ?? []) ?? [];
    expect(traded.reduce((sum, { size }) => sum + size, 0n)).toBe(7n);
    expect(traded.at(-1)).toMatchObject({ buyer: signer.publicKey, aggressor: Side.BUY, price: sell[0]?.price });
  });

  test("statistics count what the last block brought, and the transactions so far", async () => {
    const statistics = async () => (await client.service(CoreService).statistics({})).statistics;
    const before = await statistics();
    const market = { type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC, price: "" };
    const value = { ...limit, ...market, marketId: open() };
    await client.sendCommand({ case: "orderSubmission", value }, { signer });
    const cancellation = { case: "orderCancellation", value: { marketId: open() } } as const;
    await client.sendCommand(cancellation, { signer });
    await node.makeBlock();
    const after = await statistics();
    const cancelled = (after?.totalCancelOrder ?? 0n) - (before?.totalCancelOrder ?? 0n);
    expect([after?.txPerBlock, cancelled]).toEqual([2n, 1n]);
    expect((after?.totalOrders ?? 0n) - (before?.totalOrders ?? 0n)).toBe(1n);
    const { eventCount = 0n, eventsPerSecond, blockDuration = 0n } = after ?? {};
    expect(eventCount).toBeGreaterThan(10n);
    expect(eventsPerSecond).toBe((eventCount * 1_000_000_000n) / blockDuration);
    expect(after?.averageTxBytes).toBeGreaterThan(100n);
    await node.makeBlock();
    const later = await statistics();
    expect(later?.eventCount).toBeLessThan(eventCount);
    expect(later).toMatchObject({ txPerBlock: 0n, ordersPerSecond: 0n, tradesPerSecond: 0n });
  });

  test("a transaction is checked and submitted as its bytes", async () => {
    const core = client.service(CoreService);
    const command = { case: "orderSubmission", value: { ...limit, size: 77n, marketId: open() } } as const;
    const transaction = await client.signCommand(command, { signer });
    const tx = toBinary(TransactionSchema, transaction);
    expect(await core.checkRawTransaction({ tx })).toMatchObject({ success: true, code: 0 });
    await node.makeBlock(); // Until then the node has seen its proof of work.
    const type = SubmitRawTransactionRequest_Type.SYNC;
    const result = await core.submitRawTransaction({ tx, type });
    expect(result).toMatchObject({ success: true, code: 0 });
    expect((await core.statistics({})).statistics).toMatchObject({ backlogLength: 1n });
    expect(result.txHash).toBe(createHash("sha256").update(tx).digest("hex").toUpperCase());
    await expect(core.submitRawTransaction({ tx, type })).rejects.toMatchObject({ code: Code.Internal });
    expect(await core.checkRawTransaction({ tx })).toMatchObject({ success: false, code: 89 });
    const garbage = await core.submitRawTransaction({ tx: Uint8Array.of(255), type });
    expect(garbage).toMatchObject({ success: true, code: 60 });
    await node.makeBlock();
    expect((await own())[0]?.size).toBe(77n);
    expect((await core.statistics({})).statistics).toMatchObject({ backlogLength: 0n, txPerBlock: 1n });
  });

  test("a stream of orders begins with the live ones and tells each change", async () => {
    const abort = new AbortController();
    const stream = data.observeOrders({ partyIds: [signer.publicKey] }, { signal: abort.signal });
    const answers = stream[Symbol.asyncIterator]();
    const live = (await own()).filter(({ status }) => status === Order_Status.ACTIVE);
    const { value: first } = await answers.next();
    expect(first?.response).toMatchObject({ case: "snapshot", value: { lastPage: true } });
    const sizes = (orders: readonly { size: bigint }[] = []) =>
      orders.map(({ size }) => Number(size)).toSorted((a, b) => a - b);
    expect(sizes(first?.response.value?.orders)).toEqual(sizes(live));
    expect(live.length).toBeGreaterThan(0);
    await node.makeBlock(); // It has no orders, so nothing is told.
    await client.sendCommand({ case: "orderSubmission", value: { ...limit, size: 55n, marketId: open() } }, { signer });
    await node.makeBlock();
    const { value: second } = await answers.next();
    expect(second?.response).toMatchObject({
      case: "updates",
      value: { orders: [{ size: 55n, status: Order_Status.ACTIVE }] },
    });
    await client.sendCommand({ case: "orderCancellation", value: {} }, { signer });
    await node.makeBlock();
    const { value: third } = await answers.next();
    expect(third?.response.case).toBe("updates");
    expect(sizes(third?.response.value?.orders)).toEqual([...sizes(live), 55].toSorted((a, b) => a - b));
    abort.abort();
    await expect(answers.next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  test("other streams begin with how things stand or with the first change, and stay open until they are ended", async () => {
    const core = client.service(CoreService);
    const abort = new AbortController();
    const { signal } = abort;
    const asked = { marketIds: [open()] };
    const streams = {
      accounts: data.observeAccounts({ partyId: "" }, { signal })[Symbol.asyncIterator](),
      positions: data.observePositions({ marketId: open() }, { signal })[Symbol.asyncIterator](),
      data: data.observeMarketsData(asked, { signal })[Symbol.asyncIterator](),
      depth: data.observeMarketsDepth(asked, { signal })[Symbol.asyncIterator](),
      trades: data.observeTrades({ ...asked, partyIds: [signer.publicKey] }, { signal })[Symbol.asyncIterator](),
    };
    const trade = streams.trades.next();
    // Streams of markets have no image of how things stand (v0.78.0, ObserveMarketsData and ObserveMarketsDepth in
    // datanode/api/trading_data_v2.go): they begin with the first change.
    const changes = Promise.all([streams.data.next(), streams.depth.next()]);
    const pages = [];
    for (let last = false; !last; ) {
      const { response } = (await streams.accounts.next()).value ?? {};
      pages.push(response?.case === "snapshot" ? response.value.accounts.length : 0);
      last = response?.case !== "snapshot" || response.value.lastPage;
    }
    const { accounts } = await data.listAccounts({});
    const total = accounts?.edges.length ?? 0;
    expect(total).toBeGreaterThan(300);
    expect(pages).toEqual([...Array(Math.floor(total / 50)).fill(50), total % 50]);
    const positions = (await streams.positions.next()).value;
    expect(positions?.response).toMatchObject({ case: "snapshot", value: { lastPage: false } });
    const opened = { accountSubscriptions: 1, marketDataSubscriptions: 1, tradeSubscriptions: 1 };
    const counts = async () => (await core.statistics({})).statistics;
    while ((await counts())?.tradeSubscriptions !== 1 || (await counts())?.marketDepthSubscriptions !== 1) {}
    expect(await counts()).toMatchObject(opened);
    await client.sendCommand({ case: "orderSubmission", value: { ...limit, marketId: open() } }, { signer });
    await node.makeBlock();
    const [told, depth] = await changes;
    const { marketData } = await data.getLatestMarketData({ marketId: open() });
    expect(told.value?.marketData).toEqual([marketData]);
    const { buy, sell, sequenceNumber } = await data.getLatestMarketDepth({ marketId: open() });
    expect(depth.value?.marketDepth).toMatchObject([{ marketId: open(), buy, sell, sequenceNumber }]);
    abort.abort();
    await expect(trade).rejects.toMatchObject({ code: Code.Canceled });
    await expect(streams.data.next()).rejects.toMatchObject({ code: Code.Canceled });
    while ((await counts())?.accountSubscriptions !== 0 || (await counts())?.tradeSubscriptions !== 0) {}
  });

  test("streams of markets refuse those that are not there", async () => {
    // v0.78.0, datanode/api/trading_data_v2.go: an error without a code of its own is INTERNAL; ObserveTrades does not look.
    const unknown = { marketIds: ["ab".repeat(32)] };
    for (const stream of [
      data.observeMarketsData(unknown),
      data.observeMarketsDepth(unknown),
      data.observeMarketsDepthUpdates(unknown),
    ]) {
      await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: Code.Internal });
    }
  });
});

// The stop order has the identifier of the batch's last order (v0.78.0, core/processor/batch_market_instructions_processor.go).
test.each(["at once", "later"])("a stop order that triggers %s hides no order of its batch", async (when) => {
  await using network = await startDevnode({ segments: 1, blocksPerSegment: 20, blockMs: 0 });
  await using client = createClient({ transport: "grpc", grpc: { url: network.grpcUrl } });
  const signer: Signer = signerFromSeed("c3".repeat(32));
  const other = signerFromSeed("d4".repeat(32));
  const send = async (command: Parameters<Client["sendCommand"]>[0], by = signer) => {
    await client.sendCommand(command, { signer: by });
    await network.makeBlock();
  };
  const marketId = open();
  const market = { marketId, size: 2n, type: Order_Type.MARKET, timeInForce: Order_TimeInForce.IOC };
  await send({ case: "orderSubmission", value: { ...market, side: Side.BUY } });
  const { marketData } = await client.service(TradingDataService).getLatestMarketData({ marketId });
  const { bestBidPrice = "", lastTradedPrice = "" } = marketData ?? {};
  const value = when === "at once" ? lastTradedPrice : bestBidPrice;
  const fallsBelow = {
    orderSubmission: { ...market, side: Side.SELL, reduceOnly: true, reference: "closes" },
    trigger: { case: "price", value } as const,
  };
  const submissions = [{ ...limit, marketId, reference: "rests" }];
  await send({ case: "batchMarketInstructions", value: { submissions, stopOrdersSubmission: [{ fallsBelow }] } });
  if (when === "later") {
    await send({ case: "orderCancellation", value: { marketId } });
    await send({ case: "orderSubmission", value: { ...market, side: Side.SELL } }, other);
  }
  const references = (await collect(client.orders({ parties: [signer.publicKey] }))).map(({ reference }) => reference);
  expect(references.toSorted()).toEqual(["", "closes", "rests"]);
  const [stop] = await collect(client.stopOrders({ parties: [signer.publicKey] }));
  const order = await client.service(TradingDataService).getOrder({ orderId: stop?.stopOrder.orderId ?? "" });
  expect(order.order?.reference).toBe("closes");
});
