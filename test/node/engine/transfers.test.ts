import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { CancelTransferSchema, TransferSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { Transfer_Status } from "tradewire/gen/vega/events/v1/events_pb.js";
import { AccountType, DispatchMetric, TransferType } from "tradewire/gen/vega/vega_pb.js";
import {
  ann,
  asset,
  bob,
  type Exchange,
  failure,
  marketOf,
  openExchange,
  SECOND,
  START,
  valuesOf,
} from "./exchange.js";
import type { EngineOptions, Event } from "./inside.js";

type Fields = Exclude<MessageInitShape<typeof TransferSchema>, { readonly $typeName: string }>;

const { GENERAL, GLOBAL_REWARD, NETWORK_TREASURY, PENDING_TRANSFERS, VESTED_REWARDS, REWARD_VALIDATOR_RANKING } =
  AccountType;
const ZEROS = "0".repeat(64);

/** How many blocks an epoch of the local node has. */
const EPOCH = 600n;

/** An exchange with the fee of a thousandth, at most 100 quantums, that the real network had. */
function open(more: Partial<EngineOptions> = {}) {
  return openExchange(marketOf(), {
    startingBalance: "1000000",
    assets: [create(AssetSchema, { id: asset, details: { decimals: 0n, quantum: "2" } })],
    parameters: new Map([
      ["transfer.fee.factor", "0.001"],
      ["transfer.fee.maxQuantumAmount", "100"],
      ["transfer.minTransferQuantumMultiple", "0"],
    ]),
    ...more,
  });
}

function send(exchange: Exchange, fields: Fields = {}, party = ann) {
  const value = create(TransferSchema, {
    fromAccountType: GENERAL,
    toAccountType: GENERAL,
    to: bob,
    asset: asset.toUpperCase(),
    amount: "30000",
    reference: "rent",
    kind: { case: "oneOff", value: {} },
    ...fields,
  });
  return exchange.send(party, { case: "transfer", value });
}

const recurring = (startEpoch: bigint, factor = "1", endEpoch?: bigint): Fields => ({
  kind: { case: "recurring", value: { startEpoch, factor, ...(endEpoch !== undefined && { endEpoch }) } },
});

function cancel(exchange: Exchange, transferId = "", party = ann) {
  return exchange.send(party, { case: "cancelTransfer", value: create(CancelTransferSchema, { transferId }) });
}

const kinds = (events: readonly Event[]) => events.map(({ case: kind }) => kind);
const statuses = (events: readonly Event[]) => valuesOf(events, "transfer").map(({ status }) => status);
const entries = (events: readonly Event[]) =>
  valuesOf(events, "ledgerMovements").flatMap(({ ledgerMovements }) =>
    ledgerMovements.map((movement) => movement.entries),
  );

describe("a one-off transfer", () => {
  test("is paid, delivered and charged in the network's order of events", () => {
    const exchange = open();
    send(exchange); // Opens the accounts.
    const { outcome, events, ids } = send(exchange);
    expect(outcome).toEqual({ status: "success" });
    // As recorded of the real network for one to a party that has an account.
    expect(kinds(events)).toEqual([
      ...Array.from({ length: 6 }, () => "account"),
      "transferFees",
      "ledgerMovements",
      "transfer",
    ]);
    expect(valuesOf(events, "transfer")).toMatchObject([
      {
        ...{ id: ids[0], from: ann, to: bob, asset, amount: "30000", reference: "rent" },
        ...{ status: Transfer_Status.DONE, timestamp: START },
      },
    ]);
    expect(valuesOf(events, "transferFees")).toMatchObject([
      { transferId: ids[0], amount: "30", discountApplied: "0" },
    ]);
    // One movement for each entry; the fee's has no transfer (core/collateral/engine.go).
    expect(entries(events)).toMatchObject([
      [
        {
          ...{ fromAccount: { owner: ann }, toAccount: { type: PENDING_TRANSFERS }, amount: "30000" },
          ...{ type: TransferType.TRANSFER_FUNDS_SEND, transferId: ids[0] },
        },
      ],
      [{ toAccount: { owner: bob }, toAccountBalance: "60000", type: TransferType.TRANSFER_FUNDS_DISTRIBUTE }],
      [{ fromAccount: { owner: ann }, amount: "30", type: TransferType.INFRASTRUCTURE_FEE_PAY }],
    ]);
    expect(entries(events)[2]?.[0]?.transferId).toBeUndefined();
  });

  test("opens the receiver's account, with what it brings alone", () => {
    const exchange = open();
    const { events } = send(exchange);
    const accounts = valuesOf(events, "account").filter(({ owner }) => owner === bob);
    expect(accounts.map(({ balance }) => balance)).toEqual(["0", "30000"]);
    expect(valuesOf(exchange.events, "party").map(({ id }) => id)).toEqual([ann, bob]);
  });

  test("costs 100 quantums at most", () => {
    const { events } = send(open(), { amount: "900000" });
    expect(valuesOf(events, "transferFees")).toMatchObject([{ amount: "200" }]);
  });

  test.each([
    ["the reward account", GLOBAL_REWARD],
    ["the network's treasury", NETWORK_TREASURY],
  ])("reaches %s", (_, toAccountType) => {
    const { outcome, events } = send(open(), { to: ZEROS, toAccountType });
    expect(outcome).toEqual({ status: "success" });
    const [, [delivered] = []] = entries(events);
    expect(delivered?.toAccount).toMatchObject({ type: toAccountType });
    expect(delivered?.toAccount?.owner).toBeUndefined();
    expect(valuesOf(events, "transfer")).toMatchObject([{ to: ZEROS, toAccountType, status: Transfer_Status.DONE }]);
  });

  test("that is delayed is paid at once, and delivered in the first block at its time", () => {
    const exchange = open();
    const deliverOn = START + 2n * SECOND;
    const { outcome, events, ids } = send(exchange, { kind: { case: "oneOff", value: { deliverOn } } });
    expect(outcome).toEqual({ status: "success" });
    expect(entries(events).map(([entry]) => entry?.type)).toEqual([
      TransferType.TRANSFER_FUNDS_SEND,
      TransferType.INFRASTRUCTURE_FEE_PAY,
    ]);
    expect(statuses(events)).toEqual([Transfer_Status.DONE]);
    expect(valuesOf(exchange.nextBlock().begin, "transfer")).toEqual([]);
    const { begin } = exchange.nextBlock();
    expect(entries(begin)).toMatchObject([[{ toAccount: { owner: bob }, amount: "30000", transferId: ids[0] }]]);
    expect(valuesOf(begin, "transfer")).toMatchObject([{ id: ids[0], status: Transfer_Status.DONE }]);
    expect(valuesOf(exchange.nextBlock().begin, "transfer")).toEqual([]);
  });

  test.each<[string, Fields, Partial<EngineOptions>, string]>([
    [
      "more than the sender has",
      { amount: "1000000" },
      {},
      "could not pay the fee for transfer: not enough funds to transfer",
    ],
    ["an asset that is not there", { asset: "ab".repeat(32) }, {}, "could not transfer funds: asset does not exist"],
    [
      "less than the least amount",
      { amount: "5" },
      { parameters: new Map([["transfer.minTransferQuantumMultiple", "3"]]) },
      "could not transfer funds, less than minimal amount requested to transfer",
    ],
    [
      "a part of vested rewards that is below the least amount",
      { amount: "5", fromAccountType: VESTED_REWARDS },
      { parameters: new Map([["transfer.minTransferQuantumMultiple", "3"]]) },
      "transfer from vested account under minimal transfer amount must be the full balance",
    ],
  ])("of %s is rejected in the network's words", (_, fields, start, reason) => {
    const { outcome, events } = send(open(start), fields);
    expect(outcome).toEqual(failure(reason));
    expect(valuesOf(events, "transfer")).toMatchObject([{ status: Transfer_Status.REJECTED, reason }]);
    expect(entries(events)).toEqual([]);
  });
});

describe("a recurring transfer", () => {
  /** Go to the first block of an epoch; what happens at the end of the one before. */
  const toEpoch = (exchange: Exchange, epoch: bigint) => {
    const [last] = valuesOf(exchange.events, "transfer").slice(-1);
    expect(last).toBeDefined();
    return exchange.nextBlock(epoch * EPOCH - exchange.height()).begin;
  };

  test("is pending, is paid at the end of each epoch, and is done with its last one", () => {
    const exchange = open();
    const { outcome, events, ids } = send(exchange, recurring(1n, "0.5", 2n));
    expect(outcome).toEqual({ status: "success" });
    expect(kinds(events)).toEqual(["party", "account", "transfer"]);
    expect(statuses(events)).toEqual([Transfer_Status.PENDING]);
    expect(entries(toEpoch(exchange, 1n))).toEqual([]);
    const second = toEpoch(exchange, 2n);
    expect(entries(second).map(([entry]) => entry?.amount)).toEqual(["30000", "30000", "30"]);
    expect(statuses(second)).toEqual([]);
    const third = toEpoch(exchange, 3n);
    expect(entries(third).map(([entry]) => entry?.amount)).toEqual(["15000", "15000", "15"]);
    expect(valuesOf(third, "transfer")).toMatchObject([{ id: ids[0], status: Transfer_Status.DONE }]);
    expect(entries(toEpoch(exchange, 4n))).toEqual([]);
  });

  test("stops when it cannot be paid", () => {
    const exchange = open();
    send(exchange, { ...recurring(1n, "2"), amount: "600000" });
    toEpoch(exchange, 1n);
    expect(statuses(toEpoch(exchange, 2n))).toEqual([]);
    const reason = "could not pay the fee for transfer: not enough funds to transfer";
    expect(valuesOf(toEpoch(exchange, 3n), "transfer")).toMatchObject([{ status: Transfer_Status.STOPPED, reason }]);
  });

  test("with a dispatch strategy is paid for the ranking of validators, and for no other metric", () => {
    const strategy = (metric: DispatchMetric): Fields => ({
      to: ZEROS,
      toAccountType: REWARD_VALIDATOR_RANKING,
      kind: { case: "recurring", value: { startEpoch: 0n, factor: "1", dispatchStrategy: { metric, lockPeriod: 1n } } },
    });
    const exchange = open();
    const ranked = send(exchange, strategy(DispatchMetric.VALIDATOR_RANKING));
    send(exchange, strategy(DispatchMetric.MAKER_FEES_PAID));
    const [game] = valuesOf(ranked.events, "transfer").map(({ gameId }) => gameId);
    expect(game).toMatch(/^[0-9a-f]{64}$/);
    const paid = entries(toEpoch(exchange, 1n)).map(([entry]) => entry?.toAccount);
    expect(paid).toMatchObject([{ type: PENDING_TRANSFERS }, { type: REWARD_VALIDATOR_RANKING, marketId: game }, {}]);
  });

  test("is not taken twice, nor with a start that has passed", () => {
    const exchange = open();
    send(exchange, recurring(1n));
    const twice = "cannot submit duplicate recurring transfer with same from and to";
    expect(send(exchange, recurring(2n)).outcome).toEqual(failure(twice));
    toEpoch(exchange, 1n);
    expect(send(exchange, { ...recurring(0n), to: ann }).outcome).toEqual(failure("start epoch in the past"));
  });

  test("is cancelled by its sender alone, once", () => {
    const exchange = open();
    const { ids } = send(exchange, recurring(1n));
    expect(cancel(exchange, ids[0], bob).outcome).toEqual(failure("cannot cancel other parties recurring transfers"));
    const { outcome, events } = cancel(exchange, ids[0]?.toUpperCase());
    expect(outcome).toEqual({ status: "success" });
    expect(valuesOf(events, "transfer")).toMatchObject([
      { id: ids[0], status: Transfer_Status.CANCELLED, reason: "transfer cancelled" },
    ]);
    expect(cancel(exchange, ids[0]).outcome).toEqual(failure("recurring transfer does not exists"));
    toEpoch(exchange, 1n);
    expect(entries(toEpoch(exchange, 2n))).toEqual([]);
  });
});

test("a saved engine delivers what waits", () => {
  const exchange = open();
  send(exchange, { kind: { case: "oneOff", value: { deliverOn: START + SECOND } } });
  send(exchange, recurring(0n));
  const saved = exchange.engine.save();
  const first = [exchange.nextBlock().begin, exchange.nextBlock(EPOCH - 2n).begin];
  exchange.engine.restore(saved);
  exchange.rewind();
  expect([exchange.nextBlock().begin, exchange.nextBlock(EPOCH - 2n).begin]).toEqual(first);
  expect(entries(first[0] ?? [])).toHaveLength(1);
  expect(entries(first[1] ?? [])).toHaveLength(3);
});
