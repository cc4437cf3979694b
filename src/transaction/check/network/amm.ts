import type {
  AmendAMM,
  SubmitAMM,
  SubmitAMM_ConcentratedLiquidityParameters,
} from "../../../../gen/vega/commands/v1/commands_pb.js";
import type { Field, NetworkProblem } from "./field.js";
import { integer, signOf } from "./numbers.js";
import {
  above0To1,
  decimalRule,
  MESSAGE,
  positiveDecimal,
  positiveInteger,
  required,
  requiredDecimal,
  requiredId,
  requiredInteger,
} from "./rules.js";

type Problems = Generator<NetworkProblem>;

type Curve = Omit<SubmitAMM_ConcentratedLiquidityParameters, "$typeName">;

/** Checks the submission of an automated market maker (`commands/submit_amm.go`). */
export function* ammProblems(amm: SubmitAMM, at: Field): Problems {
  const { concentratedLiquidityParameters: curve } = amm;
  yield* requiredId(at.field("marketId"), amm.marketId);
  yield* requiredDecimal(at.field("slippageTolerance"), amm.slippageTolerance, above0To1);
  yield* requiredInteger(at.field("commitmentAmount"), amm.commitmentAmount, positiveInteger);
  yield* amm.proposedFee === ""
    ? required(at.field("proposedFee"), amm.proposedFee)
    : decimalRule(at.field("proposedFee"), amm.proposedFee, positiveDecimal, MESSAGE.notValid);
  const field = at.field("concentratedLiquidityParameters");
  if (curve === undefined) {
    yield field.problem(MESSAGE.required);
    return;
  }
  yield* required(field.field("base"), curve.base);
  yield* curveProblems(curve, field, amm.slippageTolerance, at);
}

/** Checks the amendment of an automated market maker (`commands/amend_amm.go`). */
export function* ammAmendmentProblems(amm: AmendAMM, at: Field): Problems {
  const { concentratedLiquidityParameters: curve, commitmentAmount, proposedFee } = amm;
  const problems = [...amendedProblems(amm, at)];
  yield* problems;
  const hasUpdate = [commitmentAmount, proposedFee, curve].some((value) => value !== undefined);
  if (!hasUpdate && problems.length === 0) {
    yield at.general("no updates provided");
  }
}

function* amendedProblems(amm: AmendAMM, at: Field): Problems {
  const { concentratedLiquidityParameters: curve, commitmentAmount, proposedFee } = amm;
  yield* requiredId(at.field("marketId"), amm.marketId);
  yield* requiredDecimal(at.field("slippageTolerance"), amm.slippageTolerance, above0To1);
  if (commitmentAmount !== undefined) {
    yield* amountProblems(at.field("commitmentAmount"), commitmentAmount);
  }
  if (proposedFee !== undefined) {
    yield* decimalRule(at.field("proposedFee"), proposedFee, positiveDecimal, MESSAGE.notValid);
  }
  if (curve !== undefined) {
    const field = at.field("concentratedLiquidityParameters");
    if (curve.base === "") {
      yield field.field("base").problem(MESSAGE.notANumber);
    }
    // The network names a field of the submission here.
    yield* curveProblems(curve, field, amm.slippageTolerance, at.named("submit_amm"));
  }
}

/** Checks the curve of an automated market maker, and its slippage tolerance for a second time. */
function* curveProblems(curve: Curve, at: Field, slippageTolerance: string, amm: Field): Problems {
  const { base, lowerBound, upperBound } = curve;
  if (base !== "") {
    yield* amountProblems(at.field("base"), base);
  }
  for (const name of ["lowerBound", "upperBound"] as const) {
    const bound = curve[name];
    if (bound !== undefined) {
      yield* amountProblems(at.field(name), bound);
    }
  }
  if (lowerBound === undefined && upperBound === undefined) {
    yield at.field("lowerBound").problem("lower_bound and upper_bound cannot both be empty");
  }
  const [middle, lower, upper] = [base, lowerBound ?? "", upperBound ?? ""].map(integer);
  if (middle !== undefined && lower !== undefined && middle <= lower) {
    yield at.field("base").problem("should be a bigger value than lower_bound");
  }
  if (middle !== undefined && upper !== undefined && middle >= upper) {
    yield at.field("base").problem("should be a smaller value than upper_bound");
  }
  for (const name of ["leverageAtUpperBound", "leverageAtLowerBound"] as const) {
    const leverage = curve[name];
    if (leverage !== undefined) {
      yield* decimalRule(at.field(name), leverage, refuseNegative);
    }
  }
  yield* requiredDecimal(amm.field("slippageTolerance"), slippageTolerance, refuseNegative);
}

function* amountProblems(at: Field, amount: string): Problems {
  const value = integer(amount);
  if (value === undefined || value <= 0n) {
    yield at.problem(value === undefined ? MESSAGE.notANumber : MESSAGE.positive);
  }
}

function refuseNegative(value: Parameters<typeof signOf>[0]): string | undefined {
  return signOf(value) < 0 ? MESSAGE.positive : undefined;
}
