import type { JsonObject } from "@bufbuild/protobuf";
import { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import { type AccountBalance, AccountBalanceSchema } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import { type Market, MarketSchema } from "../../../gen/vega/markets_pb.js";
import {
  type MarketData,
  MarketDataSchema,
  OrderSchema,
  PositionSchema,
  TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import { marketCode } from "../../trade/market/record-names.js";
import { isJsonObject } from "../../wire/json/json-values.js";
import { messageToJson } from "../../wire/json/message-json.js";
import type { ListingType } from "../listing.js";
import { readableJson } from "./readable.js";
import type { Names } from "./record-names.js";

/** The latest prices of a market that its records have. */
const PRICES = ["markPrice", "bestBidPrice", "bestOfferPrice", "openInterest"] as const;

export function marketsType(names: Names, data: ReadonlyMap<string, MarketData>): ListingType<typeof MarketSchema> {
  const prices = ({ id }: Market, isRaw: boolean): JsonObject => {
    const latest = data.get(id);
    const json =
      latest && (isRaw ? messageToJson(MarketDataSchema, latest) : readableJson(MarketDataSchema, latest, names.known));
    return Object.fromEntries(
      PRICES.map((name) => {
        const value = isJsonObject(json) ? (json[name] ?? null) : null;
        // Without a price, the node sends 0 or nothing.
        return [name, name !== "openInterest" && value === "0" ? null : value];
      }),
    );
  };
  return {
    desc: MarketSchema,
    name: "markets",
    header: ["code", "id", "state", "tradingMode", ...PRICES, "name"],
    ranked: ["code", "id", "state", "markPrice", "bestBidPrice", "bestOfferPrice", "tradingMode"],
    known: names.known,
    extraNames: ["code", "name", ...PRICES],
    extras: (market, isRaw) => ({
      code: marketCode(market),
      name: market.tradableInstrument?.instrument?.name ?? "",
      ...prices(market, isRaw),
    }),
  };
}

/** The code of the market that a record names. */
function market(names: Names) {
  return {
    known: names.known,
    extraNames: ["market"],
    extras: ({ marketId }: { readonly marketId: string }) => ({ market: marketId === "" ? "" : names.code(marketId) }),
  };
}

/** Creates the type of orders, like {@link marketsType}. */
export function ordersType(names: Names): ListingType<typeof OrderSchema> {
  return {
    desc: OrderSchema,
    name: "orders",
    header: "id market status side price size remaining type timeInForce createdAt partyId reference".split(" "),
    ranked: "id price size side market remaining status type timeInForce createdAt partyId reference".split(" "),
    ...market(names),
  };
}

/** Creates the type of trades, like {@link marketsType}. */
export function tradesType(names: Names): ListingType<typeof TradeSchema> {
  return {
    desc: TradeSchema,
    name: "trades",
    header: "id market price size aggressor timestamp type buyer seller".split(" "),
    ranked: "id price size market aggressor timestamp buyer seller type".split(" "),
    ...market(names),
  };
}

/** Creates the type of positions, like {@link marketsType}. */
export function positionsType(names: Names): ListingType<typeof PositionSchema> {
  return {
    desc: PositionSchema,
    name: "positions",
    header: "market partyId openVolume averageEntryPrice realisedPnl unrealisedPnl positionStatus updatedAt".split(" "),
    ranked: "market partyId openVolume averageEntryPrice unrealisedPnl realisedPnl positionStatus".split(" "),
    ...market(names),
  };
}

/** Creates the type of accounts, like {@link marketsType}. */
export function accountsType(names: Names): ListingType<typeof AccountBalanceSchema> {
  const { known, extras } = market(names);
  return {
    desc: AccountBalanceSchema,
    name: "accounts",
    header: "owner type assetSymbol balance market".split(" "),
    ranked: "owner assetSymbol balance type market".split(" "),
    known,
    extraNames: ["assetSymbol", "market"],
    extras: (account: AccountBalance) => ({
      assetSymbol: names.symbol(account.asset),
      ...extras(account),
    }),
  };
}

export function stopOrdersType(names: Names): ListingType<typeof StopOrderEventSchema> {
  const submitted = "side price size type timeInForce".split(" ").map((name) => `submission.${name}`);
  const last = "expiresAt expiryStrategy createdAt updatedAt partyId".split(" ");
  return {
    desc: StopOrderEventSchema,
    name: "stopOrders",
    root: "stopOrder",
    header: ["id", "market", "status", "triggerDirection", "price", "trailingPercentOffset", ...submitted, ...last],
    ranked: [
      "id",
      "status",
      "triggerDirection",
      "price",
      "submission.side",
      "submission.price",
      "submission.size",
      "market",
    ],
    known: names.known,
    extraNames: ["market"],
    extras: ({ stopOrder }) => ({ market: stopOrder === undefined ? "" : names.code(stopOrder.marketId) }),
  };
}
