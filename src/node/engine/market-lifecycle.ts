import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  DataSourceSpec_Status,
  DataSourceSpecSchema,
  ExternalDataSourceSpecSchema,
} from "../../../gen/vega/data_source_pb.js";
import { AuctionEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import type { NewMarketConfiguration, Proposal, UpdateMarketConfiguration } from "../../../gen/vega/governance_pb.js";
import { type Market, Market_State, Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import { OracleSpecSchema } from "../../../gen/vega/oracle_pb.js";
import { AuctionTrigger, type MarketData, Side } from "../../../gen/vega/vega_pb.js";
import { indicativeUncrossing, uncross } from "./auction.js";
import { MARKET_ACCOUNTS, networkAccount, openAccount } from "./collateral.js";
import type { ExecutionContext, MarketState } from "./engine-state.js";
import { clampUint64 } from "./fixed-point.js";
import { initialMarketState } from "./initial-state.js";
import { dataSourcesOf, marketOfProposal, updatedMarket } from "./market-configuration.js";
import { bestOf } from "./order-book.js";
import { repricePegged } from "./pegged-orders.js";

/** Number of updates that the network emits while it sets up a market, before the market is created. */
const SETUP_UPDATES = 5;

const SECOND = 1_000_000_000n;

/** Adds the market of a proposal. It accepts no orders until the vote ends. */
export function addProposedMarket(
  context: ExecutionContext,
  proposal: Proposal,
  changes: NewMarketConfiguration,
): void {
  const { state, block, emit } = context;
  const market = marketOfProposal(state, proposal, changes, block.time);
  const added = initialMarketState({ assets: [...state.assets.values()], lastPrices: new Map() }, market);
  added.data = { ...added.data, trigger: AuctionTrigger.OPENING };
  state.markets.set(market.id, added);
  for (const type of MARKET_ACCOUNTS) {
    openAccount(context, networkAccount(type, added.asset, market.id));
  }
  emitDataSources(context, market, DataSourceSpec_Status.ACTIVE);
  for (let update = 0; update < SETUP_UPDATES; update += 1) {
    emit({ case: "marketUpdated", value: market });
  }
  emitData(context, added);
  emit({ case: "marketCreated", value: market });
  emit({ case: "marketUpdated", value: market });
}

/**
 * Starts the opening auction of a market whose proposal has passed. The auction ends after its duration, as soon as
 * orders cross.
 */
export function startOpeningAuction(context: ExecutionContext, market: MarketState): void {
  const start = context.block.time;
  const end = start + (market.market.openingAuction?.duration ?? 0n) * SECOND;
  context.state.openingAuctions.set(market.market.id, end);
  market.data = { ...market.data, auctionStart: start, auctionEnd: end };
  emitAuction(context, market, { openingAuction: true });
  changeMarketFields(context, market, { state: Market_State.PENDING, tradingMode: Market_TradingMode.OPENING_AUCTION });
}

/** Rejects a market whose proposal was declined. */
export function rejectMarket(context: ExecutionContext, market: MarketState): void {
  changeMarketFields(context, market, { state: Market_State.REJECTED });
  emitData(context, market);
}

/** Ends the opening auctions whose duration has passed and whose orders cross. The others continue. */
export function endOpeningAuctions(context: ExecutionContext): void {
  const { markets, openingAuctions } = context.state;
  for (const [marketId, end] of [...openingAuctions]) {
    const market = markets.get(marketId);
    if (market !== undefined && end < context.block.time && indicativeUncrossing(market) !== undefined) {
      openingAuctions.delete(marketId);
      leaveOpeningAuction(context, market);
    }
  }
}

/** Uncrosses the order book of a market, and begins its continuous trading. */
function leaveOpeningAuction(context: ExecutionContext, market: MarketState): void {
  uncross(context, market);
  emitAuction(context, market, { openingAuction: true, leave: true, end: context.block.time });
  const { marketTimestamps } = market.market;
  const trigger = AuctionTrigger.UNSPECIFIED;
  market.data = { ...market.data, auctionStart: 0n, auctionEnd: 0n, trigger, extensionTrigger: trigger };
  changeMarketFields(context, market, {
    state: Market_State.ACTIVE,
    tradingMode: Market_TradingMode.CONTINUOUS,
    ...(marketTimestamps && { marketTimestamps: { ...marketTimestamps, open: context.block.time } }),
  });
  repricePegged(context, market);
}

function emitAuction(
  { emit }: ExecutionContext,
  { market, data }: MarketState,
  more: MessageInitShape<typeof AuctionEventSchema>,
) {
  const { auctionStart: start, auctionEnd: end, trigger } = data;
  emit({ case: "auction", value: create(AuctionEventSchema, { marketId: market.id, start, end, trigger, ...more }) });
}

export function updateMarket(context: ExecutionContext, market: MarketState, changes: UpdateMarketConfiguration): void {
  emitDataSources(context, market.market, DataSourceSpec_Status.DEACTIVATED);
  const updated = updatedMarket(market.market, changes);
  emitDataSources(context, updated, DataSourceSpec_Status.ACTIVE);
  market.tick = /^[1-9]\d*$/.test(updated.tickSize) ? BigInt(updated.tickSize) : market.tick;
  market.market = updated;
  emitData(context, market);
  context.emit({ case: "marketUpdated", value: updated });
}

export function changeMarketFields({ emit }: ExecutionContext, market: MarketState, changes: Partial<Market>): void {
  market.market = { ...market.market, ...changes };
  market.isChanged = true;
  emit({ case: "marketUpdated", value: market.market });
}

function emitData({ emit, block }: ExecutionContext, market: MarketState): void {
  market.data = marketDataOf(market, block.time);
  emit({ case: "marketData", value: market.data });
}

/**
 * Emits and stores the data sources of a market, or removes deactivated ones. A stored data source keeps its creation
 * time.
 */
function emitDataSources(
  { state, block, emit }: ExecutionContext,
  market: Market,
  status: DataSourceSpec_Status,
): void {
  const { dataSources } = state;
  for (const { id, data } of dataSourcesOf(market)) {
    const createdAt = dataSources.get(id)?.createdAt ?? block.time;
    const spec = create(DataSourceSpecSchema, { id, createdAt, status, ...(data !== undefined && { data }) });
    if (status === DataSourceSpec_Status.ACTIVE) {
      dataSources.set(id, spec);
    } else {
      dataSources.delete(id);
    }
    const externalDataSourceSpec = create(ExternalDataSourceSpecSchema, { spec });
    emit({ case: "oracleSpec", value: create(OracleSpecSchema, { externalDataSourceSpec }) });
  }
}

/** Computes market data. Fields that do not follow from the order book, trades and positions keep their values. */
export function marketDataOf(market: MarketState, timestamp: bigint): MarketData {
  const bid = bestOf(market, Side.BUY, "all");
  const offer = bestOf(market, Side.SELL, "all");
  const staticBid = bestOf(market, Side.BUY, "static");
  const staticOffer = bestOf(market, Side.SELL, "static");
  const openInterest = [...market.positions.values()].reduce(
    (sum, { volume }) => sum + (volume > 0n ? volume : 0n),
    0n,
  );
  const lastPrice = String(market.lastPrice);
  return {
    ...market.data,
    market: market.market.id,
    timestamp,
    bestBidPrice: String(bid.price),
    bestBidVolume: clampUint64(bid.volume),
    bestOfferPrice: String(offer.price),
    bestOfferVolume: clampUint64(offer.volume),
    bestStaticBidPrice: String(staticBid.price),
    bestStaticBidVolume: clampUint64(staticBid.volume),
    bestStaticOfferPrice: String(staticOffer.price),
    bestStaticOfferVolume: clampUint64(staticOffer.volume),
    midPrice: String(midPrice(bid.price, offer.price)),
    staticMidPrice: String(midPrice(staticBid.price, staticOffer.price)),
    markPrice: lastPrice,
    lastTradedPrice: lastPrice,
    openInterest: clampUint64(openInterest),
    marketTradingMode: market.market.tradingMode,
    marketState: market.market.state,
  };
}

function midPrice(bid: bigint, offer: bigint): bigint {
  return bid === 0n || offer === 0n ? 0n : (bid + offer) / 2n;
}
