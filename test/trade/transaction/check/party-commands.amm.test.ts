import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, it } from "@jest/globals";
import { AmendAMMSchema, SubmitAMMSchema } from "tradewire/gen/vega/commands/v1/commands_pb.js";
import { ammAmendmentProblems, ammProblems } from "../../../../src/trade/transaction/check/party-commands.js";

const id = "ab".repeat(32);
const curve = { base: "1000", lowerBound: "900", upperBound: "1100" };
const whole = {
  marketId: id,
  commitmentAmount: "500000",
  slippageTolerance: "0.05",
  proposedFee: "0.001",
  concentratedLiquidityParameters: curve,
};
const lines = (problems: Iterable<{ path: string; message: string }>) =>
  [...problems].map(({ path, message }) => `${path} ${message}`);
const submission = (change: JsonObject) =>
  lines(ammProblems(fromJson(SubmitAMMSchema, { ...whole, ...change }), "amm"));
const amendment = (change: JsonObject) =>
  lines(
    ammAmendmentProblems(fromJson(AmendAMMSchema, { marketId: id, slippageTolerance: "0.05", ...change }), "amendment"),
  );

describe("a market maker", () => {
  it.each<[JsonObject]>([
    [{}],
    [{ commitmentAmount: "1" }],
    [{ slippageTolerance: "0.000001" }],
    [{ slippageTolerance: "1" }],
    [{ proposedFee: "0.000001" }],
    [{ proposedFee: "2" }],
  ])("may have %j", (change) => {
    expect(submission(change)).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ marketId: "" }, ".marketId is required"],
    [{ marketId: "x" }, '.marketId must be 64 hex digits (got "x")'],
    [{ commitmentAmount: "" }, ".commitmentAmount is required"],
    [{ commitmentAmount: "0" }, ".commitmentAmount must be positive (got 0)"],
    [{ commitmentAmount: "1.5" }, '.commitmentAmount must be an unsigned whole number (got "1.5")'],
    [{ slippageTolerance: "" }, '.slippageTolerance must be a decimal number above 0 and at most 1 (got "")'],
    [{ slippageTolerance: "0" }, '.slippageTolerance must be a decimal number above 0 and at most 1 (got "0")'],
    [{ slippageTolerance: "1.01" }, '.slippageTolerance must be a decimal number above 0 and at most 1 (got "1.01")'],
    [{ proposedFee: "" }, ".proposedFee is required"],
    [{ proposedFee: "0.0" }, ".proposedFee must be positive (got 0)"],
    [{ proposedFee: "-1" }, '.proposedFee must be a decimal number of at least 0 (got "-1")'],
    [{ concentratedLiquidityParameters: null }, ".concentratedLiquidityParameters is required"],
  ])("with %j is refused:%s", (change, problem) => {
    expect(submission(change)).toEqual([`amm${problem}`]);
  });

  it("is told all that is wrong with it, its curve included", () => {
    const empty = lines(ammProblems(fromJson(SubmitAMMSchema, { concentratedLiquidityParameters: {} }), "amm"));
    expect(empty).toEqual([
      "amm.marketId is required",
      "amm.commitmentAmount is required",
      'amm.slippageTolerance must be a decimal number above 0 and at most 1 (got "")',
      "amm.proposedFee is required",
      "amm.concentratedLiquidityParameters.base is required",
      "amm.concentratedLiquidityParameters must contain lowerBound, upperBound or both",
    ]);
  });
});

const HALTS =
  ".concentratedLiquidityParameters is required: without it, the amendment permanently halts a v0.78.0 network";

