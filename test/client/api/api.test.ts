import { once } from "node:events";
import { createServer } from "node:http";
import { create } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { CanceledError, type Client, ConnectionError, createClient, NodeError, RequestError } from "tradewire";
import {
  CoreService,
  CoreStateService,
  datanodeApiV2,
  TradingDataService,
  vega,
  vegaApiV1,
  vegaCommandsV1,
  vegaDataV1,
  vegaEventsV1,
} from "tradewire/api";
import { serveNodeOf, type TestNode, unanswered } from "../../support/node.js";
import { onlyReads } from "../../support/only-reads.js";

const services = [TradingDataService, CoreService, CoreStateService];
const marketId = "ab".repeat(32);

/** How often each method was called. */
const calls = new Map<string, number>();

/** Fail a method's first call, as a node does that is about to start. */
function failFirst(name: string): void {
  const count = (calls.get(name) ?? 0) + 1;
  calls.set(name, count);
  if (count === 1) {
    throw new ConnectError("starting", Code.Unavailable);
  }
}

function routes(router: ConnectRouter): void {
  router.service(TradingDataService, {
    listMarkets(request) {
      failFirst("listMarkets");
      const state = request.includeSettled ? vega.Market_State.SETTLED : vega.Market_State.ACTIVE;
      return { markets: { edges: [{ node: { id: marketId, state }, cursor: "c" }], pageInfo: { hasNextPage: true } } };
    },
    ping() {
      failFirst("ping");
      return {};
    },
    async *observeTrades({ marketIds }) {
      failFirst("observeTrades");
      yield { trades: marketIds.map((id) => ({ marketId: id, size: 2n ** 63n })) };
    },
    getVegaTime: unanswered,
  });
  router.service(CoreService, {
    checkTransaction() {
      failFirst("checkTransaction");
      return { success: true };
    },
    submitRawTransaction() {
      failFirst("submitRawTransaction");
      return { success: true };
    },
    async *observeEventBus(requests) {
      for await (const { batchSize } of requests) {
        yield { events: [{ block: String(batchSize) }] };
      }
    },
    propagateChainEvent() {
      failFirst("propagateChainEvent");
      return { success: true };
    },
  });
  router.service(CoreStateService, {
    listVotes({ party }) {
      failFirst("listVotes");
      return { votes: [{ partyId: party, value: vega.Vote_Value.YES, timestamp: 1n }] };
    },
  });
}

let node: TestNode;
const config = { retry: { baseMs: 1, maxMs: 2 }, timeouts: { callMs: 60_000 } };

beforeAll(async () => {
  node = await serveNodeOf(routes, services);
});
afterAll(() => node.close());
beforeEach(() => calls.clear());

const clients: Record<string, () => Client> = {
  grpc: () => createClient({ ...config, transport: "grpc", grpc: { url: node.grpcUrl } }),
  "grpc-js": () => createClient({ ...config, transport: "grpc-js", grpc: { url: node.grpcUrl } }),
  rest: () => createClient({ ...config, transport: "rest", rest: { url: node.restUrl } }),
};

describe.each(Object.entries(clients))("every method, over %s", (name, connect) => {
  test("that reads is typed, and tried again", async () => {
    await using client = connect();
    const data = client.service(TradingDataService);
    const { markets } = await data.listMarkets({ includeSettled: true });
    expect(markets?.edges[0]?.node).toMatchObject({ id: marketId, state: vega.Market_State.SETTLED });
    const { votes } = await client.service(CoreStateService).listVotes({ party: "p" });
    expect(votes).toMatchObject([{ partyId: "p", value: vega.Vote_Value.YES, timestamp: 1n }]);
    const tx = create(vegaCommandsV1.TransactionSchema, {});
    expect(await client.service(CoreService).checkTransaction({ tx })).toMatchObject({ success: true });
    expect([...calls.values()]).toEqual([2, 2, 2]);
  });

  test("that streams is tried again before its first message", async () => {
    await using client = connect();
    const trades: bigint[] = [];
    for await (const batch of client.service(TradingDataService).observeTrades({ marketIds: [marketId] })) {
      trades.push(...batch.trades.map(({ size }) => size));
    }
    expect(trades).toEqual([2n ** 63n]);
    expect(calls.get("observeTrades")).toBe(2);
  });

  test("that submits is never called twice", async () => {
    await using client = connect();
    const core = client.service(CoreService);
    const submitting = core.submitRawTransaction({ tx: new Uint8Array([1]) });
    await expect(submitting).rejects.toMatchObject({ code: Code.Unavailable, transport: name });
    expect(calls.get("submitRawTransaction")).toBe(1);
  });

  test("keeps the time limit", async () => {
    await using client = connect();
    const late = client.service(TradingDataService).getVegaTime({}, { timeoutMs: 200 });
    await expect(late).rejects.toMatchObject({ code: Code.DeadlineExceeded });
    await expect(late).rejects.toThrow(ConnectionError);
  });

  test("that the node does not have is a node's error", async () => {
    await using client = connect();
    const absent = client.service(TradingDataService).getAsset({ assetId: "a" });
    await expect(absent).rejects.toThrow(NodeError);
    await expect(absent).rejects.toMatchObject({ code: Code.Unimplemented });
  });
});

