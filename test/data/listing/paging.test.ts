// Slow, and worth it: all methods of the interface that page are read to their end over both protocols.
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  hasOption,
  type Message,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ConnectRouter } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { CanceledError, ProtocolError, RequestError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { http } from "tradewire/gen/google/api/annotations_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { CoreStateService } from "tradewire/gen/vega/api/v1/corestate_pb.js";
import { clientsOf, collect, failureOf, ways } from "../../support/listing-clients.js";
import { serveNodeOf, type TestNode } from "../../support/node.js";

const { method } = TradingDataService;
const methods = [TradingDataService, CoreService, CoreStateService].flatMap((service) => service.methods);
const isUnary = (each: (typeof methods)[number]): each is (typeof methods)[number] & DescMethodUnary =>
  each.methodKind === "unary";
/** The methods that page: their request has a pagination, and their answer cursors. */
const paging = methods
  .filter(isUnary)
  .filter(({ name }) => name !== "ListRewardSummaries")
  .filter(({ input }) => input.fields.some(({ message }) => message?.typeName === "datanode.api.v2.Pagination"));

/** The type of what a method lists. */
function nodeType({ output }: DescMethodUnary): string | undefined {
  const fieldOf = (message: DescMessage | undefined, name: string) =>
    message?.fields.find((field) => field.name === name)?.message;
  const [node] = output.fields.flatMap(({ message }) => fieldOf(fieldOf(message, "edges"), "node") ?? []);
  return node?.typeName;
}

/** Answers any method that pages: pages of two records, the second's cursor leading to the next page. */
let requests: { first: unknown; after: unknown; newestFirst: unknown }[] = [];
let endless = false;
let pageCount = 3;
let nodeOf: (number: number) => object = () => ({});
function answer({ input, output, ...rest }: DescMethodUnary, request: Message): Message {
  const asked = reflect(input, request);
  const pagination = input.field["pagination"];
  if (pagination?.fieldKind !== "message") {
    throw new Error(`${rest.name} has no pagination`);
  }
  const given = asked.get(pagination).message as Message & { first?: number; after?: string; newestFirst?: boolean };
  requests.push({ first: given.first, after: given.after, newestFirst: given.newestFirst });
  const number = endless ? requests.length - 1 : Number(given.after ?? "0");
  const [connection] = output.fields.filter(({ message }) => message?.field["edges"] !== undefined);
  const edges = [1, 2].map((at) => ({ cursor: `${number + at}`, node: nodeOf(number + at) }));
  const pageInfo = { hasNextPage: endless || number + 2 < pageCount * 2, endCursor: `${number + 2}` };
  return create(output, { [connection?.localName ?? ""]: { edges, pageInfo } } as MessageInitShape<DescMessage>);
}

function routes(router: ConnectRouter): void {
  for (const each of paging) {
    router.rpc(each, (request) => answer(each, request));
  }
}

/** A request with a text in each of its fields that may be in a path. */
function filled({ input }: DescMethodUnary): Message {
  const texts = input.fields.filter(({ scalar, fieldKind }) => fieldKind === "scalar" && String(scalar) === "9");
  return create(input, Object.fromEntries(texts.map(({ localName }) => [localName, "a1"])));
}

let node: TestNode;
let clients: ReturnType<typeof clientsOf>;
beforeAll(async () => {
  node = await serveNodeOf(routes);
  clients = clientsOf(node);
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});
beforeEach(() => {
  requests = [];
  endless = false;
  pageCount = 3;
  nodeOf = () => ({});
});

describe.each(ways)("the pages and records of any method over %s", (way) => {
  // One has no HTTP rule in the network's definitions.
  const reachable = paging.filter((each) => way !== "rest" || hasOption(each, http));

  it("can be had but for one over REST", () => {
    expect(paging.length - reachable.length).toBe(way === "rest" ? 1 : 0);
  });

  it.each(reachable)("come for $name", async (each) => {
    const records = await collect(clients[way].records(each, filled(each), { pageSize: 2 }));
    expect(records.map(({ cursor }) => cursor)).toEqual(["1", "2", "3", "4", "5", "6"]);
    expect(records.map(({ node }) => node.$typeName)).toEqual(Array(6).fill(nodeType(each)));
    const asked = [undefined, "2", "4"].map((after) => ({ first: 2, after, newestFirst: undefined }));
    expect(requests).toEqual(asked);
    const answers = await collect(clients[way].pages(each, filled(each), { pageSize: 2 }));
    expect(answers.map(({ $typeName }) => $typeName)).toEqual(Array(3).fill(each.output.typeName));
    expect(requests.slice(3)).toEqual(asked);
  });

  it("keep the rest of the request, go on after a cursor, and end at a limit", async () => {
    const pagination = { newestFirst: false, after: "2", first: 3 };
    const records = await collect(clients[way].records(method.listOrders, { pagination }, { limit: 3 }));
    expect(records.map(({ cursor }) => cursor)).toEqual(["3", "4", "5"]);
    expect(requests).toEqual([
      { first: 3, after: "2", newestFirst: false },
      { first: 1, after: "4", newestFirst: false },
    ]);
  });

  it("end with an error where the node repeats its records under new cursors", async () => {
    endless = true;
    const reason = await failureOf(() => collect(clients[way].pages(method.listOrders)));
    expect(reason).toBeInstanceOf(ProtocolError);
    expect(reason).toMatchObject({
      summary: "the node repeated its pages under new cursors",
      method: "datanode.api.v2.TradingDataService/ListOrders",
    });
    expect(requests.length).toBeLessThan(40);
  });

  it("go on where records differ in nothing but a number of 64 bits", async () => {
    endless = true;
    nodeOf = (number) => ({ createdAt: BigInt(number) });
    const records = await collect(clients[way].records(method.listOrders, {}, { limit: 60 }));
    expect(records).toHaveLength(60);
    expect(records.every(({ cursor, node }) => node.createdAt === BigInt(cursor))).toBe(true);
  });

  it("end where the signal is aborted", async () => {
    pageCount = 1; // A request for a next page could arrive after the test.
    const abort = new AbortController();
    const seen: string[] = [];
    const reason = await failureOf(async () => {
      for await (const { cursor } of clients[way].records(method.listOrders, {}, { signal: abort.signal })) {
        seen.push(cursor);
        abort.abort();
      }
    });
    expect(reason).toBeInstanceOf(CanceledError);
    expect(seen).toEqual(["1"]);
  });
});

describe("what cannot be gone through is refused before anything is sent:", () => {
  const one: DescMethodUnary = method.listRewardSummaries;
  it.each<[string, () => unknown, string]>([
    [
      "a method whose answer has no cursors",
      () => clients.grpc.records(one),
      "datanode.api.v2.TradingDataService/ListRewardSummaries has no pages: " +
        "its response datanode.api.v2.ListRewardSummariesResponse contains no connection (edges with cursors, and page_info)",
    ],
    [
      "a method without a pagination",
      () => clients.grpc.pages(CoreService.method.lastBlockHeight as DescMethodUnary),
      "vega.api.v1.CoreService/LastBlockHeight has no pages: its request vega.api.v1.LastBlockHeightRequest has no pagination",
    ],
    [
      "pages that go backwards",
      () => clients.grpc.pages(method.listOrders, { pagination: { last: 5 } }),
      "pagination.last cannot be used when all pages are requested, which go forwards",
    ],
    [
      "an empty cursor",
      () => clients.grpc.records(method.listOrders, { pagination: { after: "" } }),
      'after must be the cursor of a record (got "")',
    ],
    [
      "too large a page",
      () => clients.grpc.pages(method.listOrders, {}, { pageSize: 5001 }),
      "pageSize must be a whole number from 1 to 5000, the maximum page size of nodes (got 5001)",
    ],
    [
      "too large a page in the request",
      () => clients.grpc.pages(method.listOrders, { pagination: { first: 0 } }),
      "first must be a whole number from 1 to 5000, the maximum page size of nodes (got 0)",
    ],
    [
      "no number from 1 (got 0)",
      () => clients.grpc.records(method.listOrders, {}, { limit: 0 }),
      "limit must be a whole number from 1 (got 0)",
    ],
  ])("%s", async (_, run, summary) => {
    const reason = await failureOf(run);
    expect(reason).toBeInstanceOf(RequestError);
    expect(reason).toMatchObject({ summary });
    expect(requests).toEqual([]);
  });

  it("and the methods of the service that page are named", async () => {
    const reason = await failureOf(() => clients.grpc.records(one));
    expect(reason).toMatchObject({ advice: expect.stringMatching(/: ListAccounts, ListOrders, .*ListAMMs/) });
    const none = await failureOf(() => clients.grpc.records(CoreService.method.lastBlockHeight as DescMethodUnary));
    expect(none).toMatchObject({ advice: "Call the method directly: no method of vega.api.v1.CoreService has pages." });
  });
});
