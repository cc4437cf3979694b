import type { JsonObject } from "@bufbuild/protobuf";
import type { StopOrderEvent } from "../../../gen/client/vega/events/v1/events_pb.js";
import { type StopOrder, StopOrder_TriggerDirectionSchema } from "../../../gen/client/vega/vega_pb.js";
import { type AccountBalance, AccountBalanceSchema } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import {
  type Market,
  Market_StateSchema,
  Market_TradingModeSchema,
  MarketSchema,
} from "../../../gen/vega/markets_pb.js";
import {
  AccountTypeSchema,
  type MarketData,
  type Order,
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  OrderSchema,
  type Position,
  PositionSchema,
  PositionStatusSchema,
  SideSchema,
  type Trade,
  Trade_TypeSchema,
  TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import { isoTime } from "../formatting.js";
import { type ListingType, valueName } from "../listing.js";
import { type Assets, balanceText } from "./assets.js";
import { marketCode, type Names } from "./record-names.js";

export function marketsType(names: Names, data: ReadonlyMap<string, MarketData>): ListingType<typeof MarketSchema> {
  const prices = ({ id }: Market): JsonObject => {
    const [units, latest] = [names.unitsOf(id), data.get(id)];
    const price = (value = "") => (value === "" || value === "0" ? "" : (units?.price.format(value) ?? ""));
    return {
      markPrice: price(latest?.markPrice),
      bestBidPrice: price(latest?.bestBidPrice),
      bestOfferPrice: price(latest?.bestOfferPrice),
      openInterest: units?.size.format(latest?.openInterest ?? 0n) ?? "",
    };
  };
  return {
    desc: MarketSchema,
    name: "markets",
    header: "code id state mode mark bid offer open_interest name".split(" "),
    ranked: "code id state mark bid offer mode open_interest name".split(" "),
    decimals: prices,
    decimalNames: "markPrice bestBidPrice bestOfferPrice openInterest".split(" "),
    cells(market) {
      const { markPrice, bestBidPrice, bestOfferPrice, openInterest } = prices(market);
      return [
        marketCode(market),
        names.id(market.id),
        valueName(Market_StateSchema, market.state),
        valueName(Market_TradingModeSchema, market.tradingMode),
        ...[markPrice, bestBidPrice, bestOfferPrice, openInterest].map(String),
        market.tradableInstrument?.instrument?.name ?? "",
      ];
    },
  };
}

/** Creates the type of orders, like {@link marketsType}. */
export function ordersType(names: Names): ListingType<typeof OrderSchema> {
  const decimals = (order: Order) => names.unitsOf(order.marketId)?.decimalsOf(order);
  return {
    desc: OrderSchema,
    name: "orders",
    header: "id market status side price size remaining type tif created party reference".split(" "),
    ranked: "id price size side market remaining status type tif created party reference".split(" "),
    decimals,
    decimalNames: "price size remaining".split(" "),
    cells(order) {
      const { price = "", size = "", remaining = "" } = decimals(order) ?? {};
      return [
        names.id(order.id),
        names.code(order.marketId),
        valueName(Order_StatusSchema, order.status),
        valueName(SideSchema, order.side),
        ...[price, size, remaining],
        valueName(Order_TypeSchema, order.type),
        valueName(Order_TimeInForceSchema, order.timeInForce),
        isoTime(order.createdAt),
        names.id(order.partyId),
        order.reference,
      ];
    },
  };
}

/** Creates the type of trades, like {@link marketsType}. */
export function tradesType(names: Names): ListingType<typeof TradeSchema> {
  const decimals = (trade: Trade) => names.unitsOf(trade.marketId)?.decimalsOf(trade);
  return {
    desc: TradeSchema,
    name: "trades",
    header: "id market price size aggressor time type buyer seller".split(" "),
    ranked: "id price size market aggressor time buyer seller type".split(" "),
    decimals,
    decimalNames: "price size".split(" "),
    cells(trade) {
      const { price = "", size = "" } = decimals(trade) ?? {};
      return [
        names.id(trade.id),
        names.code(trade.marketId),
        ...[price, size],
        valueName(SideSchema, trade.aggressor),
        isoTime(trade.timestamp),
        valueName(Trade_TypeSchema, trade.type),
        names.id(trade.buyer),
        names.id(trade.seller),
      ];
    },
  };
}

/** Creates the type of positions, like {@link marketsType}. */
export function positionsType(names: Names): ListingType<typeof PositionSchema> {
  const decimals = (position: Position) => names.unitsOf(position.marketId)?.decimalsOf(position);
  return {
    desc: PositionSchema,
    name: "positions",
    header: "market party open_volume entry_price realised_pnl unrealised_pnl status updated".split(" "),
    ranked: "market party open_volume entry_price unrealised_pnl realised_pnl status updated".split(" "),
    decimals,
    decimalNames: "openVolume averageEntryPrice realisedPnl unrealisedPnl lossSocialisationAmount".split(" "),
    cells(position) {
      const shown = decimals(position);
      return [
        names.code(position.marketId),
        names.id(position.partyId),
        ...[shown?.openVolume, shown?.averageEntryPrice, shown?.realisedPnl, shown?.unrealisedPnl].map(
          (value) => value ?? "",
        ),
        valueName(PositionStatusSchema, position.positionStatus),
        isoTime(position.updatedAt),
      ];
    },
  };
}

/** Creates the type of accounts, like {@link marketsType}, with the assets by their identifiers. */
export function accountsType(names: Names, assets: Assets): ListingType<typeof AccountBalanceSchema> {
  const decimals = (account: AccountBalance) => ({ balance: balanceText(account, assets) ?? "" });
  return {
    desc: AccountBalanceSchema,
    name: "accounts",
    header: "party type asset balance market".split(" "),
    ranked: "party asset balance type market".split(" "),
    decimals,
    decimalNames: ["balance"],
    cells(account) {
      return [
        names.id(account.owner),
        valueName(AccountTypeSchema, account.type),
        assets.get(account.asset)?.details?.symbol ?? names.id(account.asset),
        decimals(account).balance,
        account.marketId === "" ? "" : names.code(account.marketId),
      ];
    },
  };
}

/** Decimal numbers of a stop order: those of the order that it submits, and the price that triggers it. */
export type StopOrderDecimals = Readonly<Partial<Record<"price" | "size" | "triggerPrice", string>>>;

export function stopOrderDecimals(
  { stopOrder, submission }: StopOrderEvent,
  { unitsOf }: Pick<Names, "unitsOf">,
): StopOrderDecimals | undefined {
  const units = unitsOf(stopOrder?.marketId ?? "");
  if (stopOrder === undefined || units === undefined) {
    return undefined;
  }
  const price = (text: string) => (text === "" ? "" : units.price.format(text));
  return {
    ...(submission && { price: price(submission.price), size: units.size.format(submission.size) }),
    ...(stopOrder.trigger.case === "price" && { triggerPrice: price(stopOrder.trigger.value) }),
  };
}

export function triggerText({ trigger, triggerDirection }: StopOrder, price: string): string {
  const direction = valueName(StopOrder_TriggerDirectionSchema, triggerDirection);
  return `${direction} ${trigger.case === "trailingPercentOffset" ? `trailing ${trigger.value}` : price}`;
}
