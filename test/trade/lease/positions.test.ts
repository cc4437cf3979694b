// What the network does when renewals stop (v0.78.0, core/execution/future/market.go): removeExpiredOrders removes orders whose
// expiry has passed, removeExpiredStopOrders submits the orders of stop orders that expire, unless in an auction.
import { isMessage } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  createClient,
  type LeaseEvent,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  StopOrder_ExpiryStrategy,
  StopOrder_Status,
  signerFromMnemonic,
} from "tradewire";
import { CoreService } from "tradewire/api";
import {
  GetVegaTimeResponseSchema,
  ListStopOrdersResponseSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import {
  isCovered,
  limitOrder,
  marketOf,
  orderOf,
  passes,
  pendingStops,
  type Started,
  start,
  startNode,
  TIMES,
  trade,
  volumeOf,
} from "../../support/leases.js";

/** A signer that can hold what it signs next. */
async function holdingSigner() {
  const key = await signerFromMnemonic("test test test test test test test test test test test junk");
  let held: (() => void)[] | undefined;
  const signer: Signer = {
    publicKey: key.publicKey,
    async sign(message) {
      await new Promise<void>((resolve) => (held === undefined ? resolve() : held.push(resolve)));
      return key.sign(message);
    },
  };
  const letGo = () => {
    for (const each of held ?? []) {
      each();
    }
    held = undefined;
  };
  return {
    signer,
    letGo,
    async holdNext() {
      held = [];
      await eventually(() => held?.length === 1);
    },
    async [Symbol.asyncDispose]() {
      letGo();
      key[Symbol.dispose]();
    },
  };
}

/** All stop orders of the signer, however they stand, newest first. */
async function stopsOf({ client, signer }: Pick<Started, "client" | "signer">) {
  const found = [];
  for await (const record of client.stopOrders({ parties: [signer.publicKey] })) {
    found.push(record);
  }
  return found;
}

describe("a position", () => {
  it("is covered, and closed by the network when renewals end", async () => {
    await using started = await start();
    const { leases, node } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    await passes(started, 1.5 * TIMES.flattenAfterMs);
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
    await using started = await start({ flattenAfterMs: [3000, 3100, 3200, 3300] }); // As many as the network allows.
    const { leases, events } = started;
    await trade(started, 3n);
    await eventually(() => marketOf(started)?.stopOrders.length === 4 && isCovered(started));
    await trade(started, -5n);
    await eventually(() => isCovered(started) && marketOf(started)?.openVolume === -2n);
    await passes(started, 1000);
    await eventually(() => marketOf(started)?.stopOrders.length === 4); // Between two renewals.
    expect(marketOf(started)?.stopOrders.every(({ side }) => side === Side.BUY)).toBe(true);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
    leases.close();
    await eventually(async () => (await volumeOf(started)) === 0n);
  });

  it("that an order opens is covered from its first block on", async () => {
    await using started = await start();
    const { leases } = started;
    const { id, txHash } = await leases.submit(limitOrder({ side: Side.BUY, price: "1000000000" }));
    expect(await volumeOf(started)).toBe(1n);
    const stops = await stopsOf(started);
    const order = await orderOf(started, id);
    expect(stops.at(-1)?.stopOrder.createdAt).toBe(order?.createdAt);
    expect(stops.at(-1)?.submission?.side).toBe(Side.SELL);
    expect(txHash).toMatch(/^[0-9A-F]{64}$/);
  });

  it("has as many stop orders as attempts, within the network's limit", async () => {
    await using started = await start({ flattenAfterMs: [3000, 3500, 4000, 4500, 5000] });
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

  it("that turns has no trigger of the position before", async () => {
    await using started = await start();
    const { leases, events } = started;
    await trade(started, 2n);
    await eventually(() => isCovered(started));
    leases.setTrigger(openMarket, { risesAbove: "1000000000" });
    await passes(started, 2 * TIMES.renewEveryMs);
    await eventually(async () => String((await pendingStops(started))[0]?.stopOrder.trigger.value) === "1000000000");
    await trade(started, -4n);
    await eventually(() => isCovered(started) && marketOf(started)?.openVolume === -2n);
    const [stop] = await pendingStops(started);
    expect(String(stop?.stopOrder.trigger.value)).toHaveLength(41); // A price that no market reaches.
    expect(events.filter(({ kind }) => kind === "positionClosing")).toEqual([]);
  });

  it("that orders of both sides may open has stop orders for both, within the network's limit", async () => {
    await using started = await start({ flattenAfterMs: [3000, 3100, 3200, 3300] });
    const { leases, events } = started;
    await leases.submit(limitOrder());
    await leases.submit(limitOrder({ side: Side.SELL, price: "9000000000" }));
    const sides = () => marketOf(started)?.stopOrders.filter(({ isPlaced }) => isPlaced) ?? [];
    await eventually(() => sides().filter(({ side }) => side === Side.BUY).length === 2 && sides().length === 4);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
  });

  it("that an order on the other side opens is covered although one side has all stop orders", async () => {
    await using started = await start({ flattenAfterMs: [3000, 3100, 3200, 3300] });
    const { leases, events } = started;
    await leases.submit(limitOrder());
    await eventually(() => marketOf(started)?.stopOrders.filter(({ isPlaced }) => isPlaced).length === 4);
    await leases.submit(limitOrder({ side: Side.SELL, price: "1" })); // It trades at once.
    expect(await volumeOf(started)).toBe(-1n);
    expect((await pendingStops(started)).some((stop) => stop?.submission?.side === Side.BUY)).toBe(true);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
  });

  it("that an order opens is covered although the stop order of an earlier order has expired", async () => {
    await using holding = await holdingSigner();
    await using started = await start({ signer: holding.signer });
    const { leases } = started;
    await leases.submit(limitOrder());
    await eventually(() => marketOf(started)?.stopOrders.some(({ isPlaced }) => isPlaced) === true);
    await holding.holdNext(); // Nothing is renewed.
    await passes(started, TIMES.flattenAfterMs + 500);
    expect(marketOf(started)?.stopOrders).toHaveLength(1);
    const submitting = leases.submit(limitOrder({ price: "1000000000" })); // It trades at once.
    holding.letGo();
    const { id } = await submitting;
    const order = await orderOf(started, id);
    // The next renewal, which may be executed already, cancels it.
    const accepted = (await stopsOf(started)).filter(
      ({ stopOrder, submission }) => submission?.side === Side.SELL && stopOrder.status !== StopOrder_Status.REJECTED,
    );
    expect(accepted.map(({ stopOrder }) => stopOrder.createdAt)).toContain(order?.createdAt);
  });

  it("that an order opens is covered although stop orders of renewals are on their way", async () => {
    await using node = await startNode();
    using signer = await signerFromMnemonic(node.mnemonic);
    const arrive: (() => void)[] = [];
    let isHolding = false;
    const holding: Interceptor = (next) => async (request) => {
      if (isHolding && request.method.name === "SubmitTransaction") {
        await new Promise<void>((resolve) => void arrive.push(resolve));
      }
      return next(request);
    };
    await using client = createClient(
      { profile: "deployed", grpc: { url: node.grpcUrl } },
      { interceptors: [holding] },
    );
    await using leases = client.leases({ signer, ...TIMES });
    const started = { client, signer, leases };
    await leases.submit(limitOrder());
    await eventually(() => marketOf(started)?.stopOrders.some(({ isPlaced }) => isPlaced) === true);
    isHolding = true;
    await passes(started, TIMES.flattenAfterMs + 500); // The stop order that is placed expires.
    await eventually(() => marketOf(started)?.stopOrders.some(({ isPlaced }) => isPlaced) === false);
    isHolding = false;
    const { id } = await leases.submit(limitOrder({ price: "1000000000" })); // It trades at once.
    const order = await orderOf(started, id);
    expect((await stopsOf(started)).map(({ stopOrder }) => stopOrder.createdAt)).toContain(order?.createdAt);
    for (const each of arrive) {
      each();
    }
  });

  it("stays covered although not all cancellations of stop orders fit into one batch", async () => {
    await using started = await start({ flattenAfterMs: [3000, 3100, 3200, 3300] });
    const { node, leases, events } = started;
    await trade(started, 3n);
    await eventually(() => marketOf(started)?.stopOrders.length === 4 && isCovered(started));
    node.failNext({ method: "SubmitTransaction", times: 4, with: "unavailable" }); // Their outcomes are unknown.
    await eventually(() => (marketOf(started)?.stopOrders.length ?? 0) >= 20);
    await passes(started, 5 * TIMES.renewEveryMs);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
    leases.close();
    await eventually(async () => (await volumeOf(started)) === 0n);
  });

  // A transaction is executed when its block is made, however late its response arrives.
  it("stays covered while the responses of renewals are late", async () => {
    await using node = await startNode();
    using signer = await signerFromMnemonic(node.mnemonic);
    const arrive: (() => void)[] = [];
    const holding: Interceptor = (next) => async (request) => {
      const response = await next(request);
      if (request.method.name === "SubmitTransaction") {
        await new Promise<void>((resolve) => void arrive.push(resolve));
      }
      return response;
    };
    await using client = createClient(
      { profile: "deployed", grpc: { url: node.grpcUrl } },
      { interceptors: [holding] },
    );
    await using leases = client.leases({ signer, ...TIMES, flattenAfterMs: [3000, 3100, 3200, 3300] });
    const started = { client, signer, leases };
    const submitting = leases.submit(limitOrder());
    await eventually(() => arrive.length === 5); // The order's stop orders, and four renewals.
    await eventually(async () => (await stopsOf(started)).length >= 20);
    const stops = await stopsOf(started);
    for (const each of arrive) {
      each();
    }
    expect(await submitting).toMatchObject({ status: "executed" });
    const refused = stops.filter(({ stopOrder }) => stopOrder.status === StopOrder_Status.REJECTED);
    expect(refused.map(({ stopOrder }) => stopOrder.rejectionReason)).toEqual([]);
  });

  it("that an order opens while a renewal is signed is covered", async () => {
    await using holding = await holdingSigner();
    const { signer } = holding;
    await using started = await start({ signer, flattenAfterMs: [3000, 3100, 3200, 3300] });
    const { leases, events } = started;
    await leases.submit(limitOrder());
    await eventually(() => marketOf(started)?.stopOrders.filter(({ isPlaced }) => isPlaced).length === 4);
    await holding.holdNext(); // The renewal, which replaces the stop orders.
    const submitting = leases.submit(limitOrder({ side: Side.SELL, price: "9000000000" }));
    const before = events.length;
    holding.letGo();
    await holding.holdNext(); // The order, so that the network executes the renewal first.
    await eventually(() => events.slice(before).some(({ kind }) => kind === "renewed"));
    holding.letGo();
    expect(await submitting).toMatchObject({ status: "executed", reason: undefined });
    await passes(started, TIMES.renewEveryMs);
    expect(events.filter(({ kind }) => kind === "stopOrderRefused")).toEqual([]);
    const sides = marketOf(started)
      ?.stopOrders.filter(({ isPlaced }) => isPlaced)
      .map(({ side }) => side);
    expect(new Set(sides)).toEqual(new Set([Side.BUY, Side.SELL]));
  });

  it("is covered by the next program, not closed by the stop orders of the one before", async () => {
    await using started = await start();
    const { client, signer, leases } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    leases.close();
    await using next = client.leases({ signer, ...TIMES });
    await eventually(() => marketOf({ leases: next })?.position.status === "covered");
    await passes({ leases: next }, 1.5 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(3n);
  });

  // A data node sends the events of a block before it commits the block: v0.78.0, `processBlock` in
  // datanode/broker/sqlstore_broker.go.
  it("is not closed by a stop order of the program before that the node lists late", async () => {
    await using started = await start();
    const { node, client, signer, leases } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    leases.close();
    const { timestamp: present } = await client.service(CoreService).getVegaTime({});
    let begun = 0n;
    const late: Interceptor = (next) => async (request) => {
      const response = await next(request);
      if (isMessage(response.message, GetVegaTimeResponseSchema)) {
        begun = response.message.timestamp;
      } else if (isMessage(response.message, ListStopOrdersResponseSchema) && begun <= present) {
        response.message.orders?.edges.splice(0);
      }
      return response;
    };
    const config = { profile: "deployed", grpc: { url: node.grpcUrl } } as const;
    await using other = createClient(config, { interceptors: [late] });
    await using next = other.leases({ signer, ...TIMES });
    await eventually(() => marketOf({ leases: next })?.position.status === "covered");
    await passes({ leases: next }, 1.5 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(3n);
  });

  it("is not closed by a stop order of the program before that is placed after the next one has begun", async () => {
    await using started = await start();
    const { client, signer, leases } = started;
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    const orderSubmission = {
      marketId: openMarket,
      side: Side.SELL,
      size: 3n,
      type: Order_Type.MARKET,
      timeInForce: Order_TimeInForce.IOC,
      reduceOnly: true,
      reference: "tradewire lease",
    };
    const fallsBelow = {
      orderSubmission,
      expiresAt: (leases.coverage().chainTime ?? 0n) + BigInt(TIMES.flattenAfterMs) * 1_000_000n,
      expiryStrategy: StopOrder_ExpiryStrategy.SUBMIT,
      trigger: { case: "price" as const, value: "1" },
    };
    const command = { case: "stopOrdersSubmission" as const, value: { fallsBelow } };
    const { outcome } = await client.sendCommand(command, { signer, until: "executed" });
    expect(outcome.status).toBe("executed");
    await passes(started, 1.5 * TIMES.flattenAfterMs);
    expect(await volumeOf(started)).toBe(3n);
    expect(isCovered(started)).toBe(true);
  });

  it("on a market that is not among marketIds keeps the stop orders of another program", async () => {
    await using started = await start();
    await trade(started, 3n);
    await eventually(() => isCovered(started));
    await using other = started.client.leases({ signer: started.signer, ...TIMES, marketIds: ["ab".repeat(32)] });
    await eventually(() => other.coverage().state === "live");
    expect(marketOf({ leases: other })).toMatchObject({ openVolume: 3n, stopOrders: [] });
  });
});
