import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, test } from "@jest/globals";
import { ConnectionError, createClient } from "../../src/index.js";
import { type BusAnswer, eventOf, quiet, serveEvents } from "../support/event-server.js";

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) {
    await one[Symbol.asyncDispose]();
  }
});

async function start(answer: BusAnswer, more: object = {}) {
  const server = await serveEvents(answer);
  opened.push(server);
  const client = createClient({ grpc: { url: server.grpcUrl }, retry: { baseMs: 1, maxMs: 5 }, ...more });
  opened.push(client);
  return { server, client };
}

async function take<T>(count: number, values: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const value of values) {
    taken.push(value);
    if (taken.length === count) {
      break;
    }
  }
  return taken;
}

describe("events", () => {
  test("come by their case, with where they are from", async () => {
    const { server, client } = await start(async function* ({ signal }) {
      yield [eventOf("7-1", { event: { case: "beginBlock", value: { height: 7n } } })];
      yield [eventOf("7-2"), eventOf("7-3", { event: { case: "trade", value: { price: "12" } } })];
      yield* quiet(signal);
    });
    const events = await take(3, client.events());
    expect(events).toMatchObject([
      {
        case: "beginBlock",
        id: "7-1",
        block: 7n,
        sequence: 1n,
        blockHash: "hash-7",
        txHash: "tx-7-1",
        chainId: "chain-1",
        value: { height: 7n },
      },
      { case: "order", value: { id: "order-7-2" } },
      { case: "trade", sequence: 3n, value: { price: "12" } },
    ]);
    expect(server.calls[0]?.requests).toMatchObject([{ type: [1], batchSize: 0n, partyId: "", marketId: "" }]);
  });

  test("an end without an error is a loss", async () => {
    const { client } = await start(async function* () {
      yield [eventOf("7-1")];
    });
    const error = await take(2, client.events({ types: ["order"] })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      connected: true,
      code: Code.Unavailable,
      summary: "the stream of events was lost: the node ended it without an error; events after block 6 may be missing",
      method: "datanode.api.v2.TradingDataService/ObserveEventBus",
      transport: "grpc",
    });
  });

  test("after a loss, a gap comes before the next event, and repeated events do not come again", async () => {
    const { server, client } = await start(async function* ({ signal }, before) {
      if (before === 0) {
        yield [eventOf("7-1"), eventOf("8-1"), eventOf("8-2")];
        return;
      }
      yield [eventOf("8-2"), eventOf("8-3"), eventOf("9-1")];
      yield* quiet(signal);
    });
    const items = await take(6, client.events({}, { reconnect: true }));
    expect(items.map((item) => ("gap" in item ? item.gap : item.id))).toEqual([
      "7-1",
      "8-1",
      "8-2",
      { afterBlock: 7n, beforeBlock: 9n },
      "8-3",
      "9-1",
    ]);
    expect(server.calls).toHaveLength(2);
  });
});
