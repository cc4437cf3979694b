import { create } from "@bufbuild/protobuf";
import { type MarketDepth, MarketDepthSchema, Side } from "../../../gen/vega/vega_pb.js";
import { identifiers } from "../../trade/transaction/command-identifiers.js";
import type { Block } from "../world/block-event.js";
import { epochOf } from "../world/epochs.js";
import { distributeRecurringTransfers, distributeScheduledTransfers } from "./banking.js";
import { registerParty } from "./collateral.js";
import { type AppliedCommand, applyCommand, type CommandResult } from "./command-dispatch.js";
import {
  copyState,
  type Emit,
  type ExecutionContext,
  type MarketState,
  type State,
  trackExpiry,
} from "./engine-state.js";
import { type EngineOptions, initialState } from "./initial-state.js";
import { emitMarginLevels, recheckMargin, releaseMargin } from "./margins.js";
import { endOpeningAuctions, marketDataOf } from "./market-lifecycle.js";
import { markToMarket } from "./open-positions.js";
import { depthOf } from "./order-book.js";
import { expireOrders } from "./order-commands.js";
import { advanceProposals } from "./proposals.js";
import { cancelStopOrdersOfClosed, expireStopOrders, expiryOf } from "./stop-orders.js";

/** Applies the commands of blocks to order books, stop orders, positions and balances. */
export interface Engine {
  /** Begins a block: expires orders and stop orders, decides proposals, and starts a new epoch when one is due. */
  beginBlock(block: Block): void;
  /** Applies a command in the current block. */
  execute(command: AppliedCommand): CommandResult;
  /** Ends the block: marks markets to market and emits the data of changed markets. */
  endBlock(): void;
  /** Returns a market's order book. */
  depth(marketId: string, maxDepth?: number): MarketDepth;
  /** Returns a copy of the engine's state. It can be restored any number of times. */
  save(): EngineState;
  /** Restores a state that `save()` of this or another engine returned. */
  restore(state: EngineState): void;
}

/** The engine's state, as plain data. */
export type EngineState = State;

/**
 * Creates an engine that applies the commands of blocks. The same commands in the same blocks emit the same events.
 *
 * The engine simplifies: positions are never closed out, so a party loses at most its balance. Auctions end only on markets that
 * proposals opened; other markets keep their trading mode.
 *
 * @example
 * const engine = createEngine(start, (event) => events.push(event));
 * engine.beginBlock({ height: 1n, hash, time });
 * engine.execute({ command: { case: "orderSubmission", value: submission }, partyId, signature });
 * engine.endBlock();
 */
export function createEngine(start: EngineOptions, emit: Emit): Engine {
  const { startingBalance, maxStopOrders, keepsStopOrderIds = false } = start;
  let state = initialState(start);
  const contextOf = (part: string): ExecutionContext => {
    const ids = identifiers(Buffer.from(`${state.block.hash} ${part}`));
    return {
      ...{ state, block: state.block, emit, startingBalance, maxStopOrders, keepsStopOrderIds },
      marginLevels: new Map(),
      nextId: () => ids.next().value,
    };
  };

  return {
    beginBlock(block) {
      const previousEpoch = epochOf(state.block.height);
      state.block = block;
      const context = contextOf("begin");
      if (epochOf(block.height) > previousEpoch) {
        distributeRecurringTransfers(context, previousEpoch);
      }
      distributeScheduledTransfers(context);
      endOpeningAuctions(context);
      advanceProposals(context);
      for (const market of state.markets.values()) {
        if (market.nextExpiry !== undefined && market.nextExpiry <= block.time) {
          expire(context, market);
        }
      }
    },

    execute(executed) {
      const transaction = contextOf("");
      registerParty(transaction, executed.partyId);
      return applyCommand(transaction, executed);
    },

    endBlock() {
      const ending = contextOf("end");
      for (const market of state.markets.values()) {
        endBlockOf(ending, market);
      }
    },

    depth: (marketId, maxDepth) => marketDepth(state, marketId, maxDepth),

    save: () => copyState(state),

    restore(saved) {
      state = copyState(saved);
    },
  };
}

function marketDepth({ markets }: State, marketId: string, maxDepth = Number.POSITIVE_INFINITY): MarketDepth {
  const market = markets.get(marketId);
  const levels = (side: Side) => (market === undefined ? [] : depthOf(market, side, maxDepth));
  return create(MarketDepthSchema, {
    marketId,
    buy: levels(Side.BUY),
    sell: levels(Side.SELL),
    sequenceNumber: market?.lastChangedHeight ?? 0n,
  });
}

function expire(contextOf: ExecutionContext, market: MarketState): void {
  market.nextExpiry = undefined;
  expireOrders(contextOf, market);
  expireStopOrders(contextOf, market);
  for (const { expiresAt } of market.orders.values()) {
    trackExpiry(market, expiresAt);
  }
  for (const stop of market.stopOrders.values()) {
    trackExpiry(market, expiryOf(stop));
  }
}

function endBlockOf(contextOf: ExecutionContext, market: MarketState): void {
  const isMarked = market.isTraded;
  if (isMarked) {
    markToMarket(contextOf, market);
    market.isTraded = false;
    for (const partyId of [...market.parties]) {
      recheckMargin(contextOf, market, partyId);
    }
  }
  if (market.isChanged) {
    for (const partyId of [...market.parties]) {
      releaseMargin(contextOf, market, partyId);
    }
  }
  if (isMarked) {
    cancelStopOrdersOfClosed(contextOf, market);
  }
  emitMarginLevels(contextOf);
  if (market.isChanged) {
    market.lastChangedHeight = contextOf.block.height;
    market.data = marketDataOf(market, contextOf.block.time);
    contextOf.emit({ case: "marketData", value: market.data });
  }
  market.isChanged = false;
}
