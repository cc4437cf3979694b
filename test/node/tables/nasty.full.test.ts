import { create } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { NEWEST_SCHEMA_VERSION, type TableName } from "tradewire";
import {
  CheckpointEventSchema,
  DelegationBalanceEventSchema,
  LedgerMovementsSchema,
  RewardPayoutEventSchema,
} from "tradewire/gen/vega/events/v1/events_pb.js";
import { MarketSchema } from "tradewire/gen/vega/markets_pb.js";
import {
  AccountSchema,
  DepositSchema,
  LiquidityProvisionSchema,
  MarginLevelsSchema,
  MarketDataSchema,
  OrderSchema,
  PositionSchema,
  TradeSchema,
  WithdrawalSchema,
} from "tradewire/gen/vega/vega_pb.js";
import { type BlockEvent, blockRows, compareText, csvRow, type Event, sortKeyOf } from "./inside.js";
import { openPostgres, type Postgres } from "./postgres.js";

let postgres: Postgres;
beforeAll(async () => {
  postgres = await openPostgres();
});
afterAll(() => postgres.close());

const text = fc.oneof(
  fc.constantFrom(
    "",
    "\\.",
    "NULL",
    "\0",
    "a\0b",
    "\r\n",
    '"',
    ",",
    '\\"',
    "\u0001\u001f\u007f\u2028",
    "\ud800",
    "🦊",
    "é",
  ),
  fc.string({ unit: "grapheme", maxLength: 12 }),
);
const id = fc.constantFrom("", ...["0", "a", "f"].map((digit) => digit.repeat(64)));
const number = fc.oneof(
  fc.constantFrom("", "0", "-0", "00012", "-1", "+7", "1e3", "1.5e-7", "0.10", "-0.00", "12345678901234567890123", "x"),
  fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map(String),
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
);
const int64 = fc.oneof(fc.constantFrom(0n, -1n, 2n ** 63n - 1n, -(2n ** 63n)), fc.bigInt({ min: 0n, max: 10_000n }));
const time = fc.oneof(
  fc.constantFrom(0n, 1n, 999n, 1_000n, -1n, -1_000_000_001n, 2n ** 63n - 1n, -(2n ** 63n), 1_697_702_401_100_000_000n),
  fc.bigInt({ min: 0n, max: 2n * 10n ** 18n }),
);
const code = fc.integer({ min: 0, max: 12 });
const double = fc.oneof(
  fc.constantFrom(0, -0, 1e15, 123456789012345680, 1e21, 1e-5, 1e-4, 5e-324, 1.7976931348623157e308, 0.1, 1e-7),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

const order = fc.record({
  id,
  marketId: id,
  partyId: id,
  side: code,
  price: number,
  size: int64,
  remaining: int64,
  timeInForce: code,
  type: code,
  createdAt: time,
  status: code,
  expiresAt: time,
  reference: text,
  reason: maybe(code),
  updatedAt: time,
  version: int64,
  batchId: int64,
  peggedOrder: maybe(fc.record({ reference: code, offset: number })),
  liquidityProvisionId: id,
  postOnly: fc.boolean(),
  reduceOnly: fc.boolean(),
  icebergOrder: maybe(fc.record({ peakSize: int64, minimumVisibleSize: int64, reservedRemaining: int64 })),
});
const fee = maybe(fc.record({ makerFee: number, liquidityFee: number, treasuryFee: number, buyBackFee: number }));
const trade = fc.record({
  id,
  marketId: id,
  price: number,
  size: int64,
  buyer: id,
  seller: id,
  aggressor: code,
  buyOrder: id,
  sellOrder: id,
  timestamp: time,
  type: code,
  buyerFee: fee,
  sellerFee: fee,
  buyerAuctionBatch: int64,
  sellerAuctionBatch: int64,
});
const marketData = fc.record({
  market: id,
  markPrice: number,
  bestBidPrice: number,
  bestBidVolume: int64,
  openInterest: int64,
  auctionEnd: time,
  marketTradingMode: code,
  trigger: code,
  extensionTrigger: code,
  targetStake: number,
  marketValueProxy: text,
  priceMonitoringBounds: fc.array(fc.record({ minValidPrice: text, active: fc.boolean() }), { maxLength: 2 }),
  marketState: code,
  nextMarkToMarket: time,
  marketGrowth: number,
  nextNetworkCloseout: time,
  markPriceType: code,
});
const market = fc.record({
  id,
  decimalPlaces: int64,
  tradingMode: code,
  state: code,
  lpPriceRange: text,
  linearSlippageFactor: number,
  quadraticSlippageFactor: number,
  parentMarketId: maybe(id),
  insurancePoolFraction: maybe(number),
  tickSize: number,
  tradableInstrument: maybe(
    fc.record({
      instrument: fc.record({ id: text, name: text, metadata: fc.record({ tags: fc.array(text, { maxLength: 3 }) }) }),
      riskModel: fc.record({
        case: fc.constant("simpleRiskModel" as const),
        value: fc.record({ params: fc.record({ factorLong: double, factorShort: double, maxMoveUp: double }) }),
      }),
    }),
  ),
});
const account = fc.record({ assetId: id, type: code, owner: maybe(id), marketId: maybe(id) });
const entry = fc.record({
  fromAccount: maybe(account),
  toAccount: maybe(account),
  amount: number,
  type: code,
  timestamp: time,
  fromAccountBalance: number,
  toAccountBalance: number,
  transferId: maybe(id),
});
const entries = fc.array(fc.record({ entries: fc.array(entry, { maxLength: 4 }) }), { maxLength: 2 });

/** Events with all kinds of values, by the table whose rows they bring. */
const events: { readonly [table in Exclude<TableName, "blocks">]: fc.Arbitrary<Event> } = {
  orders: order.map((value) => ({ case: "order", value: create(OrderSchema, value) })),
  trades: trade.map((value) => ({ case: "trade", value: create(TradeSchema, value) })),
  market_data: marketData.map((value) => ({ case: "marketData", value: create(MarketDataSchema, value) })),
  markets: market.map((value) => ({ case: "marketCreated", value: create(MarketSchema, value) })),
  ledger: entries.map((ledgerMovements) => ({
    case: "ledgerMovements",
    value: create(LedgerMovementsSchema, { ledgerMovements }),
  })),
  balances: fc
    .record({ id, owner: text, balance: number, asset: id, type: code })
    .map((value) => ({ case: "account", value: create(AccountSchema, value) })),
  margin_levels: fc
    .record({ maintenanceMargin: number, partyId: id, timestamp: time, marginMode: code, marginFactor: number })
    .map((value) => ({ case: "marginLevels", value: create(MarginLevelsSchema, value) })),
  positions: fc
    .record({ marketId: id, partyId: id, openVolume: int64, realisedPnl: number, positionStatus: code })
    .map((value) => ({ case: "position", value: create(PositionSchema, value), entryPriceInAsset: value.realisedPnl })),
  liquidity_provisions: fc
    .record({
      id,
      partyId: id,
      createdAt: time,
      fee: number,
      version: int64,
      status: code,
      reference: text,
      sells: fc.array(
        fc.record({ orderId: text, liquidityOrder: fc.record({ reference: code, proportion: code, offset: text }) }),
        { maxLength: 2 },
      ),
    })
    .map((value) => ({ case: "liquidityProvision", value: create(LiquidityProvisionSchema, value) })),
  deposits: fc
    .record({ id, status: code, partyId: id, amount: number, txHash: text, creditedTimestamp: time })
    .map((value) => ({ case: "deposit", value: create(DepositSchema, value) })),
  withdrawals: fc
    .record({
      id,
      status: code,
      partyId: id,
      amount: number,
      ref: text,
      txHash: text,
      createdTimestamp: time,
      ext: maybe(
        fc.record({
          ext: fc.record({ case: fc.constant("erc20" as const), value: fc.record({ receiverAddress: text }) }),
        }),
      ),
    })
    .map((value) => ({ case: "withdrawal", value: create(WithdrawalSchema, value) })),
  rewards: fc
    .record({
      party: id,
      asset: id,
      epochSeq: number,
      amount: number,
      rewardType: text,
      timestamp: time,
      percentOfTotalReward: fc.oneof(number, double.map(String)),
      gameId: maybe(id),
    })
    .map((value) => ({ case: "rewardPayout", value: create(RewardPayoutEventSchema, value) })),
  delegations: fc
    .record({ party: id, nodeId: id, amount: number, epochSeq: number })
    .map((value) => ({ case: "delegationBalance", value: create(DelegationBalanceEventSchema, value) })),
  checkpoints: fc
    .record({ hash: text, blockHash: text, blockHeight: int64 })
    .map((value) => ({ case: "checkpoint", value: create(CheckpointEventSchema, value) })),
};

const block = { height: 1n, hash: "b".repeat(64), time: 1_697_702_401_007_919_000n };

describe.each(Object.entries(events) as [Exclude<TableName, "blocks">, fc.Arbitrary<Event>][])(
  "the rows of any events of %s",
  (table, event) => {
    it("are those that PostgreSQL writes, with one for each key", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 6 }), async (brought) => {
          const happenings = brought.map((each, index): BlockEvent => {
            return { block, sequence: index + 1, txHash: "c".repeat(64), event: each };
          });
          const rows = [...blockRows(table, happenings)];
          const place = sortKeyOf(table);
          const placed = place === undefined ? rows : rows.sort((a, b) => compareText(place(a), place(b)));
          const csv = placed.map(csvRow(table, NEWEST_SCHEMA_VERSION)).join("");
          expect(await postgres.roundTrip(table, NEWEST_SCHEMA_VERSION, csv)).toBe(csv);
        }),
        { numRuns: 60, seed: 7 },
      );
    });
  },
);
