import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import {
  AccountSchema,
  AccountType,
  Order_Status,
  OrderError,
  PositionSchema,
  TransferType,
} from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  asset,
  BUY,
  bob,
  cat,
  type Exchange,
  failure,
  IOC,
  limit,
  MARKET,
  marketId,
  marketOf,
  openExchange,
  SELL,
  START,
  tradesOf,
  valuesOf,
} from "./exchange.js";
import { accountId } from "./inside.js";

const position = (exchange: Exchange, party: string) =>
  valuesOf(exchange.events, "position").findLast(({ partyId }) => partyId === party);
const account = (exchange: Exchange, owner: string, type = AccountType.GENERAL) =>
  valuesOf(exchange.events, "account").findLast((each) => each.owner === owner && each.type === type);

/** Trade at a price, with a party that only serves as the other side. */
function trade(exchange: Exchange, party: string, side: typeof BUY | typeof SELL, size: number, price: number) {
  exchange.order(cat, limit(side === BUY ? SELL : BUY, size, price));
  return exchange.order(party, limit(side, size, price)).events;
}

describe("no position can pass 64 bits", () => {
  const LARGEST = 2n ** 62n - 1n;
  const overflow = failure("cannot register position without causing overflow");

  test("an order is refused that could make it, with the party's other orders of its side", () => {
    const exchange = openExchange();
    expect(exchange.order(ann, limit(BUY, LARGEST, 1)).outcome.status).toBe("success");
    expect(exchange.order(ann, limit(BUY, LARGEST, 2)).outcome.status).toBe("success");
    const { outcome, events } = exchange.order(ann, limit(BUY, 2, 3));
    expect(outcome).toEqual(overflow);
    expect(events).toEqual([]);
    expect(exchange.order(ann, limit(BUY, 1, 3)).outcome.status).toBe("success");
    expect(exchange.order(ann, limit(SELL, LARGEST, 9)).outcome.status).toBe("success");
    expect(exchange.order(bob, limit(BUY, LARGEST, 1)).outcome.status).toBe("success");
  });

  test("so is one that could make it with what the party holds, on either side", () => {
    for (const [side, other, sign] of [
      [BUY, SELL, 1n],
      [SELL, BUY, -1n],
    ] as const) {
      const exchange = openExchange();
      for (const seller of [bob, cat]) {
        exchange.order(seller, limit(other, LARGEST, 100));
        exchange.order(ann, limit(side, LARGEST, 100));
      }
      expect(position(exchange, ann)).toMatchObject({ openVolume: sign * 2n * LARGEST });
      expect(exchange.order(ann, limit(side, 2, 100)).outcome).toEqual(overflow);
      exchange.order(cat, limit(other, 1, 100));
      expect(exchange.order(ann, limit(side, 1, 100)).outcome.status).toBe("success");
      expect(position(exchange, ann)).toMatchObject({ openVolume: sign * (2n ** 63n - 1n) });
      expect(exchange.order(ann, limit(other, LARGEST, 200 - 150 * Number(sign))).outcome.status).toBe("success");
    }
  });

  test("and an amendment that could make it leaves the order as it is", () => {
    const exchange = openExchange();
    exchange.order(ann, limit(BUY, LARGEST, 1));
    const { ids } = exchange.order(ann, limit(BUY, LARGEST - 5n, 2));
    exchange.order(ann, limit(BUY, 5, 2));
    expect(exchange.amend(ann, { orderId: ids[0] ?? "", sizeDelta: 2n })).toMatchObject({
      outcome: overflow,
      events: [],
    });
    expect(exchange.amend(ann, { orderId: ids[0] ?? "", sizeDelta: 1n }).outcome.status).toBe("success");
  });
});

