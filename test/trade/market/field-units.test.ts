import { create, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { StopOrdersSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import {
  BusEventSchema,
  FundingPaymentsSchema,
  LedgerMovementsSchema,
  SettlePositionSchema,
  TransferFeesSchema,
} from "tradewire/gen/vega/events/v1/events_pb.js";
import { MarketDataSchema, OrderSchema } from "tradewire/gen/vega/vega_pb.js";
import {
  decimalFields,
  FIELD_UNITS,
  inUnits,
  type KnownDecimals,
  ownersIn,
} from "../../../src/trade/market/field-units.js";

const [market, asset] = ["a1".repeat(32), "c3".repeat(32)];
const known: KnownDecimals = {
  market: (id) =>
    id === market ? { price: { decimals: 5 }, size: { decimals: 1 }, asset: { decimals: 18 } } : undefined,
  asset: (id) => (id === asset ? { decimals: 6 } : undefined),
};

/** The messages in a message, at any depth, itself included. */
function reach(desc: DescMessage, found: Map<string, DescMessage>): void {
  if (!found.has(desc.typeName)) {
    found.set(desc.typeName, desc);
    for (const { message } of desc.fields) {
      if (message !== undefined) {
        reach(message, found);
      }
    }
  }
}

it("each field with a unit exists, and is a whole number or a text", () => {
  const found = new Map<string, DescMessage>();
  for (const desc of [BusEventSchema, InputDataSchema, ...TradingDataService.methods.map(({ output }) => output)]) {
    reach(desc, found);
  }
  const numbers = [ScalarType.STRING, ScalarType.UINT64, ScalarType.INT64];
  const wrong = Object.entries(FIELD_UNITS).flatMap(([type, fields]) =>
    Object.keys(fields).filter((name) => {
      const field = found.get(type)?.fields.find(({ localName }) => localName === name);
      return field?.fieldKind !== "scalar" || !numbers.includes(field.scalar);
    }),
  );
  expect(wrong).toEqual([]);
});

describe("the decimal numbers of a message", () => {
  it("are nested as its fields are, with the decimals of the market that it names", () => {
    const order = create(OrderSchema, {
      ...{ marketId: market, price: "2658430", size: 181n, remaining: 0n, version: 2n },
      icebergOrder: { peakSize: 20n, minimumVisibleSize: 10n, reservedRemaining: 150n },
      peggedOrder: { offset: "15" },
    });
    expect(decimalFields(OrderSchema, order, known)).toEqual({
      ...{ price: "26.5843", size: "18.1", remaining: "0" },
      icebergOrder: { peakSize: "2", minimumVisibleSize: "1", reservedRemaining: "15" },
      peggedOrder: { offset: "0.00015" },
    });
    expect(ownersIn(OrderSchema, order)).toEqual({ markets: new Set([market]), assets: new Set() });
  });

  it("are left out where the decimals are unknown", () => {
    const order = create(OrderSchema, { marketId: "b2".repeat(32), price: "1", size: 1n });
    expect(decimalFields(OrderSchema, order, known)).toEqual({});
  });

  // core/events/settle_position.go: prices of the settlement are in the asset's decimals, but for the market's price.
  it("are amounts of the asset where the core does not convert a price to the market's decimals", () => {
    const event = create(SettlePositionSchema, {
      marketId: market,
      price: "1500000000000000000",
      tradeSettlements: [{ size: -25n, price: "2000000000000000000", marketPrice: "200000" }],
    });
    expect(decimalFields(SettlePositionSchema, event, known)).toEqual({
      price: "1.5",
      tradeSettlements: [{ size: "-2.5", price: "2", marketPrice: "2" }],
    });
  });

  it("are amounts of the asset that the message names, and otherwise of the one in which the market settles", () => {
    const entry = {
      fromAccount: { assetId: asset },
      amount: "1500000",
      fromAccountBalance: "1",
      toAccountBalance: "0",
    };
    const movements = create(LedgerMovementsSchema, {
      ledgerMovements: [{ entries: [entry], balances: [{ account: { assetId: asset }, balance: "2500000" }] }],
    });
    expect(decimalFields(LedgerMovementsSchema, movements, known)).toEqual({
      ledgerMovements: [
        {
          entries: [{ amount: "1.5", fromAccountBalance: "0.000001", toAccountBalance: "0" }],
          balances: [{ balance: "2.5" }],
        },
      ],
    });
    expect(ownersIn(LedgerMovementsSchema, movements)).toEqual({ markets: new Set(), assets: new Set([asset]) });
    const payments = create(FundingPaymentsSchema, {
      marketId: market,
      payments: [{ amount: "-1000000000000000000" }],
    });
    expect(decimalFields(FundingPaymentsSchema, payments, known)).toEqual({ payments: [{ amount: "-1" }] });
  });

  it("are not those of fields whose asset no message names", () => {
    const fees = create(TransferFeesSchema, { transferId: "d4".repeat(32), amount: "5" });
    expect(decimalFields(TransferFeesSchema, fees, known)).toEqual({});
  });

  it("may have a fraction of a unit", () => {
    const data = create(MarketDataSchema, {
      market,
      liquidityProviderFeeShare: [{ virtualStake: "1500000000000000000.5000000000000000" }],
    });
    expect(decimalFields(MarketDataSchema, data, known)).toMatchObject({
      markPrice: "0",
      liquidityProviderFeeShare: [{ virtualStake: "1.5000000000000000005" }],
    });
  });

  it("are those of a command, whose trigger is a price of its order's market", () => {
    const command = create(StopOrdersSubmissionSchema, {
      fallsBelow: {
        orderSubmission: { marketId: market, size: 30n, price: "" },
        trigger: { case: "price", value: "123456" },
      },
    });
    expect(decimalFields(StopOrdersSubmissionSchema, command, known)).toEqual({
      fallsBelow: { orderSubmission: { price: "0", size: "3" }, price: "1.23456" },
    });
  });
});

describe("a message in units", () => {
  it("has bigints in place of texts, and what else it had", () => {
    const order = create(OrderSchema, { marketId: market, price: "5", peggedOrder: { offset: "15" }, reference: "1" });
    const { price, peggedOrder, ...others } = inUnits(OrderSchema, order);
    expect([price, peggedOrder]).toEqual([5n, { ...order.peggedOrder, offset: 15n }]);
    expect(others).toMatchObject({ marketId: market, reference: "1", size: 0n });
  });

  it("is not made of what is no number", () => {
    const order = create(OrderSchema, { price: "1.5" });
    expect(() => inUnits(OrderSchema, order)).toThrow(
      'the node sent "1.5" as price of vega.Order, which is no whole number',
    );
  });
});
