import type { MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  CanceledError,
  ConnectionError,
  createClient,
  type ListOptions,
  ProtocolError,
  type StopOrderRecord,
  type UnitsRecord,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import type {
  ListStopOrdersRequest,
  StopOrderConnectionSchema,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { clientsOf, collect, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode, type TestNode } from "../../support/node.js";
import { sample } from "../../support/tier.js";

type Connection = MessageInitShape<typeof StopOrderConnectionSchema>;

let node: TestNode;
let clients: ReturnType<typeof clientsOf>;
/** The requests that came. */
let requests: ListStopOrdersRequest[] = [];
/** What they are answered with, by the cursor that they come with. */
let pages: Record<string, Connection | undefined> = {};
let hold: Promise<void> = Promise.resolve();
/** What pages hold in turn, as good as for ever, after some that come once; their cursors never come again. */
let circle: string[][] = [];
let ahead = 0;
beforeAll(async () => {
  node = await serveNode({
    async listStopOrders(request) {
      requests.push(request);
      const { length } = requests;
      const once = length <= ahead ? [`once ${length}`] : undefined;
      const turn = once ?? circle[(length - 1 - ahead) % circle.length];
      const next = length < 300 ? `turn ${length}` : undefined;
      const orders = turn ? page(turn, next, `turn ${length}, `) : pages[request.pagination?.after ?? ""];
      if (requests.length > 1) {
        await hold;
      }
      return orders === undefined ? {} : { orders };
    },
    getStopOrder: () => ({ order: {} }),
    getNetworkParameter: () => ({}),
    listNetworkParameters: () => ({
      networkParameters: { edges: [{ cursor: "c1", node: { key: "", value: "1" } }], pageInfo: {} },
    }),
  });
  clients = clientsOf(node);
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

const edge = (id: string, cursor = `c${id}`) => ({ cursor, node: { stopOrder: { id } } });
function page(ids: string[], next?: string, cursors = "c"): Connection {
  return {
    edges: ids.map((id) => edge(id, `${cursors}${id}`)),
    pageInfo: { hasNextPage: next !== undefined, endCursor: next ?? `c${ids.at(-1)}` },
  };
}

function answer(answers: Record<string, Connection | undefined>): void {
  requests = [];
  circle = [];
  ahead = 0;
  pages = answers;
  hold = Promise.resolve();
}

/** The identifiers that come, and what ends them. */
async function outcome(way: (typeof ways)[number], options: ListOptions<UnitsRecord<StopOrderRecord>> = {}) {
  const ids: string[] = [];
  const reason = await failureOf(async () => {
    for await (const { stopOrder } of clients[way].stopOrders({}, options)) {
      ids.push(stopOrder.id);
    }
  });
  // A page that was read ahead, and canceled, may still be on its way: it arrives before this call.
  await clients[way].service(TradingDataService).getNetworkParameter({ key: "a" });
  return { ids, reason };
}

describe.each(ways)("records over %s", (way) => {
  const at = { method: "datanode.api.v2.TradingDataService/ListStopOrders" };

  it("end with an error where the node gives a network parameter without a key", async () => {
    const reason = await failureOf(() => collect(clients[way].networkParameters()));
    expect(reason).toBeInstanceOf(ProtocolError);
    expect(reason).toMatchObject({ summary: expect.stringContaining('a cursor without a record, "c1"') });
  });

  it.each<[string, Record<string, Connection | undefined>, string[], string]>([
    [
      "repeats a cursor",
      { "": page(["1"], "c1"), c1: page(["2"], "c1") },
      ["1", "2"],
      'the node repeated the cursor "c1"',
    ],
    [
      "goes in a circle",
      { "": page(["1"], "c1"), c1: page(["2"], "c2"), c2: page(["3"], "c1") },
      ["1", "2", "3"],
      'the node repeated the cursor "c1"',
    ],
    [
      "says that there is more and gives no cursor",
      { "": page(["1"], "") },
      ["1"],
      "the node reports more records, but sent no cursor",
    ],
    [
      "says that there is more and gives no record",
      { "": page([], "c1") },
      [],
      "the node reports more records, but the page is empty",
    ],
    [
      "gives an edge without a node",
      { "": { edges: [edge("1"), { cursor: "c2" }], pageInfo: {} } },
      ["1"],
      'the node sent a cursor without a record, "c2"',
    ],
    [
      "gives a node without a stop order",
      { "": { edges: [edge("1"), { cursor: "c2", node: { submission: {} } }], pageInfo: {} } },
      ["1"],
      'the node sent a cursor without a record, "c2"',
    ],
    [
      "gives an edge without a cursor",
      { "": { edges: [edge("1", "")], pageInfo: {} } },
      [],
      "the node sent a record without a cursor",
    ],
    ["gives no page", {}, [], "the node sent a response without a page"],
    ["gives no page information", { "": { edges: [edge("1")] } }, [], "the node sent a response without a page"],
  ])("end with an error where the node %s", async (_, answers, wanted, summary) => {
    answer(answers);
    const { ids, reason } = await outcome(way);
    expect(reason).toBeInstanceOf(ProtocolError);
    expect(reason).toMatchObject({ summary, ...at });
    expect(ids).toEqual(wanted);
  });

  const circles: [number, number][] = [
    [1, 0],
    [2, 0],
    [7, 0],
    [3, 2],
    [7, 5],
  ];

  it.each(sample(circles, 2, 1))(
    "end with an error where the node repeats %d pages for ever under new cursors, after %d",
    async (length, before) => {
      answer({});
      ahead = before;
      circle = Array.from({ length }, (_, turn) => [`${turn}a`, `${turn}b`]);
      const { ids, reason } = await outcome(way, { pageSize: 2 });
      expect(reason).toBeInstanceOf(ProtocolError);
      expect(reason).toMatchObject({ summary: "the node repeated its pages under new cursors", ...at });
      expect(ids.slice(before, before + 2 * length)).toEqual(circle.flat());
      expect(requests.length).toBeLessThan(before + 40 * length);
    },
  );

  it("end with an error where the node repeats the cursor that was begun at", async () => {
    answer({ c0: page(["1"], "c0") });
    expect((await outcome(way, { after: "c0" })).ids).toEqual(["1"]);
    expect(requests).toHaveLength(1);
  });

  it("that came twice are told, and given", async () => {
    answer({ "": page(["1", "2"], "c2"), c2: page(["2", "3"]) });
    const twice: string[] = [];
    const records = clients[way].stopOrders({}, { onDuplicate: ({ stopOrder }) => twice.push(stopOrder.id) });
    expect((await collect(records)).map(({ stopOrder }) => stopOrder.id)).toEqual(["1", "2", "2", "3"]);
    expect(twice).toEqual(["2"]);
  });

  it("are asked for as far as the limit goes", async () => {
    answer({ "": page(["1", "2"], "c2"), c2: page(["3", "4"], "c4") });
    const records = await collect(clients[way].stopOrders({}, { limit: 3, pageSize: 2 }));
    expect(records.map(({ cursor }) => cursor)).toEqual(["c1", "c2", "c3"]);
    expect(requests.map(({ pagination }) => pagination?.first)).toEqual([2, 1]);
  });

  it("are fetched one page ahead, and no further", async () => {
    answer({ "": page(["1", "2"], "c2"), c2: page(["3"], "c3"), c3: page(["4"]) });
    const records = clients[way].stopOrders()[Symbol.asyncIterator]();
    expect(requests).toHaveLength(0);
    await records.next();
    while (requests.length < 2) {
      await new Promise(setImmediate);
    }
    await records.next();
    expect(requests.map(({ pagination }) => pagination?.after)).toEqual([undefined, "c2"]);
    await records.next();
    await records.next();
    expect(await records.next()).toMatchObject({ done: true });
    expect(requests).toHaveLength(3);
  });

  it("begin anew with each iteration", async () => {
    answer({ "": page(["1"]) });
    const records = clients[way].stopOrders();
    expect([await collect(records), await collect(records)]).toEqual([[expect.anything()], [expect.anything()]]);
    expect(requests).toHaveLength(2);
  });

  it("can be left while a page is on its way", async () => {
    answer({ "": page(["1"], "c1"), c1: page(["2"]) });
    let release = () => {};
    hold = new Promise((resolve) => {
      release = resolve;
    });
    for await (const { cursor } of clients[way].stopOrders()) {
      expect(cursor).toBe("c1");
      break;
    }
    release();
  });

  it("end when the caller gives up", async () => {
    answer({ "": page(["1", "2"], "c2") });
    const controller = new AbortController();
    const seen: string[] = [];
    const reason = await failureOf(async () => {
      for await (const { cursor } of clients[way].stopOrders({}, { signal: controller.signal })) {
        seen.push(cursor);
        controller.abort();
      }
    });
    expect(reason).toBeInstanceOf(CanceledError);
    expect(seen).toEqual(["c1"]);
    const early = await outcome(way, { signal: AbortSignal.abort() });
    expect(early.reason).toBeInstanceOf(CanceledError);
  });

  it("leave alone what the caller's own function throws", async () => {
    answer({ "": page(["1", "1"]) });
    const own = new Error("enough");
    const { reason } = await outcome(way, {
      onDuplicate: () => {
        throw own;
      },
    });
    expect(reason).toBe(own);
  });

  it("that were asked for and did not come are an error", async () => {
    for (const ask of [() => clients[way].stopOrder("1"), () => clients[way].networkParameter("a")]) {
      const reason = await failureOf(ask);
      expect(reason).toBeInstanceOf(ProtocolError);
      expect(reason).toMatchObject({ summary: "the response does not contain the requested record" });
    }
  });
});

it("a connection lost between pages is told after the records that came", async () => {
  const brief = await serveNode({
    async listStopOrders({ pagination }) {
      if (pagination?.after !== undefined) {
        await brief.close();
      }
      return { orders: page(["1"], "c1") };
    },
  });
  // It does not connect again: another program may listen on the port by then.
  const client = createClient({ transport: "grpc", grpc: { url: brief.grpcUrl }, retry: { tries: 1 } });
  const ids: string[] = [];
  const reason = await failureOf(async () => {
    for await (const { stopOrder } of client.stopOrders()) {
      ids.push(stopOrder.id);
    }
  });
  expect(reason).toBeInstanceOf(ConnectionError);
  expect(ids).toEqual(["1"]);
  await client.close();
});
