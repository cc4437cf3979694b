import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import { createClient, RequestError, SlowConsumerError } from "tradewire";
import { eventOf, inShort, startObserving, untilFailure } from "../../support/event-server.js";
import { serveNode } from "../../support/node.js";

/** No node is needed for what is said before one is called. Port 1 refuses. */
const client = createClient({ grpc: { url: "http://127.0.0.1:1" } });
const PARTY = "ab".repeat(32);

describe("events with lifecycle of a party", () => {
  // Those that docs/live.md names.
  test.each(["trade", "transactionResult", "cancelledOrders", "expiredOrders"] as const)("may have %s", (type) => {
    const request = { types: ["order", type] as const, lifecycle: true, partyId: PARTY };
    expect(() => client.events(request)).not.toThrow();
  });
});

describe("events that wait", () => {
  /** Leaves events unread until the node has sent so many and has ended the stream. */
  async function readLate(count: number) {
    let sent = (): void => {};
    const allSent = new Promise<void>((resolve) => (sent = resolve));
    await using node = await startObserving(async function* () {
      for (let at = 0; at < count; at += 100) {
        yield Array.from({ length: 100 }, (_, index) => eventOf(`${at + index + 1}-1`));
      }
      sent();
    });
    let taken = 0;
    try {
      for await (const _event of node.client.events({})) {
        taken += 1;
        await allSent;
      }
    } catch (error) {
      return { taken, error };
    }
    return { taken, error: undefined };
  }

  test("are up to 10,000 by default", async () => {
    const { taken, error } = await readLate(9900);
    expect(taken).toBe(9900);
    expect(error).not.toBeInstanceOf(SlowConsumerError);
  });
});

test("a stream is not begun again by default: its loss is thrown", async () => {
  await using node = await startObserving(async function* () {
    yield [eventOf("1-1")];
    throw new ConnectError("lost", Code.Unavailable);
  });
  const { taken: events, error } = await untilFailure(node.client.events({}));
  expect(inShort(events)).toEqual(["1-1"]);
  expect(error).toMatchObject({ code: Code.Unavailable });
  expect(node.server.calls).toHaveLength(1);
});

test("the headers and the time limit of a stream reach the node", async () => {
  const calls: { readonly note: string | null; readonly ms: number }[] = [];
  await using node = await serveNode({
    async *observeEventBus(_, { requestHeader, timeoutMs }) {
      calls.push({ note: requestHeader.get("x-note"), ms: timeoutMs() ?? 0 });
      yield* [];
    },
  });
  await using observing = createClient({ grpc: { url: node.grpcUrl }, retry: { tries: 1 } });
  const options = { headers: { "x-note": "mine" }, timeoutMs: 60_000 };
  await untilFailure(observing.events({}, options)); // Its end is a loss.
  expect(calls).toEqual([{ note: "mine", ms: expect.any(Number) }]);
  expect(calls[0]?.ms).toBeGreaterThan(10_000);
  expect(calls[0]?.ms).toBeLessThanOrEqual(60_000);
});

test("identifiers may have capital letters, and nothing around them", () => {
  expect(() => client.events({ marketId: PARTY.toUpperCase() })).not.toThrow();
  for (const marketId of [`0x${PARTY}`, ` ${PARTY}`, `${PARTY}00`]) {
    expect(() => client.events({ marketId })).toThrow(RequestError);
  }
});
