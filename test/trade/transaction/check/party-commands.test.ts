import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { otherProblems } from "../../../../src/trade/transaction/check/party-commands.js";

const id = "ab".repeat(32);
const address = "dA".repeat(20);
const team = { name: "Reds" };
const curve = { base: "100", lowerBound: "90" };

/** Each command, as it has no problem. */
const right = {
  withdrawSubmission: { amount: "1", asset: id, ext: { erc20: { receiverAddress: `0x${address}` } } },
  voteSubmission: { proposalId: id, value: "VALUE_NO" },
  liquidityProvisionSubmission: { marketId: id, commitmentAmount: "1", fee: "0" },
  liquidityProvisionAmendment: { marketId: id },
  liquidityProvisionCancellation: { marketId: id },
  delegateSubmission: { nodeId: id, amount: "1" },
  undelegateSubmission: { nodeId: id, method: "METHOD_NOW" },
  transfer: {
    fromAccountType: "ACCOUNT_TYPE_GENERAL",
    to: id,
    toAccountType: "ACCOUNT_TYPE_GENERAL",
    asset: id,
    amount: "1",
    oneOff: {},
  },
  cancelTransfer: { transferId: id },
  createReferralSet: {},
  updateReferralSet: { id },
  applyReferralCode: { id },
  joinTeam: { id },
  updateMarginMode: { marketId: id, mode: "MODE_CROSS_MARGIN" },
  updatePartyProfile: {},
  submitAmm: {
    marketId: id,
    commitmentAmount: "1",
    slippageTolerance: "1",
    proposedFee: "0.01",
    concentratedLiquidityParameters: curve,
  },
  amendAmm: {
    marketId: id,
    slippageTolerance: "1",
    commitmentAmount: "1",
    concentratedLiquidityParameters: { base: "2", lowerBound: "1" },
  },
  cancelAmm: { marketId: id, method: "METHOD_IMMEDIATE" },
} satisfies Record<string, JsonObject>;

type Name = keyof typeof right;
const names = Object.keys(right).filter((name): name is Name => name in right);

function problems(name: Name, change: JsonObject = {}): string[] {
  const { command } = fromJson(InputDataSchema, { [name]: { ...right[name], ...change } });
  if (command.case === undefined) {
    throw new Error(`${name} is not a command`);
  }
  return [...otherProblems(command)].map(({ path, message }) => `${path} ${message}`);
}

const x = (length: number) => "x".repeat(length);

describe("a command that is not about orders", () => {
  it.each(names)("of the name %s has no problem where it is right", (name) => {
    expect(problems(name)).toEqual([]);
  });

  it.each<[Name, JsonObject]>([
    ["voteSubmission", { value: "VALUE_YES" }],
    ["liquidityProvisionSubmission", { reference: x(100) }],
    ["liquidityProvisionAmendment", { commitmentAmount: "1", fee: "0.5", reference: x(100) }],
    ["undelegateSubmission", { amount: "1", method: "METHOD_AT_END_OF_EPOCH" }],
    ["cancelAmm", { method: "METHOD_REDUCE_ONLY" }],
  ])("of the name %s may have %j", (name, change) => {
    expect(problems(name, change)).toEqual([]);
  });

  it.each<[Name, JsonObject, string]>([
    ["withdrawSubmission", { amount: "0" }, "amount must be positive (got 0)"],
    ["withdrawSubmission", { asset: "" }, "asset is required"],
    ["voteSubmission", { proposalId: "" }, "proposalId is required"],
    ["voteSubmission", { value: 0 }, "value is required"],
    ["voteSubmission", { value: 3 }, "value must be a known value (got 3)"],
    ["liquidityProvisionSubmission", { marketId: "" }, "marketId is required"],
    ["liquidityProvisionSubmission", { commitmentAmount: "0" }, "commitmentAmount must be positive (got 0)"],
    ["liquidityProvisionSubmission", { fee: "" }, "fee is required"],
    ["liquidityProvisionSubmission", { reference: x(101) }, "reference must have at most 100 characters (got 101)"],
    ["liquidityProvisionAmendment", { marketId: "" }, "marketId is required"],
    ["liquidityProvisionAmendment", { commitmentAmount: "0" }, "commitmentAmount must be positive (got 0)"],
    ["liquidityProvisionAmendment", { fee: "-1" }, 'fee must be a decimal number of at least 0 (got "-1")'],
    ["liquidityProvisionAmendment", { reference: x(101) }, "reference must have at most 100 characters (got 101)"],
    ["liquidityProvisionCancellation", { marketId: "" }, "marketId is required"],
    ["delegateSubmission", { nodeId: "" }, "nodeId is required"],
    ["delegateSubmission", { amount: "" }, "amount is required"],
    ["undelegateSubmission", { nodeId: "" }, "nodeId is required"],
    ["undelegateSubmission", { amount: "0" }, "amount must be positive (got 0)"],
    ["undelegateSubmission", { method: 0 }, "method is required"],
    ["undelegateSubmission", { method: 9 }, "method must be a known value (got 9)"],
    ["transfer", { amount: "0" }, "amount must be positive (got 0)"],
    ["cancelTransfer", { transferId: "" }, "transferId is required"],
    ["updateReferralSet", { id: "" }, "id is required"],
    ["applyReferralCode", { id: "" }, "id is required"],
    ["joinTeam", { id: "Reds" }, 'id must be 64 hex digits (got "Reds")'],
    ["submitAmm", { proposedFee: "" }, "proposedFee is required"],
    [
      "amendAmm",
      { slippageTolerance: "2" },
      'slippageTolerance must be a decimal number above 0 and at most 1 (got "2")',
    ],
    ["cancelAmm", { marketId: "" }, "marketId is required"],
    ["cancelAmm", { method: 0 }, "method is required"],
    ["cancelAmm", { method: 3 }, "method must be a known value (got 3)"],
  ])("of the name %s with %j is refused: %s", (name, change, problem) => {
    expect(problems(name, change)).toEqual([`${name}.${problem}`]);
  });
});