test("a position opens, grows, shrinks and flips, as the data node computes it", () => {
  const exchange = openExchange();
  trade(exchange, ann, BUY, 10, 100);
  expect(position(exchange, ann)).toMatchObject({
    marketId,
    openVolume: 10n,
    averageEntryPrice: "100",
    realisedPnl: "0",
    unrealisedPnl: "0",
    updatedAt: START,
  });
  trade(exchange, ann, BUY, 5, 130);
  expect(position(exchange, ann)).toMatchObject({ openVolume: 15n, averageEntryPrice: "110", unrealisedPnl: "300" });
  trade(exchange, ann, SELL, 6, 125);
  expect(position(exchange, ann)).toMatchObject({
    openVolume: 9n,
    averageEntryPrice: "110",
    realisedPnl: "90",
    unrealisedPnl: "135",
  });
  trade(exchange, ann, SELL, 12, 120);
  expect(position(exchange, ann)).toMatchObject({
    openVolume: -3n,
    averageEntryPrice: "120",
    realisedPnl: "180",
    unrealisedPnl: "0",
  });
  expect(position(exchange, cat)).toMatchObject({ openVolume: 3n });
  trade(exchange, ann, BUY, 3, 140);
  expect(position(exchange, ann)).toMatchObject({ openVolume: 0n, averageEntryPrice: "0", realisedPnl: "120" });
});

test("the entry price keeps its digits: a third is not lost", () => {
  const exchange = openExchange();
  trade(exchange, ann, BUY, 1, 100);
  trade(exchange, ann, BUY, 2, 101);
  expect(position(exchange, ann)?.averageEntryPrice).toBe("101"); // 100.67
  trade(exchange, ann, SELL, 3, 100);
  expect(position(exchange, ann)?.realisedPnl).toBe("-2");
});

test("gains and losses are settled at the end of a block, through the market's settlement account", () => {
  const exchange = openExchange();
  trade(exchange, ann, BUY, 10, 100);
  expect(valuesOf(exchange.endBlock(), "ledgerMovements")).toEqual([]);
  exchange.nextBlock();
  exchange.order(bob, limit(SELL, 1, 107));
  exchange.order(cat, limit(BUY, 1, 107));
  const end = exchange.endBlock();
  const kinds = end.map((event) => event.case).filter((kind) => kind !== "account" && kind !== "marginLevels");
  expect(kinds).toEqual(["ledgerMovements", "position", "ledgerMovements", "marketData"]);
  const movements = valuesOf(end, "ledgerMovements").flatMap(({ ledgerMovements }) => ledgerMovements);
  const entries = movements.flatMap((movement) => movement.entries);
  const general = { assetId: asset, type: AccountType.GENERAL };
  const margin = { assetId: asset, type: AccountType.MARGIN, marketId };
  const settlement = { assetId: asset, type: AccountType.SETTLEMENT, marketId };
  expect(entries).toMatchObject([
    {
      fromAccount: { ...general, owner: cat },
      toAccount: settlement,
      amount: "70",
      type: TransferType.MTM_LOSS,
      timestamp: START + 1_000_000_000n,
      fromAccountBalance: "999930",
      toAccountBalance: "70",
    },
    {
      fromAccount: settlement,
      toAccount: { ...margin, owner: ann },
      amount: "70",
      type: TransferType.MTM_WIN,
      fromAccountBalance: "0",
      toAccountBalance: "70",
    },
    // The market has no risk: no margin is needed.
    { fromAccount: { ...margin, owner: ann }, toAccount: general, amount: "70", type: TransferType.MARGIN_HIGH },
  ]);
  expect(entries[0]?.toAccount?.owner).toBeUndefined();
  expect(position(exchange, ann)).toMatchObject({ unrealisedPnl: "70", realisedPnl: "0" });
  expect(account(exchange, ann)?.balance).toBe("1000070");
  expect(account(exchange, "network", AccountType.SETTLEMENT)).toMatchObject({ marketId, asset, balance: "0" });
  expect(valuesOf(exchange.nextBlock().end, "ledgerMovements")).toEqual([]);
});

