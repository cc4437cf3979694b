import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { ProposalSubmissionSchema, VoteSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { PropertyKey_Type } from "tradewire/gen/vega/data/v1/spec_pb.js";
import {
  Proposal_State,
  ProposalError,
  type ProposalTermsSchema,
  Vote_Value,
} from "tradewire/gen/vega/governance_pb.js";
import { Market_State, Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { Order_Status } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  asset,
  BUY,
  bob,
  cat,
  type Exchange,
  failure,
  limit,
  marketId,
  marketOf,
  openExchange,
  SECOND,
  SELL,
  START,
  valuesOf,
} from "./exchange.js";
import { type Event, networkParameters } from "./inside.js";

const { OPEN, PASSED, DECLINED, ENACTED, REJECTED } = Proposal_State;
const NOW = START / SECOND;
const TOKENS = 10n ** 24n;

type Change = NonNullable<MessageInitShape<typeof ProposalTermsSchema>["change"]>;

function open(more = {}) {
  return openExchange(marketOf(), {
    startingBalance: "1000000000000",
    assets: [create(AssetSchema, { id: asset, details: { decimals: 5n, quantum: "1" } })],
    parameters: new Map(networkParameters),
    stakes: new Map([
      [ann, TOKENS],
      [bob, 2n * TOKENS],
      [cat, 1n],
    ]),
    ...more,
  });
}

const parameter = (key: string, value: string): Change => ({
  case: "updateNetworkParameter",
  value: { changes: { key, value } },
});

/** A data source of a key. */
const source = (name: string, type: PropertyKey_Type, numberDecimalPlaces?: bigint) => ({
  sourceType: {
    case: "external" as const,
    value: {
      sourceType: {
        case: "oracle" as const,
        value: {
          signers: [{ signer: { case: "pubKey" as const, value: { key: ann } } }],
          filters: [{ key: { name, type, ...(numberDecimalPlaces !== undefined && { numberDecimalPlaces }) } }],
        },
      },
    },
  },
});

const future = {
  quoteName: "BTC",
  dataSourceSpecForSettlementData: source("price.BTC.value", PropertyKey_Type.INTEGER, 5n),
  dataSourceSpecForTradingTermination: source("trading.terminated", PropertyKey_Type.BOOLEAN),
  dataSourceSpecBinding: {
    settlementDataProperty: "price.BTC.value",
    tradingTerminationProperty: "trading.terminated",
  },
};

function newMarket(settlementAsset: string, more = {}): Change {
  return {
    case: "newMarket",
    value: {
      changes: {
        instrument: { name: "BTC", code: "BTC", product: { case: "future", value: { settlementAsset, ...future } } },
        decimalPlaces: 5n,
        tickSize: "1",
        linearSlippageFactor: "0.001",
        riskParameters: { case: "simple", value: { factorLong: 0.1, factorShort: 0.1 } },
        ...more,
      },
    },
  };
}

function propose(exchange: Exchange, change: Change, times: { close?: bigint; enact?: bigint } = {}) {
  const { close = 10n, enact = 15n } = times;
  const value = create(ProposalSubmissionSchema, {
    reference: "ref",
    rationale: { title: "t", description: "d" },
    terms: { closingTimestamp: NOW + close, enactmentTimestamp: NOW + enact, change },
  });
  return exchange.send(ann, { case: "proposalSubmission", value });
}

function cast(exchange: Exchange, proposalId: string | undefined, party: string, value = Vote_Value.YES) {
  const command: InputData["command"] = {
    case: "voteSubmission",
    value: create(VoteSubmissionSchema, { proposalId: proposalId ?? "", value }),
  };
  return exchange.send(party, command);
}

/** Make blocks up to a second after the first one; what happens in the last. */
const at = (exchange: Exchange, second: bigint): Event[] => exchange.nextBlock(second + 1n - exchange.height()).begin;
const states = (events: readonly Event[]) => valuesOf(events, "proposal").map(({ state }) => state);
const kinds = (events: readonly Event[]) => events.map(({ case: kind }) => kind);

describe("a proposal to change a parameter", () => {
  test("passes by its votes, and is enacted at its time", () => {
    const exchange = open();
    const { outcome, events, ids } = propose(exchange, parameter("transfer.fee.factor", "0.5"));
    expect(outcome).toEqual({ status: "success" });
    expect(valuesOf(events, "proposal")).toMatchObject([
      { id: ids[0], partyId: ann, state: OPEN, requiredMajority: "0.5", requiredParticipation: "0.01" },
    ]);
    // As recorded of the real network: the weight is 0 until the votes are counted.
    expect(valuesOf(cast(exchange, ids[0], ann, Vote_Value.NO).events, "vote")).toMatchObject([
      { partyId: ann, totalGovernanceTokenBalance: String(TOKENS), totalGovernanceTokenWeight: "0" },
    ]);
    cast(exchange, ids[0], bob);
    expect(kinds(at(exchange, 10n))).toEqual([]);
    const closed = at(exchange, 11n);
    expect(kinds(closed)).toEqual(["proposal", "vote", "vote"]);
    expect(states(closed)).toEqual([PASSED]);
    expect(valuesOf(closed, "vote")).toMatchObject([
      { partyId: ann, totalGovernanceTokenWeight: "0.3333333333333333" },
      { partyId: bob, totalGovernanceTokenWeight: "0.6666666666666667" },
    ]);
    expect(cast(exchange, ids[0], bob).outcome).toEqual(failure("proposal is not open for votes"));
    const enacted = at(exchange, 16n);
    expect(kinds(enacted)).toEqual(["networkParameter", "proposal"]);
    expect(valuesOf(enacted, "networkParameter")).toMatchObject([{ key: "transfer.fee.factor", value: "0.5" }]);
    expect(states(enacted)).toEqual([ENACTED]);
    expect(cast(exchange, ids[0], bob).outcome).toEqual(failure("proposal does not exist"));
  });

  test.each([
    ["without votes", [], ProposalError.PARTICIPATION_THRESHOLD_NOT_REACHED],
    ["with too few yes", [bob], ProposalError.MAJORITY_THRESHOLD_NOT_REACHED],
  ])("is declined %s", (_, against, reason) => {
    const exchange = open();
    const { ids } = propose(exchange, parameter("transfer.fee.factor", "0.5"));
    for (const party of against) {
      cast(exchange, ids[0], party, Vote_Value.NO);
    }
    expect(valuesOf(at(exchange, 11n), "proposal")).toMatchObject([{ state: DECLINED, reason }]);
    expect(at(exchange, 16n)).toEqual([]);
  });

  // Texts as recorded of the real network, with the times of this test.
  test.each<[string, Change, { close?: bigint; enact?: bigint }, ProposalError, string]>([
    [
      "closes too soon",
      parameter("transfer.fee.factor", "1"),
      { close: 0n },
      ProposalError.CLOSE_TIME_TOO_SOON,
      "proposal closing time too soon, expected > 2023-11-14 22:13:21 +0000 UTC, got 2023-11-14 22:13:20 +0000 UTC",
    ],
    [
      "closes too late",
      parameter("transfer.fee.factor", "1"),
      { close: 40_000_000n, enact: 40_000_001n },
      ProposalError.CLOSE_TIME_TOO_LATE,
      "proposal closing time too late, expected < 2024-11-13 22:13:20 +0000 UTC, got 2025-02-19 21:20:00 +0000 UTC",
    ],
    [
      "is enacted too late",
      parameter("transfer.fee.factor", "1"),
      { enact: 40_000_000n },
      ProposalError.ENACT_TIME_TOO_LATE,
      "proposal enactment time too late, expected < 2024-11-13 22:13:20 +0000 UTC, got 2025-02-19 21:20:00 +0000 UTC",
    ],
    [
      "is enacted before it closes",
      parameter("transfer.fee.factor", "1"),
      { close: 10n, enact: 5n },
      ProposalError.INCOMPATIBLE_TIMESTAMPS,
      "proposal enactment time cannot be before closing time, expected > 2023-11-14 22:13:30 +0000 UTC got 2023-11-14 22:13:25 +0000 UTC",
    ],
    [
      "has no duration where one belongs",
      parameter("market.auction.minimumDuration", "xx"),
      {},
      ProposalError.NETWORK_PARAMETER_INVALID_VALUE,
      'unable to validate market.auction.minimumDuration: time: invalid duration "xx"',
    ],
    ["is of no asset", newMarket("ab".repeat(32)), {}, ProposalError.INVALID_ASSET, "asset does not exist"],
    [
      "has more decimals than its asset",
      newMarket(asset, { decimalPlaces: 6n }),
      {},
      ProposalError.TOO_MANY_MARKET_DECIMAL_PLACES,
      "market decimal + position decimals must be less than or equal to asset decimals",
    ],
    [
      "has too short an opening auction",
      newMarket(asset),
      { close: 10n, enact: 10n },
      ProposalError.OPENING_AUCTION_DURATION_TOO_SMALL,
      "proposal opening auction duration is too short, expected > 1s, got 0s",
    ],
    [
      "succeeds no market",
      newMarket(asset, { successor: { parentMarketId: "ab".repeat(32), insurancePoolFraction: "0.5" } }),
      {},
      ProposalError.INVALID_SUCCESSOR_MARKET,
      "market to succeed does not exist",
    ],
    [
      "succeeds a market with another quote name",
      newMarket(asset, { successor: { parentMarketId: marketId, insurancePoolFraction: "0.5" } }),
      {},
      ProposalError.INVALID_SUCCESSOR_MARKET,
      "successor market must use quote name ",
    ],
    [
      "is about no market",
      { case: "updateMarket", value: { marketId: "ab".repeat(32), changes: {} } },
      {},
      ProposalError.INVALID_MARKET,
      "market does not exist",
    ],
  ])("that %s is rejected", (_, change, times, reason, errorDetails) => {
    const { outcome, events } = propose(open(), change, times);
    expect(outcome).toEqual(failure(errorDetails));
    expect(valuesOf(events, "proposal")).toMatchObject([{ state: REJECTED, reason, errorDetails }]);
    expect(kinds(events.slice(-1))).toEqual(["proposal"]);
  });

  test("needs tokens, and so do votes", () => {
    const exchange = open({ stakes: new Map([[ann, 5n]]) });
    const text = "proposer have insufficient governance token, expected >= 1000000000000000000 got 5";
    expect(propose(exchange, parameter("transfer.fee.factor", "1")).outcome).toEqual(failure(text));
    const other = open();
    const { ids } = propose(other, parameter("transfer.fee.factor", "1"));
    expect(cast(other, ids[0], cat).outcome).toEqual(failure("vote requires more tokens than the party has"));
    expect(cast(other, ids[0], "d4".repeat(32)).outcome).toEqual(failure("no balance for party"));
    expect(cast(other, "ee".repeat(32), ann).outcome).toEqual(failure("proposal does not exist"));
  });
});

describe("a market that is proposed", () => {
  const order = (id: string | undefined, side: typeof BUY | typeof SELL, price: number) =>
    limit(side, 10, price, { marketId: id ?? "" });

  test("takes orders in its opening auction, and trades when it has ended", () => {
    const exchange = open();
    const { outcome, events, ids } = propose(exchange, newMarket(asset));
    const [id] = ids;
    expect(outcome).toEqual({ status: "success" });
    // As recorded of the real network.
    expect(kinds(events.filter(({ case: kind }) => kind !== "party"))).toEqual([
      "proposal",
      ...Array.from({ length: 5 }, () => "account"),
      ...["oracleSpec", "oracleSpec"],
      ...Array.from({ length: 5 }, () => "marketUpdated"),
      ...["marketData", "marketCreated", "marketUpdated"],
    ]);
    expect(valuesOf(events, "marketCreated")).toMatchObject([
      {
        id,
        state: Market_State.PROPOSED,
        tradingMode: Market_TradingMode.NO_TRADING,
        openingAuction: { duration: 5n },
      },
    ]);
    expect(exchange.order(ann, order(id, BUY, 100)).outcome.status).toBe("failure");
    cast(exchange, id, ann);
    const closed = at(exchange, 11n);
    expect(kinds(closed)).toEqual(["proposal", "vote", "auction", "marketUpdated"]);
    expect(valuesOf(closed, "auction")).toMatchObject([
      { marketId: id, openingAuction: true, leave: false, start: START + 11n * SECOND, end: START + 16n * SECOND },
    ]);
    exchange.order(ann, order(id, BUY, 102));
    exchange.order(bob, order(id, SELL, 100));
    exchange.order(ann, order(id, BUY, 99));
    expect(states(at(exchange, 16n))).toEqual([ENACTED]);
    const opened = at(exchange, 17n);
    expect(valuesOf(opened, "trade")).toMatchObject([
      { marketId: id, price: "101", size: 10n, buyer: ann, seller: bob, aggressor: 0, buyerFee: { makerFee: "0" } },
    ]);
    expect(valuesOf(opened, "order").map(({ status }) => status)).toEqual([Order_Status.FILLED, Order_Status.FILLED]);
    expect(valuesOf(opened, "auction")).toMatchObject([{ marketId: id, leave: true, openingAuction: true }]);
    expect(valuesOf(opened, "marketUpdated")).toMatchObject([
      { id, state: Market_State.ACTIVE, tradingMode: Market_TradingMode.CONTINUOUS },
    ]);
    const { events: traded } = exchange.order(bob, order(id, SELL, 99));
    expect(valuesOf(traded, "trade")).toMatchObject([{ price: "99", size: 10n, aggressor: SELL }]);
  });

  test("is rejected with its proposal", () => {
    const exchange = open();
    propose(exchange, newMarket(asset));
    const closed = at(exchange, 11n);
    expect(kinds(closed)).toEqual(["proposal", "marketUpdated", "marketData"]);
    expect(valuesOf(closed, "marketUpdated")).toMatchObject([{ state: Market_State.REJECTED }]);
  });

  test("stays in its opening auction as long as no orders cross", () => {
    const exchange = open();
    const { ids } = propose(exchange, newMarket(asset));
    cast(exchange, ids[0], ann);
    at(exchange, 11n);
    exchange.order(ann, order(ids[0], BUY, 99));
    exchange.order(bob, order(ids[0], SELL, 100));
    at(exchange, 16n);
    expect(valuesOf(at(exchange, 60n), "auction")).toEqual([]);
    exchange.order(bob, order(ids[0], SELL, 99));
    expect(valuesOf(at(exchange, 61n), "trade")).toMatchObject([{ price: "99", size: 10n }]);
  });
});

test("a market is changed by a proposal", () => {
  const exchange = open();
  const changes = {
    instrument: { code: "X", name: "Y", product: { case: "future" as const, value: future } },
    tickSize: "5",
  };
  const { ids } = propose(exchange, { case: "updateMarket", value: { marketId, changes } });
  cast(exchange, ids[0], bob);
  at(exchange, 11n);
  const changed = at(exchange, 16n);
  expect(kinds(changed)).toEqual(["oracleSpec", "oracleSpec", "marketData", "marketUpdated", "proposal"]);
  expect(valuesOf(changed, "marketUpdated")).toMatchObject([
    {
      id: marketId,
      tickSize: "5",
      tradableInstrument: { instrument: { code: "X", product: { value: { quoteName: "BTC" } } } },
    },
  ]);
});

test("a saved engine decides and enacts alike", () => {
  const exchange = open();
  const { ids } = propose(exchange, newMarket(asset));
  cast(exchange, ids[0], bob);
  const saved = exchange.engine.save();
  const run = () => [11n, 16n, 17n].map((second) => at(exchange, second));
  const first = run();
  exchange.engine.restore(saved);
  exchange.rewind();
  expect(run()).toEqual(first);
});
