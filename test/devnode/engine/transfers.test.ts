import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { TransferSchema } from "../../../gen/vega/commands/v1/commands_pb.js";
import { Transfer_Status } from "../../../gen/vega/events/v1/events_pb.js";
import { AccountType, TransferType } from "../../../gen/vega/vega_pb.js";
import { ann, asset, bob, type Exchange, failure, marketOf, openExchange, START, valuesOf } from "./exchange.js";

type Fields = Exclude<MessageInitShape<typeof TransferSchema>, { readonly $typeName: string }>;

const { GENERAL, PENDING_TRANSFERS, VESTED_REWARDS } = AccountType;

function send(exchange: Exchange, fields: Fields = {}) {
  const value = create(TransferSchema, {
    fromAccountType: GENERAL,
    toAccountType: GENERAL,
    to: bob,
    asset: asset.toUpperCase(),
    amount: "30",
    reference: "rent",
    kind: { case: "oneOff", value: {} },
    ...fields,
  });
  return exchange.send(ann, { case: "transfer", value });
}

test("an amount goes from one general account to another", () => {
  const exchange = openExchange(marketOf(), { startingBalance: "100" });
  const { outcome, events, ids } = send(exchange);
  expect(outcome).toEqual({ status: "success" });
  expect(valuesOf(events, "transfer")).toMatchObject([
    {
      id: ids[0],
      from: ann,
      to: bob,
      asset,
      amount: "30",
      reference: "rent",
      status: Transfer_Status.DONE,
      timestamp: START,
    },
  ]);
  expect(valuesOf(events, "ledgerMovements")[0]?.ledgerMovements[0]?.entries).toMatchObject([
    { fromAccount: { owner: ann }, toAccount: { type: PENDING_TRANSFERS }, type: TransferType.TRANSFER_FUNDS_SEND },
    { toAccount: { owner: bob }, toAccountBalance: "130", type: TransferType.TRANSFER_FUNDS_DISTRIBUTE, amount: "30" },
  ]);
  const balances = valuesOf(events, "account").map(({ owner, balance }) => [owner, balance]);
  expect(balances.slice(-3)).toEqual([
    [ann, "70"],
    ["network", "0"],
    [bob, "130"],
  ]);
});

test("who gets an account by it is a party from then on", () => {
  const exchange = openExchange();
  const parties = () => valuesOf(exchange.events, "party").map(({ id }) => id);
  const kinds = send(exchange).events.map(({ case: kind }) => kind);
  expect(parties()).toEqual([ann, bob]);
  expect(kinds.slice(0, 4)).toEqual(["party", "account", "party", "account"]);
  send(exchange);
  exchange.cancel(bob);
  expect(parties()).toEqual([ann, bob]);
});

test("more than the sender has is rejected", () => {
  const exchange = openExchange(marketOf(), { startingBalance: "29" });
  const { outcome, events } = send(exchange);
  const reason = "the general account holds 29, not 30";
  expect(outcome).toEqual(failure(reason));
  expect(valuesOf(events, "transfer")).toMatchObject([{ status: Transfer_Status.REJECTED, reason }]);
  expect(valuesOf(events, "ledgerMovements")).toEqual([]);
});

describe("other transfers fail with a word", () => {
  const others =
    "the local node carries out transfers between general accounts that are one-off and at once, and no others";
  test.each<[string, Fields, string]>([
    ["recurring", { kind: { case: "recurring", value: {} } }, others],
    ["later", { kind: { case: "oneOff", value: { deliverOn: START + 1n } } }, others],
    ["from rewards", { fromAccountType: VESTED_REWARDS }, others],
    ["from another key", { from: bob }, others],
    ["of an unknown asset", { asset: "00".repeat(32) }, `there is no asset ${"00".repeat(32)}`],
  ])("%s", (_, fields, error) => {
    const { outcome, events } = send(openExchange(), fields);
    expect(outcome).toEqual(failure(error));
    expect(events.map((event) => event.case)).toEqual(["party"]);
  });
});