describe("a withdrawal", () => {
  const to = (receiverAddress: string) => problems("withdrawSubmission", { ext: { erc20: { receiverAddress } } });

  it("goes to an Ethereum address, with or without 0x", () => {
    expect([to(address), to(`0x${address}`)]).toEqual([[], []]);
    expect(to("")).toEqual(["withdrawSubmission.ext.erc20.receiverAddress is required"]);
  });

  it.each([address.slice(1), `${address}0`, `1x${address}`, `00x${address}`, `g${address.slice(1)}`, `${address} `])(
    "does not go to %j",
    (wrong) => {
      expect(to(wrong)).toEqual([
        `withdrawSubmission.ext.erc20.receiverAddress must be an Ethereum address (got "${wrong}")`,
      ]);
    },
  );

  it("names the chain that it goes to", () => {
    const { ext, ...bare } = right.withdrawSubmission;
    // By commands/withdraw_submission.go, an asset that the network itself issues is withdrawn without details.
    const without = fromJson(InputDataSchema, { withdrawSubmission: bare }).command;
    expect(without.case === "withdrawSubmission" ? [...otherProblems(without)] : ext).toEqual([]);
    expect(problems("withdrawSubmission", { ext: {} })).toEqual(["withdrawSubmission.ext.erc20 is required"]);
  });
});

describe.each<["createReferralSet" | "updateReferralSet"]>([["createReferralSet"], ["updateReferralSet"]])(
  "the team of %s",
  (name) => {
    it("is required where the set is a team", () => {
      expect(problems(name, { isTeam: true, team })).toEqual([]);
      expect(problems(name, { isTeam: true })).toEqual([`${name}.team is required`]);
    });

    it.each([
      ["name", 100],
      ["teamUrl", 200],
      ["avatarUrl", 200],
    ])("has a %s of %d characters at most, whether the set is a team or not", (field, most) => {
      const problem = `${name}.team.${field} must have at most ${most} characters (got ${most + 1})`;
      for (const isTeam of [true, false]) {
        expect(problems(name, { isTeam, team: { ...team, [field]: x(most) } })).toEqual([]);
        expect(problems(name, { isTeam, team: { ...team, [field]: x(most + 1) } })).toEqual([problem]);
      }
    });

    it("may have empty URLs", () => {
      expect(problems(name, { team: { ...team, teamUrl: "", avatarUrl: "" } })).toEqual([]);
    });

    it("has a list of those that may join only where it is closed", () => {
      const problem = `${name}.team.allowList must be set only for a closed team`;
      expect(problems(name, { team: { ...team, closed: true, allowList: [id] } })).toEqual([]);
      expect(problems(name, { team: { ...team, closed: false, allowList: [] } })).toEqual([]);
      expect(problems(name, { team: { ...team, closed: false, allowList: [id] } })).toEqual([problem]);
    });
  },
);

