import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, createClient, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { BusEventType, EndBlockSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { eventBus } from "../../../src/node/data/event-bus.js";
import { type BusRequestInit, type Subscription, subscribe } from "../../support/event-bus.js";
import { eventually } from "../../support/eventually.js";
import { failureOf } from "../../support/failure-of.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";
import { blockAt, historyOf, id, order, position, trade } from "../living-world.js";
import { serveData } from "./data-service.js";
import { createStreams, type Event, MAX_BUFFERED_RECORDS } from "./inside.js";

const { ORDER, TRADE, END_BLOCK, ALL } = BusEventType;
const orderEvent = (number: number): Event => ({ case: "order", value: order(number) });
const tradeEvent = (number: number): Event => ({ case: "trade", value: trade(number) });
const endBlock: Event = { case: "endBlock", value: create(EndBlockSchema, { height: 11n }) };
const orders = (count: number) => Array.from({ length: count }, (_, number) => orderEvent(number));

const open: Subscription[] = [];
let runtime: VirtualRuntime;
beforeEach(() => {
  runtime = useVirtualRuntime();
});
afterEach(() => {
  runtime[Symbol.dispose]();
  for (const subscription of open.splice(0)) {
    subscription.end();
  }
});

/** How a stream of batches fails without a request: recorded of the real data node. */
const withoutRequest = {
  code: "Internal",
  message: "Internal error",
  details: ["10010 internal stream failure (context deadline exceeded)"],
};

/** Serve the bus, and subscribe to it as often as there are requests. */
async function serveBus(...requests: BusRequestInit[]) {
  const { data, streams, happen } = serveData(historyOf());
  const subscriptions = requests.map((request) => subscribe(data.observeEventBus, request));
  open.push(...subscriptions);
  await eventually(() => streams.open("event") === requests.length);
  return { streams, happen, subscriptions };
}

/** Serve the bus to one subscription. */
async function serveOne(request: BusRequestInit) {
  const { subscriptions, ...rest } = await serveBus(request);
  const [subscription] = subscriptions;
  if (subscription === undefined) {
    throw new Error("there is no subscription");
  }
  return { ...rest, subscription, next: subscription.next };
}

describe("events", () => {
  test("say where and when they happened, of what type and transaction they are", async () => {
    const { data, streams, happen } = serveData(historyOf());
    const bus = subscribe(data.observeEventBus, {});
    open.push(bus);
    await eventually(() => streams.open("event") === 1);
    happen(orderEvent(7), { case: "position", value: position(id(2), id(1)), entryPriceInAsset: "0" }, endBlock);
    const { hash } = blockAt(11n);
    const shared = { block: hash.toUpperCase(), version: 1, chainId: "test-chain", txHash: id(0) };
    expect(await bus.events()).toMatchObject([
      { ...shared, id: "11-1", type: ORDER, event: { case: "order", value: { id: id(7), partyId: id(2) } } },
      { ...shared, id: "11-3", type: END_BLOCK, event: { case: "endBlock", value: { height: 11n } } },
    ]);
  });

  test("come to each subscriber, of the types that it asks for", async () => {
    const { happen, subscriptions } = await serveBus(
      { type: [TRADE] },
      { type: [END_BLOCK, ORDER] },
      { type: [TRADE, ALL] },
      { type: [] },
    );
    happen(orderEvent(1), tradeEvent(2), endBlock);
    expect(await Promise.all(subscriptions.map(({ next }) => next()))).toEqual([
      ["11-2"],
      ["11-1", "11-3"],
      ["11-1", "11-2", "11-3"],
      ["11-1", "11-2", "11-3"],
    ]);
  });

  test("come in messages of 20 at most, block by block", async () => {
    const { happen, next } = await serveOne({ batchSize: -1n });
    happen(...orders(41));
    happen();
    happen(orderEvent(1));
    const sizes = [];
    for (let message = 0; message < 4; message += 1) {
      sizes.push((await next())?.length);
    }
    expect(sizes).toEqual([20, 20, 1, 1]);
  });

  test("of a type that there is not are refused", async () => {
    const { data } = serveData(historyOf());
    for (const type of [99, BusEventType.UNSPECIFIED]) {
      const bus = subscribe(data.observeEventBus, { type: [ORDER, type] });
      await expect(bus.next()).rejects.toMatchObject({ code: Code.InvalidArgument });
    }
  });
});

describe("the first request", () => {
  const served = () => {
    const { data, streams, happen } = serveData(historyOf());
    const bus = subscribe(data.observeEventBus);
    open.push(bus);
    return { bus, streams, happen, first: bus.next() };
  };

  test("has to come within 5 seconds, or the stream ends", async () => {
    const { first } = served();
    let isOver = false;
    void first.then(() => {
      isOver = true;
    });
    await eventually(() => runtime.timers() === 1);
    await runtime.pass(4999);
    expect(isOver).toBe(false);
    await runtime.pass(1);
    expect(await first).toBeUndefined();
  });

  test("may come late, and then the stream stays open", async () => {
    const { bus, first, streams, happen } = served();
    await eventually(() => runtime.timers() === 1);
    await runtime.pass(4999);
    bus.ask({});
    await eventually(() => streams.open("event") === 1);
    await runtime.pass(60_000);
    happen(orderEvent(1));
    expect(await first).toEqual(["11-1"]);
  });

  test("has to come before the last one, or the stream ends", async () => {
    const { bus, first } = served();
    bus.askNoMore();
    expect(await first).toBeUndefined();
  });
});

describe("without a batch size", () => {
  test("further requests change nothing", async () => {
    const { happen, subscription, next } = await serveOne({ type: [ORDER] });
    subscription.ask({ type: [TRADE], batchSize: 5n });
    subscription.ask({ type: [BusEventType.UNSPECIFIED] });
    happen(orderEvent(1), tradeEvent(2));
    expect(await next()).toEqual(["11-1"]);
    subscription.askNoMore();
    happen(tradeEvent(1), orderEvent(2));
    expect(await next()).toEqual(["12-2"]);
  });
});

describe("batches", () => {
  test("have as many events as were asked for, of one block or several", async () => {
    const { happen, subscription, next } = await serveOne({ batchSize: 3n });
    happen(...orders(2));
    happen(...orders(5));
    expect(await next()).toEqual(["11-1", "11-2", "12-1"]);
    subscription.ask({ batchSize: 2n, type: [TRADE] });
    expect(await next()).toEqual(["12-2", "12-3"]);
    // As many as there are.
    subscription.ask({ batchSize: 0n });
    expect(await next()).toEqual(["12-4", "12-5"]);
    happen(...orders(4));
    subscription.ask({ batchSize: -1n });
    expect(await next()).toEqual(["13-1", "13-2", "13-3", "13-4"]);
  });

  test("have 10 000 events at most", async () => {
    const { happen, next } = await serveOne({ batchSize: 2n ** 62n });
    happen(...orders(6000));
    await setImmediate(); // They are taken.
    happen(...orders(6000));
    const ids = await next();
    expect(ids).toHaveLength(MAX_BUFFERED_RECORDS);
    expect(ids?.at(-1)).toBe("12-4000");
  });

  test("want a request for the next one within 5 seconds", async () => {
    const { happen, subscription, next, streams } = await serveOne({ batchSize: 1n });
    happen(...orders(3));
    expect(await next()).toEqual(["11-1"]);
    const second = next();
    await runtime.pass(4999);
    subscription.ask({ batchSize: 1n });
    subscription.ask({ batchSize: 1n }); // A second has passed as well.
    expect(await second).toEqual(["11-2"]);
    const third = failureOf(next());
    await runtime.pass(5000);
    expect(await third).toEqual(withoutRequest);
    await eventually(() => streams.open("event") === 0);
  });

  // LatestEvent of the real data node: the stream of batches of 300 ended after 6.1 s, before any event.
  test("that do not fill in a second want a request too, and fail 6 seconds after the opening without one", async () => {
    const { happen, next } = await serveOne({ batchSize: 3n });
    const failing = failureOf(next());
    happen(...orders(2));
    await runtime.pass(1000);
    happen(...orders(2)); // The batch is full now, and is not sent.
    await runtime.pass(4999);
    await expect(Promise.race([failing, setImmediate("open")])).resolves.toBe("open");
    await runtime.pass(1);
    expect(await failing).toEqual(withoutRequest);
  });

  test("come to who asks every second", async () => {
    const { happen, subscription, next } = await serveOne({ batchSize: 3n });
    const batch = next();
    happen(...orders(2));
    await runtime.pass(1000);
    subscription.ask({ batchSize: 3n });
    happen(...orders(2));
    expect(await batch).toEqual(["11-1", "11-2", "12-1"]);
  });

  // LatestEvent of the real data node, asked every 2 s: batches of 4 blocks' ends after 4.0, 6.0 and 10.0 s.
  test("come to who asks every two seconds, with the second request", async () => {
    const { happen, subscription, next } = await serveOne({ batchSize: 3n });
    const batch = next();
    happen(...orders(2));
    await runtime.pass(1500); // The node has read no request behind its first second yet.
    happen(...orders(2));
    await runtime.pass(500); // The next second has passed as well.
    subscription.ask({ batchSize: 3n });
    expect(await batch).toEqual(["11-1", "11-2", "12-1"]);
  });

  test("of the core come to who asks after each answer, however long they take", async () => {
    const streams = createStreams();
    const transport = createRouterTransport(({ service }) =>
      service(CoreService, { observeEventBus: eventBus({ chainId: "test-chain", streams }, "core") }),
    );
    const bus = subscribe(createClient(CoreService, transport).observeEventBus, { batchSize: 1n });
    open.push(bus);
    const first = bus.next();
    await eventually(() => streams.open("event") === 1);
    await runtime.pass(60_000);
    const block = blockAt(11n);
    streams.publish(block, [{ block, sequence: 1, txHash: id(0), event: orderEvent(1) }]);
    expect(await first).toEqual(["11-1"]);
  });

  test("fail where no more will be asked for", async () => {
    const { happen, subscription, next } = await serveOne({ batchSize: 1n });
    subscription.askNoMore();
    happen(...orders(2));
    expect(await next()).toEqual(["11-1"]);
    expect((await failureOf(next())).code).toBe("Internal");
  });
});

describe("who reads too slowly", () => {
  test("is left without an error, and the others go on", async () => {
    const { happen, subscriptions, streams } = await serveBus({}, { type: [TRADE] });
    happen(orderEvent(1));
    for (let block = 0; block < 3; block += 1) {
      happen(...orders(MAX_BUFFERED_RECORDS / 2), tradeEvent(block));
    }
    const [slow, other] = subscriptions;
    const seen: (readonly string[])[] = [];
    for (let ids = await slow?.next(); ids !== undefined; ids = await slow?.next()) {
      seen.push(ids);
    }
    expect(seen.flat().length).toBeLessThan(2 * MAX_BUFFERED_RECORDS);
    expect(streams.open("event")).toBe(1);
    expect(await other?.next()).toEqual([`12-${MAX_BUFFERED_RECORDS / 2 + 1}`]);
  });
});

test("a subscription that its caller ends is no longer open", async () => {
  const { subscription, streams, next } = await serveOne({ batchSize: 5n });
  subscription.end();
  await expect(next()).rejects.toMatchObject({ code: Code.Canceled });
  await eventually(() => streams.open("event") === 0);
});

test("a caller that ends between two batches leaves no timer", async () => {
  const { data, streams, happen } = serveData(historyOf());
  const subscription = subscribe(data.observeEventBus, { batchSize: 1n });
  open.push(subscription);
  await eventually(() => streams.open("event") === 1);
  happen(...orders(2));
  expect(await subscription.next()).toEqual(["11-1"]);
  // The stream holds the batch's message now, and nobody reads on: only the signal can end it.
  subscription.end();
  await eventually(() => streams.open("event") === 0);
  await runtime.pass(5000);
  expect(runtime.timers()).toBe(0);
});
