import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { verifySignature } from "tradewire";
import { problemsOf } from "../../support/command-problems.js";

const market = "ab".repeat(32);
const id = "cd".repeat(32);
const zeros = "0".repeat(64);
const long = "x".repeat(101);

const order = {
  marketId: market,
  price: "123456",
  size: "10",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
};
const amendment = { orderId: id, marketId: market };
const stop = {
  orderSubmission: {
    marketId: market,
    size: "10",
    side: "SIDE_SELL",
    timeInForce: "TIME_IN_FORCE_IOC",
    type: "TYPE_MARKET",
    reduceOnly: true,
  },
  price: "100",
};
const submits = { expiresAt: "1", expiryStrategy: "EXPIRY_STRATEGY_SUBMIT" };
const withdrawal = { amount: "1", asset: id, ext: { erc20: { receiverAddress: `0x${"Ab".repeat(20)}` } } };
const transfer = {
  fromAccountType: "ACCOUNT_TYPE_GENERAL",
  to: id,
  toAccountType: "ACCOUNT_TYPE_GENERAL",
  asset: id,
  amount: "1",
};
const once = { ...transfer, oneOff: {} };
const recurring = { startEpoch: "1", factor: "1" };
const vested = { fromAccountType: "ACCOUNT_TYPE_VESTED_REWARDS" };
const curve = { base: "10", upperBound: "11" };
const amm = {
  marketId: market,
  commitmentAmount: "1",
  slippageTolerance: "0.1",
  proposedFee: "0.1",
  concentratedLiquidityParameters: curve,
};
const ammAmendment = { marketId: market, slippageTolerance: "0.1" };
const team = (of: JsonObject) => ({ createReferralSet: { isTeam: true, team: { name: "a", ...of } } });
const newTeam = (of: JsonObject) => ({ updateReferralSet: { id, isTeam: true, team: of } });
const metadata = (key: string, value = "") => ({ updatePartyProfile: { metadata: [{ key, value }] } });

