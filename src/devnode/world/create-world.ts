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
import type { Block, Happening } from "./event.js";
import { kept, keptMap, restoreAll, saveAll } from "./kept.js";
import { createLiveTimeline, MAX_RECORDS } from "./live-timeline.js";
import { createRecords } from "./records.js";
import type { Timed, Timeline } from "./timeline.js";
import { createTransactions } from "./transactions.js";
import type { PartyRecord, World } from "./world.js";

/** How things stand at the end of a history. */
export interface StandingStart {
  /** Network parameters by key. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly assets: readonly Asset[];
  readonly markets: readonly Market[];
  /** The latest data of each market. */
  readonly marketData: readonly MarketData[];
  readonly parties: readonly PartyRecord[];
  readonly accounts: readonly Account[];
  readonly positions: readonly Position[];
  /** The governance tokens of parties, in units of the last decimal, by party. */
  readonly stakes: ReadonlyMap<string, bigint>;
  /** The latest margin levels of each party on each market. */
  readonly marginLevels: readonly MarginLevels[];
  /** All of them, in the order of their times. */
  readonly stopOrders: readonly StopOrderEvent[];
  /** Those that can still trade, in the order of their priority. The timeline of orders does not have them. */
  readonly orders: readonly Order[];
}

/** A history, and how things stand at its end. What is many is asked for when it is first read. */
export interface WorldStart {
  /** The height of the history's last block. */
  readonly lastHeight: bigint;
  /** Give a block of the history: from 1 to the last one. */
  blockAt(height: bigint): Block;
  readonly start: StandingStart;
  /** All other orders of the history. */
  readonly orders: Timeline<Order>;
  readonly trades: Timeline<Trade>;
  readonly marketDataHistory: Timeline<MarketData>;
  readonly balances: Timeline<Timed<Account>>;
  readonly deposits: Timeline<Timed<Deposit>>;
  readonly checkpoints: Timeline<CheckpointEvent>;
}

/** How things stood when it was saved: each part by its name. */
export type WorldState = Readonly<Record<string, unknown>>;

/** How things stand, and what changes it. */
export interface LivingWorld {
  /** How things stand. Its members change; what they gave before stays as it was. */
  readonly world: World;
  /** Begin a block. */
  begin(block: Block): void;
  /** Note what happened. A happening of another block begins that block. */
  apply(happening: Happening): void;
  /** Keep how things stand. What was kept stays as it is, however often it is restored. */
  save(): WorldState;
  restore(state: WorldState): void;
}

/**
 * Make a world that lives: events change how things stand.
 *
 * It keeps {@link MAX_RECORDS} records at most of what is finished, of each kind, beside the history: orders, stop
 * orders, trades, market data, balances and blocks.
 *
 * @param madeUp the history, and how things stand at its end
 * @returns the world
 *
 * @example
 * const { world, apply } = createWorld(createMadeUp({ blocks: 5000 }));
 */
