import type { Market } from "../../../gen/vega/markets_pb.js";
import { FIXED_POINT_DECIMALS, parseFixedPoint } from "./fixed-point.js";

/** Shares of a position's value that a market requires as margin, as fixed-point numbers. */
export interface RiskFactors {
  readonly long: bigint;
  readonly short: bigint;
}

/**
 * Computes the risk factors of a market: those of a simple model directly, those of a log-normal model as the expected
 * shortfall of its returns. Recorded from v0.78.0 for a volatility of 3, a risk aversion of 0.01 and a horizon of
 * 1.90128526884173e-6: 0.010972050726665739 and 0.011078146496002805.
 */
export function riskFactorsOf({ tradableInstrument }: Market): RiskFactors {
  const model = tradableInstrument?.riskModel;
  switch (model?.case) {
    case "simpleRiskModel": {
      const { factorLong = 0, factorShort = 0 } = model.value.params ?? {};
      return { long: fixedPointOf(factorLong), short: fixedPointOf(factorShort) };
    }
    case "logNormalRiskModel": {
      const { riskAversionParameter: aversion, tau, params } = model.value;
      const deviation = (params?.sigma ?? 0) * Math.sqrt(tau);
      const growth = Math.expm1((params?.mu ?? 0) * tau);
      const quantile = normalQuantile(aversion);
      // The share of the tail that a shift by the deviation adds or removes. Integrating it avoids the cancellation of a
      // difference.
      const share = (from: number, to: number) => ((1 + growth) * normalBetween(from, to)) / aversion;
      return {
        long: fixedPointOf(share(quantile - deviation, quantile) - growth),
        short: fixedPointOf(share(quantile, quantile + deviation) + growth),
      };
    }
    default:
      return { long: 0n, short: 0n };
  }
}

/** Converts a factor that messages hold as a double, such as 1.1, to a fixed-point number. */
export function fixedPointOf(value: number): bigint {
  const text = String(value);
  return parseFixedPoint(text.includes("e") ? value.toFixed(FIXED_POINT_DECIMALS) : text);
}

/** Returns the standard normal distribution function at a value, by its series. */
function normalBelow(value: number): number {
  let term = value;
  let sum = value;
  for (let odd = 3; Math.abs(term) > Number.EPSILON * Math.abs(sum); odd += 2) {
    term *= (value * value) / odd;
    sum += term;
  }
  return 0.5 + sum * density(value);
}

/** Returns the probability of a standard normal variable between two values, by Simpson's rule. */
function normalBetween(from: number, to: number): number {
  const width = (to - from) / STEPS;
  let sum = density(from) + density(to);
  for (let step = 1; step < STEPS; step += 1) {
    sum += density(from + step * width) * (step % 2 === 0 ? 2 : 4);
  }
  return (sum * width) / 3;
}

const STEPS = 512;

const density = (value: number) => Math.exp((-value * value) / 2) / Math.sqrt(2 * Math.PI);

/**
 * Returns the quantile of the standard normal distribution for a probability of at most one half, by Newton's method.
 */
function normalQuantile(probability: number): number {
  let value = 0;
  for (let step = 0; step < 100; step += 1) {
    const next = value - (normalBelow(value) - probability) / density(value);
    if (next === value) {
      break;
    }
    value = Math.max(next, value - 1); // Far from the middle the density is small, and a full step could overshoot.
  }
  return value;
}
