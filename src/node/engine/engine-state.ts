import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import type { DataSourceSpec } from "../../../gen/vega/data_source_pb.js";
import type { Transfer } from "../../../gen/vega/events/v1/events_pb.js";
import type { Proposal, ProposalParameters, Vote } from "../../../gen/vega/governance_pb.js";
import { type Market, Market_State, Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import type {
  Account,
  MarginLevels,
  MarketData,
  Order,
  PartyProfile,
  Position,
  StopOrder,
  Withdrawal,
} from "../../../gen/vega/vega_pb.js";
import type { Block, Event } from "../world/block-event.js";

/** Emits an event of the current block. */
export type Emit = (event: Event) => void;

/** A price level: the orders of one side at one price. */
export interface Level {
  readonly price: bigint;
  /** Order identifiers, by time priority. */
  readonly ids: Set<string>;
}

/** A party's position on a market, with the precision that the `Position` message drops. */
export interface PartyPosition {
  /** The position as it was last emitted. */
  readonly position: Position;
  /** Open volume; negative for a short position. */
  readonly volume: bigint;
  /** Average entry price in the market's decimals, times {@link PRECISION}. */
  readonly entryPrice: bigint;
  /** Realised profit and loss in units of the asset's last decimal, times {@link PRECISION}. */
  readonly realisedPnl: bigint;
  /** Position value (price times volume) at the last mark-to-market settlement. */
  readonly settledValue: bigint;
}

/** Scale of the prices and amounts in a {@link PartyPosition}. */
export const PRECISION = 10n ** 12n;

export interface PendingStopOrder {
  readonly stopOrder: StopOrder;
  /** The order to submit when the stop order triggers. */
  readonly submission: OrderSubmission;
  /** Best price since submission, which a trailing stop order follows; 0 before the first trade. */
  readonly bestPrice: bigint;
  /** Whether its order gets the stop order's identifier. */
  readonly sharesId: boolean;
}

/** Reference prices of pegged orders: the best prices of orders that are not pegged; 0 for an empty side. */
export interface ReferencePrices {
  readonly bid: bigint;
  readonly ask: bigint;
}

/** The state of a market: its order book, positions and stop orders. */
export interface MarketState {
  market: Market;
  /** Settlement asset. */
  readonly asset: string;
  /** Power of ten that converts market prices to asset prices. */
  readonly priceExponent: number;
  /** Power of ten that converts price times size to units of the asset's last decimal. */
  readonly amountExponent: number;
  /** Tick size, in the market's decimals. */
  tick: bigint;
  /** Price levels of the order book, best price first. */
  readonly buy: Level[];
  readonly sell: Level[];
  /** Active and parked orders, by identifier. */
  readonly orders: Map<string, Order>;
  /** Identifiers of the pegged orders among them, by arrival. */
  readonly pegged: Set<string>;
  readonly positions: Map<string, PartyPosition>;
  /** Parties with a margin account in use: those with orders or a position. */
  readonly parties: Set<string>;
  /** Pending stop orders by identifier, in order of arrival. */
  readonly stopOrders: Map<string, PendingStopOrder>;
  /** Price of the last trade, which is also the mark price; 0 before the first trade. */
  lastPrice: bigint;
  /** Lower bound of the next expiry of an order or stop order, in Unix nanoseconds; `undefined` if none expires. */
  nextExpiry: bigint | undefined;
  /** Reference prices at the last repricing of pegged orders. */
  references: ReferencePrices;
  data: MarketData;
  /** Height of the last block that changed the market. */
  lastChangedHeight: bigint;
  /** Whether the current block has changed the market. */
  isChanged: boolean;
  /** Whether the current block has trades that are not marked to market yet. */
  isTraded: boolean;
  /** Whether stop orders must be checked against a new last price. */
  hasNewPrice: boolean;
}

/** A proposal that is open, or has passed and awaits its enactment. */
export interface ActiveProposal {
  readonly proposal: Proposal;
  readonly rules: ProposalParameters;
  /** The latest vote of each party. */
  readonly votes: readonly Vote[];
}

/**
 * The engine's state. Its maps and sets change in place. Their values are immutable, except for markets and price levels:
 * a change stores a new value.
 */
export interface State {
  readonly markets: Map<string, MarketState>;
  /** Accounts by name, see `accountName`. */
  readonly accounts: Map<string, Account>;
  readonly parties: Set<string>;
  /** Assets by identifier. */
  readonly assets: Map<string, Asset>;
  /** Network parameters by key. */
  readonly parameters: Map<string, string>;
  /** One-off transfers that are paid but not delivered, by identifier, in order of arrival. */
  readonly scheduledTransfers: Map<string, Transfer>;
  /** Pending recurring transfers by identifier, in order of arrival. */
  readonly recurringTransfers: Map<string, Transfer>;
  /** Governance tokens by party, in units of the token's last decimal. They are the weight of votes. */
  readonly stakes: Map<string, bigint>;
  /** By identifier, in order of arrival. */
  readonly proposals: Map<string, ActiveProposal>;
  /** Earliest end of opening auctions that governance started, by market, in Unix nanoseconds. */
  readonly openingAuctions: Map<string, bigint>;
  /** Active data sources of markets, by identifier. */
  readonly dataSources: Map<string, DataSourceSpec>;
  readonly profiles: Map<string, PartyProfile>;
  /** By identifier, in order of arrival. */
  readonly withdrawals: Map<string, Withdrawal>;
  block: Block;
}

/** The context for applying a command: the state, the current block, and the receiver of events. */
export interface ExecutionContext {
  readonly state: State;
  readonly block: Block;
  readonly emit: Emit;
  readonly startingBalance: string;
  readonly maxStopOrders: number;
  /** Whether the order of a stop order has the stop order's identifier, unless another order has it. */
  readonly keepsStopOrderIds: boolean;
  /** Changed margin levels that are not emitted yet, by `PARTY MARKET`. */
  readonly marginLevels: Map<string, MarginLevels>;
  /** Returns the next identifier of the transaction or block: 64 hex digits in lower case. */
  readonly nextId: () => string;
}

/** Copies a state. Changes to the copy do not affect the original. */
export function copyState(state: State): State {
  return {
    markets: new Map([...state.markets].map(([id, market]) => [id, copyMarket(market)])),
    accounts: new Map(state.accounts),
    parties: new Set(state.parties),
    assets: new Map(state.assets),
    parameters: new Map(state.parameters),
    scheduledTransfers: new Map(state.scheduledTransfers),
    recurringTransfers: new Map(state.recurringTransfers),
    stakes: new Map(state.stakes),
    proposals: new Map(state.proposals),
    openingAuctions: new Map(state.openingAuctions),
    dataSources: new Map(state.dataSources),
    profiles: new Map(state.profiles),
    withdrawals: new Map(state.withdrawals),
    block: state.block,
  };
}

function copyMarket(market: MarketState): MarketState {
  const copyLevels = (levels: readonly Level[]) => levels.map(({ price, ids }) => ({ price, ids: new Set(ids) }));
  return {
    ...market,
    buy: copyLevels(market.buy),
    sell: copyLevels(market.sell),
    orders: new Map(market.orders),
    pegged: new Set(market.pegged),
    positions: new Map(market.positions),
    parties: new Set(market.parties),
    stopOrders: new Map(market.stopOrders),
  };
}

/** Returns whether orders on a market trade continuously. In auctions they only rest. */
export function isContinuous({ market }: MarketState): boolean {
  return market.tradingMode === Market_TradingMode.CONTINUOUS;
}

export function isOpen({ market: { state, tradingMode } }: MarketState): boolean {
  return OPEN.includes(state) && tradingMode !== Market_TradingMode.NO_TRADING;
}

const OPEN: readonly Market_State[] = [Market_State.ACTIVE, Market_State.PENDING, Market_State.SUSPENDED];

/** Lowers a market's `nextExpiry` to the expiry of an order or stop order. */
export function trackExpiry(market: MarketState, expiresAt: bigint | undefined): void {
  if (expiresAt !== undefined && expiresAt > 0n && (market.nextExpiry === undefined || expiresAt < market.nextExpiry)) {
    market.nextExpiry = expiresAt;
  }
}
