import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type DataSourceSpec,
  DataSourceSpec_Status,
  DataSourceSpecSchema,
  ExternalDataSourceSpecSchema,
} from "../../../gen/vega/data_source_pb.js";
import { AuctionEventSchema } from "../../../gen/vega/events/v1/events_pb.js";
import type { NewMarketConfiguration, Proposal, UpdateMarketConfiguration } from "../../../gen/vega/governance_pb.js";
import { type Market, Market_State, Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import { OracleSpecSchema } from "../../../gen/vega/oracle_pb.js";
import { AccountType, AuctionTrigger } from "../../../gen/vega/vega_pb.js";
import { crossing, uncross } from "./auction.js";
import { openAccount } from "./funds.js";
import { networkAccount } from "./ledger.js";
import { marketDataOf } from "./market-data.js";
import { repricePegged } from "./pegs.js";
import { marketOfProposal, updatedMarket } from "./proposed-market.js";
import { marketState } from "./start.js";
import type { MarketState, Work } from "./state.js";

/** The accounts of the network itself that each market has. */
const ACCOUNTS = [
  AccountType.INSURANCE,
  AccountType.SETTLEMENT,
  AccountType.FEES_LIQUIDITY,
  AccountType.FEES_MAKER,
  AccountType.LIQUIDITY_FEES_BONUS_DISTRIBUTION,
] as const;

/** How often the network tells of a market that it sets up, before it tells that it is created. */
const TOLD_WHILE_SET_UP = 5;

const SECOND = 1_000_000_000n;

/**
 * Add the market of a proposal. It takes no orders before the vote has ended.
 *
 * @param work the block
 * @param proposal the proposal
 * @param changes the market
 */
export function openMarket(work: Work, proposal: Proposal, changes: NewMarketConfiguration): void {
  const { state, block, emit } = work;
  const market = marketOfProposal(state, proposal, changes, block.time);
  const added = marketState({ assets: [...state.assets.values()], lastPrices: new Map() }, market);
  added.data = { ...added.data, trigger: AuctionTrigger.OPENING };
  state.markets.set(market.id, added);
  for (const type of ACCOUNTS) {
    openAccount(work, networkAccount(type, added.asset, market.id));
  }
  emitSources(work, market, DataSourceSpec_Status.ACTIVE);
  for (let told = 0; told < TOLD_WHILE_SET_UP; told += 1) {
    emit({ case: "marketUpdated", value: market });
  }
  emitData(work, added);
  emit({ case: "marketCreated", value: market });
  emit({ case: "marketUpdated", value: market });
}

/**
 * Begin the opening auction of a market whose proposal has passed. It ends when its time is over and orders cross.
 *
 * @param work the block
 * @param market the market
 */
export function startOpeningAuction(work: Work, market: MarketState): void {
  const start = work.block.time;
  const end = start + (market.market.openingAuction?.duration ?? 0n) * SECOND;
  work.state.registers.openingAuctions.set(market.market.id, end);
  market.data = { ...market.data, auctionStart: start, auctionEnd: end };
  emitAuction(work, market, { openingAuction: true });
  changeMarket(work, market, { state: Market_State.PENDING, tradingMode: Market_TradingMode.OPENING_AUCTION });
}

/**
 * Reject a market whose proposal did not pass.
 *
 * @param work the block
 * @param market the market, which takes no orders
 */
export function rejectMarket(work: Work, market: MarketState): void {
  changeMarket(work, market, { state: Market_State.REJECTED });
  emitData(work, market);
}

/**
 * Suspend a market until another proposal lets it go on: orders rest. One that is in auction already stays in it for longer, and
 * is not emitted (`core/execution/future/market.go`, UpdateMarketState).
 *
 * @param work the block
 * @param market the market
 */
export function suspendMarket(work: Work, market: MarketState): void {
  const extensionTrigger = AuctionTrigger.GOVERNANCE_SUSPENSION;
  const suspended = {
    state: Market_State.SUSPENDED_VIA_GOVERNANCE,
    tradingMode: Market_TradingMode.SUSPENDED_VIA_GOVERNANCE,
  };
  if (market.market.tradingMode !== Market_TradingMode.CONTINUOUS) {
    market.data = { ...market.data, extensionTrigger };
    emitAuction(work, market, { openingAuction: market.data.trigger === AuctionTrigger.OPENING, extensionTrigger });
    market.market = { ...market.market, ...suspended };
    market.isChanged = true;
    return;
  }
  market.data = { ...market.data, trigger: extensionTrigger, auctionStart: work.block.time };
  emitAuction(work, market, {});
  changeMarket(work, market, suspended);
}

/**
 * Let a market go on that was suspended.
 *
 * @param work the block
 * @param market the market
 */
export function resumeMarket(work: Work, market: MarketState): void {
  if (work.state.registers.openingAuctions.has(market.market.id)) {
    market.data = { ...market.data, extensionTrigger: AuctionTrigger.UNSPECIFIED };
    changeMarket(work, market, { state: Market_State.PENDING, tradingMode: Market_TradingMode.OPENING_AUCTION });
    return;
  }
  leaveAuction(work, market);
}

/**
 * Let orders trade that rest on a market in auction, and open it for continuous trading.
 *
 * @param work the block
 * @param market the market
 */
export function leaveAuction(work: Work, market: MarketState): void {
  const openingAuction = work.state.registers.openingAuctions.delete(market.market.id);
  uncross(work, market);
  emitAuction(work, market, { openingAuction, leave: true, end: work.block.time });
  const { marketTimestamps } = market.market;
  const trigger = AuctionTrigger.UNSPECIFIED;
  market.data = { ...market.data, auctionStart: 0n, auctionEnd: 0n, trigger, extensionTrigger: trigger };
  changeMarket(work, market, {
    state: Market_State.ACTIVE,
    tradingMode: Market_TradingMode.CONTINUOUS,
    ...(marketTimestamps && openingAuction && { marketTimestamps: { ...marketTimestamps, open: work.block.time } }),
  });
  repricePegged(work, market);
}

/**
 * End the opening auctions whose time is over, and where orders cross. The others go on.
 *
 * @param work the block
 */
export function endOpeningAuctions(work: Work): void {
  const { openingAuctions } = work.state.registers;
  for (const [marketId, end] of [...openingAuctions]) {
    const market = work.state.markets.get(marketId);
    const isPending = market?.market.state === Market_State.PENDING;
    if (market !== undefined && isPending && end < work.block.time && crossing(market) !== undefined) {
      leaveAuction(work, market);
    }
  }
}

function emitAuction({ emit }: Work, { market, data }: MarketState, more: MessageInitShape<typeof AuctionEventSchema>) {
  const { auctionStart: start, auctionEnd: end, trigger } = data;
  emit({ case: "auction", value: create(AuctionEventSchema, { marketId: market.id, start, end, trigger, ...more }) });
}

/**
 * Change a market as a proposal that was enacted says.
 *
 * @param work the block
 * @param market the market
 * @param changes what it is to be
 */
export function updateMarket(work: Work, market: MarketState, changes: UpdateMarketConfiguration): void {
  emitSources(work, market.market, DataSourceSpec_Status.DEACTIVATED);
  const updated = updatedMarket(market.market, changes);
  emitSources(work, updated, DataSourceSpec_Status.ACTIVE);
  market.tick = /^[1-9]\d*$/.test(updated.tickSize) ? BigInt(updated.tickSize) : market.tick;
  market.market = updated;
  emitData(work, market);
  work.emit({ case: "marketUpdated", value: updated });
}

/** Change some of what a market is, and emit it. */
export function changeMarket({ emit }: Work, market: MarketState, changes: Partial<Market>): void {
  market.market = { ...market.market, ...changes };
  market.isChanged = true;
  emit({ case: "marketUpdated", value: market.market });
}

function emitData({ emit, block }: Work, market: MarketState): void {
  market.data = marketDataOf(market, block.time);
  emit({ case: "marketData", value: market.data });
}

/** Emit the data sources of a market. Those that are active are kept; they began when they were kept first. */
function emitSources({ state, block, emit }: Work, market: Market, status: DataSourceSpec_Status): void {
  const { dataSources } = state.registers;
  for (const { id, data } of sourcesOf(market)) {
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

/** The data sources that a market's product waits for. */
function sourcesOf({ tradableInstrument }: Market): DataSourceSpec[] {
  const product = tradableInstrument?.instrument?.product;
  const sources =
    product?.case === "future"
      ? [product.value.dataSourceSpecForSettlementData, product.value.dataSourceSpecForTradingTermination]
      : product?.case === "perpetual"
        ? [product.value.dataSourceSpecForSettlementData, product.value.dataSourceSpecForSettlementSchedule]
        : [];
  return sources.filter((source) => source !== undefined);
}
