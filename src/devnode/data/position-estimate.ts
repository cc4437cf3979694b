import { Code } from "@connectrpc/connect";
import type { EstimatePositionRequest, OrderInfo } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Market, Market_TradingMode, type ScalingFactors } from "../../../gen/vega/markets_pb.js";
import { type MarketData, Side } from "../../../gen/vega/vega_pb.js";
import { apiError, invalidArgument } from "../api-error.js";

/** What estimates are computed from. They use floating-point numbers: of large amounts the first 15 digits are right. */
export interface MarketFigures {
  readonly market: Market;
  readonly asset: string;
  readonly data: MarketData | undefined;
  readonly quantum: number;
  readonly scaling: ScalingFactors | undefined;
  /** What prices of the market are multiplied with to be in units of the asset's last decimal. */
  readonly priceFactor: number;
  /** What sizes are divided by. */
  readonly positionFactor: number;
  /** The market's slippage factors. */
  readonly slippage: number;
  readonly quadraticSlippage: number;
  /** The market's risk factors. */
  readonly long: number;
  readonly short: number;
}

/** An order of an estimate, with its size in whole contracts and its price in units of the asset. */
interface EstimatedOrder {
  readonly size: number;
  readonly price: number;
  readonly isMarketOrder: boolean;
}

/** A position and its orders. */
interface Estimated {
  readonly volume: number;
  readonly buys: readonly EstimatedOrder[];
  readonly sells: readonly EstimatedOrder[];
  /** The price that the position is valued at. */
  readonly price: number;
  readonly isAuction: boolean;
  readonly auctionPrice: number;
}

/** Which slippage counts: the market's in the worst case, none in the best one. */
type Slippage = Pick<MarketFigures, "slippage" | "quadraticSlippage">;
const NO_SLIPPAGE: Slippage = { slippage: 0, quadraticSlippage: 0 };

/**
 * Estimates the maintenance margin and the liquidation prices of a position in cross-margin mode
 * (core/risk/margins_calculation.go and core/risk/liquidation_calculation.go).
 *
 * @param figures the market's
 * @param request the position, its orders and the balances of its party
 * @returns the maintenance margin, in units of the asset's last decimal, and the prices as the answer has them
 * @throws ConnectError if a price or a side of an order is invalid
 */
export function estimatedPosition(figures: MarketFigures, request: EstimatePositionRequest) {
  const position = positionOf(figures, request);
  const maintenance = {
    worst: maintenanceMargin(figures, position, figures),
    best: maintenanceMargin(figures, position, NO_SLIPPAGE),
  };
  const { marginAccountBalance: margin, generalAccountBalance: general, orderMarginAccountBalance: order } = request;
  const collateral = Number(margin) + Number(general) + Number(order);
  const scale = request.scaleLiquidationPriceToMarketDecimals === true ? figures.priceFactor : 1;
  const prices = (needed: number, slippage: Slippage) => {
    // Without the margin it would be closed out at once.
    const found =
      collateral >= needed ? liquidationPrices(figures, position, collateral, slippage) : Array(3).fill(position.price);
    const [only = 0, buying = 0, selling = 0]: number[] = found;
    return {
      openVolumeOnly: whole(only / scale),
      includingBuyOrders: whole(buying / scale),
      includingSellOrders: whole(selling / scale),
    };
  };
  return {
    maintenance,
    liquidation: { worstCase: prices(maintenance.worst, figures), bestCase: prices(maintenance.best, NO_SLIPPAGE) },
  };
}

/**
 * Writes an amount as a whole number.
 *
 * @param amount the amount, which is rounded half away from zero
 * @returns its digits
 */
export function whole(amount: number): string {
  return String(BigInt(Math.sign(amount) * Math.round(Math.abs(amount))));
}

function positionOf({ data, priceFactor, positionFactor }: MarketFigures, request: EstimatePositionRequest): Estimated {
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

/** The margin below which a position is closed out. Market orders count as filled. */
function maintenanceMargin({ long, short }: MarketFigures, position: Estimated, slippage: Slippage): number {
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

/** The prices at which a position is closed out: alone, with its buy orders and with its sell orders filled. */
function liquidationPrices(
  figures: MarketFigures,
  { volume, buys, sells, price }: Estimated,
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
        break; // It is closed out before the order can fill.
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
