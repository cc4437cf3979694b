import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { TransferSchema, WithdrawSubmissionSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { transferProblems, withdrawalProblems } from "../../../../src/trade/transaction/check/transfer-commands.js";

const id = "ab".repeat(32);
const network = "0".repeat(64);
const base = {
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: id,
  toAccountType: "ACCOUNT_TYPE_GENERAL",
  asset: id,
  amount: "1",
};
const problems = (transfer: JsonObject) =>
  [...transferProblems(fromJson(TransferSchema, { ...base, ...transfer }), "transfer")].map(
    ({ path, message }) => `${path} ${message}`,
  );
const once = (change: JsonObject = {}) => problems({ oneOff: {}, ...change });
const recurring = (change: JsonObject = {}, schedule: JsonObject = {}) =>
  problems({ recurring: { startEpoch: "7", factor: "1", ...schedule }, ...change });

describe("a transfer", () => {
  it("happens once or in every epoch", () => {
    expect(once()).toEqual([]);
    expect(recurring()).toEqual([]);
    expect(problems({})).toEqual(["transfer must contain oneOff or recurring"]);
  });

  it.each<[JsonObject, string]>([
    [{ to: "" }, "to is required"],
    [{ to: id.slice(1) }, `to must be 64 hex digits (got "${id.slice(1)}")`],
    [{ asset: "" }, "asset is required"],
    [{ asset: "VEGA" }, 'asset must be 64 hex digits (got "VEGA")'],
    [{ amount: "" }, "amount is required"],
    [{ amount: "0" }, "amount must be positive (got 0)"],
    [{ amount: "1.5" }, 'amount must be an unsigned whole number (got "1.5")'],
    [{ reference: "x".repeat(101) }, "reference must have at most 100 characters (got 101)"],
    [{ fromAccountType: 0 }, "fromAccountType is required"],
    [{ fromAccountType: 99 }, "fromAccountType must be a known value (got 99)"],
    [{ toAccountType: 0 }, "toAccountType is required"],
    [{ toAccountType: 99 }, "toAccountType must be a known value (got 99)"],
  ])("with %j is refused in either kind: %s", (change, problem) => {
    expect(once(change)).toEqual([`transfer.${problem}`]);
    expect(recurring(change)).toEqual([`transfer.${problem}`]);
  });

  it("may have a reference of 100 characters", () => {
    expect(once({ reference: "x".repeat(100) })).toEqual([]);
  });

  it("to the global reward account goes to the network", () => {
    const toAccountType = "ACCOUNT_TYPE_GLOBAL_REWARD";
    const problem = "transfer.to must be 64 zeros with ACCOUNT_TYPE_GLOBAL_REWARD";
    for (const check of [once, recurring]) {
      expect(check({ toAccountType, to: network })).toEqual([]);
      expect(check({ toAccountType, to: id })).toEqual([problem]);
      expect(check({ toAccountType, to: `${network.slice(1)}1` })).toEqual([problem]);
    }
  });

  it("debits another's account only from vested rewards to a general account", () => {
    const vested = "ACCOUNT_TYPE_VESTED_REWARDS";
    const problem = "transfer.from must be set only from ACCOUNT_TYPE_VESTED_REWARDS to ACCOUNT_TYPE_GENERAL";
    const treasury = "ACCOUNT_TYPE_NETWORK_TREASURY";
    expect(once({ from: id, fromAccountType: vested })).toEqual([]);
    expect(once({ from: id })).toEqual([problem]);
    expect(once({ from: id, fromAccountType: vested, toAccountType: treasury })).toEqual([problem]);
    expect(once({ from: id, toAccountType: treasury })).toEqual([problem]);
    expect(once({ from: "", fromAccountType: vested })).toEqual([]);
    expect(once({ from: "x", fromAccountType: vested })).toEqual(['transfer.from must be 64 hex digits (got "x")']);
  });
});

describe("a transfer that happens once", () => {
  it.each(["GENERAL", "VESTED_REWARDS"])("may come from ACCOUNT_TYPE_%s", (type) => {
    expect(once({ fromAccountType: `ACCOUNT_TYPE_${type}` })).toEqual([]);
  });

  it.each(["INSURANCE", "MARGIN", "GLOBAL_REWARD", "VESTING_REWARDS"])("cannot come from ACCOUNT_TYPE_%s", (type) => {
    expect(once({ fromAccountType: `ACCOUNT_TYPE_${type}` })).toEqual([
      `transfer.fromAccountType must be ACCOUNT_TYPE_GENERAL or ACCOUNT_TYPE_VESTED_REWARDS (got ACCOUNT_TYPE_${type})`,
    ]);
  });

  it.each(["GENERAL", "GLOBAL_REWARD", "NETWORK_TREASURY"])("may go to ACCOUNT_TYPE_%s", (type) => {
    expect(once({ toAccountType: `ACCOUNT_TYPE_${type}`, to: network })).toEqual([]);
  });

  it.each(["INSURANCE", "REWARD_MAKER_PAID_FEES", "VESTED_REWARDS"])("cannot go to ACCOUNT_TYPE_%s", (type) => {
    const names = "ACCOUNT_TYPE_GENERAL or ACCOUNT_TYPE_GLOBAL_REWARD or ACCOUNT_TYPE_NETWORK_TREASURY";
    expect(once({ toAccountType: `ACCOUNT_TYPE_${type}`, to: network })).toEqual([
      `transfer.toAccountType must be ${names} (got ACCOUNT_TYPE_${type})`,
    ]);
  });

  it("is delivered at a time that is not negative", () => {
    expect(once({ oneOff: { deliverOn: "0" } })).toEqual([]);
    expect(once({ oneOff: { deliverOn: "1" } })).toEqual([]);
    expect(once({ oneOff: { deliverOn: "-1" } })).toEqual(["transfer.oneOff.deliverOn must not be negative (got -1)"]);
  });
});

describe("a transfer in every epoch", () => {
  it("comes from a general account alone", () => {
    expect(recurring({ fromAccountType: "ACCOUNT_TYPE_VESTED_REWARDS" })).toEqual([
      "transfer.fromAccountType must be ACCOUNT_TYPE_GENERAL (got ACCOUNT_TYPE_VESTED_REWARDS)",
    ]);
  });

  it.each(["INSURANCE", "REWARD_MAKER_PAID_FEES", "NETWORK_TREASURY"])("may go to ACCOUNT_TYPE_%s", (type) => {
    expect(recurring({ toAccountType: `ACCOUNT_TYPE_${type}`, to: network })).toEqual([]);
  });

  it.each<[JsonObject]>([
    [{ startEpoch: "1" }],
    [{ endEpoch: "7" }],
    [{ endEpoch: "8" }],
    [{ factor: "0.001" }],
    [{ factor: "2" }],
  ])("may have %j", (schedule) => {
    expect(recurring({}, schedule)).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ startEpoch: "0" }, "startEpoch is required"],
    [{ startEpoch: "0", endEpoch: "0" }, "startEpoch is required"],
    [{ endEpoch: "6" }, "endEpoch must not be before startEpoch"],
    [{ endEpoch: "0" }, "endEpoch must not be before startEpoch"],
    [{ factor: "" }, "factor is required"],
    [{ factor: "0.0" }, "factor must be positive (got 0)"],
    [{ factor: "-1" }, 'factor must be a decimal number of at least 0 (got "-1")'],
  ])("with %j is refused: %s", (schedule, problem) => {
    expect(recurring({}, schedule)).toEqual([`transfer.recurring.${problem}`]);
  });
});

