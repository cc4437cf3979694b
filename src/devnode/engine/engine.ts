import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { InputData } from "../../../gen/vega/commands/v1/transaction_pb.js";
import type { StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { Account, MarketData, MarketDepth, Order, Position } from "../../../gen/vega/vega_pb.js";
import type { Block } from "../world/event.js";
import type { State } from "./state.js";

/** How things stand when the engine begins. */
export interface EngineStart {
  /** Network parameters by key; none by default. */
  readonly parameters?: ReadonlyMap<string, string>;
  /** What parties have of the network's token, in units of its last decimal, by public key; nothing by default. */
  readonly stakes?: ReadonlyMap<string, bigint>;
  /** The nodes that tokens can be delegated to, by identifier; none by default. */
  readonly validators?: readonly string[];
  readonly markets: readonly Market[];
  /** Those that the markets settle in. One that is missing counts as one without decimals. */
  readonly assets: readonly Asset[];
  /** The latest data of markets. What the engine does not compute of it, such as stakes and auctions, stays as it is here. */
  readonly marketData?: readonly MarketData[];
  /** The price of the last trade of each market, by market. */
  readonly lastPrices: ReadonlyMap<string, string>;
  readonly accounts: readonly Account[];
  readonly positions: readonly Position[];
  /** The orders that rest on the books, in the order of their priority. */
  readonly orders: readonly Order[];
  /** Those that are pending. */
  readonly stopOrders: readonly StopOrderEvent[];
  /** What a party that has no account of an asset begins with, in units of the asset's last decimal. */
  readonly startingBalance: string;
  /** The most pending stop orders of a party on a market. */
  readonly maxStopOrders: number;
  /**
   * Whether the order of a stop order has the stop order's identifier, as in the specification (2.4), and not one of its own,
   * as on the network. `false` by default.
   */
  readonly keepsStopOrderIds?: boolean;
}

/** A command of a transaction in a block. */
export interface ExecutedCommand {
  readonly command: InputData["command"];
  /** The sender's public key, 64 hex digits in lower case. */
  readonly partyId: string;
  /** The transaction's signature, 64 bytes. The identifiers of what it brings are derived from it. */
  readonly signature: Uint8Array;
}

/**
 * What became of a command: every part of it was carried out, some were, or none. The key of an error says which part of a
 * batch it is of; it is empty where the command has no parts.
 */
export type Outcome =
  | { readonly status: "success" }
  | {
      readonly status: "partial" | "failure";
      readonly errors: readonly { readonly key: string; readonly error: string }[];
    };

/** Carries out commands: an order book for each market, stop orders, positions and balances. */
export interface Engine {
  /** Begin a block: what has an end that has come expires. */
  beginBlock(block: Block): void;
  /** Carry out a command in the block that was begun. */
  execute(command: ExecutedCommand): Outcome;
  /** End the block: stop orders trigger, and the data of markets that changed is told. */
  endBlock(): void;
  /**
   * Read a market's order book.
   *
   * @param marketId the market, 64 hex digits in lower case
   * @param maxDepth the most levels of a side; all by default
   * @returns the levels of both sides, the best first, with what icebergs hide; none for a market that is not there.
   *   `sequenceNumber` is the height of the block that changed the book last; 0 where none did since the start
   */
  depth(marketId: string, maxDepth?: number): MarketDepth;
  /** Keep all that the engine knows. What was kept stays as it is, however often it is restored. */
  save(): EngineState;
  /** Go back to what `save()` gave, of this engine or of another one. */
  restore(state: EngineState): void;
}

/** What an engine knows. It is plain data. */
export type EngineState = State;
