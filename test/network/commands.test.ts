import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { expect, test } from "@jest/globals";
import { AssetSchema } from "tradewire/gen/vega/assets_pb.js";
import {
  CancelTransferSchema,
  TransferSchema,
  UpdatePartyProfileSchema,
  WithdrawSubmissionSchema,
} from "tradewire/gen/vega/commands/v1/commands_pb.js";
import type { InputData } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { AccountType, TransferType } from "tradewire/gen/vega/vega_pb.js";
import * as z from "zod";
import { ann, asset, bob, cat, openExchange, START } from "../node/engine/exchange.js";
import type { Event } from "./inside.js";

// What the real network made of these commands, sent one after the other (see recorded/README.md): the kinds of events that
// each one brought, with the transfer types of ledger movements, and the error of its result.
const recorded = z
  .object({ commands: z.array(z.object({ name: z.string(), events: z.string(), error: z.string().optional() })) })
  .parse(JSON.parse(readFileSync("test/network/recorded/commands.json", "utf8")));

type Command = InputData["command"];
const unknown = "ee".repeat(32);
const ZEROS = "0".repeat(64);
const HUGE = `1${"0".repeat(30)}`;

const transfer = (to: string, more = {}): Command => ({
  case: "transfer",
  value: create(TransferSchema, {
    ...{ fromAccountType: AccountType.GENERAL, toAccountType: AccountType.GENERAL, asset, amount: "1234500", to },
    kind: { case: "oneOff", value: {} },
    ...more,
  }),
});
const recurring = (to: string, startEpoch: bigint) =>
  transfer(to, { kind: { case: "recurring", value: { startEpoch, factor: "1" } } });
const cancel = (transferId: string): Command => ({
  case: "cancelTransfer",
  value: create(CancelTransferSchema, { transferId }),
});
const withdraw = (amount: string): Command => ({
  case: "withdrawSubmission",
  value: create(WithdrawSubmissionSchema, { asset, amount }),
});

/** The kinds of events as they were recorded. */
const lineOf = (events: readonly Event[]): string =>
  events
    .filter(({ case: kind }) => kind !== "party")
    .map((event) =>
      event.case === "ledgerMovements"
        ? `ledger(${event.value.ledgerMovements.map(({ entries }) => entries.map(({ type }) => TransferType[type]).join("+")).join("|")})`
        : event.case,
    )
    .join(" ");

test("the local node makes of recorded commands what the real network made of them", () => {
  const exchange = openExchange(undefined, {
    startingBalance: "100000000",
    assets: [
      create(AssetSchema, {
        id: asset,
        details: { quantum: "1", source: { case: "builtinAsset", value: { maxFaucetAmountMint: "1" } } },
      }),
    ],
    parameters: new Map([["transfer.fee.factor", "0.001"]]),
  });
  for (const party of [ann, bob]) {
    exchange.send(party, transfer(party)); // Opens the accounts, as the faucet did.
  }
  exchange.nextBlock(600n); // A start in epoch 0 has passed.
  let last = "";
  const commands = new Map<string, () => readonly [string, Command]>([
    ["one-off", () => [ann, transfer(bob)]],
    ["one-off to new party", () => [ann, transfer(cat)]],
    ["one-off delayed", () => [ann, transfer(bob, { kind: { case: "oneOff", value: { deliverOn: 2n * START } } })]],
    ["to reward", () => [ann, transfer(ZEROS, { toAccountType: AccountType.GLOBAL_REWARD })]],
    ["to treasury", () => [ann, transfer(ZEROS, { toAccountType: AccountType.NETWORK_TREASURY })]],
    ["to self", () => [ann, transfer(ann)]],
    ["recurring", () => [ann, recurring(bob, 2n)]],
    ["recurring dup", () => [ann, recurring(bob, 2n)]],
    ["recurring past", () => [ann, recurring(cat, 0n)]],
    ["recurring 3", () => [ann, recurring(cat, 2n)]],
    ["cancel", () => [ann, cancel(last)]],
    ["cancel again", () => [ann, cancel(last)]],
    ["cancel unknown", () => [ann, cancel(unknown)]],
    ["withdraw", () => [ann, withdraw("1000")]],
    ["withdraw too much", () => [ann, withdraw(HUGE)]],
    ["profile", () => [ann, { case: "updatePartyProfile", value: create(UpdatePartyProfileSchema, { alias: "a" }) }]],
  ]);
  const found = recorded.commands.flatMap(({ name }) => {
    const command = commands.get(name);
    if (command === undefined) {
      return [];
    }
    const { outcome, events, ids } = exchange.send(...command());
    last = name === "recurring 3" ? (ids[0] ?? "") : last;
    const error = outcome.status === "success" ? undefined : outcome.errors[0]?.error;
    return [{ name, events: lineOf(events), ...(error !== undefined && { error }) }];
  });
  expect(found).toEqual(recorded.commands.filter(({ name }) => commands.has(name)));
  expect(found).toHaveLength(commands.size);
});
