import type { MessageInitShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, it } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  commandProblems,
  createClient,
  type MarketUnits,
  NodeError,
  Order_TimeInForce,
  Order_Type,
  PeggedReference,
  ProtocolError,
  Side,
  StopOrder_ExpiryStrategy,
  signerFromMnemonic,
} from "tradewire";
import { TradingDataService, vega } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import type { MarketSchema } from "tradewire/gen/vega/markets_pb.js";
import { committed } from "../../support/committed.js";
import { openMarket } from "../../support/devnode.js";
import { clientsOf, collect, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode, type TestNode } from "../../support/node.js";

const id = "a1".repeat(32);
const other = "b2".repeat(32);
const settlementAsset = "c3".repeat(32);
const baseAsset = "d4".repeat(32);

type MarketInit = MessageInitShape<typeof MarketSchema>;
const productOf = (product: NonNullable<Exclude<MarketInit["tradableInstrument"], undefined>>["instrument"]) => ({
  tradableInstrument: { instrument: product },
});
const future = productOf({ product: { case: "future", value: { settlementAsset } } });
const spot = productOf({ product: { case: "spot", value: { baseAsset, quoteAsset: settlementAsset } } });
/** A market with prices of 4 decimals in steps of 0.0005, and sizes of 3 decimals. */
const market = { id, ...future, decimalPlaces: 4n, positionDecimalPlaces: 3n, tickSize: "5" };

/** A node with a market and its assets, as a test has them. */
function serveMarket(init: MarketInit | undefined, decimals: bigint | undefined = 6n): Promise<TestNode> {
  return serveNode({
    getMarket: () => ({ ...(init && { market: init }) }),
    getAsset: ({ assetId }) => ({
      asset: {
        id: assetId,
        ...(decimals !== undefined && { details: { decimals: assetId === baseAsset ? 8n : decimals } }),
      },
    }),
  });
}

async function unitsOf(init: MarketInit): Promise<MarketUnits> {
  await using node = await serveMarket(init);
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  return await client.marketUnits(id);
}

/** What the check of commands finds. */
function problemsOf(command: CommandInit) {
  const made = create(InputDataSchema, { command } as MessageInitShape<typeof InputDataSchema>).command;
  return made.case === undefined ? ["no command"] : commandProblems(made);
}

const limit = { side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC };

