import { create } from "@bufbuild/protobuf";
import {
  BeginBlockSchema,
  type CheckpointEvent,
  CheckpointEventSchema,
  DelegationBalanceEventSchema,
  RewardPayoutEventSchema,
  type StopOrderEvent,
} from "../../../gen/vega/events/v1/events_pb.js";
import {
  LiquidityProvision_Status,
  LiquidityProvisionSchema,
  PeggedReference,
  type Position,
} from "../../../gen/vega/vega_pb.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { Block, BlockEvent, Event } from "../world/block-event.js";
import { epochOf } from "../world/epochs.js";
import type { Placed, Timeline, TimelinePlace } from "../world/timeline.js";
import type { FinalState, WorldHistory } from "../world/world.js";
import {
  ACCOUNTS,
  BALANCES_PER_BLOCK,
  ENTRIES_PER_BLOCK,
  emptyAccounts,
  fundedAccount,
  generatedAccount,
  generatedBalance,
  generatedDeposit,
  generatedMarginLevels,
  ledgerEvent,
  withdrawalEvent,
} from "./generated-accounts.js";
import { generatedAssets, generatedMarket, priceInAsset } from "./generated-markets.js";
import { generatedPendingStopOrders, generatedStopOrders } from "./generated-stop-orders.js";
import {
  blockIndex,
  generatedMarketData,
  generatedOrder,
  generatedPosition,
  generatedTrade,
  ORDERS_PER_BLOCK,
  POSITIONS,
  restingOrders,
  TRADES_PER_BLOCK,
  tradePrice,
} from "./generated-trading.js";
import { networkParameters } from "./network-parameters.js";
import {
  assetId,
  blockEvent,
  blockTime,
  COUNT,
  decimal,
  freeText,
  generatedBlock,
  hashOf,
  marketId,
  numberedId,
  numberOf,
  once,
  partyId,
  pick,
  scatter,
} from "./seeded-values.js";

/** State at the end of the generated history. Large parts are generated on first access. */
interface GeneratedFinalState extends FinalState {
  /** Price of the last trade, by market. */
  readonly lastPrices: ReadonlyMap<string, string>;
  /** The pending ones of `stopOrders`. Reading them does not generate the others. */
  readonly pendingStopOrders: readonly StopOrderEvent[];
}

/** Options of {@link generateHistory}. */
export interface GeneratedHistoryOptions {
  /** Number of blocks, at least 1. The first block is 1. */
  readonly blocks: bigint | number;
  /** Value of the network parameter `snapshot.interval.length`; 1000 by default. */
  readonly blocksPerSegment?: bigint | number | undefined;
  /** Public keys of additional parties, 64 hex digits each. They have an account for each settlement asset. */
  readonly keys?: readonly string[] | undefined;
  /** Balance of those accounts, in units of the asset's last decimal, and their governance tokens; 1e24 by default. */
  readonly startingBalance?: string | undefined;
}

/**
 * Number of blocks at the end of the history that listings search. Otherwise a filter without matches would search the
 * entire history. Exports and lookups by identifier are not limited.
 */
export const REACH_BLOCKS = 100_000n;

/**
 * Number of blocks at the end of the history whose records are cached, because polling clients read them repeatedly.
 */
const CACHED_BLOCKS = 5000n;

/** Default balance of the accounts of {@link GeneratedHistoryOptions.keys}. */
const STARTING_BALANCE = "1000000000000000000000000";

/** A generated history, from block 1 on, and its final state. Both are the same on every start. */
export interface GeneratedHistory extends WorldHistory {
  /**
   * Returns a block of the history.
   *
   * @throws RangeError for a height beyond the history
   */
  blockAt(height: bigint): Block;
  /** Returns the events of a block for the rows of an export table, in order; none beyond the history. */
  events(table: TableName, height: bigint): readonly BlockEvent[];
  /** State at the end of the history. */
  readonly finalState: GeneratedFinalState;
}

/** The source of a table's rows: the number of events per block, and their generator. */
type Source = readonly [count: number, make: (block: Block, index: number) => Event];

