// Slow, and worth it: each listing is walked in pages of made-up sizes, forth and back.
import type { DescEnum } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type Client, NodeError, type StopOrderRecord, type UnitsRecord } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import {
  type StopOrder_ExpiryStrategy,
  StopOrder_ExpiryStrategySchema,
  type StopOrder_Status,
  StopOrder_StatusSchema,
} from "tradewire/gen/vega/vega_pb.js";
import { clientsOf, collect, failureOf, ways } from "../../support/listing-clients.js";

let node: Devnode;
let clients: ReturnType<typeof clientsOf>;
/** All stop orders, as one way gives them. */
let all: UnitsRecord<StopOrderRecord>[];
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 10 });
  clients = clientsOf(node);
  all = await collect(clients.grpc.stopOrders());
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

const changed = ({ stopOrder }: Pick<UnitsRecord<StopOrderRecord>, "stopOrder">) =>
  stopOrder.updatedAt ?? stopOrder.createdAt;
const ids = (records: readonly UnitsRecord<StopOrderRecord>[]) => records.map(({ stopOrder }) => stopOrder.id);

it("all stop orders come, each once, the newest first", () => {
  expect(new Set(ids(all)).size).toBe(10_000);
  expect(all).toHaveLength(10_000);
  const times = all.map((record) => record.stopOrder.createdAt);
  expect(times.every((time, index) => index === 0 || time <= (times[index - 1] ?? 0n))).toBe(true);
});

