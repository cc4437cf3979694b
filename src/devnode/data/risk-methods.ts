import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  EstimateAMMBoundsResponse_AMMError as AmmError,
  type EstimateAMMBoundsRequest,
  type EstimateFeeRequest,
  type EstimateMarginRequest,
  type EstimatePositionRequest,
  type OrderInfo,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Market, Market_TradingMode, type ScalingFactors } from "../../../gen/vega/markets_pb.js";
import {
  type Fee,
  type MarginLevels,
  MarginLevelsSchema,
  MarginMode,
  type MarketData,
  Order_Type,
  Side,
} from "../../../gen/vega/vega_pb.js";
import { apiError, invalidArgument, NO_RESOURCE, requireFound } from "../api-error.js";
import { divideRounded, FIXED_POINT_DECIMALS } from "../engine/decimal.js";
import { initialMarketState } from "../engine/initial-state.js";
import { riskFactorsOf } from "../engine/risk-factors.js";
import { feesOf } from "../engine/trades.js";
import type { World } from "../world/world.js";
import { canBeIdentifier, identifier, NO_IDENTIFIER, type Query, queryError } from "./filters.js";
import { marketIdentifier } from "./market-methods.js";
import type { DataMethods } from "./method.js";

const FEE: Query = { message: "failed to estimate fee" };
const MARGIN: Query = { message: "failed to estimate margin" };

/** The discounts of an estimate without a party. */
const WITHOUT_PARTY = {
  makerFeeVolumeDiscount: "",
  infrastructureFeeVolumeDiscount: "",
  liquidityFeeVolumeDiscount: "",
  makerFeeReferrerDiscount: "",
  infrastructureFeeReferrerDiscount: "",
  liquidityFeeReferrerDiscount: "",
};

/**
 * Implements the methods for risk factors, and for estimates based on them (datanode/api/trading_data_v2.go). Positions are
 * estimated only in cross-margin mode, without funding payments and the caps of futures.
 *
 * @param world the network's current state
 * @returns the methods of the data service
 */
export function riskMethods(world: World): DataMethods {
  return {
    async getRiskFactors({ marketId }) {
      const id = marketIdentifier(marketId);
      const market = requireFound(
        world.markets.get(id),
        "failed to get risk factor",
        `marketID: ${marketId}: ${NO_RESOURCE}`,
      );
      const { long, short } = riskFactorsOf(market);
      return { riskFactor: { market: id, long: factorText(long), short: factorText(short) } };
    },

    estimateFee: async (request) => ({ fee: estimatedFee(world, request) }),
    estimateMargin: async (request) => ({ marginLevels: estimatedMargin(world, request) }),
    estimatePosition: async (request) => positionOf(world, request),

    async estimateAMMBounds(request) {
      const { marketId, upperPrice, lowerPrice } = request;
      if (marketId === "") {
        throw invalidArgument("empty or missing market ID");
      }
      if (upperPrice === undefined && lowerPrice === undefined) {
        throw invalidArgument("invalid lower price");
      }
      const figures = marketFigures(world, marketId, { message: "invalid market ID" });
      const minimum = Number(world.parameters.get("market.amm.minCommitmentQuantum") ?? "0");
      return boundsOf(figures, request, minimum);
    },
  };
}

/** Formats a factor as the network's database does: with up to 16 decimals. */
function factorText(factor: bigint): string {
  const digits = String(divideRounded(factor, 10n ** BigInt(FIXED_POINT_DECIMALS - 16))).padStart(17, "0");
  return `${digits.slice(0, -16)}.${digits.slice(-16)}`.replace(/\.?0+$/, "");
}

function estimatedFee(world: World, { marketId, price, size, party }: EstimateFeeRequest): Fee {
  const id = identifier(marketId, "empty or missing market ID", "invalid market ID");
  if (price === "") {
    throw invalidArgument("missing price");
  }
  const market = world.markets.get(id);
  if (market === undefined) {
    throw queryError(FEE, NO_RESOURCE, Code.NotFound);
  }
  if (!/^0*[1-9]\d*$/.test(price)) {
    throw queryError(FEE, "invalid order price", Code.InvalidArgument);
  }
  if (size === 0n) {
    throw queryError(FEE, "invalid order size", Code.InvalidArgument);
  }
  const state = initialMarketState({ assets: [...world.assets.values()], lastPrices: new Map() }, market);
  const fees = { ...feesOf(state, { price: BigInt(price), size }), highVolumeMakerFee: "" };
  return party === undefined ? { ...fees, ...WITHOUT_PARTY } : fees;
}

