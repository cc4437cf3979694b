import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { ProtocolError, RequestError } from "tradewire";
import { BusEventSchema, BusEventTypeSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import {
  type BusCall,
  eventOf,
  inShort,
  quiet,
  startObserving,
  take,
  untilFailure,
} from "../../support/event-server.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

/** A node that sends these ids, all in one answer, and is then quiet. */
const sending = (...events: ReturnType<typeof eventOf>[]) =>
  async function* ({ signal }: BusCall) {
    yield events;
    yield* quiet(signal);
  };

const party = "a1".repeat(32);
const market = "b2".repeat(32);

/**
 * All types that a node of v0.78.0 takes but `ALL`: `protoMap` in core/events/bus.go. It refuses a stream that names another. For `ALL`, and for
 * no type, its data node sends no `txErrEvent` (`subscribe` in datanode/broker/broker.go; seen on the network: 0 of 4).
 */
const everyType = BusEventTypeSchema.values
  .filter(({ localName }) => !["UNSPECIFIED", "ALL", "STREAM_START", "SPOT_LIQUIDITY_PROVISION"].includes(localName))
  .map(({ number }) => number)
  .sort((a, b) => a - b);

describe("events", () => {
  test("come by their kind, with where they are from", async () => {
    await using node = await startObserving(async function* ({ signal }) {
      yield [eventOf("7-1", { event: { case: "beginBlock", value: { height: 7n } } })];
      yield [eventOf("7-2"), eventOf("7-3", { event: { case: "trade", value: { price: "12" } } })];
      yield* quiet(signal);
    });
    const events = await take(3, node.client.events());
    const origin = { id: "7-1", block: 7n, sequence: 1n, blockHash: "hash-7", txHash: "tx-7-1", chainId: "chain-1" };
    expect(events).toEqual([
      { ...origin, kind: "beginBlock", value: expect.objectContaining({ height: 7n }) },
      expect.objectContaining({ kind: "order", value: expect.objectContaining({ id: "order-7-2" }) }),
      expect.objectContaining({ kind: "trade", sequence: 3n, value: expect.objectContaining({ price: "12" }) }),
    ]);
  });

  test("are asked for at once, all of them unless types are named", async () => {
    await using node = await startObserving(sending(eventOf("1-1")));
    const { client, server } = node;
    await take(1, client.events());
    await take(1, client.events({ types: ["order", "rankingEvent"], partyId: party, marketId: market }));
    await take(1, client.events({ partyId: "network", batchSize: 3 }));
    const asked = server.calls.map(({ requests: [first] }) => ({
      ...first,
      type: first?.type.toSorted((a, b) => a - b),
    }));
    expect(asked).toMatchObject([
      { type: everyType, partyId: "", marketId: "", batchSize: 0n },
      { type: [5, 41], partyId: party, marketId: market, batchSize: 0n },
      { type: everyType, partyId: "network", marketId: "", batchSize: 3n },
    ]);
  });

  test("are asked for again after each batch, and only with a batch size", async () => {
    await using node = await startObserving(async function* ({ asked, requests, signal }) {
      for (let batch = 1; batch <= 4; batch += 1) {
        yield [eventOf(`${batch}-1`)];
        if (requests[0]?.batchSize === 1n) {
          await asked(batch + 1);
        }
      }
      yield* quiet(signal);
    });
    const { client, server } = node;
    expect(inShort(await take(4, client.events({ types: ["order"], batchSize: 1 })))).toEqual([
      "1-1",
      "2-1",
      "3-1",
      "4-1",
    ]);
    await take(4, client.events());
    const [batches, single] = server.calls.map(({ requests }) => requests.map(({ batchSize }) => batchSize));
    expect(batches?.slice(0, 4)).toEqual([1n, 1n, 1n, 1n]); // The loop was left at the fourth.
    expect(single).toEqual([0n]);
    expect(server.calls[0]?.requests.every(({ type }) => type[0] === 5)).toBe(true);
  });

  // v0.78.0, `observeEventsWithAck` in datanode/api/event_observer.go: each second the node takes one request for its statistics,
  // and sends nothing until it has it.
  test("are asked for ahead of the node with a batch size, and each second: it takes requests without an answer", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await startObserving(async function* ({ asked, signal }) {
      await asked(3); // No time passes.
      yield [eventOf("1-1")];
      await asked(6); // One for the answer, and two by time.
      yield [eventOf("1-2")];
      yield* quiet(signal);
    });
    const events = node.client.events({ batchSize: 1 })[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ id: "1-1" });
    const startedAt = runtime.monotonicMs();
    expect((await runtime.until(events.next())).value).toMatchObject({ id: "1-2" });
    expect(runtime.monotonicMs() - startedAt).toBe(2000);
    await events.return?.();
  });

  test("that were not asked for are passed over", async () => {
    const trade = eventOf("1-2", { event: { case: "trade", value: {} } });
    await using node = await startObserving(sending(eventOf("1-1"), trade, eventOf("1-3")));
    expect(inShort(await take(2, node.client.events({ types: ["order"] })))).toEqual(["1-1", "1-3"]);
  });

  test("of a type that this release does not know are unknown, and lose nothing", async () => {
    const newer = create(BusEventSchema, { ...eventOf("5-1"), event: { case: undefined } });
    newer.$unknown = [{ no: 777, wireType: 2, data: new Uint8Array([1, 9]) }];
    await using node = await startObserving(sending(newer));
    const [event] = await take(1, node.client.events());
    expect(event).toMatchObject({ kind: "unknown", id: "5-1", block: 5n, txHash: "tx-5-1" });
    expect(event?.kind === "unknown" && event.value.$unknown).toMatchObject([{ no: 777 }]);
  });

  test("may come in a different order than that of their ids, and stay in it", async () => {
    const ids = ["4-2", "4-1", "5-1", "4-3", "5-2"];
    await using node = await startObserving(sending(...ids.map((id) => eventOf(id))));
    expect(inShort(await take(5, node.client.events()))).toEqual(ids);
  });

  test.each([
    "",
    "7",
    "7-",
    "-1",
    "a-1",
    "7-1-1",
    "7-1 ",
    " 7-1",
    "0x7-1",
    "7--1",
    `${"9".repeat(20)}-1`,
    "7-1\u001b[2J",
  ])("with the id %j are no events", async (id) => {
    await using node = await startObserving(sending(eventOf("6-1"), eventOf("6-2", { id })));
    const { taken, error } = await untilFailure(node.client.events({}, { reconnect: true }));
    expect(taken).toEqual([]); // They came in the same answer.
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      summary: `an event ID must have the form BLOCK-SEQUENCE (got ${JSON.stringify(id)})`,
      code: Code.DataLoss,
      method: "datanode.api.v2.TradingDataService/ObserveEventBus",
      transport: "grpc",
    });
  });

  test("of a different chain than the configured one are refused, and of the one before where none is", async () => {
    const other = eventOf("2-1", { chainId: "chain-2" });
    const answer = async function* ({ signal }: BusCall) {
      yield [eventOf("1-1")];
      yield [other];
      yield* quiet(signal);
    };
    await using free = await startObserving(answer);
    const unnamed = await untilFailure(free.client.events({}, { reconnect: true }));
    const summary = 'event 2-1 belongs to chain "chain-2", not to "chain-1"';
    expect(inShort(unnamed.taken)).toEqual(["1-1"]);
    expect(unnamed.error).toMatchObject({ name: "ProtocolError", summary });
    await using named = await startObserving(answer, { chainId: "chain-2" });
    const { taken, error } = await untilFailure(named.client.events());
    expect(taken).toEqual([]);
    expect(error).toMatchObject({
      name: "ProtocolError",
      summary: 'event 1-1 belongs to chain "chain-1", not to "chain-2"',
    });
  });

  test.each([
    [{ types: [] }, "types must be a non-empty array of event types"],
    [{ types: ["orders"] }, 'types[0] must be an event type (got "orders")'],
    [{ types: "order" }, "types must be a non-empty array of event types"],
    [{ partyId: "" }, 'partyId must be 64 hex digits (got "")'],
    [{ marketId: "network" }, 'marketId must be 64 hex digits (got "network")'],
    [{ batchSize: -1 }, "batchSize must be a whole number from 0 to 1000 (got -1)"],
    [{ batchSize: 1001 }, "batchSize must be a whole number from 0 to 1000 (got 1001)"],
    [{ batchSize: 1.5 }, "batchSize must be a whole number from 0 to 1000 (got 1.5)"],
  ])("are not asked for with %j", async (request, summary) => {
    await using node = await startObserving(sending());
    const ask = () => Reflect.apply(node.client.events, undefined, [request]);
    expect(ask).toThrow(RequestError);
    expect(ask).toThrow(expect.objectContaining({ summary }));
    expect(node.server.calls).toEqual([]);
  });

  test("do not wait in a number that is none", async () => {
    await using node = await startObserving(sending());
    expect(() => node.client.events({}, { maxWaiting: 0 })).toThrow(RequestError);
    expect(() => node.client.transactionResults({}, { maxWaiting: Number.NaN })).toThrow(RequestError);
  });
});
