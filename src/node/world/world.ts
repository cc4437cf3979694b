import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { CheckpointEvent, StopOrderEvent } from "../../../gen/vega/events/v1/events_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import {
  type Account,
  type Deposit,
  type MarginLevels,
  type MarketData,
  type Order,
  Order_Status,
  type Position,
  StopOrder_Status,
  type Trade,
} from "../../../gen/vega/vega_pb.js";
import type { Block, BlockEvent } from "./block-event.js";
import { type CopyOnWrite, copyOnWrite, copyOnWriteMap, restoreAll, saveAll } from "./copy-on-write.js";
import { createRecordStore, type Records } from "./latest-events.js";
import { createLiveTimeline, MAX_RECORDS, type Timed, type Timeline } from "./timeline.js";
import { createTransactionEventStore, type TransactionEventIndex } from "./transaction-events.js";

/** A party and the time of its first event, in Unix nanoseconds. */
export interface PartyRecord {
  readonly id: string;
  readonly createdAt: bigint;
}

/**
 * The current state of the network: the history's final state with the changes of all later blocks. Identifiers are in
 * lower case.
 */
export interface World {
  /** The last block. */
  readonly block: Block;
  /** Returns a block of the chain, including those of the history. */
  blockAt(height: bigint): Block | undefined;
  /** Network parameters by key. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly assets: ReadonlyMap<string, Asset>;
  readonly markets: ReadonlyMap<string, Market>;
  /** Latest market data by market. */
  readonly marketData: ReadonlyMap<string, MarketData>;
  readonly parties: ReadonlyMap<string, PartyRecord>;
  /** Accounts by identifier. */
  readonly accounts: ReadonlyMap<string, Account>;
  /** Positions by `PARTY MARKET`. */
  readonly positions: ReadonlyMap<string, Position>;
  /** Stop orders with their order submissions, by identifier. */
  readonly stopOrders: ReadonlyMap<string, StopOrderEvent>;
  /** Latest events of all other kinds, such as transfers and proposals. */
  readonly records: Records;
  readonly transactions: TransactionEventIndex;
  /** The latest version of each order, at the place of its first version. */
  readonly orders: Timeline<Order>;
  /** Active and parked orders. */
  readonly liveOrders: Timeline<Order>;
  readonly trades: Timeline<Trade>;
  /** All market data. Its records have no identifier, so `find` returns none. */
  readonly marketDataHistory: Timeline<MarketData>;
  /** Governance tokens by party, in units of the last decimal. They are constant. */
  readonly stakes: ReadonlyMap<string, bigint>;
  /** Latest margin levels by `PARTY MARKET`. */
  readonly marginLevels: ReadonlyMap<string, MarginLevels>;
  /** Account balances after each block that changed them. */
  readonly balances: Timeline<Timed<Account>>;
  /** Deposits of the history. Later blocks add none. */
  readonly deposits: Timeline<Timed<Deposit>>;
  /** Checkpoints of the history. Later blocks add none. */
  readonly checkpoints: Timeline<CheckpointEvent>;
  /** Number of orders and trades since the first block. */
  readonly totals: { readonly orders: bigint; readonly trades: bigint };
}

/** The state of the network at the end of a history. */
export interface FinalState {
  /** Network parameters by key. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly assets: readonly Asset[];
  readonly markets: readonly Market[];
  /** Latest data of each market. */
  readonly marketData: readonly MarketData[];
  readonly parties: readonly PartyRecord[];
  readonly accounts: readonly Account[];
  readonly positions: readonly Position[];
  /** Governance tokens by party, in units of the last decimal. */
  readonly stakes: ReadonlyMap<string, bigint>;
  /** Latest margin levels of each party on each market. */
  readonly marginLevels: readonly MarginLevels[];
  /** All stop orders, by time. */
  readonly stopOrders: readonly StopOrderEvent[];
  /** Active and parked orders, by priority. The timeline of orders does not include them. */
  readonly orders: readonly Order[];
}

