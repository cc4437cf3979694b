import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import { UpdatePartyProfileSchema, WithdrawSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { Withdrawal_Status } from "tradewire/gen/vega/vega_pb.js";
import { ann, asset, bob, type Exchange, failure, marketId, openExchange, START, valuesOf } from "./exchange.js";
import type { Event } from "./inside.js";

const SUCCESS = { status: "success" };

function open(isBuiltin = true) {
  const source = isBuiltin
    ? { case: "builtinAsset" as const, value: { maxFaucetAmountMint: "1" } }
    : { case: "erc20" as const, value: { contractAddress: "0x" } };
  return openExchange(undefined, {
    assets: [create(AssetSchema, { id: asset, details: { decimals: 0n, quantum: "1", source } })],
  });
}

/** The kinds of events, but for those of new parties and of general accounts that are opened. */
const lines = (events: readonly Event[]): string =>
  events
    .filter((event) => event.case !== "party")
    .map((event) =>
      event.case === "ledgerMovements" ? `ledger(${event.value.ledgerMovements[0]?.entries[0]?.type})` : event.case,
    )
    .join(" ");

/** Open a party's general account, as a first command does. */
function fund(exchange: Exchange, party: string): void {
  exchange.order(party, { marketId, side: 1, size: 1n, price: "1", type: 1, timeInForce: 1 });
}

// The sequences and texts below are those that the real network recorded, unless a comment says otherwise.

describe("withdrawals", () => {
  const withdraw = (amount: string): InputData["command"] => ({
    case: "withdrawSubmission",
    value: create(WithdrawSubmissionSchema, { amount, asset }),
  });

  test("of a built-in asset are finalized at once, if there is enough", () => {
    const exchange = open();
    fund(exchange, ann);
    const { outcome, events, ids } = exchange.send(ann, withdraw("1000"));
    expect(outcome).toEqual(SUCCESS);
    expect(lines(events)).toBe("account ledger(18) withdrawal");
    expect(valuesOf(events, "withdrawal")).toMatchObject([
      { id: ids[0], amount: "1000", status: Withdrawal_Status.FINALIZED, createdTimestamp: START, ref: "1700000000" },
    ]);
    const refused = exchange.send(ann, withdraw("999999999"));
    expect(refused.outcome).toEqual(failure("not enough funds to withdraw"));
    expect(valuesOf(refused.events, "withdrawal")).toMatchObject([
      { status: Withdrawal_Status.REJECTED, ref: "1700000001" },
    ]);
  });

  test("of an asset on Ethereum stay open", () => {
    const { events } = open(false).send(ann, withdraw("1000"));
    expect(valuesOf(events, "withdrawal")).toMatchObject([{ status: Withdrawal_Status.OPEN }]);
  });
});

test("profiles change, and no two have one alias", () => {
  const exchange = open();
  const update = (party: string, alias: string) =>
    exchange.send(party, { case: "updatePartyProfile", value: create(UpdatePartyProfileSchema, { alias }) });
  expect(lines(update(ann, "trader").events)).toBe("partyProfileUpdated");
  expect(update(bob, "trader").outcome).toEqual(
    failure('couldn\'t update profile: invalid profile update: alias "trader" is already taken'),
  );
  expect(update(ann, "trader").outcome).toEqual(SUCCESS);
  update(ann, "other");
  expect(update(bob, "trader").outcome).toEqual(SUCCESS);
});
