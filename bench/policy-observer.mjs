// Reads from a node's event bus what a party did, and compares it with the limits of a policy. It shares nothing with what
// checks the policy: positions are sums of trades, open orders are those of the order events.

/** The commands that a policy without further names allows. */
const TRADING = new Set([
  "orderSubmission",
  "orderAmendment",
  "orderCancellation",
  "batchMarketInstructions",
  "stopOrdersSubmission",
  "stopOrdersCancellation",
]);

const ACTIVE = 1;
const PARKED = 8;
const BUY = 1;
/** How many blocks' mark prices an order's price is compared with: its signature may be as old as this. */
const MARKS = 60;

/**
 * Observes a party until it is stopped.
 *
 * @param client a client of its own
 * @param partyId the party
 * @param limits by market id: `maxSize`, `maxPosition` and `maxNotional` as whole numbers in the market's decimals, `maxDistance`
 * @returns `violations`, `counts`, `state` (orders and marks, for the strategy), `ready`, `height()`, and `stop()`
 */
export function observePolicy(client, partyId, limits) {
  const abort = new AbortController();
  const violations = [];
  const counts = { transactions: 0, orders: 0, trades: 0, blocks: 0, largest: {} };
  /** The party's live orders, and its position, by market. */
  const live = new Map();
  const positions = new Map();
  const marks = new Map();
  const seen = new Set();
  let height = 0n;
  let started = () => {};
  const ready = new Promise((resolve) => {
    started = resolve;
  });
  const violate = (what) => violations.push(`block ${height}: ${what}`);

  function checkOrder(order) {
    const limit = limits[order.marketId];
    if (limit === undefined) {
      violate(`order ${order.id} on market ${order.marketId}`);
      return;
    }
    const size = order.size;
    if (size > limit.maxSize) {
      violate(`order ${order.id} has size ${size}, more than ${limit.maxSize}`);
    }
    if (order.price !== "" && order.type === 1 && order.peggedOrder === undefined) {
      const price = Number(order.price);
      if (price * Number(size) > limit.maxNotional) {
        violate(`order ${order.id} has notional ${price * Number(size)}, more than ${limit.maxNotional}`);
      }
      const distances = (marks.get(order.marketId) ?? []).map((mark) => Math.abs(price - mark) / mark);
      if (distances.length > 0 && Math.min(...distances) > limit.maxDistance + 1e-9) {
        violate(`order ${order.id} is ${Math.min(...distances)} from the mark price, more than ${limit.maxDistance}`);
      }
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

  function take({ kind, value }) {
    switch (kind) {
      case "order":
        if (value.partyId === partyId || live.has(value.id)) {
          if (!seen.has(`${value.id} ${value.version} ${value.size} ${value.price}`) && value.partyId === partyId) {
            seen.add(`${value.id} ${value.version} ${value.size} ${value.price}`);
            counts.orders += 1;
            checkOrder(value);
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
        }
        break;
      case "marketData":
        if (limits[value.market] !== undefined) {
          marks.set(value.market, [...(marks.get(value.market) ?? []), Number(value.markPrice)].slice(-MARKS));
        }
        break;
      default:
        height = value.height;
        checkExposure();
        started();
    }
  }

  const types = ["order", "trade", "transactionResult", "marketData", "endBlock"];
  const running = (async () => {
    try {
      for await (const event of client.events({ types, lifecycle: true }, { signal: abort.signal })) {
        take(event);
      }
    } catch (reason) {
      if (!abort.signal.aborted) {
        throw reason;
      }
    }
  })();
  running.catch((reason) => violate(`the observer failed: ${reason}`));
  return {
    violations,
    counts,
    ready,
    height: () => height,
    orders: (marketId) => [...live.values()].filter((order) => order.marketId === marketId).map(({ id }) => id),
    mark: (marketId) => marks.get(marketId)?.at(-1),
    async stop() {
      abort.abort();
      await running;
    },
  };
}