/** In the order of the events in a block. */
const SOURCES = {
  blocks: [1, beginBlock],
  orders: [ORDERS_PER_BLOCK, (block, index) => ({ case: "order", value: generatedOrder(block, index) })],
  trades: [TRADES_PER_BLOCK, (block, index) => ({ case: "trade", value: generatedTrade(block, index) })],
  market_data: [1, (block) => ({ case: "marketData", value: generatedMarketData(block, blockIndex(block.height)) })],
  positions: [1, (block) => positionEvent(generatedPosition(block, blockIndex(block.height)))],
  balances: [BALANCES_PER_BLOCK, (block, index) => ({ case: "account", value: generatedBalance(block, index) })],
  ledger: [ENTRIES_PER_BLOCK, ledgerEvent],
  margin_levels: [
    1,
    (block) => ({ case: "marginLevels", value: generatedMarginLevels(block, blockIndex(block.height)) }),
  ],
  liquidity_provisions: [1, liquidityEvent],
  markets: [1, marketEvent],
  deposits: [1, (block) => ({ case: "deposit", value: generatedDeposit(block) })],
  withdrawals: [1, withdrawalEvent],
  rewards: [1, rewardEvent],
  delegations: [1, delegationEvent],
  checkpoints: [1, (block) => ({ case: "checkpoint", value: generatedCheckpoint(block) })],
} as const satisfies { readonly [table in TableName]: Source };

const tables = Object.entries(SOURCES);
const EVENTS_PER_BLOCK = tables.reduce((sum, [, [count]]) => sum + count, 0);

/** Sequence number of each table's first event in a block, from 1. */
const firstSequence = new Map(
  tables.map(([table], at) => [table, tables.slice(0, at).reduce((sum, [, [count]]) => sum + count, 1)]),
);

/**
 * Generates a history. Blocks are computed from their heights when they are read, so a long history costs nothing.
 *
 * @example
 * const { blockAt, finalState } = generateHistory({ blocks: 5000n });
 */
export function generateHistory({ blocks, ...options }: GeneratedHistoryOptions): GeneratedHistory {
  const lastHeight = BigInt(blocks);
  const has = (height: bigint) => height >= 1n && height <= lastHeight;
  const finalStateOf = once(() => generateFinalState(lastHeight, options));
  const endingOf = once(() => endingEvents(lastHeight, finalStateOf()));
  return {
    lastHeight,
    get finalState() {
      return finalStateOf();
    },
    blockAt(height) {
      if (!has(height)) {
        throw new RangeError(`the history has no block ${height}: its last one is ${lastHeight}`);
      }
      return generatedBlock(height);
    },
    events(table, height) {
      if (!has(height)) {
        return [];
      }
      const block = generatedBlock(height);
      const [count, make]: Source = SOURCES[table];
      const first = firstSequence.get(table) ?? 1;
      const made = Array.from({ length: count }, (_, index) => blockEvent(block, first + index, make(block, index)));
      return height === lastHeight
        ? [...made, ...endingOf().filter(({ event }) => event.case === ENDING[table])]
        : made;
    },
    orders: generatedTimeline({ lastHeight, perBlock: ORDERS_PER_BLOCK, kind: "order", make: generatedOrder }),
    trades: generatedTimeline({ lastHeight, perBlock: TRADES_PER_BLOCK, kind: "trade", make: generatedTrade }),
    marketDataHistory: generatedTimeline({
      lastHeight,
      perBlock: 1,
      make: (block) => generatedMarketData(block, blockIndex(block.height)),
    }),
    balances: generatedTimeline({
      lastHeight,
      perBlock: BALANCES_PER_BLOCK,
      make: (block, index) => ({ time: block.time, value: generatedBalance(block, index) }),
      ending: ({ time }) =>
        endingOf().flatMap(({ event }) => (event.case === "account" ? [{ time, value: event.value }] : [])),
    }),
    deposits: generatedTimeline({
      lastHeight,
      perBlock: 1,
      kind: "deposit",
      make: (block) => ({ time: block.time, value: generatedDeposit(block) }),
    }),
    checkpoints: generatedTimeline({ lastHeight, perBlock: 1, make: generatedCheckpoint }),
  };
}

/** The events by which the last block also has what the state afterwards has and no block before, by their tables. */
const ENDING: { readonly [table in TableName]?: Event["case"] } = {
  orders: "order",
  balances: "account",
  positions: "position",
};

/** Returns the orders that rest on the books, and the accounts and positions that rows have not reached. */
function endingEvents(lastHeight: bigint, { orders, accounts, positions }: GeneratedFinalState): readonly BlockEvent[] {
  const block = generatedBlock(lastHeight);
  const blocks = Number(lastHeight);
  const events: Event[] = [
    ...orders.map((value) => ({ case: "order", value }) as const),
    ...accounts
      .slice(Math.min(ACCOUNTS, BALANCES_PER_BLOCK * blocks))
      .map((value) => ({ case: "account", value }) as const),
    ...positions.slice(Math.min(POSITIONS, blocks)).map(positionEvent),
  ];
  return events.map((event, index) => blockEvent(block, 1 + EVENTS_PER_BLOCK + index, event));
}

