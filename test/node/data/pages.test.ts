import { describe, expect, test } from "@jest/globals";
import type { Pagination } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { Market_State } from "tradewire/gen/vega/markets_pb.js";
import { allPages, type Paging } from "../../support/all-pages.js";
import { failureOf } from "../../support/failure-of.js";
import {
  account,
  asset,
  blockAt,
  historyOf,
  id,
  market,
  marketData,
  order,
  position,
  stopOrder,
  timelineOf,
  trade,
} from "../living-world.js";
import { serveData } from "./data-service.js";

const cursor = (...key: string[]) => Buffer.from(JSON.stringify({ key })).toString("base64");
/** A cursor of JSON with other names: deployed nodes take it for one without a key. */
const foreign = Buffer.from(JSON.stringify({ other: "1" })).toString("base64");
type Wanted = Partial<Omit<Pagination, "$typeName" | "$unknown">>;

/** Two trades in each of the blocks 1 to 10: 10, 11, 20, 21, … 100, 101. */
const trades = () =>
  timelineOf(Array.from({ length: 20 }, (_, at) => [1 + (at >> 1), trade(10 * (1 + (at >> 1)) + (at % 2))] as const));

describe("a page of a timeline", () => {
  test.each<[string, Wanted, number[], [next: boolean, previous: boolean]]>([
    ["the first ones", { first: 3 }, [101, 100, 91], [true, false]],
    ["those after a cursor", { first: 3, after: cursor("9", "1") }, [90, 81, 80], [true, true]],
    ["the last ones", { last: 2 }, [11, 10], [false, true]],
    ["those before a cursor", { last: 2, before: cursor("9", "1") }, [101, 100], [true, false]],
    ["those before a cursor, with more", { last: 2, before: cursor("9", "0") }, [100, 91], [true, true]],
    ["the oldest first", { first: 3, newestFirst: false }, [10, 11, 20], [true, false]],
    ["the oldest first, on", { first: 2, after: cursor("1", "1"), newestFirst: false }, [20, 21], [true, true]],
    ["the oldest first, last", { last: 2, newestFirst: false }, [100, 101], [false, true]],
    ["the oldest first, back", { before: cursor("2", "0"), newestFirst: false }, [10, 11], [true, false]],
    ["exactly all", { first: 2, after: cursor("2", "0") }, [11, 10], [false, true]],
    ["none", { first: 2, after: cursor("1", "0") }, [], [false, true]],
    // The data node takes the first record for that of the cursor, though it is another one (datanode/entities/entities.go).
    ["those after a record that is not there", { first: 1, after: cursor("5", "7") }, [50], [true, true]],
    ["those after what is to come", { first: 1, after: cursor("999", "0") }, [100], [true, true]],
    ["those after a cursor of another kind", { first: 1, after: foreign }, [100], [true, true]],
    ["the first ones, before or after what is not looked at", { first: 1, last: 9, before: "!" }, [101], [true, false]],
  ])("has %s", async (_, pagination, numbers, [hasNextPage, hasPreviousPage]) => {
    const { data } = serveData(historyOf({ trades: trades() }));
    const { trades: page } = await data.listTrades({ pagination });
    expect(page?.edges.map((edge) => edge.node?.id)).toEqual(numbers.map(id));
    const cursors = numbers.map((number) => cursor(String(Math.floor(number / 10)), String(number % 10)));
    expect(page?.edges.map((edge) => edge.cursor)).toEqual(cursors);
    expect(page?.pageInfo).toMatchObject({
      hasNextPage,
      hasPreviousPage,
      startCursor: cursors.at(0) ?? "",
      endCursor: cursors.at(-1) ?? "",
    });
  });

  test("reads no more than its records and one", async () => {
    const source = trades();
    const { data } = serveData(historyOf({ trades: source }));
    const before = source.reads();
    await data.listTrades({ pagination: { first: 3, after: cursor("9", "1") } });
    // Beside those of the page, that of the cursor is read, and the newest record is looked at: live ones come behind it.
    expect(source.reads() - before).toBe(5 + 1);
  });

  test("stands still while records come", async () => {
    const { data, happen } = serveData(historyOf({ trades: trades() }));
    const first = await data.listTrades({ pagination: { first: 2 } });
    happen({ case: "trade", value: trade(110) }, { case: "trade", value: trade(111) });
    const after = first.trades?.pageInfo?.endCursor ?? "";
    const next = await data.listTrades({ pagination: { first: 2, after } });
    expect(next.trades?.edges.map((edge) => edge.node?.id)).toEqual([id(91), id(90)]);
    const newer = await data.listTrades({ pagination: { last: 9, before: first.trades?.pageInfo?.startCursor ?? "" } });
    expect(newer.trades?.edges.map((edge) => edge.node?.id)).toEqual([id(111), id(110)]);
  });
});

