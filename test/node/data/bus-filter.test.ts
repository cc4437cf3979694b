import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  AuctionEventSchema,
  BeginBlockSchema,
  BusEventSchema,
  BusEventType,
  EndBlockSchema,
  LedgerMovementsSchema,
  TransactionResultSchema,
  TransferSchema,
} from "tradewire/gen/vega/events/v1/events_pb.js";
import { PartySchema } from "tradewire/gen/vega/vega_pb.js";
import { subscribe } from "../../support/event-bus.js";
import { eventually } from "../../support/eventually.js";
import {
  account,
  asset,
  historyOf,
  id,
  market,
  marketData,
  order,
  position,
  stopOrder,
  trade,
} from "../living-world.js";
import { serveData } from "./data-service.js";
import { busEventType, type Event } from "./inside.js";

/** An event, and what it is about. */
interface Known {
  readonly event: Event;
  readonly parties: readonly string[];
  readonly markets: readonly string[];
}

type Make = (party: string, other: string, marketId: string) => Known;

const kinds: readonly Make[] = [
  (partyId, _, marketId) => ({
    event: { case: "order", value: order(1, { partyId, marketId }) },
    ...{ parties: [partyId], markets: [marketId] },
  }),
  (buyer, seller, marketId) => ({
    event: { case: "trade", value: trade(1, { buyer, seller, marketId }) },
    ...{ parties: [buyer, seller], markets: [marketId] },
  }),
  (partyId, _, marketId) => ({
    event: { case: "stopOrder", value: stopOrder(1, { partyId, marketId }) },
    ...{ parties: [partyId], markets: [marketId] },
  }),
  (owner, _, marketId) => ({
    event: { case: "account", value: account(1, { owner, marketId }) },
    ...{ parties: [owner], markets: [marketId] },
  }),
  // A general account is of no market.
  (owner) => ({ event: { case: "account", value: account(1, { owner }) }, parties: [owner], markets: [] }),
  (from, to, marketId) => {
    const entries = [{ fromAccount: { owner: from, marketId }, toAccount: { owner: to } }];
    const value = create(LedgerMovementsSchema, { ledgerMovements: [{}, { entries }] });
    return { event: { case: "ledgerMovements", value }, parties: [from, to], markets: [] };
  },
  (partyId) => ({
    event: { case: "party", value: create(PartySchema, { id: partyId }) },
    ...{ parties: [partyId], markets: [] },
  }),
  (partyId, _, marketId) => {
    const transaction = { case: "orderSubmission", value: { marketId } } as const;
    const value = create(TransactionResultSchema, { partyId, transaction });
    return { event: { case: "transactionResult", value }, parties: [partyId], markets: [] };
  },
  (from, to) => ({
    event: { case: "transfer", value: create(TransferSchema, { id: id(9), from, to }) },
    ...{ parties: [from, to], markets: [] },
  }),
  (_, __, marketId) => ({
    event: { case: "marketData", value: marketData(1, { market: marketId }) },
    ...{ parties: [], markets: [marketId] },
  }),
  (_, __, marketId) => ({
    event: { case: "marketUpdated", value: market(1, { id: marketId }) },
    ...{ parties: [], markets: [marketId] },
  }),
  (_, __, marketId) => ({
    event: { case: "auction", value: create(AuctionEventSchema, { marketId }) },
    ...{ parties: [], markets: [marketId] },
  }),
  (partyId) => ({ event: { case: "asset", value: { ...asset(1), id: partyId } }, parties: [], markets: [] }),
  () => ({ event: { case: "beginBlock", value: create(BeginBlockSchema) }, parties: [], markets: [] }),
  () => ({ event: { case: "endBlock", value: create(EndBlockSchema) }, parties: [], markets: [] }),
];

const parties = [id(1), id(2), id(3)];
const markets = [id(11), id(12)];
const known = fc
  .tuple(
    fc.constantFrom(...kinds),
    fc.constantFrom(...parties),
    fc.constantFrom(...parties),
    fc.constantFrom(...markets),
  )
  .map(([make, party, other, marketId]) => make(party, other, marketId));
const types = fc.subarray([...new Set(kinds.map((make) => busEventType(make(id(1), id(1), id(1)).event.case)))]);
const request = fc.record({
  type: types,
  partyId: fc.constantFrom("", ...parties),
  marketId: fc.constantFrom("", ...markets),
});

describe("a subscription", () => {
  test("gets the events of its types, its party and its market, and no other", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(known)), request, async (blocks, { type, partyId, marketId }) => {
        const { data, streams, happen } = serveData(historyOf());
        // The last event is of each subscription, and says that no other will come.
        const last: Event = { case: "order", value: order(99, { partyId, marketId }) };
        const asked = type.length === 0 ? [] : [...type, BusEventType.ORDER];
        const bus = subscribe(data.observeEventBus, { type: asked, partyId, marketId });
        await eventually(() => streams.open("event") === 1);
        for (const block of blocks) {
          happen(...block.map(({ event }) => event));
        }
        happen(last);
        const lastId = `${11 + blocks.length}-1`;
        const ids = [...((await bus.next()) ?? [])];
        while (ids.at(-1) !== lastId) {
          ids.push(...((await bus.next()) ?? [lastId]));
        }
        bus.end();
        const expected = blocks.flatMap((block, height) =>
          block.flatMap((each, index) => {
            const isOfType = asked.length === 0 || asked.includes(busEventType(each.event.case));
            const isOfParty = partyId === "" || each.parties.includes(partyId);
            const isOfMarket = marketId === "" || each.markets.includes(marketId);
            return isOfType && isOfParty && isOfMarket ? [`${11 + height}-${index + 1}`] : [];
          }),
        );
        expect(ids).toEqual([...expected, lastId]);
      }),
    );
  });

  test.each([
    ["all of markets", { type: [BusEventType.MARKET] }, ["11-2", "11-3"]],
    ["a party that is written otherwise", { partyId: id(10).toUpperCase() }, ["11-6"]],
    ["a market that is written otherwise", { marketId: "nothing" }, ["11-6"]],
  ])("of %s", async (_, filter, ids) => {
    const { data, streams, happen } = serveData(historyOf());
    const bus = subscribe(data.observeEventBus, filter);
    await eventually(() => streams.open("event") === 1);
    happen(
      { case: "order", value: order(1, { partyId: id(10), marketId: id(10) }) },
      { case: "auction", value: create(AuctionEventSchema, { marketId: id(10) }) },
      { case: "marketUpdated", value: market(10) },
      { case: "marketData", value: marketData(10) },
      { case: "position", value: position(id(10), id(10)), entryPriceInAsset: "0" },
      { case: "order", value: order(2, { partyId: id(10).toUpperCase(), marketId: "nothing" }) },
    );
    expect(await bus.next()).toEqual(ids);
    bus.end();
  });
});

test("each case of events has a type of its own", () => {
  const cases = BusEventSchema.oneofs.flatMap(({ fields }) => fields.map(({ localName }) => localName));
  const found = cases.map(busEventType);
  expect(new Set(found).size).toBe(cases.length);
  const all = Object.values(BusEventType).filter((type): type is BusEventType => typeof type === "number");
  expect(all.filter((type) => !found.includes(type)).map((type) => BusEventType[type])).toEqual([
    "UNSPECIFIED",
    "ALL",
    "STREAM_START",
    "SPOT_LIQUIDITY_PROVISION",
  ]);
  expect(busEventType("position")).toBe(BusEventType.UNSPECIFIED);
  expect(busEventType("epochEvent")).toBe(BusEventType.EPOCH_UPDATE);
});
