import { Code, ConnectError } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Client,
  createClient,
  formatDecimal,
  type MarketUnits,
  NodeError,
  Order_Status,
  type RecordListings,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { openMarket, ownAsset } from "../../support/devnode.js";
import { clientsOf, collect, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode } from "../../support/node.js";

const { listAccounts, listAllPositions, listOrders, listTrades } = TradingDataService.method;

let node: Devnode;
let clients: ReturnType<typeof clientsOf>;
let units: MarketUnits;
beforeAll(async () => {
  node = await startDevnode({ segments: 1, blocksPerSegment: 200 });
  clients = clientsOf(node);
  units = await clients.grpc.marketUnits("M0");
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

describe.each(ways)("records over %s", (way) => {
  let client: Client;
  beforeAll(() => {
    client = clients[way];
  });

  it("are orders with typed units and decimal numbers, as the node lists them", async () => {
    const filter = { marketIds: [openMarket], liveOnly: true };
    const raw = (await collect(client.records(listOrders, { filter }, { limit: 20 }))).map((record) => record.node);
    const orders = await collect(client.orders({ markets: ["M0"], live: true }, { limit: 20, pageSize: 7 }));
    expect(orders.map(({ id }) => id)).toEqual(raw.map(({ id }) => id));
    for (const [index, { price, size, decimals }] of orders.entries()) {
      const node = raw[index] as (typeof raw)[number];
      expect([price, size]).toEqual([BigInt(node.price), node.size]);
      expect(decimals).toMatchObject(units.decimalsOf(node));
      expect([units.price.format(price), formatDecimal(size, units.size.decimals)]).toEqual([
        decimals.price,
        decimals.size,
      ]);
    }
  });

  it("are trades with fees, from a time on and before another", async () => {
    const all = await collect(client.trades({ markets: [openMarket.slice(0, 6)] }));
    expect(all.length).toBeGreaterThan(10);
    const [, second, third, fourth] = [...new Set(all.map(({ timestamp }) => timestamp))];
    const some = await collect(client.trades({ markets: [openMarket], since: fourth, until: second }));
    expect(new Set(some.map(({ timestamp }) => timestamp))).toEqual(new Set([third, fourth]));
    const [trade] = all;
    const fee = trade?.buyerFee ?? trade?.sellerFee;
    const texts = trade?.decimals.buyerFee ?? trade?.decimals.sellerFee;
    expect(texts?.makerFee).toBe(units.asset.format(fee?.makerFee ?? 0n));
  });

  it("are positions and accounts of a party", async () => {
    const [first] = await collect(client.records(listAllPositions, {}, { limit: 1 }));
    const { partyId = "", openVolume } = first?.node ?? {};
    const [position] = await collect(client.positions({ parties: [partyId.slice(0, 10)] }));
    expect([position?.partyId, position?.openVolume]).toEqual([partyId, openVolume]);
    const [key = ""] = node.keys;
    const filter = { partyIds: [key] };
    const raw = (await collect(client.records(listAccounts, { filter }))).map((record) => record.node);
    const accounts = await collect(client.accounts({ parties: [key] }));
    expect(accounts.map(({ balance }) => balance)).toEqual(raw.map(({ balance }) => BigInt(balance)));
    const own = accounts.find(({ asset }) => asset === ownAsset);
    const { asset } = await client.service(TradingDataService).getAsset({ assetId: ownAsset });
    expect(own?.decimals.balance).toBe(formatDecimal(own?.balance ?? 0n, Number(asset?.details?.decimals)));
  });

  it("are markets, settled ones only if they are wanted", async () => {
    const open = await collect(client.markets());
    const all = await collect(client.markets({ settled: true }));
    expect(all.length).toBeGreaterThan(open.length);
    const market = open.find(({ id }) => id === openMarket);
    expect(market?.decimals.tickSize).toBe(units.price.tickSize);
    const settled = all.find(({ id }) => open.every((each) => each.id !== id));
    const named = await collect(client.markets({ markets: ["M0", settled?.id ?? ""] }, { limit: 2 }));
    expect(new Set(named.map(({ id }) => id))).toEqual(new Set([openMarket, settled?.id]));
  });

  it("are written by JSON.stringify as Protobuf's JSON, with decimal numbers and cursor", async () => {
    const [order] = await collect(client.orders({ statuses: ["ACTIVE"] }, { limit: 1 }));
    expect(JSON.parse(JSON.stringify(order))).toMatchObject({
      ...{ id: order?.id, price: String(order?.price), size: String(order?.size), status: "STATUS_ACTIVE" },
      ...{ decimals: { price: order?.decimals.price }, cursor: order?.cursor },
    });
  });
});

it("go on after a record, and are of the statuses that are named", async () => {
  const first = await collect(clients.grpc.orders({ statuses: ["FILLED", Order_Status.CANCELLED] }, { limit: 3 }));
  const [second, third] = await collect(
    clients.grpc.orders({ statuses: ["STATUS_FILLED", "CANCELLED"] }, { limit: 2, after: first[0]?.cursor }),
  );
  expect([second?.id, third?.id]).toEqual([first[1]?.id, first[2]?.id]);
  expect(first.every(({ status }) => [Order_Status.FILLED, Order_Status.CANCELLED].includes(status))).toBe(true);
});

it("load the decimals of a market once, and end where the node does not have it", async () => {
  const asked: string[] = [];
  const future = { product: { case: "future", value: { settlementAsset: ownAsset } } } as const;
  const trade = (marketId: string) => ({ id: "a1", marketId, price: "150000", size: 2n });
  let marketId = openMarket;
  await using served = await serveNode({
    getMarket(request) {
      asked.push(request.marketId);
      if (request.marketId !== openMarket) {
        throw new ConnectError("no rows in result set", Code.NotFound);
      }
      const market = { decimalPlaces: 5n, positionDecimalPlaces: -1n, tradableInstrument: { instrument: future } };
      return { market: { id: openMarket, ...market } };
    },
    getAsset: () => ({ asset: { details: { decimals: 18n } } }),
    listTrades: () => ({ trades: { edges: [{ cursor: "a", node: trade(marketId) }], pageInfo: {} } }),
  });
  await using client = createClient({ transport: "grpc", grpc: { url: served.grpcUrl } });
  for (let listing = 0; listing < 2; listing += 1) {
    const [first] = await collect(client.trades({ markets: [openMarket] }));
    expect(first).toMatchObject({ price: 150000n, assetPrice: undefined, decimals: { price: "1.5", size: "20" } });
    expect(first?.decimals).not.toHaveProperty("assetPrice");
  }
  expect(asked).toEqual([openMarket]);
  marketId = "b2".repeat(32);
  expect(await failureOf(() => collect(client.trades()))).toMatchObject({ name: "NodeError", code: Code.NotFound });
});

it("are not made of a market with impossible decimals", async () => {
  const market = { id: openMarket, decimalPlaces: 2n ** 60n };
  await using served = await serveNode({
    listMarkets: () => ({ markets: { edges: [{ cursor: "a", node: market }], pageInfo: {} } }),
  });
  await using client = createClient({ transport: "grpc", grpc: { url: served.grpcUrl } });
  expect(await failureOf(() => collect(client.markets()))).toMatchObject({
    name: "ProtocolError",
    summary: expect.stringContaining(`the prices of market ${openMarket} must have 0 to 255 decimals`),
  });
});

const wrong: [string, (listings: RecordListings) => unknown, string][] = [
  [
    "an unknown status",
    (listings) => listings.orders({ statuses: ["OPEN" as "ACTIVE"] }),
    "statuses[0] must be a value",
  ],
  ["a text for a list", (listings) => listings.trades({ markets: "M0" }), 'markets must be an array, such as ["M0"]'],
  ["no period", (listings) => listings.trades({ since: 5n, until: 5n }), "the date range is empty"],
  ["another filter", (listings) => listings.positions({ live: true } as object), 'unknown field "live" in filter'],
  ["another option", (listings) => listings.accounts({}, { pages: 1 } as object), 'unknown option "pages" in options'],
  ["a page of 0", (listings) => listings.markets({}, { pageSize: 0 }), "pageSize must be a whole number"],
];
it.each(wrong)("refuse %s at once", (_, list, summary) => {
  expect(() => list(clients.grpc)).toThrow(summary);
});

it("refuse a market and a party that no record has, when they are read", async () => {
  const { grpc } = clients;
  expect(await failureOf(() => collect(grpc.orders({ markets: ["M77"] })))).toMatchObject({
    summary: 'no market has the code or ID "M77"',
    advice: "Did you mean M7? Use the code of a market, or its ID.",
  });
  expect(await failureOf(() => collect(grpc.positions({ parties: ["0000"] })))).toMatchObject({
    summary: 'no party has the ID "0000"',
  });
  expect(await failureOf(() => collect(grpc.trades({}, { after: "WzFd" })))).toBeInstanceOf(NodeError);
});

it("list trades as client.records does", async () => {
  const raw = await collect(clients.grpc.records(listTrades, {}, { limit: 50 }));
  const trades = await collect(clients.grpc.trades({}, { limit: 50 }));
  expect(trades.map(({ id, cursor }) => [id, cursor])).toEqual(raw.map((record) => [record.node.id, record.cursor]));
});