describe.each(ways)("listings over %s", (way) => {
  let client: Client;
  beforeAll(() => {
    client = clients[way];
  });

  it("give the same stop orders by small pages", async () => {
    const records = await collect(client.stopOrders({}, { pageSize: 7, limit: 50 }));
    expect(records).toEqual(all.slice(0, 50));
  });

  it("give the last stop orders, up to the end", async () => {
    const records = await collect(client.stopOrders({}, { pageSize: 30, after: all[9_899]?.cursor }));
    expect(records).toEqual(all.slice(9_900));
  });

  it("go on after a record", async () => {
    const [, , third] = await collect(client.stopOrders({}, { limit: 3 }));
    const records = await collect(client.stopOrders({}, { after: third?.cursor, pageSize: 3, limit: 5 }));
    expect(ids(records)).toEqual(ids(all.slice(3, 8)));
  });

  it("give a page of stop orders as the node sent it", async () => {
    const first = await client.listStopOrders({ pagination: { first: 3 } });
    expect(first.orders?.edges.map(({ cursor }) => cursor)).toEqual(all.slice(0, 3).map(({ cursor }) => cursor));
    expect(first.orders?.pageInfo).toMatchObject({
      startCursor: all[0]?.cursor,
      endCursor: all[2]?.cursor,
      hasNextPage: true,
      hasPreviousPage: false,
    });
    const last = await client.listStopOrders({ pagination: { after: all[9_997]?.cursor } });
    expect(last.orders?.edges).toHaveLength(2);
    expect(last.orders?.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  });

  it("give 1000 records to a page where the size is left open", async () => {
    const { orders } = await client.listStopOrders();
    expect(orders?.edges).toHaveLength(1000);
  });

  it("filter stop orders by names of statuses and parties", async () => {
    const party = all[5]?.stopOrder.partyId ?? "";
    const filter = { statuses: ["STATUS_PENDING", "TRIGGERED"], parties: new Set([party]) } as const;
    const records = await collect(client.stopOrders(filter, { pageSize: 7 }));
    const wanted = all.filter(
      (record) => record.stopOrder.partyId === party && [1, 4].includes(record.stopOrder.status),
    );
    expect(records).toEqual(wanted);
    expect(records.length).toBeGreaterThan(10);
  });

  it("filter stop orders by every kind of filter at once", async () => {
    const sample = all.find((record) => record.stopOrder.status === 1 && record.stopOrder.expiryStrategy === 2);
    const { partyId = "", marketId = "" } = sample?.stopOrder ?? {};
    const start = sample === undefined ? 0n : changed(sample);
    const { orders } = await client.listStopOrders({
      filter: {
        statuses: [1],
        expiryStrategies: ["SUBMIT"],
        dateRange: { startTimestamp: start, endTimestamp: start + 1n },
        partyIds: [partyId],
        marketIds: [marketId.toUpperCase()],
        liveOnly: true,
      },
    });
    expect(orders?.edges.map((edge) => edge.node?.stopOrder?.id)).toEqual([sample?.stopOrder.id]);
  });

  it("take dates", async () => {
    const middle = new Date(Number((all[500]?.stopOrder.createdAt ?? 0n) / 1_000_000n));
    const records = await collect(client.stopOrders({ since: middle }));
    const start = BigInt(middle.getTime()) * 1_000_000n;
    expect(ids(records)).toEqual(ids(all.filter((record) => changed(record) >= start)));
    expect(records.length).toBeGreaterThan(100);
  });

  it("give one stop order", async () => {
    const { id = "", createdAt, partyId } = all[4321]?.stopOrder ?? {};
    expect((await client.stopOrder(id)).stopOrder).toMatchObject({ id, createdAt, partyId });
  });

  it("give all network parameters, forwards and backwards", async () => {
    const parameters = await collect(client.networkParameters({ newestFirst: false, pageSize: 10 }));
    const keys = parameters.map((record) => record.node.key);
    expect(keys.length).toBeGreaterThan(100);
    expect(keys).toEqual([...new Set(keys)].toSorted());
    // Deployed nodes list them by their keys whatever is asked for.
    expect(await collect(client.networkParameters({ newestFirst: true }))).toEqual(parameters);
    const { networkParameters } = await client.listNetworkParameters({
      pagination: { last: 2, before: parameters[9]?.cursor, newestFirst: false },
    });
    expect(networkParameters?.edges.map((edge) => edge.node?.key)).toEqual(keys.slice(7, 9));
    expect(networkParameters?.pageInfo).toMatchObject({
      hasNextPage: true,
      hasPreviousPage: true,
      startCursor: parameters[7]?.cursor,
      endCursor: parameters[8]?.cursor,
    });
  });

  it("give one network parameter", async () => {
    const parameter = await client.networkParameter("snapshot.interval.length");
    expect(parameter).toMatchObject({ key: "snapshot.interval.length", value: "10" });
  });

  it.each<[string, (client: Client) => Promise<unknown>, Code, string]>([
    ["a key", (given) => given.networkParameter("no/such key"), Code.NotFound, "GetNetworkParameter"],
    ["a stop order", (given) => given.stopOrder("0".repeat(64)), Code.NotFound, "GetStopOrder"],
    ["an identifier", (given) => given.stopOrder("x"), Code.InvalidArgument, "GetStopOrder"],
    [
      "a cursor",
      (given) => given.listStopOrders({ pagination: { after: "!" } }),
      Code.InvalidArgument,
      "ListStopOrders",
    ],
    [
      "another listing's cursor",
      (given) => collect(given.stopOrders({}, { after: "WzFd" })),
      Code.Internal,
      "ListStopOrders",
    ],
    [
      "the end of stop orders",
      (given) => given.listStopOrders({ pagination: { last: 1 } }),
      Code.InvalidArgument,
      "ListStopOrders",
    ],
    [
      "stop orders, oldest first",
      (given) => collect(given.stopOrders({}, { newestFirst: false })),
      Code.Internal,
      "ListStopOrders",
    ],
    [
      "a party",
      (given) => given.listStopOrders({ filter: { partyIds: ["x"] } }),
      Code.InvalidArgument,
      "ListStopOrders",
    ],
  ])("tell that the node refuses %s", async (_, ask, code, method) => {
    const reason = await failureOf(() => ask(client));
    expect(reason).toBeInstanceOf(NodeError);
    expect(reason).toMatchObject({ code, method: `datanode.api.v2.TradingDataService/${method}` });
  });
});

it("filters of different kinds are joined by and, those of one kind by or", async () => {
  const parties = [...new Set(all.map((record) => record.stopOrder.partyId))];
  const markets = [...new Set(all.map((record) => record.stopOrder.marketId))];
  const times = all.map((record) => changed(record));
  const numbers = (schema: DescEnum) => schema.values.map(({ number }) => number);
  const statuses: StopOrder_Status[] = numbers(StopOrder_StatusSchema);
  const strategies: StopOrder_ExpiryStrategy[] = numbers(StopOrder_ExpiryStrategySchema);
  const range = fc
    .uniqueArray(fc.constantFrom(...times), { minLength: 2, maxLength: 2 })
    .map(([a = 0n, b = 0n]) => (a < b ? { since: a, until: b } : { since: b, until: a }));
  const filters = fc.record(
    {
      statuses: fc.uniqueArray(fc.constantFrom(...statuses), { maxLength: 3 }),
      expiryStrategies: fc.uniqueArray(fc.constantFrom(...strategies), { maxLength: 2 }),
      parties: fc.uniqueArray(fc.constantFrom(...parties), { maxLength: 30 }),
      markets: fc.uniqueArray(fc.constantFrom(...markets), { maxLength: 6 }),
      range,
      live: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  const admits = <T>(list: readonly T[] | undefined, value: T) =>
    list === undefined || list.length === 0 || list.includes(value);
  await fc.assert(
    fc.asyncProperty(filters, async ({ range: period, ...filter }) => {
      const found = await collect(clients.rest.stopOrders({ ...filter, ...period }, { pageSize: 5000 }));
      const wanted = all.filter(
        (record) =>
          admits(filter.statuses, record.stopOrder.status) &&
          admits(filter.expiryStrategies, record.stopOrder.expiryStrategy ?? 0) &&
          admits(filter.parties, record.stopOrder.partyId) &&
          admits(filter.markets, record.stopOrder.marketId) &&
          (period === undefined || (changed(record) >= period.since && changed(record) < period.until)) &&
          (filter.live !== true || record.stopOrder.status === 1),
      );
      expect(ids(found)).toEqual(ids(wanted));
    }),
    { numRuns: 25 },
  );
});
