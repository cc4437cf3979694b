import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { AccountType, Order_Status, OrderError, PeggedReference, TransferType } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  asset,
  BUY,
  bob,
  FOK,
  failure,
  IOC,
  limit,
  marketId,
  type OrderFields,
  openExchange,
  SELL,
  valuesOf,
} from "./exchange.js";
import type { Event } from "./inside.js";
import { recordedMarket } from "./recorded-market.js";

/** The price of the recorded orders, and the mark price that was recorded. */
const P = 10_000_000_000;
const MARK = "10000001000";

function openRecorded(startingBalance = "100000000000000") {
  return openExchange(recordedMarket, {
    assets: [create(AssetSchema, { id: asset, details: { decimals: 5n } })],
    lastPrices: new Map([[marketId, MARK]]),
    startingBalance,
  });
}

/** Events as the recorded sequences have them: cases, of accounts with type and balance, of movements with the types. */
function sequence(events: readonly Event[]): string {
  return events
    .flatMap((event) => {
      switch (event.case) {
        case "account":
          return [`account(${event.value.type}:${event.value.balance})`];
        case "ledgerMovements":
          return [
            `ledger(${event.value.ledgerMovements.flatMap(({ entries }) => entries.map(({ type }) => type)).join("|")})`,
          ];
        case "order":
          return [`order(st=${event.value.status},rem=${event.value.remaining})`];
        case "party":
        case "position":
        case "endedOrder":
          return [];
        default:
          return [event.case];
      }
    })
    .join(" ");
}

const levelsOf = (events: readonly Event[]) =>
  valuesOf(events, "marginLevels").map(
    ({ maintenanceMargin, searchLevel, initialMargin, collateralReleaseLevel }) =>
      `${maintenanceMargin} ${searchLevel} ${initialMargin} ${collateralReleaseLevel}`,
  );

// LatestEvent of v0.78.0: two parties with 100000000000000 each, on a market whose mark price was 10000001000.
describe("orders take margin as recorded of the network", () => {
  const exchange = openRecorded();
  const steps: readonly (readonly [string, string, OrderFields, string, string])[] = [
    [
      "the first order of a party",
      ann,
      limit(BUY, 10, P - 1000),
      "account(3:0) partyMarginModeUpdated account(4:99998354192226) account(3:1645807774) ledger(6) order(st=1,rem=10) marginLevels",
      "1097205183 1206925701 1645807774 1865248811",
    ],
    [
      "a further one",
      ann,
      limit(BUY, 5, P - 2000),
      "account(4:99997531288339) account(3:2468711661) ledger(6) order(st=1,rem=5) marginLevels",
      "1645807774 1810388551 2468711661 2797873215",
    ],
    [
      "the first of a seller",
      bob,
      limit(SELL, 10, P + 1000),
      "account(3:0) partyMarginModeUpdated account(4:99998338277859) account(3:1661722141) ledger(6) order(st=1,rem=10) marginLevels",
      "1107814761 1218596237 1661722141 1883285093",
    ],
    [
      "one that trades",
      bob,
      limit(SELL, 3, P - 1000),
      "account(4:99997839761217) account(3:2160238783) ledger(6) account(4:99997833761217) account(7:6000000) account(4:99997830761217) account(31:3000000) account(4:99997827761217) account(21:3000000) account(4:99997812761218) account(5:14999999) account(4:99997812761218) account(6:0) account(7:0) account(4:99997537288339) ledger(9|53|52|11|13|10) order(st=5,rem=0) order(st=1,rem=7) trade marginLevels",
      "1440159189 1584175107 2160238783 2448270621",
    ],
  ];
  test.each(steps)("%s", (_, party, order, events, levels) => {
    const sent = exchange.order(party, order);
    const told = sequence(sent.events).replace(/^account\(4:100000000000000\) /, ""); // The local node gives it here.
    expect(told).toBe(events);
    expect(levelsOf(sent.events)).toEqual([levels]);
  });
});

// core/execution/future/market.go, amendOrder, orderAmendInPlace, parkOrder and submitValidatedOrder.
describe("margin is released at once", () => {
  const [BEST_BID, PARKED] = [PeggedReference.BEST_BID, Order_Status.PARKED];
  const held = (events: readonly Event[]) =>
    valuesOf(events, "account").findLast(({ type }) => type === AccountType.MARGIN)?.balance;

  test("of an order that becomes much smaller", () => {
    const exchange = openRecorded();
    const [orderId = ""] = exchange.order(ann, limit(BUY, 100, P - 1000)).ids;
    const sent = exchange.amend(ann, { orderId, sizeDelta: -90n });
    expect(sequence(sent.events)).toBe(
      "account(3:1645807774) account(4:99998354192226) ledger(7) order(st=1,rem=10) marginLevels",
    );
    expect(sequence(exchange.amend(ann, { orderId, sizeDelta: -1n }).events)).toBe(
      "order(st=1,rem=9) marginLevels", // Not above the release level.
    );
  });

  test.each([
    ["FOK that finds no match", {}],
    ["IOC that finds no match", { timeInForce: IOC }],
  ])("of an order %s", (_, more) => {
    const exchange = openRecorded();
    const { events } = exchange.order(ann, limit(BUY, 10, P, { timeInForce: FOK, ...more }));
    expect(valuesOf(events, "order")).toMatchObject([{ status: Order_Status.STOPPED }]);
    expect(held(events)).toBe("0");
  });

  test("of a pegged order that becomes smaller or is parked, and it is taken for one that becomes larger", () => {
    const exchange = openRecorded();
    exchange.order(bob, limit(BUY, 1, P));
    const peggedOrder = { reference: BEST_BID, offset: "1000" };
    const [orderId = ""] = exchange.order(ann, limit(BUY, 100, 0, { price: "", peggedOrder })).ids;
    const at100 = held(exchange.events);
    expect(held(exchange.amend(ann, { orderId, sizeDelta: 100n }).events)).toBe(String(2n * BigInt(at100 ?? 0)));
    expect(held(exchange.amend(ann, { orderId, sizeDelta: -100n }).events)).toBe(at100);
    const { events } = exchange.amend(ann, { orderId, peggedReference: PeggedReference.MID });
    expect(valuesOf(events, "order").at(-1)).toMatchObject({ status: PARKED });
    expect(held(events)).toBe("0");
    expect(held(exchange.amend(ann, { orderId, peggedReference: BEST_BID }).events)).toBe(at100);
  });
});