describe("the units of a market", () => {
  it.each(ways)("are the node's, over %s", async (way) => {
    await using node = await serveMarket(market);
    const clients = clientsOf(node);
    try {
      const { marketId, price, size, asset, baseAsset: base } = await clients[way].marketUnits(id.toUpperCase());
      expect({ marketId, assetId: asset.assetId, base }).toEqual({
        marketId: id,
        assetId: settlementAsset,
        base: undefined,
      });
      expect([price.decimals, size.decimals, asset.decimals, price.tickSize]).toEqual([4, 3, 6, "0.0005"]);
      expect([price.parse("1.2345"), size.parse("-0.5"), asset.parse("-2.5")]).toEqual(["12345", -500n, "-2500000"]);
      expect([price.format("12345"), size.format(-500n), asset.format("1")]).toEqual(["1.2345", "-0.5", "0.000001"]);
    } finally {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    }
  });

  it("of a spot market have its two assets: fees are in the quote asset", async () => {
    const { asset, baseAsset: base } = await unitsOf({ ...market, ...spot });
    expect([asset.assetId, asset.decimals, base?.assetId, base?.decimals]).toEqual([settlementAsset, 6, baseAsset, 8]);
  });

  it("may count sizes in hundreds, and have no tick size", async () => {
    const { size, price } = await unitsOf({ ...market, positionDecimalPlaces: -2n, tickSize: "" });
    expect([size.parse("12300"), size.format(7n), price.tickSize]).toEqual([123n, "700", "0.0001"]);
    expect(() => size.parse("150")).toThrow("Use 100, the nearest below, or 200, the nearest above.");
  });

  it.each<[string, MarketInit | undefined, bigint | undefined]>([
    ["is missing in the response", undefined, 6n],
    ["has a product that this release does not know", { ...market, tradableInstrument: undefined }, 6n],
    ["must have 0 to 255 decimals (got 1000000000)", { ...market, decimalPlaces: 1_000_000_000n }, 6n],
    ["must have -255 to 255 decimals (got 256)", { ...market, positionDecimalPlaces: 256n }, 6n],
    ["must have -255 to 255 decimals (got -256)", { ...market, positionDecimalPlaces: -256n }, 6n],
    ["must have 0 to 255 decimals (got 18446744073709551615)", market, 2n ** 64n - 1n],
    ["must have 0 to 255 decimals (got none)", market, undefined],
    ["must be a positive whole number", { ...market, tickSize: "0" }, 6n],
    ["must be a positive whole number", { ...market, tickSize: "0.5" }, 6n],
    ["be a positive whole number", { ...market, tickSize: "9".repeat(79) }, 6n],
  ])("are not believed where a node answers what cannot be: %s", async (said, init, decimals) => {
    await using node = await serveNode({
      getMarket: () => ({ ...(init && { market: init }) }),
      getAsset: () => ({ asset: { ...(decimals !== undefined && { details: { decimals } }) } }),
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const error = await failureOf(() => client.marketUnits(id));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      summary: expect.stringContaining(said),
      method: "datanode.api.v2.TradingDataService/GetMarket",
    });
  });

  it("are those of the market with a code or the start of an identifier, and need a market that exists", async () => {
    await using node = await startDevnode({ segments: 1, blocksPerSegment: 10 });
    await using client = createClient({ grpc: { url: node.grpcUrl }, transport: "grpc" });
    for (const name of ["M0", openMarket.slice(0, 4), openMarket.slice(0, 8).toUpperCase(), openMarket]) {
      expect((await client.marketUnits(name)).marketId).toBe(openMarket);
    }
    for (const name of ["M77", "m0", openMarket.slice(0, 3)]) {
      await expect(client.marketUnits(name)).rejects.toThrow(`no market has the code or ID "${name}"`);
    }
    await expect(client.marketUnits("")).rejects.toThrow('market must be a non-empty string such as "BTCUSD.PERP"');
    expect(await failureOf(() => client.marketUnits(id))).toBeInstanceOf(NodeError);
    await expect(client.marketUnits(openMarket, { signal: AbortSignal.abort() })).rejects.toThrow("canceled");
  });

  it("list no markets for a complete identifier, and are refused for a code that two markets have", async () => {
    const listed: boolean[] = [];
    await using node = await serveNode({
      getMarket: () => ({ market }),
      getAsset: () => ({ asset: { details: { decimals: 6n } } }),
      listMarkets: ({ includeSettled }) => {
        listed.push(includeSettled ?? false);
        const named = (marketId: string) => ({
          id: marketId,
          ...productOf({ code: "BTC", ...future.tradableInstrument.instrument }),
        });
        const edges = [id, other].map((marketId) => ({ cursor: marketId, node: named(marketId) }));
        return { markets: { edges, pageInfo: { hasNextPage: false } } };
      },
    });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await client.marketUnits(id.toUpperCase());
    expect(listed).toEqual([]);
    expect((await client.marketUnits(id.slice(0, 4))).marketId).toBe(id);
    expect(await failureOf(() => client.marketUnits("BTC"))).toMatchObject({
      summary: '2 IDs fit the market "BTC"',
      advice: `Use more digits of one of the IDs: ${id}, ${other}.`,
    });
    expect(listed).toEqual([true, true]); // Also settled ones.
  });
});

