import { create } from "@bufbuild/protobuf";
import { MarketDepthSchema, Side } from "../../../gen/vega/vega_pb.js";
import { identifiers } from "../../transaction/identifiers.js";
import { epochOf } from "../data/epochs.js";
import { depthOf } from "./book.js";
import { expireOrders } from "./cancel.js";
import { carryOutCommand } from "./commands.js";
import { beginDelegations } from "./delegation.js";
import { decideProposals } from "./enactment.js";
import type { Engine, EngineStart } from "./engine.js";
import { endOpeningAuctions } from "./governed-market.js";
import { noteParty } from "./ledger.js";
import { emitMarginLevels, recheckMargins, releaseMargin } from "./margins.js";
import { marketDataOf } from "./market-data.js";
import { switchTeams } from "./referrals.js";
import { markToMarket } from "./settle.js";
import { startState } from "./start.js";
import { copyState, type Emit, type MarketState, noteExpiry, type Work } from "./state.js";
import { deliverTransfers, repeatTransfers } from "./transfers.js";
import { expireStops } from "./triggers.js";

/**
 * Create an engine, which carries out the commands of blocks: an order book for each market, stop orders, positions and
 * balances. The same commands in the same blocks bring the same events.
 *
 * It is kept simple: nobody is closed out, so a party loses what it holds at most. Auctions end on markets that were opened by
 * proposals; elsewhere a market keeps its trading mode.
 *
 * @param start how things stand
 * @param emit is told of each event of the block that was begun
 * @returns the engine
 * @example
 * const engine = createEngine(start, (event) => events.push(event));
 * engine.beginBlock({ height: 1n, hash, time });
 * engine.execute({ command: { case: "orderSubmission", value: submission }, partyId, signature });
 * engine.endBlock();
 */
export function createEngine(start: EngineStart, emit: Emit): Engine {
  const { startingBalance, maxStopOrders, keepsStopOrderIds = false } = start;
  let state = startState(start);
  const work = (part: string): Work => {
    const ids = identifiers(Buffer.from(`${state.block.hash} ${part}`));
    return {
      ...{ state, block: state.block, emit, startingBalance, maxStopOrders, keepsStopOrderIds },
      marginLevels: new Map(),
      nextId: () => ids.next().value,
    };
  };

  return {
    beginBlock(block) {
      const ended = epochOf(state.block.height);
      state.block = block;
      const begun = work("begin");
      if (epochOf(block.height) > ended) {
        repeatTransfers(begun, ended);
        switchTeams(begun);
        beginDelegations(begun);
      }
      deliverTransfers(begun);
      endOpeningAuctions(begun);
      decideProposals(begun);
      for (const market of state.markets.values()) {
        if (market.nextExpiry !== undefined && market.nextExpiry <= block.time) {
          expire(begun, market);
        }
      }
    },

    execute(executed) {
      const transaction = work("");
      noteParty(transaction, executed.partyId);
      return carryOutCommand(transaction, executed);
    },

    endBlock() {
      const ending = work("end");
      for (const market of state.markets.values()) {
        endBlockOf(ending, market);
      }
    },

    depth(marketId, maxDepth = Number.POSITIVE_INFINITY) {
      const market = state.markets.get(marketId);
      const levels = (side: Side) => (market === undefined ? [] : depthOf(market, side, maxDepth));
      return create(MarketDepthSchema, {
        marketId,
        buy: levels(Side.BUY),
        sell: levels(Side.SELL),
        sequenceNumber: market?.changedAt ?? 0n,
      });
    },

    save: () => copyState(state),

    restore(saved) {
      state = copyState(saved);
    },
  };
}

function expire(work: Work, market: MarketState): void {
  market.nextExpiry = undefined;
  expireOrders(work, market);
  expireStops(work, market);
  for (const { expiresAt } of market.orders.values()) {
    noteExpiry(market, expiresAt);
  }
  for (const { stopOrder } of market.stops.values()) {
    noteExpiry(market, stopOrder.expiresAt);
  }
}

function endBlockOf(work: Work, market: MarketState): void {
  if (market.isTraded) {
    markToMarket(work, market);
    market.isTraded = false;
    recheckMargins(work, market);
  }
  if (market.isChanged) {
    for (const partyId of [...market.parties]) {
      releaseMargin(work, market, partyId);
    }
  }
  emitMarginLevels(work);
  if (market.isChanged) {
    market.changedAt = work.block.height;
    market.data = marketDataOf(market, work.block.time);
    work.emit({ case: "marketData", value: market.data });
  }
  market.isChanged = false;
}
