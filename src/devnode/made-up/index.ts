import { create } from "@bufbuild/protobuf";
import { BeginBlockSchema } from "../../../gen/vega/events/v1/events_pb.js";
import type { TableName } from "../../schema/tables.js";
import type { WorldStart } from "../world/create-world.js";
import type { Block, Event, Happening } from "../world/event.js";
import { happening, madeUpBlock } from "./chain.js";
import { madeUpMarketData } from "./market-data.js";
import { madeUpMarket } from "./markets.js";
import {
  BALANCES_PER_BLOCK,
  ENTRIES_PER_BLOCK,
  ledgerEvent,
  madeUpBalance,
  madeUpDeposit,
  madeUpMargin,
  withdrawalEvent,
} from "./money.js";
import { delegationEvent, liquidityEvent, madeUpCheckpoint, rewardEvent } from "./network.js";
import { once } from "./once.js";
import { madeUpPosition } from "./positions.js";
import { type MadeUpOptions, type MadeUpStart, madeUpStart } from "./start.js";
import { madeUpTimeline } from "./timeline.js";
import { madeUpOrder, madeUpTrade, ORDERS_PER_BLOCK, TRADES_PER_BLOCK, turn } from "./trading.js";

export { makerId } from "./book.js";
export { EPOCH_BLOCKS } from "./chain.js";
export type { MadeUpOptions, MadeUpStart } from "./start.js";
export { REACH_BLOCKS } from "./timeline.js";

/** What the local node makes up: a history from block 1 on, and how things stand at its end. It is the same on every start. */
export interface MadeUp extends WorldStart {
  /** Make a block of the history. @throws RangeError where it has none of that height */
  blockAt(height: bigint): Block;
  /** Make the events of a block that bring an export table's rows, in their order; none beyond the history. */
  happenings(table: TableName, height: bigint): readonly Happening[];
  /** How things stand at the end of the history. */
  readonly start: MadeUpStart;
}

/** What brings the rows of a table: how many events in each block, and which. */
type Source = readonly [count: number, make: (block: Block, index: number) => Event];

/** In the order in which a block brings them. */
const SOURCES = {
  blocks: [1, beginBlock],
  orders: [ORDERS_PER_BLOCK, (block, index) => ({ case: "order", value: madeUpOrder(block, index) })],
  trades: [TRADES_PER_BLOCK, (block, index) => ({ case: "trade", value: madeUpTrade(block, index) })],
  market_data: [1, (block) => ({ case: "marketData", value: madeUpMarketData(block, turn(block.height)) })],
  positions: [1, (block) => ({ case: "position", value: madeUpPosition(block, turn(block.height)) })],
  balances: [BALANCES_PER_BLOCK, (block, index) => ({ case: "account", value: madeUpBalance(block, index) })],
  ledger: [ENTRIES_PER_BLOCK, ledgerEvent],
  margin_levels: [1, (block) => ({ case: "marginLevels", value: madeUpMargin(block, turn(block.height)) })],
  liquidity_provisions: [1, liquidityEvent],
  markets: [1, marketEvent],
  deposits: [1, (block) => ({ case: "deposit", value: madeUpDeposit(block) })],
  withdrawals: [1, withdrawalEvent],
  rewards: [1, rewardEvent],
  delegations: [1, delegationEvent],
  checkpoints: [1, (block) => ({ case: "checkpoint", value: madeUpCheckpoint(block) })],
} as const satisfies { readonly [table in TableName]: Source };

const tables = Object.entries(SOURCES);
const EVENTS_PER_BLOCK = tables.reduce((sum, [, [count]]) => sum + count, 0);

/** The place of the first event of each table in its block, from 1. */
const firstSequence = new Map(
  tables.map(([table], at) => [table, tables.slice(0, at).reduce((sum, [, [count]]) => sum + count, 1)]),
);

/**
 * Make up a history. It is computed from the heights of its blocks when it is read, so its length costs nothing.
 *
 * @param options its length, and what else it leads to
 * @returns the history, and how things stand at its end
 *
 * @example
 * const { blockAt, start } = createMadeUp({ blocks: 5000n });
 */
export function createMadeUp({ blocks, ...options }: MadeUpOptions): MadeUp {
  const lastHeight = BigInt(blocks);
  const has = (height: bigint) => height >= 1n && height <= lastHeight;
  const started = once(() => madeUpStart(lastHeight, options));
  return {
    lastHeight,
    get start() {
      return started();
    },
    blockAt(height) {
      if (!has(height)) {
        throw new RangeError(`the history has no block ${height}: its last one is ${lastHeight}`);
      }
      return madeUpBlock(height);
    },
    happenings(table, height) {
      if (!has(height)) {
        return [];
      }
      const block = madeUpBlock(height);
      const [count, make]: Source = SOURCES[table];
      const first = firstSequence.get(table) ?? 1;
      const made = Array.from({ length: count }, (_, index) => happening(block, first + index, make(block, index)));
      return table === "orders" && height === lastHeight ? [...made, ...resting(block, started())] : made;
    },
    orders: madeUpTimeline({ lastHeight, perBlock: ORDERS_PER_BLOCK, kind: "order", make: madeUpOrder }),
    trades: madeUpTimeline({ lastHeight, perBlock: TRADES_PER_BLOCK, kind: "trade", make: madeUpTrade }),
    marketDataHistory: madeUpTimeline({
      lastHeight,
      perBlock: 1,
      make: (block) => madeUpMarketData(block, turn(block.height)),
    }),
    balances: madeUpTimeline({
      lastHeight,
      perBlock: BALANCES_PER_BLOCK,
      make: (block, index) => ({ time: block.time, value: madeUpBalance(block, index) }),
    }),
    deposits: madeUpTimeline({
      lastHeight,
      perBlock: 1,
      kind: "deposit",
      make: (block) => ({ time: block.time, value: madeUpDeposit(block) }),
    }),
    checkpoints: madeUpTimeline({ lastHeight, perBlock: 1, make: madeUpCheckpoint }),
  };
}

/** The last block also brings the orders that rest on the books from then on. */
function resting(block: Block, { orders }: MadeUpStart): Happening[] {
  return orders.map((value, index) => happening(block, 1 + EVENTS_PER_BLOCK + index, { case: "order", value }));
}

function beginBlock({ height, time, hash }: Block): Event {
  return { case: "beginBlock", value: create(BeginBlockSchema, { height, timestamp: time, hash }) };
}

/** A market that is told again as it is. */
function marketEvent({ height }: Block): Event {
  return { case: "marketUpdated", value: madeUpMarket(turn(height)) };
}