export function createWorld(madeUp: WorldStart): LivingWorld {
  const { lastHeight, start } = madeUp;
  const blocks = kept<Block[]>(
    () => [madeUp.blockAt(lastHeight)],
    (made) => made.slice(),
  );
  const parameters = keptMap(() => start.parameters);
  const assets = keptMap(() => start.assets.map((asset) => [asset.id, asset] as const));
  const markets = keptMap(() => start.markets.map((market) => [market.id, market] as const));
  const marketData = keptMap(() => start.marketData.map((data) => [data.market, data] as const));
  const parties = keptMap(() => start.parties.map((party) => [party.id, party] as const));
  const accounts = keptMap(() => start.accounts.map((account) => [account.id, account] as const));
  const positions = keptMap(() => start.positions.map((position) => [positionKey(position), position] as const));
  const marginLevels = keptMap(() => start.marginLevels.map((levels) => [positionKey(levels), levels] as const));
  const stopOrders = keptMap(() => start.stopOrders.map((event) => [event.stopOrder?.id ?? "", event] as const));
  const orders = createLiveTimeline<Order>({
    history: madeUp.orders,
    lastHeight,
    open: () => start.orders,
    idOf: ({ id }) => id,
    isOpen: isLive,
  });
  const trades = createLiveTimeline<Trade>({ history: madeUp.trades, lastHeight, idOf: ({ id }) => id });
  const marketDataHistory = createLiveTimeline<MarketData>({ history: madeUp.marketDataHistory, lastHeight });
  const balances = createLiveTimeline<Timed<Account>>({
    history: madeUp.balances,
    lastHeight,
    // Of the balances that an account has in a block, the last one counts.
    idOf: ({ time, value }) => `${value.id} ${time}`,
  });

  const records = createRecords();
  const transactions = createTransactions();
  const parts = {
    ...{
      records,
      transactions,
      blocks,
      parameters,
      assets,
      markets,
      marketData,
      parties,
      accounts,
      positions,
      stopOrders,
    },
    ...{ orders, trades, marketDataHistory, marginLevels, balances },
  };
  const lastBlock = () => blocks.value.at(-1) ?? madeUp.blockAt(lastHeight);

  const world: World = {
    get block() {
      return lastBlock();
    },
    blockAt(height) {
      const first = blocks.value[0]?.height ?? 0n;
      if (height >= first) {
        return blocks.value[Number(height - first)];
      }
      return height >= 1n && height <= lastHeight ? madeUp.blockAt(height) : undefined;
    },
    get parameters() {
      return parameters.value;
    },
    get assets() {
      return assets.value;
    },
    get markets() {
      return markets.value;
    },
    get marketData() {
      return marketData.value;
    },
    get parties() {
      return parties.value;
    },
    get accounts() {
      return accounts.value;
    },
    get positions() {
      return positions.value;
    },
    get stopOrders() {
      return stopOrders.value;
    },
    records: records.records,
    transactions,
    orders,
    liveOrders: orders.open,
    trades,
    marketDataHistory,
    get marginLevels() {
      return marginLevels.value;
    },
    balances,
    stakes: start.stakes,
    deposits: madeUp.deposits,
    checkpoints: madeUp.checkpoints,
    get totals() {
      return { orders: orders.total(), trades: trades.total() };
    },
  };

  function begin(block: Block): void {
    const made = blocks.change();
    made.push(block);
    if (made.length > MAX_RECORDS) {
      made.shift();
    }
  }

  function putStopOrder(event: StopOrderEvent): void {
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

  return {
    world,
    begin,

    apply(happening) {
      const { block, event } = happening;
      if (block.height !== lastBlock().height) {
        begin(block);
      }
      records.apply(happening);
      transactions.apply(happening, event.case === "account" && !accounts.value.has(event.value.id));
      switch (event.case) {
        case "order":
        case "endedOrder":
          orders.put(block.height, event.value);
          break;
        case "trade":
          trades.put(block.height, event.value);
          break;
        case "marketData":
          marketData.change().set(event.value.market, event.value);
          marketDataHistory.put(block.height, event.value);
          break;
        case "account":
          accounts.change().set(event.value.id, event.value);
          balances.put(block.height, { time: block.time, value: event.value });
          break;
        case "position":
          positions.change().set(positionKey(event.value), event.value);
          break;
        case "marginLevels":
          marginLevels.change().set(positionKey(event.value), event.value);
          break;
        case "stopOrder":
          putStopOrder(event.value);
          break;
        case "party":
          if (!parties.value.has(event.value.id)) {
            parties.change().set(event.value.id, { id: event.value.id, createdAt: block.time });
          }
          break;
        case "marketCreated":
        case "marketUpdated":
          markets.change().set(event.value.id, event.value);
          break;
        case "asset":
          assets.change().set(event.value.id, event.value);
          break;
        case "networkParameter":
          parameters.change().set(event.value.key, event.value.value);
          break;
      }
    },

    save: () => saveAll(parts),
    restore: (state) => restoreAll(parts, state),
  };
}

/**
 * Whether an order can still trade.
 *
 * @param order the order
 * @returns whether it rests on a book, or is parked
 */
export function isLive({ status }: Order): boolean {
  return status === Order_Status.ACTIVE || status === Order_Status.PARKED;
}

const positionKey = ({ partyId, marketId }: Pick<Position, "partyId" | "marketId">) => `${partyId} ${marketId}`;