describe("a withdrawal", () => {
  const address = "dA".repeat(20);
  const withdrawal = (change: JsonObject) =>
    [
      ...withdrawalProblems(fromJson(WithdrawSubmissionSchema, { amount: "1", asset: id, ...change }), "withdrawal"),
    ].map(({ path, message }) => `${path} ${message}`);
  const to = (receiverAddress: string) => withdrawal({ ext: { erc20: { receiverAddress } } });

  it("is of an amount of an asset", () => {
    expect(withdrawal({ amount: "0" })).toEqual(["withdrawal.amount must be positive (got 0)"]);
    expect(withdrawal({ asset: "" })).toEqual(["withdrawal.asset is required"]);
  });

  it("goes to an Ethereum address, with or without 0x", () => {
    expect([to(address), to(`0x${address}`)]).toEqual([[], []]);
    expect(to("")).toEqual(["withdrawal.ext.erc20.receiverAddress is required"]);
  });

  it.each([address.slice(1), `${address}0`, `1x${address}`, `00x${address}`, `g${address.slice(1)}`, `${address} `])(
    "does not go to %j",
    (wrong) => {
      expect(to(wrong)).toEqual([`withdrawal.ext.erc20.receiverAddress must be an Ethereum address (got "${wrong}")`]);
    },
  );

  it("names the chain that it goes to", () => {
    // By commands/withdraw_submission.go, an asset that the network itself issues is withdrawn without details.
    expect(withdrawal({})).toEqual([]);
    expect(withdrawal({ ext: {} })).toEqual(["withdrawal.ext.erc20 is required"]);
  });
});
