import { randomBytes } from "node:crypto";
// Slow, and worth it: who reads slowly must not cost memory, which shows with much data alone.
import { once } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { createClient, SlowConsumerError } from "tradewire";
import { ObserveTransactionResultsResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import {
  type BusAnswer,
  eventOf,
  inShort,
  quiet,
  type ResultsAnswer,
  startObserving,
  take,
  untilFailure,
} from "../../support/event-server.js";
import { standsStill } from "../../support/eventually.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { nodeRuntime, useRuntime } from "../../support/virtual-runtime.js";

/** 3.8 MB that compression does not make much smaller: what is on its way is limited by its size on the wire. */
const incompressible = randomBytes(2_850_000).toString("base64");

/** A node that sends events without end, and drops the call when its first `count` events are out and it was told to. */
function flooding(
  count: number,
  drop: Promise<void>,
  reason?: ConnectError,
): { answer: BusAnswer; sent: () => number } {
  let sent = 0;
  const answer: BusAnswer = async function* () {
    for (; sent < count; sent += 1) {
      yield [eventOf(`${sent + 1}-1`, { txHash: incompressible.slice(0, 2000) })];
    }
    await drop;
    if (reason !== undefined) {
      throw reason;
    }
  };
  return { answer, sent: () => sent };
}

describe("a slow consumer", () => {
  test.each([
    ["without an error", undefined, "the node ended it without an error"],
    ["with an error", new ConnectError("slow", Code.Internal), "the node answered INTERNAL: slow"],
  ])(
    "gets all events that wait, and then an error of its own, where the node ends the stream %s",
    async (_, reason, words) => {
      let drop = (): void => {};
      const { answer, sent } = flooding(40, new Promise((resolve) => (drop = resolve)), reason);
      await using node = await startObserving(answer);
      let lateMs = 0;
      using _later = useRuntime({ monotonicMs: () => nodeRuntime.monotonicMs() + lateMs });
      let left = 1;
      const { taken, error } = await untilFailure(
        (async function* () {
          for await (const event of node.client.events({}, { maxWaiting: 5, reconnect: true })) {
            yield event;
            if (left > 0) {
              left -= 1;
              await standsStill(sent); // The buffer is full.
              lateMs = 150; // A consumer counts as slow that keeps the stream waiting for 100 ms.
              drop();
            }
          }
        })(),
      );
      expect(inShort(taken)).toEqual(Array.from({ length: 40 }, (_, at) => `${at + 1}-1`));
      expect(error).toBeInstanceOf(SlowConsumerError);
      expect(error).toMatchObject({
        name: "SlowConsumerError",
        code: Code.ResourceExhausted,
        summary: `the stream of events ended because it was read too slowly: ${words}; events after block 39 may be missing`,
        method: "datanode.api.v2.TradingDataService/ObserveEventBus",
      });
      expect(node.server.calls).toHaveLength(1);
    },
  );

  test("holds the node back, and no more waits than is allowed", async () => {
    const { answer, sent } = flooding(1_000_000, new Promise(() => undefined));
    await using node = await startObserving(answer);
    const events = node.client.events({}, { maxWaiting: 5 })[Symbol.asyncIterator]();
    await events.next();
    await standsStill(sent);
    expect(sent()).toBeLessThan(100_000); // The default window is large, and the rest waits at the node.
    await take(3, { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) });
    await events.return?.();
  });
});

test("few large events do not fill the memory of a consumer that does not read, over grpc", async () => {
  let sent = 0;
  const answer: BusAnswer = async function* ({ signal }) {
    for (; sent < 200 && !signal.aborted; sent += 1) {
      yield [eventOf(`${sent + 1}-1`, { txHash: incompressible })];
    }
  };
  await using node = await startObserving(answer);
  const events = node.client.events({})[Symbol.asyncIterator]();
  await events.next();
  await standsStill(() => sent);
  expect(sent).toBeLessThan(20); // 16 MiB wait, and what is on its way.
  const ids = [];
  for (let count = 0; count < 30; count += 1) {
    const { value } = await events.next();
    ids.push(value === undefined || "gap" in value ? "" : value.id);
  }
  expect(ids).toEqual(Array.from({ length: 30 }, (_, at) => `${at + 2}-1`)); // It goes on when it is read.
  await events.return?.();
});

/** Reads one value, and no more until the node sends no more; then others. Gives how many were sent until then. */
async function readLate<T>(
  count: number,
  values: AsyncIterable<T>,
  sent: () => number,
): Promise<{ before: number; taken: T[] }> {
  const iterator = values[Symbol.asyncIterator]();
  const rest = { [Symbol.asyncIterator]: () => ({ next: () => iterator.next() }) };
  const taken = await take(1, rest);
  await standsStill(sent);
  const before = sent();
  taken.push(...(await take(count - 1, rest)));
  await iterator.return?.();
  return { before, taken };
}

test("few large results do not fill the memory of a consumer that does not read, over REST", async () => {
  let sent = 0;
  const results: ResultsAnswer = async function* (_, signal) {
    for (; sent < 200 && !signal.aborted; sent += 1) {
      yield [{ hash: String(sent), partyId: incompressible }];
    }
  };
  await using node = await startObserving(({ signal }) => quiet(signal), { transport: "rest" }, { results });
  const { before, taken } = await readLate(30, node.client.transactionResults(), () => sent);
  expect(before).toBeLessThan(20); // 16 MiB wait, and what is on its way.
  expect(taken.map(({ hash }) => hash)).toEqual(Array.from({ length: 30 }, (_, at) => String(at)));
});

test.each(["grpc", "grpc-js"] as const)("nor do small ones of many elements, over %s", async (transport) => {
  // 80 kB each, as an empty order has two bytes; in memory each order has some hundred.
  const submissions = Array.from({ length: 40_000 }, () => ({}));
  const result = { transaction: { case: "batchMarketInstructions", value: { submissions } } } as const;
  const response = create(ObserveTransactionResultsResponseSchema, { transactionResults: [result] });
  const message = envelope(toBinary(ObserveTransactionResultsResponseSchema, response));
  let sent = 0;
  const server = await serveStreams(async (stream) => {
    stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
    for (; sent < 60 && !stream.destroyed; sent += 1) {
      if (!stream.write(message)) {
        await once(stream, "drain").catch(() => undefined);
      }
    }
  });
  try {
    await using client = createClient({ transport, grpc: { url: server.url, windowBytes: 65_535 } });
    const { before, taken } = await readLate(6, client.transactionResults(), () => sent);
    expect(before).toBeLessThan(15); // Three of them wait.
    expect(taken).toHaveLength(6);
  } finally {
    await server.close();
  }
});