function estimatedMargin(world: World, request: EstimateMarginRequest): MarginLevels {
  const { marketId, partyId, side, type, price, size } = request;
  if (side === Side.UNSPECIFIED) {
    throw queryError(MARGIN, "invalid order side", Code.InvalidArgument);
  }
  const figures = marketFigures(world, marketId, MARGIN);
  if (type === Order_Type.LIMIT && !/^[+-]?\d+(\.\d*)?$/.test(price)) {
    throw queryError(MARGIN, `parsing limit price: ${price}: can't convert ${price} to decimal`);
  }
  const ofOrder = Math.trunc(Number(type === Order_Type.LIMIT ? price : (figures.data?.markPrice ?? 0)));
  if (ofOrder <= 0) {
    throw queryError(MARGIN, "invalid order price", Code.InvalidArgument);
  }
  if (size === 0n) {
    throw queryError(MARGIN, "invalid order size", Code.InvalidArgument);
  }
  const factor = side === Side.BUY ? figures.long : figures.short;
  const maintenance = (Number(size) * factor * Math.floor(ofOrder * figures.priceFactor)) / figures.positionFactor;
  return levelsOf(figures, maintenance, partyId);
}

/** Returns the margin levels that follow from the maintenance margin. */
function levelsOf({ market, asset, scaling }: MarketFigures, maintenance: number, partyId = ""): MarginLevels {
  const { searchLevel = 0, initialMargin = 0, collateralRelease = 0 } = scaling ?? {};
  return create(MarginLevelsSchema, {
    ...{ partyId, marketId: market.id, asset, marginMode: MarginMode.CROSS_MARGIN },
    maintenanceMargin: integerOf(maintenance),
    searchLevel: integerOf(maintenance * searchLevel),
    initialMargin: integerOf(maintenance * initialMargin),
    collateralReleaseLevel: integerOf(maintenance * collateralRelease),
  });
}

function positionOf(world: World, request: EstimatePositionRequest) {
  if (request.marketId === "") {
    throw new ConnectError("empty or missing market ID", Code.Unknown);
  }
  const balances = [request.marginAccountBalance, request.orderMarginAccountBalance];
  const isCross = request.marginMode === MarginMode.CROSS_MARGIN;
  for (const balance of isCross ? [...balances, request.generalAccountBalance] : balances) {
    if (!/^[+-]?\d+(\.\d*)?$/.test(balance)) {
      throw apiError(Code.InvalidArgument, "invalid account balance", `can't convert ${balance} to decimal`);
    }
  }
  const figures = marketFigures(world, request.marketId, { message: "failed to get market for ID" });
  if (!isCross) {
    throw new ConnectError("the local node estimates positions only in cross-margin mode", Code.Unimplemented);
  }
  const { maintenance, liquidation } = estimatedPosition(figures, request);
  const margin = { worstCase: levelsOf(figures, maintenance.worst), bestCase: levelsOf(figures, maintenance.best) };
  const held = balances.reduce((sum, balance) => sum + Number(balance), 0);
  const increase = ({ initialMargin, collateralReleaseLevel }: MarginLevels) => {
    const lacking = Number(initialMargin) - held;
    return integerOf(lacking > 0 || held > Number(collateralReleaseLevel) ? lacking : 0);
  };
  return {
    margin,
    collateralIncreaseEstimate: { worstCase: increase(margin.worstCase), bestCase: increase(margin.bestCase) },
    liquidation,
  };
}

/** Returns the figures of a market that estimates are based on. */
function marketFigures(world: World, marketId: string, query: Query): MarketFigures {
  if (!canBeIdentifier(marketId)) {
    throw queryError(query, NO_IDENTIFIER, Code.InvalidArgument);
  }
  const market = world.markets.get(marketId.toLowerCase());
  if (market === undefined) {
    throw queryError(query, NO_RESOURCE, Code.NotFound);
  }
  const { asset, priceExponent } = initialMarketState(
    { assets: [...world.assets.values()], lastPrices: new Map() },
    market,
  );
  const { long, short } = riskFactorsOf(market);
  return {
    ...{ market, asset, data: world.marketData.get(market.id) },
    quantum: Number(world.assets.get(asset)?.details?.quantum ?? "1"),
    scaling: market.tradableInstrument?.marginCalculator?.scalingFactors,
    priceFactor: 10 ** priceExponent,
    positionFactor: 10 ** Number(market.positionDecimalPlaces),
    slippage: Number(market.linearSlippageFactor),
    quadraticSlippage: Number(market.quadraticSlippageFactor),
    ...{ long: Number(factorText(long)), short: Number(factorText(short)) },
  };
}

