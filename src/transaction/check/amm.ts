import type {
  AmendAMM,
  SubmitAMM,
  SubmitAMM_ConcentratedLiquidityParameters,
} from "../../../gen/vega/commands/v1/commands_pb.js";
import { HALTING_AMENDMENT } from "./halting.js";
import {
  decimal,
  fieldProblems,
  identifier,
  type Problem,
  positiveDecimal,
  positiveWhole,
  present,
  upToOne,
  whereSet,
} from "./problem.js";

/**
 * Check the submission of an automated market maker.
 *
 * @param amm the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function* ammProblems(amm: SubmitAMM, at: string): Generator<Problem> {
  const { concentratedLiquidityParameters: curve } = amm;
  yield* fieldProblems(
    amm,
    {
      marketId: identifier,
      commitmentAmount: positiveWhole,
      slippageTolerance: upToOne,
      proposedFee: positiveDecimal,
      concentratedLiquidityParameters: present,
    },
    at,
  );
  if (curve !== undefined) {
    yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
  }
}

/**
 * Check the amendment of an automated market maker.
 *
 * @param amm the command
 * @param at its path, with which the paths of the problems begin
 * @returns the problems
 */
export function* ammAmendmentProblems(amm: AmendAMM, at: string): Generator<Problem> {
  const { concentratedLiquidityParameters: curve } = amm;
  const rules = { commitmentAmount: whereSet(positiveWhole), proposedFee: whereSet(positiveDecimal) };
  const wrong = [...fieldProblems(amm, { marketId: identifier, slippageTolerance: upToOne, ...rules }, at)];
  yield* wrong;
  if (curve !== undefined) {
    yield* curveProblems(curve, `${at}.concentratedLiquidityParameters`);
  } else if (wrong.length === 0) {
    yield { path: `${at}.concentratedLiquidityParameters`, message: HALTING_AMENDMENT };
  }
}

/** Check the curve of an automated market maker: lower bound, base and upper bound must ascend. */
function* curveProblems(
  curve: Omit<SubmitAMM_ConcentratedLiquidityParameters, "$typeName">,
  at: string,
): Generator<Problem> {
  const bounds = { base: positiveWhole, lowerBound: whereSet(positiveWhole), upperBound: whereSet(positiveWhole) };
  const leverages = { leverageAtLowerBound: whereSet(decimal), leverageAtUpperBound: whereSet(decimal) };
  const wrong = [...fieldProblems(curve, { ...bounds, ...leverages }, at)];
  yield* wrong;
  const { base, lowerBound, upperBound } = curve;
  if (lowerBound === undefined && upperBound === undefined) {
    yield { path: at, message: "holds neither lowerBound nor upperBound" };
  }
  if (wrong.length > 0) {
    return;
  }
  if (lowerBound !== undefined && BigInt(lowerBound) >= BigInt(base)) {
    yield { path: `${at}.lowerBound`, message: "has to be below base" };
  }
  if (upperBound !== undefined && BigInt(upperBound) <= BigInt(base)) {
    yield { path: `${at}.upperBound`, message: "has to be above base" };
  }
}