function beginBlock({ height, time, hash }: Block): Event {
  return { case: "beginBlock", value: create(BeginBlockSchema, { height, timestamp: time, hash }) };
}

function marketEvent({ height }: Block): Event {
  return { case: "marketUpdated", value: generatedMarket(blockIndex(height)) };
}

function generateFinalState(
  lastHeight: bigint,
  { blocksPerSegment = 1000, keys = [], startingBalance = STARTING_BALANCE }: Omit<GeneratedHistoryOptions, "blocks">,
): GeneratedFinalState {
  const last = generatedBlock(lastHeight);
  const count = Number(lastHeight);
  const timeAt = (k: number) => (k < count ? { time: blockTime(BigInt(k + 1)) } : last);
  const latestDataIndex = (market: number) => latestIndex(market, COUNT.market, count);
  const marketData = numbers(COUNT.market).map((market) => {
    const k = latestDataIndex(market);
    return generatedMarketData(timeAt(k), k);
  });
  const lastPrice = (market: number) => tradePrice(TRADES_PER_BLOCK * (latestDataIndex(market) + 1) - 1);
  const accounts = once(() => [
    ...numbers(ACCOUNTS).map((n) => generatedAccount(n, latestIndex(n, ACCOUNTS, BALANCES_PER_BLOCK * count))),
    ...emptyAccounts(),
    ...keys.flatMap((key) => numbers(COUNT.asset).map((asset) => fundedAccount(key, asset, startingBalance))),
  ]);
  const positions = once(() => {
    const from = Math.max(count, POSITIONS) - POSITIONS;
    return numbers(POSITIONS).map((n) => generatedPosition(timeAt(from + n), from + n));
  });
  const marginLevels = once(() =>
    numbers(Math.min(count, COUNT.party)).map((before) => {
      const k = count - 1 - before;
      return generatedMarginLevels({ time: blockTime(k + 1) }, k);
    }),
  );
  const historyEnd = { lastHeight, end: last.time, lastPrice };
  const stopOrders = once(() => generatedStopOrders(historyEnd));
  const pendingStopOrders = once(() => generatedPendingStopOrders(historyEnd));
  const orders = once(() => restingOrders(last, latestDataIndex));
  return {
    assets: generatedAssets(),
    markets: numbers(COUNT.market).map(generatedMarket),
    marketData,
    parties: [...numbers(COUNT.party).map(partyId), ...keys].map((id) => ({ id, createdAt: blockTime(1n) })),
    lastPrices: new Map(marketData.map((data) => [data.market, data.lastTradedPrice])),
    stakes: new Map(keys.map((key) => [key, BigInt(startingBalance)])),
    parameters: new Map(networkParameters).set("snapshot.interval.length", String(blocksPerSegment)),
    get accounts() {
      return accounts();
    },
    get positions() {
      return positions();
    },
    get marginLevels() {
      return marginLevels();
    },
    get stopOrders() {
      return stopOrders();
    },
    get pendingStopOrders() {
      return pendingStopOrders();
    },
    get orders() {
      return orders();
    },
  };
}

const numbers = (length: number) => Array.from({ length }, (_, number) => number);

/**
 * Returns the index of the latest row about a record, where rows go through all records in turn. A short history does
 * not reach every record: the missing rows are generated as of its last block.
 */
function latestIndex(number: number, records: number, rows: number): number {
  const end = Math.max(rows, records);
  return end - 1 - ((((end - 1 - number) % records) + records) % records);
}

interface TimelineOptions<T> {
  readonly lastHeight: bigint;
  /** Number of records per block. */
  readonly perBlock: number;
  /** Kind of the records' identifiers, if they have identifiers. */
  readonly kind?: string;
  /** Generates a record from its block and its index in the block. */
  readonly make: (block: Block, index: number) => T;
  /** Returns more records of the last block. */
  readonly ending?: (block: Block) => readonly T[];
}

