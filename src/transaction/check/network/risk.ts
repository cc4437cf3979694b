import type { LogNormalRiskModel, RiskFactorOverride, SimpleModelParams } from "../../../../gen/vega/markets_pb.js";
import type { Field, NetworkProblem } from "./field.js";
import { decimalRule, MESSAGE, positiveDecimal, requiredDecimal } from "./rules.js";

type Problems = Generator<NetworkProblem>;

/** The risk parameters of a market. */
type RiskParameters =
  | { readonly case: "simple"; readonly value: SimpleModelParams }
  | { readonly case: "logNormal"; readonly value: LogNormalRiskModel }
  | { readonly case: undefined };

/** A number of the log-normal model, and the range that a new market has to keep it in. */
const RANGES = {
  riskAversionParameter: [1e-8, 0.1, "must be between [1e-8, 0.1]"],
  tau: [1e-8, 1, "must be between [1e-8, 1]"],
  mu: [-1e-6, 1e-6, "must be between [-1e-6,1e-6]"],
  sigma: [1e-3, 50, "must be between [1e-3,50]"],
  r: [-1, 1, "must be between [-1,1]"],
} as const;

/**
 * Checks the risk parameters of a market (`commands/proposal_submission.go`).
 *
 * @param risk the parameters
 * @param changes the field of the market's configuration
 * @param market whether the market is new, and whether it may override its risk factors, which spot markets do not
 */
export function* riskProblems(
  risk: RiskParameters,
  changes: Field,
  { isNew, overrides }: { readonly isNew: boolean; readonly overrides: boolean },
): Problems {
  if (risk.case === undefined) {
    yield changes.field("riskParameters").problem(MESSAGE.required);
    return;
  }
  const at = changes.field(risk.case).named(changes.field("riskParameters").field(risk.case).property);
  if (risk.case === "simple") {
    yield* simpleProblems(risk.value, at);
    return;
  }
  const problem = logNormalProblem(risk.value, at, isNew ? isOutOfRange : isNotPositive);
  if (problem !== undefined) {
    yield problem;
  } else if (overrides && risk.value.riskFactorOverride !== undefined) {
    yield* overrideProblems(risk.value.riskFactorOverride, at.field("riskFactorOverride"), isNew);
  }
}

function* simpleProblems({ minMoveDown, maxMoveUp, probabilityOfTrading }: SimpleModelParams, at: Field): Problems {
  if (minMoveDown > 0) {
    yield at.field("minMoveDown").problem(MESSAGE.negativeOrZero);
  }
  if (maxMoveUp < 0) {
    yield at.field("maxMoveUp").problem(MESSAGE.positiveOrZero);
  }
  if (probabilityOfTrading < 0 || probabilityOfTrading > 1) {
    yield at.field("probabilityOfTrading").problem("should be between 0 (inclusive) and 1 (inclusive)");
  }
}

/** Finds the first problem of the log-normal model: the network looks no further. */
function logNormalProblem(
  { riskAversionParameter, tau, params }: LogNormalRiskModel,
  at: Field,
  refuse: (name: keyof typeof RANGES, value: number) => string | undefined,
): NetworkProblem | undefined {
  if (params === undefined) {
    return at.field("params").problem(MESSAGE.required);
  }
  const numbers = { riskAversionParameter, tau } as const;
  for (const name of ["riskAversionParameter", "tau"] as const) {
    const message = refuse(name, numbers[name]);
    if (message !== undefined) {
      return at.field(name).problem(message);
    }
  }
  for (const name of ["mu", "sigma", "r"] as const) {
    const message = Number.isNaN(params[name]) ? MESSAGE.notANumber : refuse(name, params[name]);
    if (message !== undefined) {
      return at.field("params").field(name).problem(message);
    }
  }
  return undefined;
}

function isOutOfRange(name: keyof typeof RANGES, value: number): string | undefined {
  const [least, most, message] = RANGES[name];
  return value < least || value > most ? message : undefined;
}

function isNotPositive(name: keyof typeof RANGES, value: number): string | undefined {
  return name !== "mu" && name !== "r" && value <= 0 ? MESSAGE.positive : undefined;
}

function* overrideProblems(override: RiskFactorOverride, at: Field, isNew: boolean): Problems {
  for (const name of ["short", "long"] as const) {
    if (!isNew && override[name] === "") {
      yield at.field(name).problem(MESSAGE.required);
      yield* decimalRule(at.field(name), "", positiveDecimal);
      continue;
    }
    yield* requiredDecimal(at.field(name), override[name], positiveDecimal);
    if (override[name] === "") {
      return; // Of a new market, the network looks no further.
    }
  }
}
