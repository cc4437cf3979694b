import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "@jest/globals";
import type { Pagination } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { Market_State } from "../../../gen/vega/markets_pb.js";
import { ErrorDetailSchema } from "../../../gen/vega/vega_pb.js";
import { allPages, type Paging } from "../../support/all-pages.js";
import { serveData } from "../../support/data-service.js";
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
} from "../../support/living-world.js";

const cursor = (...key: string[]) => Buffer.from(JSON.stringify(key)).toString("base64");
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
    ["those after a record that is not there", { first: 1, after: cursor("5", "7") }, [51], [true, true]],
    ["those after what is to come", { first: 1, after: cursor("999", "0") }, [101], [true, true]],
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
    // Beside those of the page, the newest record is looked at: live ones come behind it.
    expect(source.reads() - before).toBe(4 + 1);
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
    ["parameters", (pagination) => data.listNetworkParameters({ pagination }), [..."edcba"]],
    ["assets", (pagination) => data.listAssets({ pagination }), [5, 4, 3, 2, 1].map(id)],
    ["markets, by their times", (pagination) => data.listMarkets({ pagination }), [5, 7, 6, 9, 8].map(id)],
    ["parties, by their times", (pagination) => data.listParties({ pagination }), [5, 2, 4, 1, 3].map(id)],
    ["orders, live ones last", (pagination) => data.listOrders({ pagination }), [108, 107, 103, 102, 101].map(id)],
  ])("%s", async (_, list, expected) => {
    const listed = async (pagination: Paging) => {
      const page = Object.values(await list(pagination)).find((value) => Object.hasOwn(Object(value), "edges"));
      return Object(page);
    };
    const name = (records: { readonly id?: string; readonly key?: string }[]) =>
      records.map((record) => record.id ?? record.key);
    for (const size of [1, 2, 5, 9]) {
      expect(name(await allPages(listed, size))).toEqual(expected);
      expect(name(await allPages(listed, size, true))).toEqual(expected);
    }
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
  });

  test("settled markets are left out unless they are asked for", async () => {
    const { data: other } = serveData(
      historyOf({ start: { markets: [market(1), market(2, { state: Market_State.SETTLED })] } }),
    );
    const ids = async (includeSettled: boolean) =>
      (await other.listMarkets({ includeSettled })).markets?.edges.map((edge) => edge.node?.id);
    expect(await ids(false)).toEqual([id(1)]);
    expect(await ids(true)).toEqual([id(2), id(1)]);
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

  test.each<[Wanted]>([[{ last: 1 }], [{ newestFirst: false }], [{ before: cursor("1700000002000000000", id(2)) }]])(
    "and not otherwise: %j",
    async (pagination) => {
      await expect(data.listStopOrders({ pagination })).rejects.toMatchObject({
        code: Code.InvalidArgument,
        rawMessage: "this listing is given newest first only, and not from its end",
      });
    },
  );
});

describe("a page is refused with a detail", () => {
  const { data } = serveData(historyOf());

  test.each<[Wanted, string]>([
    [{ first: 0 }, "first is 0, not from 1 to 5000"],
    [{ last: 5001 }, "last is 5001, not from 1 to 5000"],
    [{ first: 1, last: 1 }, "first and last cannot both be given"],
    [{ after: "YQ==", before: "YQ==" }, "after and before cannot both be given"],
    [{ first: 1, before: "YQ==" }, "first goes with after, and last with before"],
    [{ last: 1, after: "YQ==" }, "first goes with after, and last with before"],
    [{ after: "!" }, "the cursor is not base64"],
    [{ after: "" }, "the cursor is not base64"],
    [{ after: "YQ==" }, "the cursor is not one of this listing"],
    [{ after: cursor("1") }, "the cursor is not one of this listing"],
    [{ after: cursor("1", "-1") }, "the cursor is not one of this listing"],
    [{ after: cursor(id(1), id(1)) }, "the cursor is not one of this listing"],
    [{ after: Buffer.from("[1,2]").toString("base64") }, "the cursor is not one of this listing"],
  ])("%j", async (pagination, reason) => {
    const error = await data.listTrades({ pagination }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: reason });
    expect(error instanceof ConnectError && error.findDetails(ErrorDetailSchema)).toMatchObject([
      { code: 20_003, message: "invalid pagination", inner: reason },
    ]);
  });
});