function generatedTimeline<T>({ lastHeight, perBlock, kind, make, ending }: TimelineOptions<T>): Timeline<T> {
  const cache = new Map<bigint, readonly T[]>();
  const recordsAt = (height: bigint): readonly T[] => {
    const found = cache.get(height);
    if (found !== undefined) {
      return found;
    }
    const block = generatedBlock(height);
    const made = Array.from({ length: perBlock }, (_, index) => make(block, index));
    if (height === lastHeight && ending !== undefined) {
      made.push(...ending(block));
    }
    if (height > lastHeight - CACHED_BLOCKS) {
      cache.set(height, made);
    }
    return made;
  };
  const firstHeight = lastHeight > REACH_BLOCKS ? lastHeight - REACH_BLOCKS + 1n : 1n;
  return {
    *read(newestFirst, beyond) {
      const end = newestFirst ? firstHeight : lastHeight;
      const step = newestFirst ? -1n : 1n;
      const start = beyond === undefined ? (newestFirst ? lastHeight : firstHeight) : beyond.height;
      for (let height = within(start, firstHeight, lastHeight); (end - height) * step >= 0n; height += step) {
        const places = recordsAt(height).map(
          (value, index) => ({ place: { height, index }, value }) satisfies Placed<T>,
        );
        for (const record of newestFirst ? places.reverse() : places) {
          if (beyond === undefined || isBehind(record.place, beyond, newestFirst)) {
            yield record;
          }
        }
      }
    },

    find(id) {
      const number = kind === undefined ? undefined : numberOf(kind, id);
      const height = number === undefined ? 0n : BigInt(Math.floor(number / perBlock)) + 1n;
      return number === undefined || height > lastHeight ? undefined : make(generatedBlock(height), number % perBlock);
    },
  };
}

function within(height: bigint, first: bigint, last: bigint): bigint {
  return height < first ? first : height > last ? last : height;
}

function isBehind(place: TimelinePlace, { height, index }: TimelinePlace, newestFirst: boolean): boolean {
  const distance = place.height === height ? place.index - index : Number(place.height - height);
  return newestFirst ? distance < 0 : distance > 0;
}

function generatedCheckpoint({ height, hash }: Block): CheckpointEvent {
  return create(CheckpointEventSchema, {
    hash: hashOf(`checkpoint:${height}`),
    blockHash: hash.toUpperCase(), // In the consensus engine's format; snapshots use lower case.
    blockHeight: height,
  });
}

function delegationEvent({ height }: Block): Event {
  const k = blockIndex(height);
  const value = create(DelegationBalanceEventSchema, {
    party: partyId(k),
    nodeId: nodeId(k),
    epochSeq: String(epochOf(height)),
    amount: `${scatter(1, 90_000, k)}000000000000000000`,
  });
  return { case: "delegationBalance", value };
}

function rewardEvent({ height, time }: Block): Event {
  const k = blockIndex(height);
  const value = create(RewardPayoutEventSchema, {
    party: partyId(k),
    asset: assetId(k),
    epochSeq: String(epochOf(height)),
    amount: String(scatter(1, 90_000_000, k)),
    percentOfTotalReward: decimal(scatter(1, 10_000, k), 3),
    rewardType: pick(["ACCOUNT_TYPE_GLOBAL_REWARD", "ACCOUNT_TYPE_REWARD_MAKER_PAID_FEES"], k),
    timestamp: time,
    lockedUntilEpoch: String(epochOf(height) + 30n),
    quantumAmount: String(scatter(1, 9_000_000, k)),
    ...(k % 4 === 0 && { gameId: hashOf(`game:${k % 7}`) }),
  });
  return { case: "rewardPayout", value };
}

function positionEvent(value: Position): Event {
  return { case: "position", value, entryPriceInAsset: priceInAsset(value.marketId, value.averageEntryPrice) };
}

/** Generates a liquidity provision, which has four versions in consecutive blocks. */
function liquidityEvent({ height, time }: Block): Event {
  const k = blockIndex(height);
  const number = Math.floor(k / 4);
  const value = create(LiquidityProvisionSchema, {
    id: numberedId("liquidity_provision", number),
    partyId: partyId(number),
    createdAt: time - BigInt(k % 4) * 1_000_000_000n,
    updatedAt: time,
    marketId: marketId(number % COUNT.market),
    commitmentAmount: String(scatter(1_000_000, 9_000_000, k)),
    fee: decimal(scatter(1, 90, k), 4),
    buys: [{ liquidityOrder: { reference: PeggedReference.BEST_BID, proportion: k % 20, offset: String(k % 9) } }],
    version: BigInt(1 + (k % 4)),
    status: pick(
      [
        LiquidityProvision_Status.PENDING,
        LiquidityProvision_Status.ACTIVE,
        LiquidityProvision_Status.ACTIVE,
        LiquidityProvision_Status.CANCELLED,
      ],
      k,
    ),
    reference: freeText(k + 2),
  });
  return { case: "liquidityProvision", value };
}

function nodeId(number: number): string {
  return hashOf(`node:${number % 13}`);
}