/** The figures that estimates are based on. They are floating-point numbers: 15 digits of large amounts are exact. */
export interface MarketFigures {
  readonly market: Market;
  readonly asset: string;
  readonly data: MarketData | undefined;
  readonly quantum: number;
  readonly scaling: ScalingFactors | undefined;
  /** Converts prices of the market to units of the asset's last decimal, by multiplication. */
  readonly priceFactor: number;
  /** Converts sizes to contracts, by division. */
  readonly positionFactor: number;
  /** The market's slippage factors. */
  readonly slippage: number;
  readonly quadraticSlippage: number;
  /** The market's risk factors. */
  readonly long: number;
  readonly short: number;
}

/** An order of an estimate, with its size in contracts and its price in units of the asset. */
interface EstimatedOrder {
  readonly size: number;
  readonly price: number;
  readonly isMarketOrder: boolean;
}

/** A position to estimate, and its orders. */
interface EstimatedPosition {
  readonly volume: number;
  readonly buys: readonly EstimatedOrder[];
  readonly sells: readonly EstimatedOrder[];
  /** The price at which the position is valued. */
  readonly price: number;
  readonly isAuction: boolean;
  readonly auctionPrice: number;
}

/** The slippage of an estimate: the market's in the worst case, none in the best case. */
type Slippage = Pick<MarketFigures, "slippage" | "quadraticSlippage">;
const NO_SLIPPAGE: Slippage = { slippage: 0, quadraticSlippage: 0 };

/**
 * Estimates the maintenance margin and the liquidation prices of a position in cross-margin mode
 * (core/risk/margins_calculation.go and core/risk/liquidation_calculation.go).
 *
 * @param figures the market's figures
 * @param request the position, its orders and the balances of its party
 * @returns the maintenance margin, in units of the asset's last decimal, and the liquidation prices of the response
 * @throws ConnectError if a price or a side of an order is invalid
 */
export function estimatedPosition(figures: MarketFigures, request: EstimatePositionRequest) {
  const position = valuedPosition(figures, request);
  const maintenance = {
    worst: maintenanceMargin(figures, position, figures),
    best: maintenanceMargin(figures, position, NO_SLIPPAGE),
  };
  const { marginAccountBalance: margin, generalAccountBalance: general, orderMarginAccountBalance: order } = request;
  const collateral = Number(margin) + Number(general) + Number(order);
  const scale = request.scaleLiquidationPriceToMarketDecimals === true ? figures.priceFactor : 1;
  const prices = (needed: number, slippage: Slippage) => {
    // Below the maintenance margin, the position would be closed out at once.
    const found =
      collateral >= needed ? liquidationPrices(figures, position, collateral, slippage) : Array(3).fill(position.price);
    const [only = 0, buying = 0, selling = 0]: number[] = found;
    return {
      openVolumeOnly: integerOf(only / scale),
      includingBuyOrders: integerOf(buying / scale),
      includingSellOrders: integerOf(selling / scale),
    };
  };
  return {
    maintenance,
    liquidation: { worstCase: prices(maintenance.worst, figures), bestCase: prices(maintenance.best, NO_SLIPPAGE) },
  };
}

/**
 * Formats an amount as an integer.
 *
 * @param amount the amount, which is rounded half away from zero
 * @returns the digits
 */
export function integerOf(amount: number): string {
  return String(BigInt(Math.sign(amount) * Math.round(Math.abs(amount))));
}

function valuedPosition(
  { data, priceFactor, positionFactor }: MarketFigures,
  request: EstimatePositionRequest,
): EstimatedPosition {
  const markPrice = Number(data?.markPrice ?? 0) * priceFactor;
  const auctionPrice = Number(data?.indicativePrice ?? 0) * priceFactor;
  const isAuction = (data?.auctionEnd ?? 0n) > 0n;
  const isOpening = isAuction && data?.marketTradingMode === Market_TradingMode.OPENING_AUCTION;
  const estimated = ({ price, remaining, isMarketOrder }: OrderInfo) => {
    if (!/^\d+$/.test(price)) {
      throw apiError(Code.Internal, "invalid order price", `can't convert ${price} to decimal`);
    }
    return { size: Number(remaining) / positionFactor, price: Number(price) * priceFactor, isMarketOrder };
  };
  if (request.orders.some(({ side }) => side === Side.UNSPECIFIED)) {
    throw invalidArgument("invalid order side");
  }
  const of = (wanted: Side) => request.orders.filter(({ side }) => side === wanted).map(estimated);
  return {
    volume: Number(request.openVolume) / positionFactor,
    ...{ buys: of(Side.BUY), sells: of(Side.SELL), price: isOpening ? auctionPrice : markPrice },
    ...{ isAuction, auctionPrice },
  };
}

