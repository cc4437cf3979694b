import { create, isMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { ConnectionError, type Gap, type LiveEvent } from "tradewire";
import { ObserveEventBusResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventOf } from "../../support/event-server.js";
import { runs } from "../../support/tier.js";
import { createEvents, type LiveCalls } from "./inside.js";

/**
 * The events of some blocks, with the begin and the end of each where those are visible. Those of a block are in the order
 * of their ids, or shuffled by numbers, as where a node sends each type by itself.
 */
function history(sizes: readonly number[], edges: boolean, shuffle: readonly number[]) {
  return sizes.flatMap((size, index) => {
    const block = index + 1;
    const orders = Array.from({ length: size }, (_, at) => eventOf(`${block}-${at + 2}`));
    const begin = eventOf(`${block}-1`, { event: { case: "beginBlock", value: {} } });
    const end = eventOf(`${block}-${size + 2}`, { event: { case: "endBlock", value: {} } });
    const all = edges ? [begin, ...orders, end] : orders;
    const places = all.map((event, at) => ({ event, place: shuffle[(block * 7 + at) % shuffle.length] ?? at }));
    return places.sort((a, b) => a.place - b.place).map(({ event }) => event);
  });
}

/** How a node answers one connection: from which event on, of all, how many, and how many in an answer. */
const connections = fc.array(
  fc.record({ from: fc.integer({ min: -8, max: 12 }), count: fc.nat(15), together: fc.integer({ min: 1, max: 5 }) }),
  { minLength: 1, maxLength: 8 },
);

/** Calls that each have the next part of the events; when there are no more parts, the client is closed. */
function callsOf(all: ReturnType<typeof history>, parts: readonly { from: number; count: number; together: number }[]) {
  let at = 0;
  let opened = 0;
  async function* messages() {
    const part = parts[opened];
    opened += 1;
    if (part === undefined) {
      throw new ConnectionError("the client is closed, so nothing was sent", {
        code: 1,
        advice: "none",
        connected: false,
        isClosed: true,
      });
    }
    const begin = Math.max(0, at + (opened === 1 ? 0 : part.from)); // Behind is what was missed, before what is repeated.
    const end = Math.min(all.length, begin + part.count);
    for (let sent = begin; sent < end; sent += part.together) {
      yield create(ObserveEventBusResponseSchema, { events: all.slice(sent, Math.min(sent + part.together, end)) });
    }
    at = Math.max(at, end);
  }
  const stream: LiveCalls["stream"] = async (method) => {
    async function* message() {
      for await (const answer of messages()) {
        if (isMessage(answer, method.output)) {
          yield answer;
        }
      }
    }
    const headers = { header: new Headers(), trailer: new Headers() };
    return { ...headers, stream: true, service: method.parent, method, message: message() };
  };
  const failing: LiveCalls["failing"] = () => (reason) => {
    throw reason;
  };
  const calls: LiveCalls = {
    stream,
    service: () => {
      throw new Error("nothing is called");
    },
    records: () => {
      throw new Error("nothing is listed");
    },
    failing,
    retry: { baseMs: 0, maxMs: 0 },
    chainId: undefined,
    onRetry: () => undefined,
  };
  return { calls, seen: () => at };
}

async function readAll(calls: LiveCalls): Promise<(LiveEvent | Gap)[]> {
  const items: (LiveEvent | Gap)[] = [];
  try {
    for await (const item of createEvents(calls).events({}, { reconnect: true, maxWaiting: 3 })) {
      items.push(item);
    }
  } catch (reason) {
    expect(reason).toMatchObject({ summary: "the client is closed, so nothing was sent" });
  }
  return items;
}

describe("events and gaps", () => {
  test("are all that happened, none twice, in order, however connections are cut and events repeated", async () => {
    const sizes = fc.array(fc.nat(4), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.boolean(), fc.array(fc.nat(9)), connections, async (blocks, edges, shuffle, parts) => {
        const all = history(blocks, edges, shuffle);
        const { calls } = callsOf(all, parts);
        const items = await readAll(calls);
        const order = new Map(all.map(({ id }, index) => [id, index]));
        const places = items.flatMap((item) => ("gap" in item ? [] : [order.get(item.id) ?? Number.NaN]));
        const runs = items.reduce<number[][]>(
          (all, item) => {
            if ("gap" in item) {
              all.push([]);
            } else {
              all.at(-1)?.push(order.get(item.id) ?? Number.NaN);
            }
            return all;
          },
          [[]],
        );
        expect(runs).toEqual(runs.map((run) => [...run].sort((a, b) => a - b)));
        expect(new Set(places).size).toBe(places.length);
        const first = places[0];
        const last = Math.max(...places);
        if (first === undefined) {
          return;
        }
        const given = new Set(places);
        const gaps = items.flatMap((item) => ("gap" in item ? [item.gap] : []));
        const isCovered = (block: bigint) =>
          gaps.some(({ afterBlock, beforeBlock }) => block > (afterBlock ?? -1n) && block < beforeBlock);
        const missing = all.slice(first, last).filter((_, index) => !given.has(first + index));
        expect(missing.map(({ id }) => BigInt(id.split("-")[0] ?? "")).filter((block) => !isCovered(block))).toEqual(
          [],
        );
      }),
      { numRuns: runs(500) },
    );
  });
});