test("who loses more than it has pays what it has, and winners share it", () => {
  const exchange = openExchange(marketOf(), { startingBalance: "100" });
  exchange.order(ann, limit(SELL, 10, 100));
  exchange.order(bob, limit(BUY, 3, 100));
  exchange.order(cat, limit(BUY, 7, 100));
  exchange.nextBlock();
  exchange.order(bob, limit(SELL, 1, 200));
  exchange.order(cat, limit(BUY, 1, 200));
  const end = exchange.endBlock();
  expect(account(exchange, ann)?.balance).toBe("0");
  expect(account(exchange, bob)?.balance).toBe("130");
  expect(account(exchange, cat)?.balance).toBe("170");
  expect(account(exchange, "network", AccountType.SETTLEMENT)?.balance).toBe("0");
  // Each movement names the account that was paid, and the amount as its balance, as the network's do.
  const [settled] = valuesOf(end, "ledgerMovements");
  expect(settled?.ledgerMovements.map(({ balances }) => balances)).toMatchObject([
    [{ account: { type: AccountType.SETTLEMENT }, balance: "100" }],
    [{ account: { owner: bob, type: AccountType.MARGIN }, balance: "30" }],
    [{ account: { owner: cat, type: AccountType.MARGIN }, balance: "70" }],
  ]);
});

