import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { OrderSubmission } from "../../../gen/vega/commands/v1/commands_pb.js";
import { type Market, Market_State, Market_TradingMode } from "../../../gen/vega/markets_pb.js";
import type { Account, MarginLevels, MarketData, Order, Position, StopOrder } from "../../../gen/vega/vega_pb.js";
import type { Block, Event } from "../world/event.js";
import { copyRegisters, type Registers } from "./registers.js";

/** Tells of an event of the block that was begun. */
export type Emit = (event: Event) => void;

/** The orders of a side at a price. */
export interface Level {
  readonly price: bigint;
  /** Their identifiers, in the order of their priority. */
  readonly ids: Set<string>;
}

/** A party's position on a market, with the digits that its message leaves out. */
export interface Holding {
  readonly position: Position;
  /** What the party holds; below 0 where it is short. */
  readonly volume: bigint;
  /** The average entry price in the market's decimals, times {@link PRECISION}. */
  readonly entryPrice: bigint;
  /** In units of the asset's last decimal, times {@link PRECISION}. */
  readonly realisedPnl: bigint;
  /** The value, price times volume, up to which gains and losses were settled. */
  readonly settledValue: bigint;
}

/** What the numbers of a holding are multiplied by. */
export const PRECISION = 10n ** 12n;

/** A stop order that waits. */
export interface PendingStop {
  readonly stopOrder: StopOrder;
  /** The order that it submits. */
  readonly submission: OrderSubmission;
  /** The best price since it was submitted, which a trailing one follows; 0 before there was a trade. */
  readonly best: bigint;
}

/** The best prices of orders that are not pegged; 0 where a side has none. */
export interface References {
  readonly bid: bigint;
  readonly ask: bigint;
}

/** A market as it stands. */
export interface MarketState {
  market: Market;
  /** The asset that it settles in. */
  readonly asset: string;
  /** The power of ten between its prices, and prices in the asset. */
  readonly priceExponent: number;
  /** The power of ten between its prices times sizes, and amounts of the asset. */
  readonly amountExponent: number;
  /** The smallest step of its prices. */
  tick: bigint;
  /** The levels of the book, the best first. */
  readonly buy: Level[];
  readonly sell: Level[];
  /** The orders that rest or are parked. */
  readonly orders: Map<string, Order>;
  /** The pegged ones among them, in the order in which they came. */
  readonly pegged: Set<string>;
  /** By party. */
  readonly holdings: Map<string, Holding>;
  /** Those whose margin is held in accounts of their own, as long as they have orders or a position. */
  readonly parties: Set<string>;
  /** In the order in which they came. */
  readonly stops: Map<string, PendingStop>;
  /** The price of the last trade; 0 before the first one. */
  lastPrice: bigint;
  /** When the next order or stop order expires, or earlier; `undefined` where none does. */
  nextExpiry: bigint | undefined;
  /** What the prices of pegged orders were computed from last. */
  references: References;
  data: MarketData;
  /** The height of the block that changed the book last. */
  changedAt: bigint;
  /** Whether the block has changed the market, has brought a trade, or has to look at its stop orders. */
  isChanged: boolean;
  isTraded: boolean;
  isWatched: boolean;
}

/** All that the engine knows. Its maps, sets and lists change; what they hold does not, but for levels and markets. */
export interface State {
  readonly markets: Map<string, MarketState>;
  /** Accounts by name. */
  readonly accounts: Map<string, Account>;
  readonly parties: Set<string>;
  /** Assets by identifier. */
  readonly assets: Map<string, Asset>;
  readonly registers: Registers;
  /** The nodes that tokens can be delegated to, by identifier. */
  readonly validators: ReadonlySet<string>;
  block: Block;
}

/** What a command is carried out with. */
export interface Work {
  readonly state: State;
  readonly block: Block;
  readonly emit: Emit;
  readonly startingBalance: string;
  readonly maxStopOrders: number;
  /** Whether the order of a stop order has the stop order's identifier. */
  readonly keepsStopOrderIds: boolean;
  /** The margin levels that have changed and were not emitted yet, by `PARTY MARKET`. */
  readonly marginLevels: Map<string, MarginLevels>;
  /** Gives the next identifier of what the transaction, or the block, brings: 64 hex digits in lower case. */
  readonly nextId: () => string;
}

/**
 * Copy a state, so that changes to one do not reach the other.
 *
 * @param state the state
 * @returns the copy, which shares the messages
 */
export function copyState({ markets, accounts, parties, assets, registers, validators, block }: State): State {
  return {
    markets: new Map([...markets].map(([id, market]) => [id, copyMarket(market)])),
    accounts: new Map(accounts),
    parties: new Set(parties),
    assets: new Map(assets),
    registers: copyRegisters(registers),
    validators,
    block,
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
    holdings: new Map(market.holdings),
    parties: new Set(market.parties),
    stops: new Map(market.stops),
  };
}

/** Whether orders on a market trade at once. Elsewhere they rest. */
export function isContinuous({ market }: MarketState): boolean {
  return market.tradingMode === Market_TradingMode.CONTINUOUS;
}

/** Whether a market takes orders. */
export function isOpen({ market: { state, tradingMode } }: MarketState): boolean {
  return OPEN.includes(state) && tradingMode !== Market_TradingMode.NO_TRADING;
}

const OPEN: readonly Market_State[] = [
  Market_State.ACTIVE,
  Market_State.PENDING,
  Market_State.SUSPENDED,
  Market_State.SUSPENDED_VIA_GOVERNANCE,
];

/**
 * Note when something of a market expires.
 *
 * @param market the market
 * @param expiresAt when, in Unix nanoseconds; 0 or `undefined` for what does not expire
 */
export function noteExpiry(market: MarketState, expiresAt: bigint | undefined): void {
  if (expiresAt !== undefined && expiresAt > 0n && (market.nextExpiry === undefined || expiresAt < market.nextExpiry)) {
    market.nextExpiry = expiresAt;
  }
}