describe("pages of every listing", () => {
  const times = (n: number) => ({ marketTimestamps: { proposed: BigInt(n) } });
  const start = {
    parameters: new Map([..."cabed"].map((key) => [key, `value of ${key}`])),
    assets: [3, 1, 2, 5, 4].map(asset),
    markets: [market(7, times(3)), market(9, times(1)), market(8, times(1)), market(6, times(2)), market(5, times(4))],
    parties: [4, 2, 5, 1, 3].map((number) => ({ id: id(number), createdAt: BigInt(number % 3) })),
    accounts: [3, 1, 2, 5, 4].map((number) => account(number)),
    positions: [31, 12, 21, 11, 32].map((number) => position(id(Math.floor(number / 10)), id(number % 10))),
    orders: [order(107, { status: 1 }), order(108, { status: 1 })],
  };
  const { data } = serveData(
    historyOf({
      start,
      trades: trades(),
      orders: timelineOf([101, 102, 103].map((number, at) => [at + 8, order(number, { status: 5 })] as const)),
      marketDataHistory: timelineOf(
        [1, 2, 3, 4, 5].map((at) => [at, marketData(7, { timestamp: BigInt(at) })] as const),
      ),
    }),
  );

  test.each<[string, (pagination: Paging) => Promise<object>, string[]]>([
    ["assets", (pagination) => data.listAssets({ pagination }), [5, 4, 3, 2, 1].map(id)],
    ["markets, by their times", (pagination) => data.listMarkets({ pagination }), [5, 7, 6, 9, 8].map(id)],
    [
      "parties, by their times",
      (pagination) => data.listParties({ pagination }),
      ["network", ...[5, 2, 4, 1, 3].map(id)],
    ],
  ])("%s", async (_, list, expected) => {
    const listed = async (pagination: Paging) => {
      const page = Object.values(await list(pagination)).find((value) => Object.hasOwn(Object(value), "edges"));
      return Object(page);
    };
    const name = (records: { readonly id?: string; readonly key?: string }[]) =>
      records.map((record) => record.id ?? record.key);
    for (const size of [1, 2, 5, 6, 9]) {
      expect(name(await allPages(listed, size))).toEqual(expected);
      expect(name(await allPages(listed, size, true))).toEqual(expected);
    }
  });

  test("orders, live ones last, newest first", async () => {
    const { orders } = await data.listOrders({ pagination: { first: 2 } });
    const next = await data.listOrders({ pagination: { after: orders?.pageInfo?.endCursor ?? "" } });
    const ids = [orders, next.orders].flatMap((page) => page?.edges.map((edge) => edge.node?.id));
    expect(ids).toEqual([108, 107, 103, 102, 101].map(id));
  });

  // LatestEvent: ascending whatever is asked for.
  test.each<[Wanted, string]>([
    [{}, "abcde"],
    [{ newestFirst: true }, "abcde"],
    [{ newestFirst: false }, "abcde"],
    [{ first: 2, after: Buffer.from("b").toString("base64") }, "cd"],
    [{ last: 2 }, "de"],
    [{ last: 2, before: Buffer.from("d").toString("base64") }, "bc"],
    [{ first: 2, after: foreign }, ""],
  ])("parameters: %j", async (pagination, keys) => {
    const { networkParameters } = await data.listNetworkParameters({ pagination });
    expect(networkParameters?.edges.map((edge) => edge.node?.key).join("")).toBe(keys);
  });

  test("accounts, positions and the history of market data", async () => {
    const accounts = await data.listAccounts({ pagination: { first: 2, newestFirst: false } });
    expect(accounts.accounts?.edges.map((edge) => edge.cursor)).toEqual([cursor(id(1)), cursor(id(2))]);
    const { positions } = await data.listAllPositions({ pagination: { first: 3, newestFirst: false } });
    expect(positions?.edges.map((edge) => edge.cursor)).toEqual([
      cursor(id(1), id(1)),
      cursor(id(1), id(2)),
      cursor(id(2), id(1)),
    ]);
    const before = positions?.edges[2]?.cursor ?? "";
    const back = await data.listAllPositions({ pagination: { last: 1, before, newestFirst: false } });
    expect(back.positions?.edges.map((edge) => edge.cursor)).toEqual([cursor(id(1), id(2))]);
    const { marketData: found } = await data.getMarketDataHistoryByID({
      marketId: id(7),
      startTimestamp: 2n,
      endTimestamp: 4n,
      pagination: { first: 2 },
    });
    expect(found?.edges.map((edge) => edge.node?.timestamp)).toEqual([4n, 3n]);
    expect(found?.pageInfo).toMatchObject({ hasNextPage: true, endCursor: cursor("3", "0") });
    const { marketData: latest } = await data.getMarketDataHistoryByID({ marketId: id(7), pagination: { first: 4 } });
    expect(latest?.edges.map((edge) => edge.node?.timestamp)).toEqual([5n]);
    expect(latest?.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    const reversed = data.getMarketDataHistoryByID({ marketId: id(7), startTimestamp: 4n, endTimestamp: 2n });
    expect((await failureOf(reversed)).details).toEqual([
      "30006 failed to get market data history (could not retrieve historic market data: invalid date range, end date must be after start date)",
    ]);
  });

  test("settled markets are left out where that is asked for", async () => {
    const { data: other } = serveData(
      historyOf({ start: { markets: [market(1), market(2, { state: Market_State.SETTLED })] } }),
    );
    const ids = async (request: { includeSettled?: boolean }) =>
      (await other.listMarkets(request)).markets?.edges.map((edge) => edge.node?.id);
    expect(await ids({ includeSettled: false })).toEqual([id(1)]);
    expect(await ids({ includeSettled: true })).toEqual([id(2), id(1)]);
    expect(await ids({})).toEqual([id(2), id(1)]);
  });
});

describe("stop orders", () => {
  const { data } = serveData(historyOf({ start: { stopOrders: [3, 1, 2].map((number) => stopOrder(number)) } }));

  test("are listed newest first", async () => {
    const { orders } = await data.listStopOrders({ pagination: { first: 2 } });
    expect(orders?.edges.map((edge) => edge.node?.stopOrder?.id)).toEqual([id(3), id(2)]);
    const after = cursor(String(blockAt(2n).time), id(2));
    expect(orders?.pageInfo).toMatchObject({ hasNextPage: true, endCursor: after });
    const next = await data.listStopOrders({ pagination: { after } });
    expect(next.orders?.edges.map((edge) => edge.node?.stopOrder?.id)).toEqual([id(1)]);
  });

  // LatestEvent: test/network/recorded/listings.json.
  test.each<[Wanted, string, string]>([
    [{ last: 1 }, "InvalidArgument", "10000 'last' pagination is not supported ('last' pagination is not supported)"],
    [
      { before: cursor("1700000002000000000", id(2)) },
      "InvalidArgument",
      "10000 'last' pagination is not supported ('last' pagination is not supported)",
    ],
    [{ newestFirst: false }, "Internal", "10000 oldest first order query is not currently supported"],
    [{ newestFirst: false, last: 1 }, "Internal", "10000 oldest first order query is not currently supported"],
  ])("and orders, and not otherwise: %j", async (pagination, code, detail) => {
    for (const listing of [data.listStopOrders({ pagination }), data.listOrders({ pagination })]) {
      expect(await failureOf(listing)).toEqual({ code, message: `${code} error`, details: [detail] });
    }
  });
});

describe("a page is refused with a detail", () => {
  const { data } = serveData(historyOf());
  const outOfRange = "10028 invalid pagination (pagination limit must be in range 0-5000)";
  const badBase64 = "failed to decode cursor: illegal base64 data at input byte 0";

  // LatestEvent: test/network/recorded/listings.json.
  test.each<[Wanted, string]>([
    [{ first: 0 }, outOfRange],
    [{ first: -1 }, outOfRange],
    [{ last: 5001 }, outOfRange],
    [{ after: "YQ==", before: "YQ==" }, "10028 invalid pagination (cannot set both a before and after cursor)"],
    [{ after: "!" }, `10028 invalid pagination (failed to decode after cursor: ${badBase64})`],
    [{ last: 1, before: "!" }, `10028 invalid pagination (failed to decode before cursor: ${badBase64})`],
    [{ after: "" }, "10028 invalid pagination (failed to decode after cursor: cursor is empty)"],
    [{ first: 0, after: "!" }, `10028 invalid pagination (failed to decode after cursor: ${badBase64})`],
  ])("%j", async (pagination, detail) => {
    expect(await failureOf(data.listTrades({ pagination }))).toEqual({
      code: "InvalidArgument",
      message: "InvalidArgument error",
      details: [detail],
    });
  });

  test.each<[Wanted]>([
    [{ after: "YQ==" }],
    [{ after: cursor("1") }],
    [{ after: cursor("1", "-1") }],
    [{ after: cursor(id(1), id(1)) }],
    [{ after: Buffer.from("[1,2]").toString("base64") }],
  ])("a cursor that is not of the listing is INTERNAL: %j", async (pagination) => {
    const { code, details } = await failureOf(data.listTrades({ pagination }));
    expect(code).toBe("Internal");
    expect(details[0]).toMatch(/^40005 failed to list trades \(failed to get trade by market:parsing cursor: /);
  });

  test.each([{ first: 0 }, { after: "!" }])(
    "differently for assets and the history of market data: %j",
    async (pagination) => {
      const [assets, history] = [data.listAssets({ pagination }), data.getMarketDataHistoryByID({ pagination })];
      expect((await failureOf(assets)).details[0]).toMatch(/^200001 failed to get assets \(.*: invalid pagination\)$/);
      expect((await failureOf(history)).details[0]).toMatch(
        /^30006 failed to get market data history \(.*: invalid pagination\)$/,
      );
    },
  );
});
