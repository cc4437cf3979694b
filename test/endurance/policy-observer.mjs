// Reads from a node's event bus what a party did, and compares it with the limits of a policy. It shares nothing with what
// checks the policy: positions are sums of trades, open orders are those of the order events.

import { TradingDataService } from "../../dist/src/client/api/index.js";

/** The commands that a policy without further names allows. */
const TRADING = new Set([
  "orderSubmission",
  "orderAmendment",
  "orderCancellation",
  "batchMarketInstructions",
  "stopOrdersSubmission",
  "stopOrdersCancellation",
]);

/** What a transaction counts for by a limit of orders a minute. */
const ordersIn = {
  orderSubmission: () => 1,
  orderAmendment: () => 1,
  stopOrdersSubmission: (pair) => [pair.risesAbove, pair.fallsBelow].filter((half) => half !== undefined).length,
  batchMarketInstructions: ({ submissions, amendments, stopOrdersSubmission }) =>
    submissions.length +
    amendments.length +
    stopOrdersSubmission.reduce((sum, pair) => sum + ordersIn.stopOrdersSubmission(pair), 0),
};
/**
 * In which time as many orders are executed as may be signed in a minute, in milliseconds: a block can take what was signed for 100
 * blocks, which are 10 s in the fuzz.
 */
const RATE_MS = 45_000;

const ACTIVE = 1;
const PARKED = 8;
const PENDING = 1;
const BUY = 1;
const MARKET = 2;
const POSITION = 2;
/**
 * For how long a mark price is compared with the prices of orders, in milliseconds: a guard uses what the node showed for 10 s,
 * and a block can take what it signed for 100 blocks, which are 10 s in the fuzz.
 */
const MARK_MS = 20_000;