/** A history and its final state. Large parts are created on first access. */
export interface WorldHistory {
  /** Height of the history's last block. */
  readonly lastHeight: bigint;
  /** Returns a block of the history, from height 1 to the last one. */
  blockAt(height: bigint): Block;
  readonly finalState: FinalState;
  /** All other orders of the history. */
  readonly orders: Timeline<Order>;
  readonly trades: Timeline<Trade>;
  readonly marketDataHistory: Timeline<MarketData>;
  readonly balances: Timeline<Timed<Account>>;
  readonly deposits: Timeline<Timed<Deposit>>;
  readonly checkpoints: Timeline<CheckpointEvent>;
}

/** The saved state of a world, by part. */
export type WorldState = Readonly<Record<string, unknown>>;

/** A world, and the operations that change it. */
export interface WorldStore {
  /** The current state. Its members change, but values returned earlier do not. */
  readonly world: World;
  begin(block: Block): void;
  /** Applies an event. An event of another block begins that block. */
  apply(blockEvent: BlockEvent): void;
  /** Saves the world's state, which can be restored any number of times. */
  save(): WorldState;
  restore(state: WorldState): void;
}

/**
 * Creates a world that events update.
 *
 * In addition to the history, it stores up to {@link MAX_RECORDS} finished records of each kind: orders, stop orders,
 * trades, market data, balances and blocks.
 *
 * @example
 * const { world, apply } = createWorld(generateHistory({ blocks: 5000 }));
 */
export function createWorld(history: WorldHistory): WorldStore {
  const parts = createParts(history);
  const world = viewOf(parts, history);
  const begin = (block: Block) => addBlock(parts.blocks, block);
  return {
    world,
    begin,

    apply(blockEvent) {
      if (blockEvent.block.height !== world.block.height) {
        begin(blockEvent.block);
      }
      applyEvent(parts, blockEvent);
    },

    save: () => saveAll(parts),
    restore: (state) => restoreAll(parts, state),
  };
}

type Parts = ReturnType<typeof createParts>;

function createParts(history: WorldHistory) {
  const { lastHeight, finalState } = history;
  const byId = <T extends { readonly id: string }>(records: () => readonly T[]) =>
    copyOnWriteMap(() => records().map((record) => [record.id, record] as const));
  return {
    records: createRecordStore(),
    transactions: createTransactionEventStore(),
    blocks: copyOnWrite<Block[]>(
      () => [history.blockAt(lastHeight)],
      (blocks) => blocks.slice(),
    ),
    parameters: copyOnWriteMap(() => finalState.parameters),
    assets: byId(() => finalState.assets),
    markets: byId(() => finalState.markets),
    marketData: copyOnWriteMap(() => finalState.marketData.map((data) => [data.market, data] as const)),
    parties: byId(() => finalState.parties),
    accounts: byId(() => finalState.accounts),
    positions: copyOnWriteMap(() => finalState.positions.map((position) => [positionKey(position), position] as const)),
    stopOrders: copyOnWriteMap(() => finalState.stopOrders.map((event) => [event.stopOrder?.id ?? "", event] as const)),
    orders: createLiveTimeline<Order>({
      history: history.orders,
      lastHeight,
      open: () => finalState.orders,
      idOf: ({ id }) => id,
      isOpen: isLive,
    }),
    trades: createLiveTimeline<Trade>({ history: history.trades, lastHeight, idOf: ({ id }) => id }),
    marketDataHistory: createLiveTimeline<MarketData>({ history: history.marketDataHistory, lastHeight }),
    marginLevels: copyOnWriteMap(() => finalState.marginLevels.map((levels) => [positionKey(levels), levels] as const)),
    balances: createLiveTimeline<Timed<Account>>({
      history: history.balances,
      lastHeight,
      // Only the last balance of an account in a block counts.
      idOf: ({ time, value }) => `${value.id} ${time}`,
    }),
  };
}

