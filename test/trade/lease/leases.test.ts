// What the network does when renewals stop (v0.78.0, core/execution/future/market.go): removeExpiredOrders removes orders whose
// expiry has passed, removeExpiredStopOrders submits the orders of stop orders that expire, unless in an auction.
import { describe, expect, it } from "@jest/globals";
import { type LeaseEvent, Order_TimeInForce, signerFromMnemonic } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { Order_Status, StopOrder_Status } from "tradewire/gen/vega/vega_pb.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import {
  clientOf,
  isCovered,
  limitOrder,
  marketOf,
  orderOf,
  passes,
  pendingStops,
  start,
  startNode,
  TIMES,
  trade,
  volumeOf,
} from "../../support/leases.js";

describe("a lost connection", () => {
  it("lets leases expire, which is reported, and renewals go on after it", async () => {
    await using node = await startNode();
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using client = clientOf(proxy.url);
    await using direct = clientOf(node.grpcUrl);
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
    const submitted = async () => (await leases.submit(limitOrder())).status === "executed";
    await eventually(() => submitted().catch(() => false)); // A node that is slow to answer may refuse it as too old.
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
    await passes(started, 1.5 * TIMES.flattenAfterMs);
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

  it("ends in its time although an order is still being sent", async () => {
    await using started = await start({ flattenAfterMs: undefined });
    const { node, leases } = started;
    await eventually(() => leases.coverage().state === "live");
    node.failNext({ method: "SubmitTransaction", with: "unavailable" });
    const submitting = leases.submit(limitOrder());
    await eventually(() => marketOf(started)?.orders.length === 1); // It is signed.
    await expect(leases.release({ timeoutMs: 50 })).rejects.toMatchObject({ name: "ConnectionError" });
    expect((await submitting).status).not.toBe("executed");
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
  await using client = clientOf("http://127.0.0.1:1");
  using signer = await signerFromMnemonic("test test test test test test test test test test test junk");
  expect(() => client.leases({ signer, ...options })).toThrow(name);
});
