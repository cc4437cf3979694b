import { create, fromJson, type JsonObject, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "@jest/globals";
import { commandProblems } from "tradewire";
import { InputDataSchema } from "tradewire/gen/vega/commands/v1/transaction_pb.js";
import { problemsOf } from "../../support/command-problems.js";

const market = "ab".repeat(32);
const id = "cd".repeat(32);

const limit = {
  marketId: market,
  price: "123456",
  size: "10",
  side: "SIDE_BUY",
  timeInForce: "TIME_IN_FORCE_GTC",
  type: "TYPE_LIMIT",
};
function emptyCommand(name: string): MessageInitShape<typeof InputDataSchema> {
  return fromJson(InputDataSchema, { [name]: {} });
}

describe("other commands", () => {
  test.each<[JsonObject, string[]]>([
    [{ orderCancellation: {} }, []],
    [{ orderCancellation: { orderId: "x" } }, ['orderCancellation.orderId must be 64 hex digits (got "x")']],
    [{ orderAmendment: { orderId: id, marketId: market, sizeDelta: "-1" } }, []],
    [
      { orderAmendment: { orderId: id, marketId: market, size: "1", sizeDelta: "1" } },
      ["orderAmendment.sizeDelta cannot be combined with size"],
    ],
    [
      { orderAmendment: { orderId: id, marketId: market, timeInForce: "TIME_IN_FORCE_GFA" } },
      ["orderAmendment.timeInForce cannot be changed to TIME_IN_FORCE_GFA or TIME_IN_FORCE_GFN"],
    ],
    [{ stopOrdersCancellation: {} }, []],
    [
      { stopOrdersCancellation: { stopOrderId: "1" } },
      ['stopOrdersCancellation.stopOrderId must be 64 hex digits (got "1")'],
    ],
    [{ batchMarketInstructions: {} }, ["batchMarketInstructions must contain at least one instruction"]],
    [
      { batchMarketInstructions: { submissions: [limit, { ...limit, price: "" }] } },
      ["batchMarketInstructions.submissions[1].price is required for a limit order"],
    ],
    [
      {
        batchMarketInstructions: {
          amendments: [
            { orderId: id, marketId: market, sizeDelta: "1" },
            { orderId: id, marketId: market, sizeDelta: "1" },
          ],
        },
      },
      ["batchMarketInstructions.amendments[1].orderId is already amended in this batch"],
    ],
    [{ withdrawSubmission: { asset: id } }, ["withdrawSubmission.amount is required"]],
    [{ voteSubmission: { proposalId: id } }, ["voteSubmission.value is required"]],
    [{ liquidityProvisionSubmission: { marketId: id, commitmentAmount: "1", fee: "0.001" } }, []],
    [
      { liquidityProvisionSubmission: { marketId: id, commitmentAmount: "1", fee: "x" } },
      ["liquidityProvisionSubmission.fee is not a valid value"],
    ],
    [
      { delegateSubmission: { nodeId: id, amount: String(2n ** 256n) } },
      ["delegateSubmission.amount must fit into 256 bits"],
    ],
    [{ liquidityProvisionCancellation: {} }, ["liquidityProvisionCancellation.marketId is required"]],
    [{ delegateSubmission: { nodeId: id } }, ["delegateSubmission.amount is required"]],
    [{ undelegateSubmission: { nodeId: id } }, ["undelegateSubmission.method is required"]],
    // By core/delegation/engine.go, an amount of 0 takes back all.
    [
      { undelegateSubmission: { nodeId: id, amount: "0", method: "METHOD_NOW" } },
      ["undelegateSubmission.amount must be positive (got 0)"],
    ],
    [
      { delegateSubmission: { nodeId: id, amount: `+${2n ** 256n}` } },
      ["delegateSubmission.amount must fit into 256 bits"],
    ],
    [
      { updateMarginMode: { marketId: id, mode: "MODE_ISOLATED_MARGIN", marginFactor: "20" } },
      ['updateMarginMode.marginFactor must be a decimal number above 0 and at most 1 (got "20")'],
    ],
    [
      {
        batchMarketInstructions: {
          updateMarginMode: [{ marketId: id, mode: "MODE_ISOLATED_MARGIN", marginFactor: "20" }],
        },
      },
      [
        'batchMarketInstructions.updateMarginMode[0].marginFactor must be a decimal number above 0 and at most 1 (got "20")',
      ],
    ],
    [
      { transfer: { fromAccountType: 4, toAccountType: 4, to: id, asset: id, amount: "1" } },
      ["transfer must contain oneOff or recurring"],
    ],
    [
      {
        transfer: {
          fromAccountType: 4,
          toAccountType: 4,
          to: id,
          asset: id,
          amount: "1",
          recurring: { startEpoch: "5", endEpoch: "4", factor: "1" },
        },
      },
      ["transfer.recurring.endEpoch must not be before startEpoch"],
    ],
    [{ cancelTransfer: {} }, ["cancelTransfer.transferId is required"]],
    [{ createReferralSet: { isTeam: true } }, ["createReferralSet.team is required"]],
    [{ createReferralSet: { isTeam: true, team: {} } }, ["createReferralSet.team.name is required"]],
    [
      { updateReferralSet: { id, isTeam: true, team: { name: "x".repeat(101) } } },
      ["updateReferralSet.team.name must be less than 100 characters"],
    ],
    [{ applyReferralCode: {} }, ["applyReferralCode.id must be 64 hex digits"]],
    [{ joinTeam: { id: "7" } }, ["joinTeam.id must be 64 hex digits"]],
    [{ updateMarginMode: { marketId: id, mode: "MODE_CROSS_MARGIN" } }, []],
    [
      { updateMarginMode: { marketId: id, mode: "MODE_ISOLATED_MARGIN" } },
      ["updateMarginMode.marginFactor margin factor must be defined when margin mode is isolated margin"],
    ],
    [{ updatePartyProfile: { alias: "x".repeat(33) } }, ["updatePartyProfile.alias is limited to 32 characters"]],
    [
      {
        submitAmm: {
          marketId: id,
          commitmentAmount: "1",
          slippageTolerance: "0.1",
          proposedFee: "0.1",
          concentratedLiquidityParameters: { base: "10", lowerBound: "11", upperBound: "9" },
        },
      },
      [
        "submitAmm.concentratedLiquidityParameters.base should be a bigger value than lower_bound",
        "submitAmm.concentratedLiquidityParameters.base should be a smaller value than upper_bound",
      ],
    ],
    [
      { amendAmm: { marketId: id } },
      [
        "amendAmm.concentratedLiquidityParameters is required: without it, the amendment permanently halts a v0.78.0 network",
      ],
    ],
    [{ cancelAmm: { marketId: id } }, ["cancelAmm.method is required"]],
  ])("%j", (command, problems) => {
    expect(problemsOf(command)).toEqual(problems);
  });

  test("every command of a party is checked: an empty one is wrong, except those that mean all, and those that the node checks", () => {
    const unproblematic = InputDataSchema.oneofs[0]?.fields.filter((field) => {
      const message = create(InputDataSchema, emptyCommand(field.localName));
      return message.command.case !== undefined && commandProblems(message.command).length === 0;
    });
    expect(unproblematic?.map(({ localName }) => localName)).toEqual([
      "orderCancellation",
      "proposalSubmission",
      "announceNode",
      "stopOrdersCancellation",
      "createReferralSet",
      "batchProposalSubmission",
      "updatePartyProfile",
      "nodeVote",
      "nodeSignature",
      "chainEvent",
      "keyRotateSubmission",
      "stateVariableProposal",
      "ethereumKeyRotateSubmission",
      "protocolUpgradeProposal",
      "issueSignatures",
      "oracleDataSubmission",
      "delayedTransactionsWrapper",
    ]);
  });
});