describe("fees", () => {
  const factors = { makerFee: "0.0002", infrastructureFee: "0.0005", liquidityFee: "0.001" };
  const withFees = (more = {}) => openExchange(marketOf({ fees: { factors } }), more);

  test("are paid by the order that came in, each rounded up, and go to the maker and the network", () => {
    const exchange = withFees();
    exchange.order(ann, limit(SELL, 3, 10_001));
    const { events } = exchange.order(bob, limit(BUY, 3, 10_001));
    const fees = { makerFee: "7", infrastructureFee: "16", liquidityFee: "31", treasuryFee: "0", buyBackFee: "0" };
    const none = { makerFee: "0", infrastructureFee: "0", liquidityFee: "0", highVolumeMakerFee: "0" };
    expect(valuesOf(events, "trade")).toMatchObject([{ aggressor: BUY, buyerFee: fees, sellerFee: none }]);
    // One movement for each, in the recorded order.
    const movements = valuesOf(events, "ledgerMovements").flatMap(({ ledgerMovements }) => ledgerMovements);
    expect(movements.map(({ entries }) => entries.length)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(movements.flatMap(({ entries }) => entries)).toMatchObject([
      { type: TransferType.MAKER_FEE_PAY, amount: "7", fromAccount: { owner: bob }, toAccount: { marketId } },
      { type: TransferType.BUY_BACK_FEE_PAY, amount: "0", toAccount: { type: AccountType.BUY_BACK_FEES } },
      { type: TransferType.TREASURY_FEE_PAY, amount: "0", toAccount: { type: AccountType.NETWORK_TREASURY } },
      { type: TransferType.INFRASTRUCTURE_FEE_PAY, amount: "16", toAccount: { type: AccountType.FEES_INFRASTRUCTURE } },
      { type: TransferType.LIQUIDITY_FEE_PAY, amount: "31", toAccount: { type: AccountType.FEES_LIQUIDITY, marketId } },
      { type: TransferType.MAKER_FEE_RECEIVE, amount: "7", toAccount: { owner: ann }, toAccountBalance: "1000007" },
    ]);
    expect(account(exchange, bob)?.balance).toBe("999946");
    expect(account(exchange, "network", AccountType.FEES_INFRASTRUCTURE)).toMatchObject({
      id: accountId({ owner: "network", asset, marketId: "", type: AccountType.FEES_INFRASTRUCTURE }),
      marketId: "",
      balance: "16",
    });
  });

  test("of a seller that came in are the seller's", () => {
    const exchange = withFees();
    exchange.order(ann, limit(BUY, 1, 10_000));
    const { events } = exchange.order(bob, limit(SELL, 1, 1, { type: MARKET, timeInForce: IOC, price: "" }));
    expect(valuesOf(events, "trade")).toMatchObject([{ sellerFee: { makerFee: "2" }, buyerFee: { makerFee: "0" } }]);
  });

  // core/execution/future/market.go, submitValidatedOrder: PartyCanCoverFees
  test("that the party has not are not paid: the order is rejected", () => {
    const exchange = withFees({ startingBalance: "53" });
    exchange.order(ann, limit(SELL, 3, 10_001));
    const { events } = exchange.order(bob, limit(BUY, 3, 10_001));
    expect(valuesOf(events, "trade")).toEqual([]);
    expect(valuesOf(events, "order")).toMatchObject([
      { status: Order_Status.REJECTED, reason: OrderError.INSUFFICIENT_FUNDS_TO_PAY_FEES },
    ]);
    expect(account(exchange, bob)?.balance).toBe("53");
  });

  // core/collateral/engine.go, PartyCanCoverFees: the funds must not be less than the fees.
  test("may take the last of the party's funds", () => {
    const exchange = withFees({ startingBalance: "54" });
    exchange.order(ann, limit(SELL, 3, 10_001));
    const { events } = exchange.order(bob, limit(BUY, 3, 10_001));
    expect(tradesOf(events)).toEqual(["3@10001 b<a"]);
    expect(account(exchange, bob)?.balance).toBe("0");
  });

  test("count the decimals of market, position and asset", () => {
    const market = marketOf({ fees: { factors }, decimalPlaces: 2n, positionDecimalPlaces: 1n });
    const exchange = openExchange(market, { assets: [create(AssetSchema, { id: asset, details: { decimals: 6n } })] });
    exchange.order(ann, limit(SELL, 25, 12_345)); // 2.5 at 123.45
    const { events } = exchange.order(bob, limit(BUY, 25, 12_345));
    expect(valuesOf(events, "trade")).toMatchObject([
      { price: "12345", assetPrice: "123450000", buyerFee: { makerFee: "61725", infrastructureFee: "154313" } },
    ]);
    exchange.nextBlock();
    exchange.order(ann, limit(SELL, 1, 12_346));
    exchange.order(cat, limit(BUY, 1, 12_346));
    exchange.endBlock();
    expect(position(exchange, bob)).toMatchObject({ averageEntryPrice: "12345", unrealisedPnl: "25000" });
  });
});

test("gains below a unit of the asset are not lost", () => {
  const exchange = openExchange(marketOf({ decimalPlaces: 1n })); // The asset has no decimals: a tick is a tenth of a unit.
  trade(exchange, ann, BUY, 1, 100);
  for (let price = 101; price <= 125; price += 1) {
    exchange.nextBlock();
    trade(exchange, bob, price % 2 === 0 ? BUY : SELL, 1, price);
  }
  exchange.endBlock();
  expect(BigInt(account(exchange, ann)?.balance ?? 0)).toBe(1_000_002n);
});

test("the engine goes on from accounts and positions that are there", () => {
  const id = "77".repeat(32);
  const exchange = openExchange(marketOf(), {
    accounts: [create(AccountSchema, { id, owner: ann, asset, balance: "500", type: AccountType.GENERAL })],
    positions: [
      create(PositionSchema, {
        marketId,
        partyId: ann,
        openVolume: 4n,
        averageEntryPrice: "90.5",
        realisedPnl: "-7.25",
        unrealisedPnl: "38",
        lossSocialisationAmount: "3",
      }),
    ],
    lastPrices: new Map([[marketId, "100"]]),
  });
  const first = exchange.order(ann, limit(SELL, 4, 110));
  expect(first.events.map((event) => event.case)).toEqual(["account", "partyMarginModeUpdated", "order"]);
  exchange.order(bob, limit(BUY, 4, 110));
  expect(position(exchange, ann)).toMatchObject({
    openVolume: 0n,
    realisedPnl: "71", // -7.25 + 4 * 19.5 = 70.75
    unrealisedPnl: "0",
    lossSocialisationAmount: "3",
  });
  exchange.endBlock();
  expect(account(exchange, ann)?.balance).toBe("500"); // It won 40, and no one lost: the other side was not there.
});

// v0.78, `deterministicIDFromAccount` in datanode/sqlstore/accounts.go; printf '%s%sACCOUNT_TYPE_GENERAL' ASSET PARTY | sha256sum.
test("the identifier of an account is the hash of what tells it from others", () => {
  expect(accountId({ owner: ann, asset, marketId: "", type: AccountType.GENERAL })).toBe(
    "ee2a3de03723dd3580adf2886bf80deeb77ee5f19fb4ffffbffa1994d8bcd3f8",
  );
  const exchange = openExchange();
  exchange.order(ann, limit(BUY, 1, 1));
  expect(account(exchange, ann)).toMatchObject({
    id: accountId({ owner: ann, asset, marketId: "", type: AccountType.GENERAL }),
    balance: "1000000",
    marketId: "",
  });
});