describe("an amendment", () => {
  it.each<[JsonObject]>([
    [{ concentratedLiquidityParameters: curve }],
    [{ concentratedLiquidityParameters: curve, commitmentAmount: "1" }],
    [{ concentratedLiquidityParameters: curve, proposedFee: "0.000001" }],
    [{ concentratedLiquidityParameters: curve, slippageTolerance: "1", commitmentAmount: "1", proposedFee: "0.01" }],
  ])("may change %j", (change) => {
    expect(amendment(change)).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    // By core/execution/future/market.go, VerifyAMMBounds reads the curve whether there is one or not.
    [{}, HALTS],
    [{ slippageTolerance: "1" }, HALTS],
    [{ commitmentAmount: "1", proposedFee: "0.01" }, HALTS],
    [{ marketId: "" }, ".marketId is required"],
    [{ slippageTolerance: "0" }, '.slippageTolerance must be a decimal number above 0 and at most 1 (got "0")'],
    [{ slippageTolerance: "1.1" }, '.slippageTolerance must be a decimal number above 0 and at most 1 (got "1.1")'],
    [{ commitmentAmount: "" }, ".commitmentAmount must not be empty; omit it instead"],
    [{ commitmentAmount: "0" }, ".commitmentAmount must be positive (got 0)"],
    [{ proposedFee: "" }, ".proposedFee must not be empty; omit it instead"],
    [{ proposedFee: "0" }, ".proposedFee must be positive (got 0)"],
    [{ concentratedLiquidityParameters: { lowerBound: "9" } }, ".concentratedLiquidityParameters.base is required"],
    [
      { concentratedLiquidityParameters: { base: "10" } },
      ".concentratedLiquidityParameters must contain lowerBound, upperBound or both",
    ],
  ])("%j is refused:%s", (change, problem) => {
    expect(amendment(change)).toEqual([`amendment${problem}`]);
  });
});

describe("a curve", () => {
  const problems = (parameters: JsonObject) => submission({ concentratedLiquidityParameters: parameters });

  it("has a lower bound below its base, as numbers", () => {
    const problem = "amm.concentratedLiquidityParameters.lowerBound must be below base";
    expect(problems({ base: "10", lowerBound: "9" })).toEqual([]);
    expect(problems({ base: "10", lowerBound: "10" })).toEqual([problem]);
    expect(problems({ base: "10", lowerBound: "11" })).toEqual([problem]);
    expect(problems({ base: "9", lowerBound: "10" })).toEqual([problem]);
    expect(problems({ base: "9007199254740993", lowerBound: "9007199254740992" })).toEqual([]);
  });

  it("has an upper bound above its base, as numbers", () => {
    const problem = "amm.concentratedLiquidityParameters.upperBound must be above base";
    expect(problems({ base: "9", upperBound: "10" })).toEqual([]);
    expect(problems({ base: "10", upperBound: "10" })).toEqual([problem]);
    expect(problems({ base: "10", upperBound: "9" })).toEqual([problem]);
    expect(problems({ base: "9007199254740992", upperBound: "9007199254740993" })).toEqual([]);
  });

  it("has one of its bounds at least", () => {
    expect(problems({ base: "10" })).toEqual([
      "amm.concentratedLiquidityParameters must contain lowerBound, upperBound or both",
    ]);
  });

  it.each(["0", "0.5", "20"])("may have a leverage of %s at its bounds", (leverage) => {
    expect(problems({ ...curve, leverageAtLowerBound: leverage, leverageAtUpperBound: leverage })).toEqual([]);
  });

  it.each<[JsonObject, string]>([
    [{ base: "" }, "base is required"],
    [{ base: "0" }, "base must be positive (got 0)"],
    [{ base: "1.5" }, 'base must be an unsigned whole number (got "1.5")'],
    [{ lowerBound: "" }, "lowerBound must not be empty; omit it instead"],
    [{ lowerBound: "0" }, "lowerBound must be positive (got 0)"],
    [{ upperBound: "" }, "upperBound must not be empty; omit it instead"],
    [{ upperBound: "-1" }, 'upperBound must be an unsigned whole number (got "-1")'],
    [{ leverageAtLowerBound: "" }, "leverageAtLowerBound must not be empty; omit it instead"],
    [{ leverageAtLowerBound: "-1" }, 'leverageAtLowerBound must be a decimal number of at least 0 (got "-1")'],
    [{ leverageAtUpperBound: "" }, "leverageAtUpperBound must not be empty; omit it instead"],
    [{ leverageAtUpperBound: "x" }, 'leverageAtUpperBound must be a decimal number of at least 0 (got "x")'],
  ])("with %j is refused: %s", (change, problem) => {
    expect(problems({ ...curve, ...change })).toEqual([`amm.concentratedLiquidityParameters.${problem}`]);
  });

  it("is compared only once its numbers are numbers", () => {
    expect(problems({ base: "10", lowerBound: "11", upperBound: "x" })).toEqual([
      'amm.concentratedLiquidityParameters.upperBound must be an unsigned whole number (got "x")',
    ]);
  });
});