describe("an order without enough margin", () => {
  test("is rejected, and its party keeps what it has", () => {
    const exchange = openRecorded();
    const { outcome, events } = exchange.order(ann, limit(BUY, 4_000_000_000n, P));
    expect(outcome).toEqual(failure("margin check failed"));
    expect(valuesOf(events, "order")).toMatchObject([
      { status: Order_Status.REJECTED, reason: OrderError.MARGIN_CHECK_FAILED, remaining: 4_000_000_000n },
    ]);
    expect(valuesOf(events, "ledgerMovements")).toEqual([]);
    expect(levelsOf(events)).toEqual([]);
  });

  test("is taken where it closes a part of the position", () => {
    const exchange = openRecorded("3000000000");
    exchange.order(bob, limit(SELL, 5, P));
    exchange.order(ann, limit(BUY, 5, P));
    exchange.nextBlock();
    expect(exchange.order(ann, limit(BUY, 100, P - 1000)).outcome).toEqual(failure("margin check failed"));
    const { outcome, events } = exchange.order(ann, limit(SELL, 5, P + 1000));
    expect(outcome).toEqual({ status: "success" });
    expect(sequence(events)).toBe("order(st=1,rem=5)");
  });

  test("is amended to no more than its margin allows", () => {
    const exchange = openRecorded("3000000000");
    const { ids } = exchange.order(ann, limit(BUY, 5, P));
    const { outcome } = exchange.amend(ann, { orderId: ids[0] ?? "", sizeDelta: 100n });
    expect(outcome).toEqual(failure("margin check failed"));
  });
});

describe("margin is given back", () => {
  test("with the cancellation of the last order, and the margin mode is emitted again with the next one", () => {
    const exchange = openRecorded();
    exchange.order(ann, limit(BUY, 2, P));
    exchange.order(ann, limit(BUY, 2, P - 1000));
    const all = exchange.cancel(ann, { marketId });
    const kinds = all.events.map((event) => event.case).filter((kind) => kind !== "endedOrder");
    expect(kinds).toEqual(["cancelledOrders", "account", "account", "ledgerMovements", "marginLevels"]);
    const [released] = valuesOf(all.events, "ledgerMovements");
    expect(released?.ledgerMovements[0]?.entries).toMatchObject([
      { type: TransferType.MARGIN_HIGH, toAccount: { type: AccountType.GENERAL }, toAccountBalance: "100000000000000" },
    ]);
    expect(levelsOf(all.events)).toEqual(["0 0 0 0"]);
    const again = exchange.order(ann, limit(BUY, 2, P));
    expect(valuesOf(again.events, "partyMarginModeUpdated")).toHaveLength(1);
    expect(valuesOf(exchange.order(ann, limit(BUY, 2, P)).events, "partyMarginModeUpdated")).toEqual([]);
  });

  test("at the end of the block in which a position was closed", () => {
    const exchange = openRecorded();
    exchange.order(bob, limit(SELL, 5, P));
    exchange.order(ann, limit(BUY, 5, P));
    exchange.nextBlock();
    exchange.order(bob, limit(BUY, 5, P));
    exchange.order(ann, limit(SELL, 5, P));
    const end = exchange.endBlock();
    const { MARGIN_HIGH } = TransferType;
    const entries = valuesOf(end, "ledgerMovements").flatMap(({ ledgerMovements }) =>
      ledgerMovements.flatMap((movement) => movement.entries),
    );
    expect(
      entries.filter(({ type }) => type === MARGIN_HIGH).map(({ fromAccountBalance }) => fromAccountBalance),
    ).toEqual(["0", "0"]);
    expect(levelsOf(end)).toEqual(["0 0 0 0", "0 0 0 0"]);
  });
});

test("a position that gains gives margin back beyond the release level, and one that loses is topped up", () => {
  const exchange = openRecorded();
  exchange.order(bob, limit(SELL, 5, P));
  exchange.order(ann, limit(BUY, 5, P));
  exchange.nextBlock();
  exchange.order(bob, limit(SELL, 1, P + 500_000_000));
  exchange.order(ann, limit(BUY, 1, P + 500_000_000));
  const end = exchange.endBlock();
  const types = valuesOf(end, "ledgerMovements").flatMap(({ ledgerMovements }) =>
    ledgerMovements.flatMap(({ entries }) =>
      entries.map(({ type, fromAccount, toAccount }) => [
        type,
        fromAccount?.owner?.[0] ?? "",
        toAccount?.owner?.[0] ?? "",
      ]),
    ),
  );
  const { MTM_LOSS, MTM_WIN, MARGIN_LOW, MARGIN_HIGH } = TransferType;
  expect(types).toEqual([
    [MTM_LOSS, "b", ""],
    [MTM_LOSS, "b", ""],
    [MTM_WIN, "", "a"],
    [MARGIN_LOW, "b", "b"],
    [MARGIN_HIGH, "a", "a"],
  ]);
  expect(
    valuesOf(end, "marginLevels")
      .map(({ partyId }) => partyId[0])
      .toSorted(),
  ).toEqual(["a", "b"]);
});