test.each(["grpc", "grpc-js"])("a stream of requests over %s goes on while answers come", async (name) => {
  await using client = clients[name]?.() ?? missing();
  let answered = () => {};
  const firstAnswer = new Promise<void>((resolve) => {
    answered = resolve;
  });
  async function* requests() {
    yield { batchSize: 1n };
    await firstAnswer;
    yield { batchSize: 2n };
  }
  const blocks: string[] = [];
  for await (const { events } of client.service(CoreService).observeEventBus(requests())) {
    blocks.push(...events.map(({ block }) => block));
    answered();
  }
  expect(blocks).toEqual(["1", "2"]);
});

test.each(["grpc", "grpc-js"])(
  "a call over %s whose signal is aborted is canceled, whatever its requests throw",
  async (name) => {
    await using client = clients[name]?.() ?? missing();
    const controller = new AbortController();
    async function* requests() {
      yield { batchSize: 1n };
      await once(controller.signal, "abort");
      throw new Error("no more requests");
    }
    const { signal } = controller;
    const reading = async () => {
      for await (const _ of client.service(CoreService).observeEventBus(requests(), { signal })) {
        controller.abort();
      }
    };
    await expect(reading()).rejects.toBeInstanceOf(CanceledError);
  },
);

describe("methods without an HTTP rule", () => {
  test("are called over gRPC, and refused over REST", async () => {
    await using client = createClient({ ...config, transport: "grpc", grpc: { url: node.grpcUrl } });
    await client.service(TradingDataService).ping({});
    expect(calls.get("ping")).toBe(2);
    await expect(client.service(CoreService).propagateChainEvent({})).rejects.toThrow(NodeError);
    expect(calls.get("propagateChainEvent")).toBe(1);
    await using overRest = createClient({ ...config, transport: "rest", rest: { url: node.restUrl } });
    await expect(overRest.service(TradingDataService).ping({})).rejects.toThrow(RequestError);
  });
});

describe("a fallback", () => {
  test("takes over what reads, and nothing that may have been taken", async () => {
    const dead = "http://127.0.0.1:1";
    await using client = createClient({
      ...config,
      transport: "auto",
      grpc: { url: dead },
      rest: { url: node.restUrl },
    });
    const { votes } = await client.service(CoreStateService).listVotes({ party: "p" });
    expect(votes).toHaveLength(1);
    const lost = createServer((request) => request.socket.destroy()).listen(0, "127.0.0.1");
    await once(lost, "listening");
    const address = lost.address();
    const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
    await using losing = createClient({ ...config, rest: { url } });
    const unknown = /it is unknown whether the node executed the call/;
    await expect(losing.service(CoreService).submitRawTransaction({})).rejects.toThrow(unknown);
    const checking = losing.service(CoreService).checkRawTransaction({});
    await expect(checking).rejects.toThrow(ConnectionError);
    await expect(checking).rejects.not.toThrow(unknown);
    lost.close();
  });
});

describe("which methods only read", () => {
  const methods = services.flatMap((service) => service.methods);

  test("all of the network's, but for those that submit", async () => {
    expect(methods).toHaveLength(150);
    const reading = await Promise.all(methods.map(onlyReads));
    expect(methods.filter((_, index) => reading[index] === false).map(({ name }) => name)).toEqual([
      "SubmitTransaction",
      "PropagateChainEvent",
      "SubmitRawTransaction",
    ]);
  });

  test("none that does not say so, whatever its name", async () => {
    const { checkTransaction, ping } = { ...CoreService.method, ...TradingDataService.method };
    const unsaid = MethodOptions_IdempotencyLevel.IDEMPOTENCY_UNKNOWN;
    expect(await onlyReads({ ...checkTransaction, idempotency: unsaid })).toBe(false); // A POST.
    expect(await onlyReads({ ...ping, name: "GetThing", idempotency: unsaid })).toBe(false); // Without a rule.
    expect(await onlyReads({ ...ping, name: "SetThing" })).toBe(true);
  });
});

test("every type is found by its package", () => {
  expect(datanodeApiV2.ListMarketsRequestSchema.typeName).toBe("datanode.api.v2.ListMarketsRequest");
  expect(vegaApiV1.ListMarketsRequestSchema.typeName).toBe("vega.api.v1.ListMarketsRequest");
  expect(vegaApiV1.StatisticsSchema.typeName).toBe("vega.api.v1.Statistics");
  expect(vegaEventsV1.TransferSchema.typeName).toBe("vega.events.v1.Transfer");
  expect(vegaCommandsV1.TransferSchema.typeName).toBe("vega.commands.v1.Transfer");
  expect(vegaDataV1.SignerSchema.typeName).toBe("vega.data.v1.Signer");
  expect(vega.AssetSchema.typeName).toBe("vega.Asset");
});

function missing(): never {
  throw new Error("no such client");
}