describe("what the network's check refuses too", () => {
  test.each<[string, JsonObject, string]>([
    [
      "an order that is too large",
      { orderSubmission: { ...order, size: "4611686018427387904" } },
      "orderSubmission.size must be at most 4611686018427387903 (got 4611686018427387904)",
    ],
    [
      "an iceberg with a peak above its size",
      { orderSubmission: { ...order, icebergOpts: { peakSize: "11", minimumVisibleSize: "1" } } },
      "orderSubmission.icebergOpts.peakSize must not exceed size, 10",
    ],
    [
      "a long reference of an order",
      { orderSubmission: { ...order, reference: long } },
      "orderSubmission.reference must have at most 100 characters (got 101)",
    ],
    [
      "one of liquidity",
      { liquidityProvisionSubmission: { marketId: id, commitmentAmount: "1", fee: "0.1", reference: long } },
      "liquidityProvisionSubmission.reference reference is too long",
    ],
    [
      "one of its amendment",
      { liquidityProvisionAmendment: { marketId: id, fee: "0.1", reference: long } },
      "liquidityProvisionAmendment.reference reference is too long",
    ],
    [
      "a pegged offset of 0",
      { orderSubmission: { ...order, price: "", peggedOrder: { reference: "PEGGED_REFERENCE_MID", offset: "0" } } },
      "orderSubmission.peggedOrder.offset must be positive (got 0)",
    ],
    [
      "an unknown pegged reference",
      { orderSubmission: { ...order, price: "", peggedOrder: { reference: 9, offset: "1" } } },
      "orderSubmission.peggedOrder.reference must be a known value (got 9)",
    ],
    [
      "a pegged offset amended to 0",
      { orderAmendment: { ...amendment, peggedOffset: "0" } },
      "orderAmendment.peggedOffset must be positive (got 0)",
    ],
    [
      "an unknown pegged reference in an amendment",
      { orderAmendment: { ...amendment, peggedReference: 9 } },
      "orderAmendment.peggedReference must be a known value (got 9)",
    ],
    [
      "an amendment that amends nothing",
      { orderAmendment: amendment },
      "orderAmendment must change at least one field",
    ],
    [
      "one of an expiry of 0",
      { orderAmendment: { ...amendment, expiresAt: "0" } },
      "orderAmendment must change at least one field",
    ],
    [
      "an amendment with an empty price",
      { orderAmendment: { ...amendment, price: "" } },
      "orderAmendment.price must not be empty; omit it instead",
    ],
    [
      "a pair of which one is submitted when it expires",
      { stopOrdersSubmission: { risesAbove: stop, fallsBelow: { ...stop, ...submits } } },
      "stopOrdersSubmission.fallsBelow.expiryStrategy must not be EXPIRY_STRATEGY_SUBMIT in a pair",
    ],
    [
      "a size override of 0",
      {
        stopOrdersSubmission: {
          risesAbove: {
            ...stop,
            sizeOverrideSetting: "SIZE_OVERRIDE_SETTING_POSITION",
            sizeOverrideValue: { percentage: "0.0" },
          },
        },
      },
      "stopOrdersSubmission.risesAbove.sizeOverrideValue.percentage must be positive (got 0)",
    ],
    [
      "a withdrawal without details",
      { withdrawSubmission: { ...withdrawal, ext: {} } },
      "withdrawSubmission.ext.erc20 is required",
    ],
    [
      "one to no Ethereum address",
      { withdrawSubmission: { ...withdrawal, ext: { erc20: { receiverAddress: "0xabc" } } } },
      'withdrawSubmission.ext.erc20.receiverAddress must be an Ethereum address (got "0xabc")',
    ],
    [
      "one without an address",
      { withdrawSubmission: { ...withdrawal, ext: { erc20: {} } } },
      "withdrawSubmission.ext.erc20.receiverAddress is required",
    ],
    [
      "a transfer from an account of another kind",
      { transfer: { ...once, fromAccountType: "ACCOUNT_TYPE_BOND" } },
      "transfer.fromAccountType must be ACCOUNT_TYPE_GENERAL or ACCOUNT_TYPE_VESTED_REWARDS (got ACCOUNT_TYPE_BOND)",
    ],
    [
      "a single one to an account of another kind",
      { transfer: { ...once, toAccountType: "ACCOUNT_TYPE_INSURANCE" } },
      "transfer.toAccountType must be ACCOUNT_TYPE_GENERAL or ACCOUNT_TYPE_GLOBAL_REWARD or ACCOUNT_TYPE_NETWORK_TREASURY (got ACCOUNT_TYPE_INSURANCE)",
    ],
    [
      "one to the network's rewards with a receiver",
      { transfer: { ...once, toAccountType: "ACCOUNT_TYPE_GLOBAL_REWARD" } },
      "transfer.to must be 64 zeros with ACCOUNT_TYPE_GLOBAL_REWARD",
    ],
    [
      "a recurring one from vested rewards",
      { transfer: { ...transfer, ...vested, recurring } },
      "transfer.fromAccountType must be ACCOUNT_TYPE_GENERAL (got ACCOUNT_TYPE_VESTED_REWARDS)",
    ],
    [
      "one from another's account",
      { transfer: { ...once, from: id } },
      "transfer.from must be set only from ACCOUNT_TYPE_VESTED_REWARDS to ACCOUNT_TYPE_GENERAL",
    ],
    [
      "a recurring factor of 0",
      { transfer: { ...transfer, recurring: { ...recurring, factor: "0" } } },
      "transfer.recurring.factor must be positive (got 0)",
    ],
    [
      "an open team's allow list",
      team({ allowList: [id] }),
      "createReferralSet.team.allowList cannot set allow list when team is opened",
    ],
    [
      "one of a team that is opened",
      newTeam({ closed: false, allowList: [id] }),
      "updateReferralSet.team.allowList cannot set allow list when team is opened",
    ],
    [
      "a list of those who may join a team that may be open",
      newTeam({ allowList: [id] }),
      "updateReferralSet.team.allowList setting an allow list requires setting the closed state",
    ],
    [
      "a recurring transfer to rewards by a metric without a strategy",
      { transfer: { ...transfer, toAccountType: "ACCOUNT_TYPE_REWARD_RELATIVE_RETURN", recurring } },
      "transfer.recurring.dispatchStrategy is required",
    ],
    ["an empty name of a team", newTeam({ name: "" }), "updateReferralSet.team.name is required"],
    ["a blank metadata key", metadata(""), "updatePartyProfile.metadata[0].key cannot be blank"],
    ["a long metadata key", metadata("x".repeat(33)), "updatePartyProfile.metadata[0].key is limited to 32 characters"],
    [
      "an automated market maker without a fee",
      { submitAmm: { ...amm, proposedFee: "0" } },
      "submitAmm.proposedFee must be positive",
    ],
    [
      "one with an empty bound",
      { submitAmm: { ...amm, concentratedLiquidityParameters: { ...curve, lowerBound: "" } } },
      "submitAmm.concentratedLiquidityParameters.lowerBound must be a number",
    ],
    [
      "one with an empty leverage",
      { submitAmm: { ...amm, concentratedLiquidityParameters: { ...curve, leverageAtUpperBound: "" } } },
      "submitAmm.concentratedLiquidityParameters.leverageAtUpperBound must be a number",
    ],
    [
      "an amendment of it without a curve",
      { amendAmm: { ...ammAmendment, proposedFee: "0.1" } },
      "amendAmm.concentratedLiquidityParameters is required: without it, the amendment permanently halts a v0.78.0 network",
    ],
    [
      "one of a fee of 0",
      { amendAmm: { ...ammAmendment, concentratedLiquidityParameters: curve, proposedFee: "0" } },
      "amendAmm.proposedFee must be positive",
    ],
    [
      "one of an empty commitment",
      { amendAmm: { ...ammAmendment, concentratedLiquidityParameters: curve, commitmentAmount: "" } },
      "amendAmm.commitmentAmount must be a number",
    ],
  ])("%s", (_, command, problem) => {
    expect(problemsOf(command)).toEqual([problem]);
  });

  test.each<JsonObject>([
    { orderSubmission: { ...order, size: "4611686018427387903", reference: "x".repeat(100) } },
    { orderSubmission: { ...order, icebergOpts: { peakSize: "10", minimumVisibleSize: "1" } } },
    { orderAmendment: { ...amendment, peggedOffset: "1" } },
    { orderAmendment: { ...amendment, expiresAt: "1" } },
    { orderAmendment: { ...amendment, peggedReference: "PEGGED_REFERENCE_MID" } },
    { stopOrdersSubmission: { risesAbove: { ...stop, ...submits } } },
    { withdrawSubmission: withdrawal },
    { withdrawSubmission: { amount: "1", asset: id } },
    { orderSubmission: { ...order, price: "", peggedOrder: { reference: "PEGGED_REFERENCE_BEST_BID", offset: "0" } } },
    { transfer: once },
    { transfer: { ...once, toAccountType: "ACCOUNT_TYPE_GLOBAL_REWARD", to: zeros } },
    { transfer: { ...once, toAccountType: "ACCOUNT_TYPE_NETWORK_TREASURY", to: zeros } },
    { transfer: { ...once, ...vested, from: id } },
    { transfer: { ...transfer, recurring } },
    team({ closed: true, allowList: [id] }),
    newTeam({ closed: true, allowList: [id] }),
    metadata("x".repeat(32)),
    { submitAmm: amm },
    { amendAmm: { ...ammAmendment, proposedFee: "0.1", concentratedLiquidityParameters: curve } },
    { amendAmm: { ...ammAmendment, concentratedLiquidityParameters: curve } },
  ])("but not %j", (command) => {
    expect(problemsOf(command)).toEqual([]);
  });
});

describe("signatures of keys of small order", () => {
  // Points of small order, in their canonical encodings and in others.
  const small = [
    `01${"00".repeat(31)}`,
    `ec${"ff".repeat(30)}7f`,
    `${"00".repeat(32)}`,
    `${"00".repeat(31)}80`,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    `01${"00".repeat(30)}80`,
    `ee${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(30)}7f`,
  ];
  // What crypto/ed25519 of Go 1.26 accepts, the package that nodes verify with: for each key, the points that it takes as R
  // with S = 0 over the SHA3-256 digest of the message.
  test.each([
    ["any message at all", ["0", "0", "", "", "4", "", "0", "0", "023"]],
    ["one", ["0", "01", "13", "0", "1", "2", "0", "0", ""]],
    ["two", ["0", "0", "", "", "2", "5", "0", "0", ""]],
    ["three", ["0", "1", "2", "3", "2", "", "0", "0", "23"]],
  ])("verify as on nodes: %s", (text, accepted) => {
    const message = new TextEncoder().encode(text);
    const verified = small.map((key) =>
      small.flatMap((point, at) => (verifySignature(message, point + "00".repeat(32), key) ? [at] : [])).join(""),
    );
    expect(verified).toEqual(accepted);
  });
});
