// What the network does when renewals stop (v0.78.0, core/execution/future/market.go): removeExpiredOrders removes orders whose
// expiry has passed, removeExpiredStopOrders submits the orders of stop orders that expire, unless in an auction.
import { describe, expect, it } from "@jest/globals";
import { Order_TimeInForce, Order_Type } from "tradewire";
import { Order_Status } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { limitOrder, marketOf, orderOf, passes, start, TIMES } from "../../support/leases.js";

describe("a leased order", () => {
  it("is renewed, keeps its place in the queue, and is gone when renewals end", async () => {
    await using started = await start();
    const { leases, events } = started;
    const { id, status, expiresAt } = await leases.submit(limitOrder());
    expect(status).toBe("executed");
    const placed = await orderOf(started, id);
    expect(placed?.timeInForce).toBe(Order_TimeInForce.GTT);
    await passes(started, 1.5 * TIMES.leaseMs);
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
    await using started = await start({ flattenAfterMs: undefined, leaseMs: 4000, renewEveryMs: 500 });
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
    await passes({ leases: next }, 1.5 * TIMES.leaseMs);
    expect((await orderOf(started, id))?.status).toBe(Order_Status.ACTIVE);
  });

  it.each([
    ["a market order", { type: Order_Type.MARKET, price: undefined }, "the order must be able to rest on the book"],
    ["a time in force", { timeInForce: Order_TimeInForce.GTC }, "the order must not have a time in force"],
    ["an expiry", { expiresAt: 5n }, "the order must not have an expiry"],
    ["a market out of scope", {}, `market ${openMarket} is not among marketIds`],
  ])("is refused with %s", async (_, more, summary) => {
    await using started = await start({ marketIds: ["ab".repeat(32)] });
    await expect(started.leases.submit(limitOrder(more))).rejects.toMatchObject({ name: "RequestError", summary });
  });
});
