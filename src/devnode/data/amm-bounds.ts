import {
  EstimateAMMBoundsResponse_AMMError as AmmError,
  type EstimateAMMBoundsRequest,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { invalidArgument } from "../api-error.js";
import type { MarketFigures } from "./position-estimate.js";

/** What is estimated of one side of a curve: figures in units of the asset's last decimal and in whole contracts. */
interface Bound {
  readonly position: number;
  readonly loss: number;
  readonly liquidationPrice: number;
  /** Whether the position is spread too thin over the prices. */
  readonly isTooWide: boolean;
}

const NOTHING: Bound = { position: 0, loss: 0, liquidationPrice: 0, isTooWide: false };

/**
 * Estimates where an automated market maker stands at the ends of its curve (core/execution/amm/estimator.go).
 *
 * @param figures the market's
 * @param request the curve, with prices of the market, and its commitment
 * @param minimum the minimum commitment, in quantums of the asset
 * @returns the answer
 * @throws ConnectError if a price, a leverage or the commitment is invalid
 */
export function boundsOf(figures: MarketFigures, request: EstimateAMMBoundsRequest, minimum: number) {
  const { priceFactor, positionFactor, quantum, long, short } = figures;
  const priceOf = (text: string, what: string) => Math.floor(amountOf(text, what) * priceFactor);
  const base = priceOf(request.basePrice, "base price");
  const upper = request.upperPrice === undefined ? undefined : priceOf(request.upperPrice, "upper price");
  if (upper !== undefined && upper <= base) {
    throw invalidArgument("invalid upper price");
  }
  const lower = request.lowerPrice === undefined ? undefined : priceOf(request.lowerPrice, "lower price");
  if (lower !== undefined && lower >= base) {
    throw invalidArgument("invalid lower price");
  }
  // Without a leverage, the network takes the risk factor of the other side.
  const leverageAtLower = leverageOf(request.leverageAtLowerPrice, "lower") ?? short;
  const leverageAtUpper = leverageOf(request.leverageAtUpperPrice, "upper") ?? long;
  const commitment = amountOf(request.commitmentAmount, "commitment amount");
  const below = lower === undefined ? NOTHING : boundOf(figures, [lower, base], leverageAtLower, commitment, -1);
  const above = upper === undefined ? NOTHING : boundOf(figures, [base, upper], leverageAtUpper, commitment, 1);
  return {
    positionSizeAtUpper: truncated(above.position * positionFactor),
    positionSizeAtLower: truncated(below.position * positionFactor),
    lossOnCommitmentAtUpper: truncated(above.loss),
    lossOnCommitmentAtLower: truncated(below.loss),
    liquidationPriceAtUpper: truncated(above.liquidationPrice / priceFactor),
    liquidationPriceAtLower: truncated(below.liquidationPrice / priceFactor),
    ...errorOf(below, above, commitment / quantum < minimum),
  };
}

function errorOf(below: Bound, above: Bound, isTooSmall: boolean): { readonly ammError?: AmmError } {
  if (isTooSmall) {
    return { ammError: AmmError.AMM_ERROR_COMMITMENT_BELOW_MINIMUM };
  }
  if (below.isTooWide && above.isTooWide) {
    return { ammError: AmmError.AMM_ERROR_BOTH_BOUNDS_TOO_WIDE };
  }
  if (below.isTooWide) {
    return { ammError: AmmError.AMM_ERROR_LOWER_BOUND_TOO_WIDE };
  }
  return above.isTooWide ? { ammError: AmmError.AMM_ERROR_UPPER_BOUND_TOO_WIDE } : {};
}

/** The end of one side of the curve: the lower (-1) or the upper one (1). */
function boundOf(
  { priceFactor, slippage, scaling, long, short }: MarketFigures,
  [low, high]: readonly [number, number],
  leverage: number,
  commitment: number,
  end: -1 | 1,
): Bound {
  const risk = end === 1 ? short : long;
  const at = end === 1 ? high : low;
  const [rootLow, rootHigh] = [Math.sqrt(low), Math.sqrt(high)];
  const unit = (rootHigh * rootLow) / (rootHigh - rootLow);
  const entry = unit * rootHigh * (1 - unit / (unit + rootHigh));
  const factor = Math.min(leverage, 1 / ((risk + slippage) * (scaling?.initialMargin ?? 0)));
  const position = (-end * factor * commitment) / (at * (1 + end * factor) - end * factor * entry);
  const loss = Math.abs((entry - at) * position);
  const margin = Math.abs(position) * (slippage + risk) - position;
  const liquidationPrice = Math.max(0, (commitment - loss - position * at) / margin);
  const rootBelow = Math.sqrt(high - Math.max(1, Math.floor(priceFactor)));
  const spread = (Math.abs(unit * position) * (rootHigh - rootBelow)) / (rootHigh * rootBelow);
  const isTooWide = spread < 1;
  return position === 0 ? { ...NOTHING, isTooWide } : { position, loss, liquidationPrice, isTooWide };
}

function amountOf(text: string, what: string): number {
  if (!/^\d+$/.test(text)) {
    throw invalidArgument(`invalid ${what}`);
  }
  return Number(text);
}

function leverageOf(text: string | undefined, end: "lower" | "upper"): number | undefined {
  if (text === undefined) {
    return undefined;
  }
  if (!/^\d+(\.\d*)?$/.test(text)) {
    throw invalidArgument(`invalid leverage at ${end} price`, `can't convert ${text} to decimal`);
  }
  return Number(text);
}

/** An amount as a whole number; what comes behind the point is cut off. */
function truncated(amount: number): string {
  return String(BigInt(Math.trunc(amount)));
}