describe("commands of decimal numbers", () => {
  let units: MarketUnits;
  beforeAll(async () => {
    units = await unitsOf(market);
  });

  it("submit orders", () => {
    const command = units.order({
      ...limit,
      price: "1.2345",
      size: "0.5",
      icebergOpts: { peakSize: "0.2", minimumVisibleSize: "0.001" },
      reference: "mine",
    });
    expect(command).toEqual({
      case: "orderSubmission",
      value: {
        ...{ ...limit, marketId: id, price: "12345", size: 500n, reference: "mine" },
        icebergOpts: { peakSize: 200n, minimumVisibleSize: 1n },
      },
    });
    expect(problemsOf(command)).toEqual([]);
    const pegged = units.order({
      ...limit,
      size: "1",
      peggedOrder: { reference: PeggedReference.BEST_BID, offset: "0.01" },
    });
    expect(pegged.value).toMatchObject({ peggedOrder: { reference: PeggedReference.BEST_BID, offset: "100" } });
    expect(problemsOf(pegged)).toEqual([]);
    const order = units.order({
      side: Side.SELL,
      type: Order_Type.MARKET,
      timeInForce: Order_TimeInForce.IOC,
      size: "2",
    });
    expect(order.value).not.toHaveProperty("price");
    expect(problemsOf(order)).toEqual([]);
  });

  it("change orders", () => {
    const command = units.amendment({ orderId: other, price: "0.001", sizeDelta: "-1.5", peggedOffset: "0.0005" });
    expect(command).toEqual({
      case: "orderAmendment",
      value: { orderId: other, marketId: id, price: "10", sizeDelta: -1500n, peggedOffset: "5" },
    });
    expect(problemsOf(command)).toEqual([]);
    expect(units.amendment({ orderId: other, size: "3" }).value).toEqual({ orderId: other, marketId: id, size: 3000n });
  });

  it("submit stop orders, whose trigger may be any price", () => {
    const orderSubmission = { ...limit, price: "2", size: "0.1", reduceOnly: true, timeInForce: Order_TimeInForce.IOC };
    const expiry = { expiresAt: 1n, expiryStrategy: StopOrder_ExpiryStrategy.CANCELS };
    const command = units.stopOrders({
      risesAbove: { ...expiry, orderSubmission, trigger: { case: "price", value: "2.0001" } },
      fallsBelow: { ...expiry, orderSubmission, trigger: { case: "trailingPercentOffset", value: "0.05" } },
    });
    const submission = { ...orderSubmission, marketId: id, price: "20000", size: 100n };
    expect(command).toEqual({
      case: "stopOrdersSubmission",
      value: {
        risesAbove: { ...expiry, orderSubmission: submission, trigger: { case: "price", value: "20001" } },
        fallsBelow: {
          ...expiry,
          orderSubmission: submission,
          trigger: { case: "trailingPercentOffset", value: "0.05" },
        },
      },
    });
    expect(problemsOf(command)).toEqual([]);
  });

  it("are refused where a number would have to be rounded, with its place, the decimals and the nearest numbers", () => {
    expect(() => units.order({ ...limit, price: "1.2347", size: "1" })).toThrow(
      `price must be a multiple of 0.0005, the tick size of market ${id} with 4 decimals (got "1.2347")\n` +
        "Use 1.2345, the nearest below, or 1.235, the nearest above.",
    );
    expect(() => units.order({ ...limit, price: "1", size: "0.0001" })).toThrow(
      `size must have at most 3 decimals of market ${id} (got "0.0001")\nUse at least 0.001.`,
    );
    const peggedOrder = { reference: PeggedReference.MID, offset: "0.0001" };
    expect(() => units.order({ ...limit, size: "1", peggedOrder })).toThrow("peggedOrder.offset must");
    const icebergOpts = { peakSize: "1", minimumVisibleSize: "0.0001" };
    expect(() => units.order({ ...limit, size: "1", icebergOpts })).toThrow("icebergOpts.minimumVisibleSize must");
    expect(() => units.amendment({ orderId: other, price: "0.00001" })).toThrow("price must");
    const stop = { orderSubmission: { ...limit, size: "0.0001" }, trigger: { case: "price", value: "1" } } as const;
    expect(() => units.stopOrders({ fallsBelow: stop })).toThrow("fallsBelow.orderSubmission.size must");
    const trigger = { case: "price", value: "1.00001" } as const;
    expect(() =>
      units.stopOrders({ fallsBelow: { ...stop, orderSubmission: { ...limit, size: "1" }, trigger } }),
    ).toThrow(
      `fallsBelow.trigger.value must have at most 4 decimals of market ${id} (got "1.00001")\n` +
        "Use 1, the nearest below, or 1.0001, the nearest above.",
    );
  });

  it("are refused with a negative number, a field that does not exist, and a market of its own", () => {
    expect(() => units.order({ ...limit, price: "-1", size: "1" })).toThrow('price must not be negative (got "-1")');
    expect(() => units.order({ ...limit, price: "1", size: "-1" })).toThrow('size must not be negative (got "-1")');
    const given = [{ ...limit, size: "1", marketId: other }];
    expect(() => Reflect.apply(units.order, units, given)).toThrow('unknown field "marketId" in the order');
    expect(() => Reflect.apply(units.amendment, units, [{ orderId: other, prize: "1" }])).toThrow(
      "Did you mean price?",
    );
    expect(() => Reflect.apply(units.order, units, [{ ...limit, size: 1 }])).toThrow(
      'size must be a decimal number as a string, such as "12.345" (got 1)',
    );
  });

  it("are what a node executes, and its records come back as the same decimal numbers", async () => {
    await using node = await startDevnode({ blockMs: 50 });
    await using client: Client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    using signer = await signerFromMnemonic(node.mnemonic);
    const own = await client.marketUnits(openMarket);
    expect([own.price.decimals, own.size.decimals, own.price.tickSize]).toEqual([1, 0, "0.1"]);
    const { txHash } = await client.sendCommand(own.order({ ...limit, price: "1.5", size: "3" }), {
      signer,
      until: "executed",
    });
    expect(txHash).not.toBe("");
    await committed(client);
    const filter = { partyIds: [signer.publicKey], liveOnly: true };
    const [placed] = await collect(client.records(TradingDataService.method.listOrders, { filter }));
    expect(placed?.node).toMatchObject({ price: "15", size: 3n });
    expect(placed && own.decimalsOf(placed.node)).toEqual({ price: "1.5", size: "3", remaining: "3" });
  });
});