/** Observes a party until it is stopped. */
export function observePolicy(client, partyId, limits, maxOrdersPerMinute = Number.POSITIVE_INFINITY) {
  const abort = new AbortController();
  const violations = [];
  const counts = { transactions: 0, orders: 0, stopOrders: 0, trades: 0, blocks: 0, perMinute: 0, largest: {} };
  /** The party's live orders, and its position, by market. */
  const live = new Map();
  const positions = new Map();
  const marks = new Map();
  const seen = new Set();
  /** The orders of the block with the position before each, and the stop orders that made orders, by the orders' identifiers. */
  const unchecked = [];
  const stopOrders = new Map();
  const pendingStops = new Map();
  /** When orders were executed, and how many. */
  let recent = [];
  let height = 0n;
  let isRunning = true;
  let isKilled = false;
  let started = () => {};
  const ready = new Promise((resolve) => {
    started = resolve;
  });
  const violate = (what) => violations.push(`block ${height}: ${what}`);

  /** The mark prices of a market that an order's price may have been checked by. */
  const marksOf = (marketId) => {
    const oldest = performance.now() - MARK_MS;
    return (marks.get(marketId) ?? []).filter(({ until }) => until > oldest).map(({ mark }) => mark);
  };

  /**
   * Checks an order. That of a stop order may be at any distance from the mark price, as it is made for another one. If the
   * stop order takes the size of the position, the order may be as large as the position was, whatever that is worth.
   */
  function checkOrder({ order, position }, stopOrder) {
    const limit = limits[order.marketId];
    if (limit === undefined) {
      violate(`order ${order.id} on market ${order.marketId}`);
      return;
    }
    const { size } = order;
    const what = `order ${order.id}${stopOrder === undefined ? "" : ` of stop order ${stopOrder.id}`}`;
    if (stopOrder !== undefined && !order.reduceOnly) {
      violate(`${what} is not reduce-only`);
    }
    if (stopOrder?.sizeOverrideSetting === POSITION && size <= (position < 0n ? -position : position)) {
      return;
    }
    if (size > limit.maxSize) {
      violate(`${what} has size ${size}, more than ${limit.maxSize}`);
    }
    const hasPrice = order.type !== MARKET && order.peggedOrder === undefined;
    const compared = marksOf(order.marketId);
    const lowest = Math.min(...compared);
    const price = hasPrice ? Number(order.price) : lowest;
    const notional = Number(size) * (order.side === BUY || compared.length === 0 ? price : Math.max(price, lowest));
    if (Number.isFinite(notional) && notional > limit.maxNotional) {
      violate(`${what} has notional ${notional}, more than ${limit.maxNotional}`);
    }
    if (stopOrder !== undefined) {
      return;
    }
    if (!hasPrice && !order.reduceOnly) {
      violate(`${what} has no price, and is not reduce-only`);
    }
    const distances = compared.map((mark) => Math.abs(price - mark) / mark);
    if (hasPrice && distances.length > 0 && Math.min(...distances) > limit.maxDistance + 1e-9) {
      violate(`${what} is ${Math.min(...distances)} from the mark price, more than ${limit.maxDistance}`);
    }
  }

  /** Checks the orders of a block. The events of the stop orders that made some of them come after the orders. */
  function checkOrders() {
    for (const each of unchecked.splice(0)) {
      checkOrder(each, stopOrders.get(each.order.id));
    }
  }

  function checkExposure() {
    counts.blocks += 1;
    for (const [marketId, limit] of Object.entries(limits)) {
      const position = positions.get(marketId) ?? 0n;
      let [long, short] = [position, -position];
      for (const order of live.values()) {
        if (order.marketId === marketId) {
          const open = order.remaining + (order.icebergOrder?.reservedRemaining ?? 0n);
          // Orders that only reduce cannot raise the exposure: the network cancels them with the position.
          if (!order.reduceOnly) {
            [long, short] = order.side === BUY ? [long + open, short] : [long, short + open];
          }
        }
      }
      const most = long > short ? long : short;
      const largest = counts.largest[marketId] ?? 0n;
      counts.largest[marketId] = most > largest ? most : largest;
      if (most > limit.maxPosition) {
        violate(`exposure ${most} on market ${marketId}, more than ${limit.maxPosition}`);
      }
    }
  }

  function checkRate(orders) {
    if (orders === 0) {
      return;
    }
    if (isKilled) {
      violate(`${orders} orders after the kill switch`);
    }
    const now = performance.now();
    recent = [...recent.filter(({ at }) => now - at < RATE_MS), { at: now, orders }];
    const sum = recent.reduce((all, each) => all + each.orders, 0);
    counts.perMinute = Math.max(counts.perMinute, sum);
    if (sum > maxOrdersPerMinute) {
      violate(`${sum} orders in ${RATE_MS} ms, more than ${maxOrdersPerMinute} in 60 s`);
    }
  }

  /** Keeps a mark price, and until when each was the latest. */
  function takeMark(marketId, mark) {
    const now = performance.now();
    const before = (marks.get(marketId) ?? []).filter(({ until }) => until > now - MARK_MS);
    const ended = before.map((each) => (each.until === Number.POSITIVE_INFINITY ? { ...each, until: now } : each));
    marks.set(marketId, [...ended, { mark, until: Number.POSITIVE_INFINITY }]);
  }

  function take({ kind, value }) {
    switch (kind) {
      case "order":
        if (value.partyId === partyId || live.has(value.id)) {
          if (!seen.has(`${value.id} ${value.version} ${value.size} ${value.price}`) && value.partyId === partyId) {
            seen.add(`${value.id} ${value.version} ${value.size} ${value.price}`);
            counts.orders += 1;
            unchecked.push({ order: value, position: positions.get(value.marketId) ?? 0n });
          }
          if (value.status === ACTIVE || value.status === PARKED) {
            live.set(value.id, value);
          } else {
            live.delete(value.id);
          }
        }
        break;
      case "trade":
        for (const [party, sign] of [
          [value.buyer, 1n],
          [value.seller, -1n],
        ]) {
          if (party === partyId) {
            counts.trades += 1;
            positions.set(value.marketId, (positions.get(value.marketId) ?? 0n) + sign * value.size);
          }
        }
        break;
      case "transactionResult":
        if (value.partyId === partyId) {
          counts.transactions += 1;
          const { case: command } = value.transaction;
          if (!TRADING.has(command)) {
            violate(`the command ${command}`);
          }
          checkRate(ordersIn[command]?.(value.transaction.value) ?? 0);
        }
        break;
      case "marketData":
        if (limits[value.market] !== undefined) {
          takeMark(value.market, Number(value.markPrice));
        }
        break;
      case "stopOrder": {
        const { stopOrder } = value;
        if (stopOrder?.partyId === partyId) {
          pendingStops.set(stopOrder.id, stopOrder);
          if (stopOrder.status !== PENDING) {
            pendingStops.delete(stopOrder.id);
          }
        }
        if (stopOrder !== undefined && stopOrder.orderId !== "" && stopOrder.partyId === partyId) {
          counts.stopOrders += 1;
          stopOrders.set(stopOrder.orderId, stopOrder);
        }
        break;
      }
      default:
        height = value.height;
        checkOrders();
        checkExposure();
        started();
    }
  }

  const types = ["order", "stopOrder", "trade", "transactionResult", "marketData", "endBlock"];
  const running = (async () => {
    try {
      const { marketsData } = await client.service(TradingDataService).listLatestMarketData({});
      for (const { market, markPrice } of marketsData.filter((data) => limits[data.market] !== undefined)) {
        takeMark(market, Number(markPrice));
      }
      for await (const event of client.events({ types, lifecycle: true }, { signal: abort.signal })) {
        take(event);
      }
    } catch (reason) {
      if (!abort.signal.aborted) {
        throw reason;
      }
    }
  })();
  running.catch((reason) => {
    isRunning = false;
    started();
    violate(`the observer failed: ${reason}`);
  });
  return {
    violations,
    counts,
    ready,
    /** Whether everything was observed until now. What is done without is not checked. */
    isRunning: () => isRunning,
    height: () => height,
    orders: (marketId) => [...live.values()].filter((order) => order.marketId === marketId).map(({ id }) => id),
    stopOrders: (marketId) =>
      [...pendingStops.values()].filter((stop) => stop.marketId === marketId).map(({ id }) => id),
    /** Notes that the signer was started again: it counts orders from zero. */
    restarted() {
      recent = [];
    },
    /** Notes that the kill switch reported that nothing is left: no order may follow. */
    killed() {
      isKilled = true;
      if (live.size > 0) {
        violate(`${live.size} live orders after the kill switch`);
      }
    },
    mark: (marketId) => marks.get(marketId)?.at(-1)?.mark,
    async stop() {
      abort.abort();
      await running.catch(() => undefined); // It is among the violations.
    },
  };
}
