// What the network does when renewals stop (v0.78.0, core/execution/future/market.go): removeExpiredOrders removes orders whose
// expiry has passed, removeExpiredStopOrders submits the orders of stop orders that expire, unless in an auction.
import { describe, expect, it } from "@jest/globals";
import {
  type Client,
  createClient,
  type LeaseEvent,
  type Leases,
  type LeasesOptions,
  type MarketCoverage,
  Order_TimeInForce,
  Order_Type,
  type SeedSigner,
  Side,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Order_Status, StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { startCuttingProxy } from "../support/cutting-proxy.js";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";

/** Short leases: the local node makes a block every 20 ms. */
const TIMES = { leaseMs: 1500, renewEveryMs: 300, flattenAfterMs: 1800 };

/** As deployed networks do, the order of a stop order gets an identifier of its own. */
const NODE = { profile: "deployed", blockMs: 20, segments: 1, blocksPerSegment: 20 } as const;

const LOW = { side: Side.BUY, price: "1" }; // Far below the market: it rests.

const limitOrder = (more: object = {}) => ({
  case: "orderSubmission" as const,
  value: { marketId: openMarket, size: 1n, type: Order_Type.LIMIT, ...LOW, ...more },
});

interface Started extends AsyncDisposable {
  readonly node: Devnode;
  readonly client: Client;
  readonly signer: SeedSigner;
  readonly leases: Leases;
  readonly events: LeaseEvent[];
}

async function start(options: Partial<LeasesOptions> = {}, url?: (node: Devnode) => string): Promise<Started> {
  const node = await startDevnode(NODE);
  node.setTime(new Date(Date.now() + 7_200_000)); // The chain's clock is not this machine's.
  await node.makeBlock();
  const client = createClient({
    profile: "deployed",
    grpc: { url: url?.(node) ?? node.grpcUrl },
    retry: { baseMs: 10, maxMs: 50, tries: 2 },
  });
  const signer = await signerFromMnemonic(node.mnemonic);
  const events: LeaseEvent[] = [];
  const leases = client.leases({ signer, ...TIMES, onEvent: (event) => void events.push(event), ...options });
  return {
    ...{ node, client, signer, leases, events },
    async [Symbol.asyncDispose]() {
      leases.close();
      await client.close();
      signer[Symbol.dispose]();
      await node.close();
    },
  };
}

/** Opens a position of the key by a market order; a negative volume sells. */
async function trade({ client, signer }: Pick<Started, "client" | "signer">, volume: bigint): Promise<void> {
  const value = {
    marketId: openMarket,
    size: volume < 0n ? -volume : volume,
    side: volume < 0n ? Side.SELL : Side.BUY,
    type: Order_Type.MARKET,
    timeInForce: Order_TimeInForce.IOC,
  };
  const { outcome } = await client.sendCommand({ case: "orderSubmission", value }, { signer, until: "executed" });
  expect(outcome.status).toBe("executed");
}

async function orderOf({ client }: Pick<Started, "client">, orderId: string) {
  const { order } = await client.service(TradingDataService).getOrder({ orderId });
  return order;
}

async function volumeOf({ client, signer }: Pick<Started, "client" | "signer">): Promise<bigint> {
  const filter = { partyIds: [signer.publicKey], marketIds: [openMarket] };
  const { positions } = await client.service(TradingDataService).listAllPositions({ filter });
  return positions?.edges[0]?.node?.openVolume ?? 0n;
}

async function pendingStops({ client, signer }: Pick<Started, "client" | "signer">) {
  const found = [];
  for await (const { node } of client.stopOrders({ filter: { partyIds: [signer.publicKey], liveOnly: true } })) {
    found.push(node);
  }
  return found;
}

const marketOf = ({ leases }: Pick<Started, "leases">): MarketCoverage | undefined =>
  leases.coverage().markets.find(({ marketId }) => marketId === openMarket);

const chainMs = ({ leases }: Pick<Started, "leases">) => Number((leases.coverage().chainTime ?? 0n) / 1_000_000n);

/** Waits for so much of the chain's time. */
async function passes(started: Pick<Started, "leases">, ms: number): Promise<void> {
  const from = chainMs(started);
  await eventually(() => chainMs(started) >= from + ms);
}

const isCovered = (started: Started) => marketOf(started)?.position.status === "covered";

describe("a leased order", () => {
  it("is renewed, keeps its place in the queue, and is gone when renewals end", async () => {
    await using started = await start();
    const { leases, events } = started;
    const { id, status, expiresAt } = await leases.submit(limitOrder());
    expect(status).toBe("executed");
    const placed = await orderOf(started, id);
    expect(placed?.timeInForce).toBe(Order_TimeInForce.GTT);
    await passes(started, 3 * TIMES.leaseMs);
    const renewed = await orderOf(started, id);
    expect(renewed?.status).toBe(Order_Status.ACTIVE);
    expect(renewed?.version).toBeGreaterThan(4n);
    expect(renewed?.createdAt).toBe(placed?.createdAt);
    const [{ expiresAt: until = 0n } = {}] = marketOf(started)?.orders ?? [];
    expect(until).toBeGreaterThan(expiresAt);
    leases.close();
    await eventually(async () => (await orderOf(started, id))?.status === Order_Status.EXPIRED);
    expect(events.filter(({ kind }) => kind === "renewalFailed")).toEqual([]);
  });

  it("is reported when it ends, and no longer renewed", async () => {
    await using started = await start();
    const { client, signer, leases, events } = started;
    const { id } = await leases.submit(limitOrder());
    const value = { marketId: openMarket, orderId: id };
    await client.sendCommand({ case: "orderCancellation", value }, { signer, until: "executed" });
    await eventually(() => events.some(({ kind }) => kind === "orderEnded"));
    expect(events).toContainEqual({
      kind: "orderEnded",
      marketId: openMarket,
      orderId: id,
      status: Order_Status.CANCELLED,
    });
    expect(marketOf(started)?.orders ?? []).toEqual([]);
  });

  it("is one of many, more than fit into a batch", async () => {
    await using started = await start({ flattenAfterMs: undefined, leaseMs: 3000, renewEveryMs: 500 });
    const { leases } = started;
    const submitted = [];
    for (let count = 0; count < 20; count += 1) {
      submitted.push((await leases.submit(limitOrder({ price: String(1 + count) }))).id);
    }
    await passes(started, 7000);
    for (const id of submitted) {
      expect((await orderOf(started, id))?.status).toBe(Order_Status.ACTIVE);
    }
    expect(marketOf(started)?.orders.map(({ id }) => id)).toEqual(submitted);
  });

  it("that the network refuses is not leased", async () => {
    await using started = await start();
    const { leases } = started;
    const refused = await leases.submit(limitOrder({ postOnly: true, price: "1000000000" }));
    expect(refused).toMatchObject({ status: "failed", reason: "OrderError: post only order would trade" });
    expect(marketOf(started)?.orders ?? []).toEqual([]);
  });

  it("is adopted after a crash if that is wanted", async () => {
    await using started = await start();
    const { client, signer, leases } = started;
    const { id } = await leases.submit(limitOrder());
    leases.close();
    await using next = client.leases({ signer, ...TIMES, adopt: true });
    await eventually(() => marketOf({ leases: next })?.orders[0]?.id === id);
    await passes({ leases: next }, 2 * TIMES.leaseMs);
    expect((await orderOf(started, id))?.status).toBe(Order_Status.ACTIVE);
  });

  it.each([
    ["a market order", { type: Order_Type.MARKET, price: undefined }, "the order does not rest on the book"],
    ["a time in force", { timeInForce: Order_TimeInForce.GTC }, "the order has a time in force"],
    ["an expiry", { expiresAt: 5n }, "the order has an expiry"],
    ["a market out of scope", {}, `market ${openMarket} is not among marketIds`],
  ])("is refused with %s", async (_, more, summary) => {
    await using started = await start({ marketIds: ["ab".repeat(32)] });
    await expect(started.leases.submit(limitOrder(more))).rejects.toMatchObject({ name: "RequestError", summary });
  });
});

describe("a position", () => {
  it("is covered, and closed by the network when renewals end", async () => {
    await using started = await start();
    const { leases, node } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    await passes(started, 2 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(3n);
    expect(await pendingStops(started)).toHaveLength(1);
    leases.close();
    await eventually(async () => (await volumeOf(started)) === 0n);
    expect(node).toBeDefined();
  });

  it("is followed as it turns and closes", async () => {
    await using started = await start();
    await trade(started, 3n);
    await eventually(
      () => isCovered(started) && marketOf(started)?.stopOrders.every(({ side }) => side === Side.SELL) === true,
    );
    await trade(started, -5n);
    await eventually(
      () => isCovered(started) && marketOf(started)?.stopOrders.every(({ side }) => side === Side.BUY) === true,
    );
    await trade(started, 2n);
    await eventually(() => marketOf(started) === undefined); // Nothing is left to cover.
    expect(await pendingStops(started)).toEqual([]);
  });

  it("that turns is covered although the network keeps the stop orders that it cancels", async () => {
    await using started = await start({ flattenAfterMs: [1500, 1600, 1700, 1800] }); // As many as the network allows.
    const { leases, events } = started;
    await trade(started, 3n);
    await eventually(() => marketOf(started)?.stopOrders.length === 4 && isCovered(started));
    await trade(started, -5n);
    await eventually(() => isCovered(started) && marketOf(started)?.openVolume === -2n);
    await passes(started, 1000);
    expect(marketOf(started)?.stopOrders.map(({ side }) => side)).toEqual([Side.BUY, Side.BUY, Side.BUY, Side.BUY]);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
    leases.close();
    await eventually(async () => (await volumeOf(started)) === 0n);
  });

  it("that an order opens is covered from its first block on", async () => {
    await using started = await start();
    const { client, leases } = started;
    const { id, txHash } = await leases.submit(limitOrder({ side: Side.BUY, price: "1000000000" }));
    expect(await volumeOf(started)).toBe(1n);
    const filter = { partyIds: [started.signer.publicKey] };
    const stops = [];
    for await (const { node } of client.stopOrders({ filter })) {
      stops.push(node);
    }
    const order = await orderOf(started, id);
    expect(stops.at(-1)?.stopOrder.createdAt).toBe(order?.createdAt);
    expect(stops.at(-1)?.submission?.side).toBe(Side.SELL);
    expect(txHash).toMatch(/^[0-9A-F]{64}$/);
  });

  it("has as many stop orders as attempts, within the network's limit", async () => {
    await using started = await start({ flattenAfterMs: [1500, 2000, 2500, 3000, 3500] });
    await trade(started, 1n);
    await eventually(() => isCovered(started));
    await passes(started, 2000);
    await eventually(() => marketOf(started)?.stopOrders.length === 4);
    const delays = marketOf(started)?.stopOrders.map(({ expiresAt }) => expiresAt / 1_000_000n) ?? [];
    expect(delays.map((delay) => Number(delay - (delays[0] ?? 0n)))).toEqual([0, 500, 1000, 1500]);
  });

  it("is not covered where the network refuses the stop order, and the coverage says why", async () => {
    await using started = await start({ flattenAfterMs: undefined });
    const { client, signer } = started;
    await trade(started, 1n);
    const sell = { marketId: openMarket, side: Side.SELL, size: 1n, type: Order_Type.MARKET, reduceOnly: true };
    const orderSubmission = { ...sell, timeInForce: Order_TimeInForce.IOC };
    const fallsBelow = { orderSubmission, trigger: { case: "price" as const, value: "1" } };
    for (let count = 0; count < 4; count += 1) {
      const command = { case: "stopOrdersSubmission" as const, value: { fallsBelow } };
      await client.sendCommand(command, { signer, until: "executed" });
    }
    const events: LeaseEvent[] = [];
    await using leases = client.leases({ signer, ...TIMES, onEvent: (event) => void events.push(event) });
    await eventually(() => events.some(({ kind }) => kind === "stopOrderRefused"));
    expect(marketOf({ leases })?.position).toEqual({
      status: "uncovered",
      cause: "refused",
      reason: expect.stringContaining("MAX_STOP_ORDERS_PER_PARTY_REACHED"),
    });
  });

  it("stays open without flattenAfterMs, and the coverage says so", async () => {
    await using started = await start({ flattenAfterMs: undefined });
    await trade(started, 1n);
    await eventually(() => marketOf(started) !== undefined);
    expect(marketOf(started)?.position).toMatchObject({ status: "uncovered", cause: "off" });
    await passes(started, 2000);
    expect(await pendingStops(started)).toEqual([]);
  });

  it("is closed at a trigger while renewals go on", async () => {
    await using started = await start();
    const { leases, events } = started;
    await trade(started, 2n);
    await eventually(() => isCovered(started));
    leases.setTrigger(openMarket, { fallsBelow: "1000000000" }); // Far above the market: reached already.
    await eventually(() => events.some(({ kind }) => kind === "positionClosing"));
    expect(events).toContainEqual(expect.objectContaining({ kind: "positionClosing", cause: "triggered" }));
    await eventually(async () => (await volumeOf(started)) === 0n);
  });

  it("is covered by the next program, not closed by the stop orders of the one before", async () => {
    await using started = await start();
    const { client, signer, leases } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    leases.close();
    await using next = client.leases({ signer, ...TIMES });
    await eventually(() => marketOf({ leases: next })?.position.status === "covered");
    await passes({ leases: next }, 2 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(3n);
  });
});

describe("a lost connection", () => {
  it("lets leases expire, which is reported, and renewals go on after it", async () => {
    await using node = await startDevnode(NODE);
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using client = createClient({
      profile: "deployed",
      grpc: { url: proxy.url },
      retry: { baseMs: 10, maxMs: 50, tries: 2 },
    });
    await using direct = createClient({ profile: "deployed", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const events: LeaseEvent[] = [];
    const onEvent = (event: LeaseEvent) => void events.push(event);
    await using leases = client.leases({ signer, ...TIMES, onEvent });
    const { id } = await leases.submit(limitOrder());
    await trade({ client: direct, signer }, 2n);
    await eventually(() => marketOf({ leases })?.position.status === "covered");
    proxy.isDown = true;
    proxy.cut();
    await eventually(() => events.some(({ kind }) => kind === "renewalFailed"));
    await eventually(async () => (await orderOf({ client: direct }, id))?.status === Order_Status.EXPIRED);
    await eventually(async () => (await volumeOf({ client: direct, signer })) === 0n);
    proxy.isDown = false;
    await eventually(() => events.some(({ kind }) => kind === "orderEnded"));
    expect(events.filter(({ kind }) => kind === "orderEnded")).toEqual([
      { kind: "orderEnded", marketId: openMarket, orderId: id, status: Order_Status.EXPIRED },
    ]);
    const { orders } = await direct
      .service(TradingDataService)
      .listOrders({ filter: { partyIds: [signer.publicKey], liveOnly: true } });
    expect(orders?.edges).toEqual([]);
    const { status } = await leases.submit(limitOrder());
    expect(status).toBe("executed");
  });

  it("leaves no stop order of a renewal whose outcome is unknown", async () => {
    await using started = await start({ renewEveryMs: 200 });
    const { node, leases, events } = started;
    await trade(started, 2n);
    await eventually(() => isCovered(started));
    for (let count = 0; count < 5; count += 1) {
      node.failNext({ method: "SubmitTransaction", with: "unavailable" });
      await passes(started, 400);
    }
    await passes(started, 2 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(2n);
    expect((await pendingStops(started)).length).toBeLessThanOrEqual(1);
    expect(events.filter(({ kind }) => kind === "positionClosing")).toEqual([]);
    expect(marketOf({ leases })?.position.status).toBe("covered");
  });
});

describe("release", () => {
  it("cancels orders and keeps positions if that is wanted", async () => {
    await using started = await start();
    const { leases } = started;
    const { id } = await leases.submit(limitOrder());
    await trade(started, 2n);
    await eventually(() => isCovered(started));
    const outcomes = await leases.release({ positions: "keep" });
    expect(outcomes.map(({ status }) => status)).toEqual(["executed"]);
    expect((await orderOf(started, id))?.status).toBe(Order_Status.CANCELLED);
    expect(await pendingStops(started)).toEqual([]);
  });

  it("leaves orders to expire and positions to be closed if that is wanted", async () => {
    await using started = await start();
    const { leases } = started;
    const { id } = await leases.submit(limitOrder());
    await trade(started, 2n);
    await eventually(() => isCovered(started));
    expect(await leases.release({ orders: "expire" })).toEqual([]);
    await eventually(async () => (await orderOf(started, id))?.status === Order_Status.EXPIRED);
    await eventually(async () => (await volumeOf(started)) === 0n);
  });
});

it("the coverage lists orders that are not leased", async () => {
  await using started = await start();
  const { client, signer } = started;
  const command = limitOrder({ timeInForce: Order_TimeInForce.GTC });
  await client.sendCommand(command, { signer, until: "executed" });
  await eventually(() => marketOf(started)?.otherOrders.length === 1);
  expect(marketOf(started)).toMatchObject({
    orders: [],
    otherOrders: [{ timeInForce: Order_TimeInForce.GTC, expiresAt: undefined }],
    position: { status: "none" },
  });
  const stops = await pendingStops(started);
  expect(stops.filter(({ stopOrder }) => stopOrder.status === StopOrder_Status.PENDING)).toEqual([]);
});

it.each([
  [{ leaseMs: 5 }, "leaseMs"],
  [{ leaseMs: 1000, renewEveryMs: 1000 }, "renewEveryMs"],
  [{ leaseMs: 1000, flattenAfterMs: 999 }, "flattenAfterMs"],
  [{ leaseMs: 1000, flattenAfterMs: [1000, 2 ** 40] }, "flattenAfterMs"],
  [{ marketIds: ["x"] }, "marketIds"],
])("options that make no sense are refused: %j", async (options, name) => {
  await using client = createClient({ profile: "deployed", grpc: { url: "http://127.0.0.1:1" } });
  using signer = await signerFromMnemonic("test test test test test test test test test test test junk");
  expect(() => client.leases({ signer, ...options })).toThrow(name);
});