describe("records", () => {
  let units: MarketUnits;
  beforeAll(async () => {
    units = await unitsOf(market);
  });

  it("have their prices and sizes in the market's decimals, and their amounts in the asset's", () => {
    const position = create(vega.PositionSchema, {
      ...{ marketId: id, openVolume: -1500n, averageEntryPrice: "12345" },
      ...{ realisedPnl: "-2500000", unrealisedPnl: "0", lossSocialisationAmount: "" },
    });
    expect(units.decimalsOf(position)).toEqual({
      ...{ openVolume: "-1.5", averageEntryPrice: "1.2345" },
      ...{ realisedPnl: "-2.5", unrealisedPnl: "0", lossSocialisationAmount: "" },
    });
    const trade = create(vega.TradeSchema, { marketId: id, price: "10000", size: 1n });
    expect(units.decimalsOf(trade)).toEqual({ price: "1", size: "0.001" });
    expect(units.decimalsOf(create(vega.PriceLevelSchema, { price: "5", volume: 12n }))).toEqual({
      price: "0.0005",
      volume: "0.012",
      ammVolume: "0",
      ammVolumeEstimated: "0",
    });
    const data = create(vega.MarketDataSchema, {
      market: id,
      markPrice: "12345",
      openInterest: 1500n,
      targetStake: "7",
    });
    expect(units.decimalsOf(data)).toMatchObject({ markPrice: "1.2345", openInterest: "1.5", midPrice: "" });
    const margins = create(vega.MarginLevelsSchema, { marketId: id, maintenanceMargin: "1", orderMargin: "1000000" });
    expect(units.decimalsOf(margins)).toMatchObject({
      maintenanceMargin: "0.000001",
      orderMargin: "1",
      searchLevel: "",
    });
  });

  it("of another market, of another type or with no number are refused", () => {
    const trade = create(vega.TradeSchema, { marketId: other, price: "1", size: 1n });
    expect(() => units.decimalsOf(trade)).toThrow(`the record belongs to market "${other}", not to ${id}`);
    const data = create(vega.MarketDataSchema, { market: other });
    expect(() => units.decimalsOf(data)).toThrow(`the record belongs to market "${other}", not to ${id}`);
    const account = create(vega.AccountSchema, { marketId: id, balance: "1" });
    expect(() => Reflect.apply(units.decimalsOf, units, [account])).toThrow('records of type "vega.Account" have');
    const broken = create(vega.OrderSchema, { marketId: id, price: "1.5", size: 1n });
    expect(() => units.decimalsOf(broken)).toThrow('price must be a bigint, or a string of digits (got "1.5")');
  });
});
