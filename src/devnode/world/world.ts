import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { CheckpointEvent, StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { Account, Deposit, MarginLevels, MarketData, Order, Position, Trade } from "../../../gen/vega/vega_pb.js";
import type { Block } from "./event.js";
import type { Records } from "./records.js";
import type { Timed, Timeline } from "./timeline.js";
import type { Transactions } from "./transactions.js";

/** A party, and when it came, in Unix nanoseconds. */
export interface PartyRecord {
  readonly id: string;
  readonly createdAt: bigint;
}

/** How things stand: what the history led to, and what blocks have changed since. All identifiers are in lower case. */
export interface World {
  /** The last block. */
  readonly block: Block;
  /** Find a block that was made, or is of the history. */
  blockAt(height: bigint): Block | undefined;
  /** Network parameters by key. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly markets: ReadonlyMap<string, Market>;
  /** The latest data of each market, by market. */
  readonly marketData: ReadonlyMap<string, MarketData>;
  readonly parties: ReadonlyMap<string, PartyRecord>;
  /** Accounts by their own identifier. */
  readonly accounts: ReadonlyMap<string, Account>;
  /** Positions by `PARTY MARKET`. */
  readonly positions: ReadonlyMap<string, Position>;
  /** Stop orders by identifier, and the order that each one submits. */
  readonly stopOrders: ReadonlyMap<string, StopOrderEvent>;
  /** What events told last of all else, such as transfers and proposals. */
  readonly records: Records;
  /** The events of each transaction. */
  readonly transactions: Transactions;
  /** The latest version of each order, where its first version came. */
  readonly orders: Timeline<Order>;
  /** Those of them that can still trade. */
  readonly liveOrders: Timeline<Order>;
  readonly trades: Timeline<Trade>;
  /** All data of markets. Records have no identifier of their own: `find` finds none. */
  readonly marketDataHistory: Timeline<MarketData>;
  /** The governance tokens of parties, in units of the last decimal, by party. They do not change. */
  readonly stakes: ReadonlyMap<string, bigint>;
  /** The latest margin levels, by `PARTY MARKET`. */
  readonly marginLevels: ReadonlyMap<string, MarginLevels>;
  /** Each account as each block left it that changed it. */
  readonly balances: Timeline<Timed<Account>>;
  /** The deposits of the history. Blocks bring no others. */
  readonly deposits: Timeline<Timed<Deposit>>;
  /** The checkpoints of the history. Blocks bring no others. */
  readonly checkpoints: Timeline<CheckpointEvent>;
  /** How many orders and trades there were since the first block. */
  readonly totals: { readonly orders: bigint; readonly trades: bigint };
}