/** Returns the read-only view of a world. Getters always return the current values. */
function viewOf(parts: Parts, { lastHeight, finalState, blockAt, deposits, checkpoints }: WorldHistory): World {
  const { blocks, records, transactions, orders, trades, marketDataHistory, balances } = parts;
  return {
    get block() {
      return blocks.value.at(-1) ?? blockAt(lastHeight);
    },
    blockAt(height) {
      const first = blocks.value[0]?.height ?? 0n;
      if (height >= first) {
        return blocks.value[Number(height - first)];
      }
      return height >= 1n && height <= lastHeight ? blockAt(height) : undefined;
    },
    get parameters() {
      return parts.parameters.value;
    },
    get assets() {
      return parts.assets.value;
    },
    get markets() {
      return parts.markets.value;
    },
    get marketData() {
      return parts.marketData.value;
    },
    get parties() {
      return parts.parties.value;
    },
    get accounts() {
      return parts.accounts.value;
    },
    get positions() {
      return parts.positions.value;
    },
    get stopOrders() {
      return parts.stopOrders.value;
    },
    get marginLevels() {
      return parts.marginLevels.value;
    },
    get totals() {
      return { orders: orders.total(), trades: trades.total() };
    },
    records: records.records,
    ...{ transactions, orders, trades, marketDataHistory, balances, deposits, checkpoints },
    liveOrders: orders.open,
    stakes: finalState.stakes,
  };
}

function addBlock(blocks: CopyOnWrite<Block[]>, block: Block): void {
  const all = blocks.change();
  all.push(block);
  if (all.length > MAX_RECORDS) {
    all.shift();
  }
}

function applyEvent(parts: Parts, blockEvent: BlockEvent): void {
  const { block, event } = blockEvent;
  parts.records.apply(blockEvent);
  parts.transactions.apply(blockEvent, event.case === "account" && !parts.accounts.value.has(event.value.id));
  switch (event.case) {
    case "order":
    case "endedOrder":
      parts.orders.put(block.height, event.value);
      break;
    case "trade":
      parts.trades.put(block.height, event.value);
      break;
    case "marketData":
      parts.marketData.change().set(event.value.market, event.value);
      parts.marketDataHistory.put(block.height, event.value);
      break;
    case "account":
      parts.accounts.change().set(event.value.id, event.value);
      parts.balances.put(block.height, { time: block.time, value: event.value });
      break;
    case "position":
      parts.positions.change().set(positionKey(event.value), event.value);
      break;
    case "marginLevels":
      parts.marginLevels.change().set(positionKey(event.value), event.value);
      break;
    case "stopOrder":
      putStopOrder(parts.stopOrders, event.value);
      break;
    case "party":
      if (!parts.parties.value.has(event.value.id)) {
        parts.parties.change().set(event.value.id, { id: event.value.id, createdAt: block.time });
      }
      break;
    case "marketCreated":
    case "marketUpdated":
      parts.markets.change().set(event.value.id, event.value);
      break;
    case "asset":
      parts.assets.change().set(event.value.id, event.value);
      break;
    case "networkParameter":
      parts.parameters.change().set(event.value.key, event.value.value);
      break;
  }
}

/** Stores a stop order, and drops the oldest finished one if there are too many. */
function putStopOrder(stopOrders: CopyOnWrite<Map<string, StopOrderEvent>>, event: StopOrderEvent): void {
  const all = stopOrders.change().set(event.stopOrder?.id ?? "", event);
  if (all.size <= MAX_RECORDS) {
    return;
  }
  for (const [id, { stopOrder }] of all) {
    if (stopOrder?.status !== StopOrder_Status.PENDING) {
      all.delete(id);
      return;
    }
  }
}

function isLive({ status }: Order): boolean {
  return status === Order_Status.ACTIVE || status === Order_Status.PARKED;
}

const positionKey = ({ partyId, marketId }: Pick<Position, "partyId" | "marketId">) => `${partyId} ${marketId}`;