/** Returns the margin below which a position is closed out. Market orders count as filled. */
function maintenanceMargin({ long, short }: MarketFigures, position: EstimatedPosition, slippage: Slippage): number {
  const { buys, sells, price, isAuction, auctionPrice } = position;
  const sizeOf = (orders: readonly EstimatedOrder[], isMarket: boolean) =>
    orders.reduce((sum, { size, isMarketOrder }) => sum + (isMarketOrder === isMarket ? size : 0), 0);
  const volume = position.volume + sizeOf(buys, true) - sizeOf(sells, true);
  const side = (held: number, orders: readonly EstimatedOrder[], risk: number) => {
    const size = sizeOf(orders, false);
    const limits = orders.filter(({ isMarketOrder }) => !isMarketOrder);
    const offered = limits.reduce((sum, order) => sum + order.size * order.price, 0);
    const value = isAuction ? Math.max(offered, auctionPrice * size) : size * price;
    return held + size > 0 ? price * slippageOf(held, slippage) + held * price * risk + value * risk : 0;
  };
  return Math.max(0, side(Math.max(volume, 0), buys, long), side(Math.max(-volume, 0), sells, short));
}

function slippageOf(volume: number, { slippage, quadraticSlippage }: Slippage): number {
  return slippage * Math.abs(volume) + quadraticSlippage * volume * volume;
}

/** Returns the prices at which a position is closed out: without orders, with its buy orders and with its sell orders filled. */
function liquidationPrices(
  figures: MarketFigures,
  { volume, buys, sells, price }: EstimatedPosition,
  collateral: number,
  slippage: Slippage,
): number[] {
  const priceOf = (held: number, at: number, funds: number) => {
    const risk = held < 0 ? figures.short : figures.long;
    const divisor = slippageOf(held, slippage) + Math.abs(held) * risk - held;
    return held === 0 || divisor === 0 ? 0 : Math.max(0, (funds - held * at) / divisor);
  };
  const alone = priceOf(volume, price, collateral);
  const filled = (orders: readonly EstimatedOrder[], sign: 1 | -1) => {
    let [held, at, funds, found] = [volume, price, collateral, alone];
    const priced = orders.map((order) => ({ ...order, price: order.isMarketOrder ? price : order.price }));
    for (const order of priced.toSorted((a, b) => sign * (b.price - a.price))) {
      if (sign * held > 0 && sign * (order.price - found) < 0) {
        break; // The position is closed out before the order can fill.
      }
      funds += held * (order.price - at);
      at = order.price;
      held += sign * order.size;
      found = priceOf(held, at, funds);
    }
    return found;
  };
  return [alone, filled(buys, 1), filled(sells, -1)];
}

/** The estimate of one side of a curve, in units of the asset's last decimal and in contracts. */
interface Bound {
  readonly position: number;
  readonly loss: number;
  readonly liquidationPrice: number;
  /** Whether the position is spread too thinly over the prices. */
  readonly isTooWide: boolean;
}

const EMPTY_SOURCE: Bound = { position: 0, loss: 0, liquidationPrice: 0, isTooWide: false };

/**
 * Estimates the position of an automated market maker at the bounds of its curve (core/execution/amm/estimator.go).
 *
 * @param figures the market's figures
 * @param request the curve, with prices of the market, and the commitment
 * @param minimum the minimum commitment, in quantums of the asset
 * @returns the response
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
  // Without a leverage, the network uses the risk factor of the other side.
  const leverageAtLower = leverageOf(request.leverageAtLowerPrice, "lower") ?? short;
  const leverageAtUpper = leverageOf(request.leverageAtUpperPrice, "upper") ?? long;
  const commitment = amountOf(request.commitmentAmount, "commitment amount");
  const below = lower === undefined ? EMPTY_SOURCE : boundOf(figures, [lower, base], leverageAtLower, commitment, -1);
  const above = upper === undefined ? EMPTY_SOURCE : boundOf(figures, [base, upper], leverageAtUpper, commitment, 1);
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

/** Estimates one bound of the curve: the lower (-1) or the upper one (1). */
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
  return position === 0 ? { ...EMPTY_SOURCE, isTooWide } : { position, loss, liquidationPrice, isTooWide };
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

/** Formats an amount as an integer, truncating its decimals. */
function truncated(amount: number): string {
  return String(BigInt(Math.trunc(amount)));
}
