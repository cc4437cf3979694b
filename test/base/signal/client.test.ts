import { getEventListeners } from "node:events";
import type { HandlerContext } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { CanceledError, type Client, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventually } from "../../support/eventually.js";
import { configOf, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode, type TestNode } from "../../support/node.js";

/** More calls than the listeners of which Node warns at one signal. */
const CALLS = 15;

let arrived = 0;
let node: TestNode;
beforeAll(async () => {
  const silent = async ({ signal }: HandlerContext) => {
    arrived += 1;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  };
  async function* silentStream(_: unknown, context: HandlerContext) {
    await silent(context);
    yield {};
  }
  const silentPage = async (_: unknown, context: HandlerContext) => {
    await silent(context);
    return {};
  };
  node = await serveNode({
    listMarkets: silentPage,
    observeMarketsData: silentStream,
    exportNetworkHistory: silentStream,
    exportLedgerEntries: silentStream,
  });
});
afterAll(() => node.close());

async function read(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of values) {
    throw new Error("the node is silent");
  }
}

const partyId = "a".repeat(64);
const uses: Record<string, (client: Client, signal: AbortSignal) => Promise<unknown>> = {
  "a call": (client, signal) => client.service(TradingDataService).listMarkets({}, { signal }),
  "a stream": (client, signal) => read(client.service(TradingDataService).observeMarketsData({}, { signal })),
  "a listing": (client, signal) => read(client.records(TradingDataService.method.listMarkets, {}, { signal })),
  "an export": (client, signal) =>
    read(client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1000 }, { signal }).rows()),
  "an export of the ledger": (client, signal) => read(client.exportLedgerEntries({ partyId }, { signal }).rows()),
};

describe.each(ways)("one signal ends many calls, over %s:", (way) => {
  it.each(Object.entries(uses))("%s has no listener of its own at it, and leaves none", async (_, use) => {
    await using client = createClient({ ...configOf(way, node), limits: { callsPerSecond: 1000 } });
    const abort = new AbortController();
    arrived = 0;
    const failures = Array.from({ length: CALLS }, () => failureOf(() => use(client, abort.signal)));
    await eventually(() => arrived > 0); // Until the node has answered once, the client may hold the others back.
    expect(getEventListeners(abort.signal, "abort").length).toBe(1);
    abort.abort();
    for (const failure of await Promise.all(failures)) {
      expect(failure).toBeInstanceOf(CanceledError);
    }
    expect(getEventListeners(abort.signal, "abort").length).toBe(0);
  });
});