describe("a team", () => {
  it("has a name from the start, and keeps it where the update has none", () => {
    expect(problems("createReferralSet", { team: {} })).toEqual(["createReferralSet.team.name is required"]);
    expect(problems("updateReferralSet", { team: {} })).toEqual([]);
    expect(problems("updateReferralSet", { team: { name: "" } })).toEqual([
      "updateReferralSet.team.name must not be empty; omit it instead",
    ]);
  });

  it("is open from the start unless it is closed, and may be closed already before an update", () => {
    expect(problems("createReferralSet", { team: { ...team, allowList: [id] } })).toEqual([
      "createReferralSet.team.allowList must be set only for a closed team",
    ]);
    expect(problems("updateReferralSet", { team: { allowList: [id] } })).toEqual([]);
  });
});

describe("a change of the margin mode", () => {
  const mode = (change: JsonObject) => problems("updateMarginMode", change);

  it.each(["0.001", "1"])("to isolated margin may have the factor %s", (marginFactor) => {
    expect(mode({ mode: "MODE_ISOLATED_MARGIN", marginFactor })).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ marketId: "" }, "marketId is required"],
    [{ mode: 0 }, "mode is required"],
    [{ mode: 3 }, "mode must be a known value (got 3)"],
    [{ mode: "MODE_ISOLATED_MARGIN" }, "marginFactor is required with MODE_ISOLATED_MARGIN"],
    [{ marginFactor: "0.5" }, "marginFactor must be set only with MODE_ISOLATED_MARGIN"],
    [{ marginFactor: "" }, "marginFactor must be set only with MODE_ISOLATED_MARGIN"],
    [
      { mode: "MODE_ISOLATED_MARGIN", marginFactor: "0" },
      'marginFactor must be a decimal number above 0 and at most 1 (got "0")',
    ],
    [
      { mode: "MODE_ISOLATED_MARGIN", marginFactor: "1.01" },
      'marginFactor must be a decimal number above 0 and at most 1 (got "1.01")',
    ],
  ])("with %j is refused: %s", (change, problem) => {
    expect(mode(change)).toEqual([`updateMarginMode.${problem}`]);
  });
});

describe("a party's profile", () => {
  const profile = (change: JsonObject) => problems("updatePartyProfile", change);
  const facts = (count: number) => Array.from({ length: count }, (_, index) => ({ key: `k${index}`, value: "v" }));

  it("has an alias of 32 characters at most", () => {
    expect(profile({ alias: x(32) })).toEqual([]);
    expect(profile({ alias: x(33) })).toEqual(["updatePartyProfile.alias must have at most 32 characters (got 33)"]);
  });

  it("has 10 facts at most", () => {
    expect(profile({ metadata: facts(10) })).toEqual([]);
    expect(profile({ metadata: facts(11) })).toEqual([
      "updatePartyProfile.metadata must have at most 10 entries (got 11)",
    ]);
  });

  it("has facts with short keys and values", () => {
    expect(profile({ metadata: [{ key: x(32), value: x(255) }, { key: "k" }] })).toEqual([]);
    expect(profile({ metadata: [{ key: "k" }, { key: "", value: "v" }] })).toEqual([
      "updatePartyProfile.metadata[1].key is required",
    ]);
    expect(profile({ metadata: [{ key: x(33), value: x(256) }] })).toEqual([
      "updatePartyProfile.metadata[0].key must have at most 32 characters (got 33)",
      "updatePartyProfile.metadata[0].value must have at most 255 characters (got 256)",
    ]);
  });

  it("has no key twice, though with the same value", () => {
    const [fact] = facts(1);
    expect(profile({ metadata: [...facts(2), { key: "k1", value: "w" }] })).toEqual([
      "updatePartyProfile.metadata must not contain a key twice",
    ]);
    expect(profile({ metadata: [fact ?? {}, fact ?? {}] })).toEqual([
      "updatePartyProfile.metadata must not contain a key twice",
    ]);
  });
});
