import type { MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { sha3_256 } from "@noble/hashes/sha3.js";
import {
  type CommandInit,
  createClient,
  type Gap,
  type LiveEvent,
  RequestError,
  type Signer,
  signerFromMnemonic,
} from "tradewire";
import { startDevnode } from "tradewire/devnode";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import type { OrderSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { type BusEventSchema, BusEventType } from "tradewire/gen/vega/events/v1/events_pb.js";
import { Order_Status, Order_TimeInForce, Order_Type, type OrderSchema, Side } from "tradewire/gen/vega/vega_pb.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { type BusCall, eventOf, quiet, startObserving, take } from "../../support/event-server.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

// The ends of orders on the bus of v0.78.0 (core/events/cancelled_orders.go, core/events/expired_orders.go): for submit, cancel,
// submit GTT, expire, a node sends "order cancelledOrders order expiredOrders"; by party the same without expiredOrders, as that
// event has no party and the bus drops it then (GetPartyIDFilter in core/events/bus.go). A cancellation and an expiry without an
// event `order` are also in test/network/recorded/order-events.json.

const { ACTIVE, CANCELLED, EXPIRED, PARTIALLY_FILLED } = Order_Status;
const { GTC, GTT, IOC } = Order_TimeInForce;
const SECOND = 1_000_000_000n;

describe.each(["grpc", "rest"] as const)("the ends of orders, over %s", (transport) => {
  test("are events of the orders, in the order of what happened, beside the node's own events", async () => {
    await using live = await start(transport);
    const { client, node, alice } = live;
    const before = await live.submit(alice);
    const items = collect(
      client.events({ types: ["order", "cancelledOrders", "expiredOrders", "endBlock"], lifecycle: true }),
    );
    await items.until(
      () => items.taken.length > 0,
      () => node.makeBlock(),
    );

    const first = await live.submit(alice);
    const canceled = await live.cancel(alice, first);
    const expiresAt = await live.expiry();
    const second = await live.submit(alice, { timeInForce: GTT, expiresAt });
    node.setTime(expiresAt + SECOND);
    await node.makeBlock();
    await live.cancel(alice, before);
    await items.until(
      () => items.orders().some(({ value }) => value.id === before),
      () => node.makeBlock(),
    );

    const cases = items.taken.flatMap((item) => ("gap" in item || item.kind === "endBlock" ? [] : [item.kind]));
    const [own, ended] = [["order"], ["cancelledOrders", "order"]];
    expect(cases).toEqual([...own, ...ended, ...own, "expiredOrders", "order", ...ended]);
    const known = { marketId: openMarket, partyId: alice.publicKey, price: "1", size: 3n, remaining: 3n };
    expect(items.orders().map(({ value }) => value)).toMatchObject([
      { ...known, id: first, status: ACTIVE },
      { ...known, id: first, status: CANCELLED },
      { ...known, id: second, status: ACTIVE, expiresAt },
      { ...known, id: second, status: EXPIRED, expiresAt },
      { id: before, marketId: openMarket, partyId: alice.publicKey, status: CANCELLED, price: "", size: 0n },
    ]);
    const [cancellation, joined] = items.taken.filter(
      (item) => !("gap" in item) && item.txHash.toUpperCase() === canceled,
    );
    expect(cancellation).toMatchObject({ kind: "cancelledOrders", value: { orderIds: [first] } });
    expect(joined).toEqual({ ...cancellation, kind: "order", value: expect.objectContaining({ id: first }) });
    await items.leave();
  });

  test("of a party are complete, also of orders from before the stream, and none of others", async () => {
    await using live = await start(transport);
    const { client, node, alice, bob } = live;
    const expiresAt = await live.expiry();
    const before = await live.submit(alice, { timeInForce: GTT, expiresAt, price: "2" });
    await live.submit(bob, { timeInForce: GTT, expiresAt });
    const items = collect(client.events({ types: ["order"], lifecycle: true, partyId: alice.publicKey }));
    await items.until(
      () => items.taken.length > 0,
      () => live.submit(alice),
    );

    const during = await live.submit(alice, { timeInForce: GTT, expiresAt, price: "3" });
    await live.cancel(bob, await live.submit(bob));
    node.setTime(expiresAt + SECOND);
    await node.makeBlock();
    const last = await live.submit(alice);
    await live.cancel(alice, last);
    await items.until(
      () => items.orders().some(({ value }) => value.status === CANCELLED),
      () => node.makeBlock(),
    );

    expect(items.orders().every(({ value }) => value.partyId === alice.publicKey)).toBe(true);
    const ends = items.orders().filter(({ value }) => value.status !== ACTIVE);
    expect(ends.map(({ value }) => value)).toMatchObject([
      { id: before, status: EXPIRED, price: "2", size: 3n },
      { id: during, status: EXPIRED, price: "3", size: 3n },
      { id: last, status: CANCELLED, price: "1", size: 3n },
    ]);
    await items.leave();
  });

  test("of orders that were placed in a gap are known after it", async () => {
    await using live = await start(transport);
    const { client, node, alice } = live;
    const items = collect(
      client.events({ types: ["order"], lifecycle: true, partyId: alice.publicKey }, { reconnect: true }),
    );
    await items.until(
      () => items.taken.length > 0,
      () => live.submit(alice),
    );
    const expiresAt = await live.expiry();
    live.setDown(true);
    const missed = await live.submit(alice, { timeInForce: GTT, expiresAt, price: "4" });
    live.setDown(false);
    await items.until(
      () => items.taken.some((item) => "gap" in item),
      () => live.submit(alice),
    );
    expect(items.orders().some(({ value }) => value.id === missed)).toBe(false);
    node.setTime(expiresAt + SECOND);
    await items.until(
      () => items.orders().some(({ value }) => value.status === EXPIRED),
      () => node.makeBlock(),
    );
    expect(items.orders().at(-1)?.value).toMatchObject({ id: missed, status: EXPIRED, price: "4", size: 3n });
    await items.leave();
  });
});

// A data node sends the events of a block before it commits the block: v0.78.0, `processBlock` in
// datanode/broker/sqlstore_broker.go.
test("the ends of orders that a data node had not committed when the stream began are known", async () => {
  using runtime = useVirtualRuntime({ io: true });
  const LAG_MS = 75;
  await using live = await start("grpc", LAG_MS);
  const { client, node, alice } = live;
  const expiresAt = await live.expiry();
  const uncommitted = await live.submit(alice, { timeInForce: GTT, expiresAt, price: "4" });
  const items = collect(client.events({ types: ["order"], lifecycle: true, partyId: alice.publicKey }));
  await items.until(
    () => items.taken.length > 0,
    () => live.submit(alice),
  );
  for (let block = 0; block < 3; block += 1) {
    await runtime.pass(LAG_MS);
    const before = items.taken.length;
    await items.until(
      () => items.taken.length > before,
      () => live.submit(alice),
    );
  }
  node.setTime(expiresAt + SECOND);
  await node.makeBlock();
  await live.cancel(alice, await live.submit(alice));
  await items.until(
    () => items.orders().some(({ value }) => value.status === CANCELLED),
    () => node.makeBlock(),
  );
  const ended = items.orders().filter(({ value }) => value.status === EXPIRED);
  expect(ended.map(({ value }) => value)).toMatchObject([{ id: uncommitted, price: "4", size: 3n }]);
  await items.leave();
});

const party = "a1".repeat(32);
const other = "b2".repeat(32);
type Content = NonNullable<MessageInitShape<typeof BusEventSchema>["event"]>;

const order = (id: string, more: MessageInitShape<typeof OrderSchema> = {}): Content => ({
  case: "order",
  value: { id, partyId: party, status: ACTIVE, type: Order_Type.LIMIT, timeInForce: GTC, price: "7", ...more },
});
const canceled = (...orderIds: string[]): Content => ({
  case: "cancelledOrders",
  value: { marketId: "m", partyId: party, orderIds },
});
const expired = (...orderIds: string[]): Content => ({ case: "expiredOrders", value: { marketId: "m", orderIds } });
const trade = (buyer: string, seller: string): Content => ({ case: "trade", value: { buyer, seller } });

/** A node without orders to list, whose bus sends these events by their ids, and is then quiet. */
const sending = (events: Readonly<Record<string, Content>>) =>
  async function* ({ signal }: BusCall) {
    yield Object.entries(events).map(([id, event]) => eventOf(id, { event }));
    yield* quiet(signal);
  };

describe("a stream with lifecycle", () => {
  test("asks for the events of all parties, and selects those of one", async () => {
    await using node = await startObserving(
      sending({
        "1-1": order("a"),
        "1-2": order("b", { partyId: other }),
        "1-3": trade(other, other),
        "1-4": trade(other, party),
        "2-1": expired("b", "a", "unknown"),
        "2-2": { case: "cancelledOrders", value: { marketId: "m", partyId: other, orderIds: ["b"] } },
        "2-3": canceled("c"),
      }),
    );
    const items = await take(
      4,
      node.client.events({ types: ["order", "trade"], lifecycle: true, partyId: party, batchSize: 0 }),
    );
    expect(items).toMatchObject([
      { id: "1-1", kind: "order", value: { id: "a", status: ACTIVE } },
      { id: "1-4", kind: "trade" },
      { id: "2-1", kind: "order", value: { id: "a", partyId: party, status: EXPIRED, price: "7" } },
      { id: "2-3", kind: "order", value: { id: "c", marketId: "m", partyId: party, status: CANCELLED, price: "" } },
    ]);
    const request = node.server.calls[0]?.requests[0];
    expect(request?.partyId).toBe("");
    const { ORDER, TRADE, CANCELLED_ORDERS, EXPIRED_ORDERS } = BusEventType;
    expect(request?.type).toEqual([ORDER, TRADE, CANCELLED_ORDERS, EXPIRED_ORDERS]);
  });

  // Which orders are live: archive_orders in datanode/sqlstore/migrations/0008_iceberg_live_orders.sql.
  test("remembers live orders only, also where an end is sent before the order of its block", async () => {
    await using node = await startObserving(
      sending({
        "1-2": canceled("same block"),
        "1-1": order("same block"),
        "1-3": order("ioc", { status: PARTIALLY_FILLED, timeInForce: IOC }),
        "1-4": order("filled"),
        "2-1": order("filled", { status: Order_Status.FILLED }),
        "2-2": order("parked", { status: Order_Status.PARKED }),
        "3-1": expired("same block", "ioc", "filled", "parked"),
      }),
    );
    const items = await take(10, node.client.events({ types: ["order"], lifecycle: true }));
    expect(items.slice(-4).map(({ value }) => [value.id, value.status, value.price])).toEqual([
      ["same block", EXPIRED, ""],
      ["ioc", EXPIRED, ""],
      ["filled", EXPIRED, ""],
      ["parked", EXPIRED, "7"],
    ]);
  });

  test.each([
    [{ types: ["trade"], lifecycle: true }, 'lifecycle requires "order" in the types'],
    [{ lifecycle: true }, 'lifecycle requires "order" in the types'],
    [
      { types: ["order", "account"], lifecycle: true, partyId: party },
      "account cannot be observed with lifecycle and partyId together",
    ],
    [{ types: ["order"], lifecycle: "yes" }, 'lifecycle must be true or false (got "yes")'],
  ])("is refused with %j", async (request, summary) => {
    await using node = await startObserving(sending({}));
    const ask = () => Reflect.apply(node.client.events, undefined, [request]);
    expect(ask).toThrow(RequestError);
    expect(ask).toThrow(expect.objectContaining({ summary }));
  });
});

/** Read a stream in the background. */
function collect(stream: AsyncIterable<LiveEvent | Gap>) {
  const taken: (LiveEvent | Gap)[] = [];
  const iterator = stream[Symbol.asyncIterator]();
  let failure: { readonly reason: unknown } | undefined;
  const reading = (async () => {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
      taken.push(next.value);
    }
  })().catch((reason: unknown) => {
    failure = { reason };
  });
  return {
    taken,
    orders: () => taken.flatMap((item) => ("gap" in item || item.kind !== "order" ? [] : [item])),
    /** Do something on the node, again and again, until the stream has shown what is waited for. */
    async until(isSeen: () => boolean, act: () => Promise<unknown>) {
      for (let tries = 0; !isSeen(); tries += 1) {
        if (failure !== undefined) {
          throw failure.reason;
        }
        expect(tries).toBeLessThan(2000);
        await act();
        await new Promise(setImmediate); // What has come is read.
      }
    },
    async leave() {
      await iterator.return?.();
      await reading;
    },
  };
}

/** A node whose blocks the test makes, a client that reaches it through proxies, and two parties that reach it directly. */
async function start(transport: "grpc" | "rest", commitDelayMs = 0) {
  const node = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0, commitDelayMs });
  const [grpc, rest] = [await startCuttingProxy(node.grpcUrl), await startCuttingProxy(node.restUrl)];
  const retry = { baseMs: 10, maxMs: 50 };
  const client = createClient({ transport, grpc: { url: grpc.url }, rest: { url: rest.url }, retry });
  const direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const alice = await signerFromMnemonic(node.mnemonic, { index: 1 });
  const bob = await signerFromMnemonic(node.mnemonic, { index: 2 });

  async function send(command: CommandInit, signer: Signer) {
    const sent = await direct.sendCommand(command, { signer });
    await node.makeBlock();
    return sent;
  }

  return {
    ...{ node, client, alice, bob },
    /** A time a minute behind the last block's. */
    async expiry(): Promise<bigint> {
      await node.makeBlock();
      const { timestamp } = await direct.service(CoreService).getVegaTime({});
      return timestamp + 60n * SECOND;
    },
    /** Submit an order that rests, and make its block. */
    async submit(signer: Signer, more: MessageInitShape<typeof OrderSubmissionSchema> = {}): Promise<string> {
      const value = {
        ...{ marketId: openMarket, side: Side.BUY, type: Order_Type.LIMIT, timeInForce: GTC, size: 3n, price: "1" },
        ...more,
      };
      const { transaction } = await send({ case: "orderSubmission", value }, signer);
      return Buffer.from(sha3_256(Buffer.from(transaction.signature?.value ?? "", "hex"))).toString("hex");
    },
    /** Cancel an order, and make its block: the hash of the transaction. */
    async cancel(signer: Signer, orderId: string): Promise<string> {
      return (await send({ case: "orderCancellation", value: { marketId: openMarket, orderId } }, signer)).txHash;
    },
    /** Cut the client's connections, and let no others through until it is undone. */
    setDown(isDown: boolean) {
      for (const proxy of [grpc, rest]) {
        proxy.isDown = isDown;
        proxy.cut();
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([client.close(), direct.close()]);
      await Promise.all([grpc, rest].map((proxy) => proxy[Symbol.asyncDispose]()));
      await node.close();
    },
  };
}
