// Calls that end: single ones, listings over all pages, short streams, clients that come and go; and exports.
import { createClient, NodeError } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { MARKET } from "./commands.mjs";
import { exported, ledger } from "./exports.mjs";

const NOT_FOUND = 5;
const { listTrades, listOrders, listMarkets } = TradingDataService.method;

/** The kinds of calls, each with its mean pause in milliseconds. */
export const kinds = {
  unary: { pauseMs: 100, make: unary },
  listing: { pauseMs: 2000, make: listing },
  export: { pauseMs: 1500, make: exported },
  ledger: { pauseMs: 8000, make: ledger },
  observe: { pauseMs: 500, make: observe },
  "short events": { pauseMs: 500, make: shortEvents },
  client: { pauseMs: 3000, make: ownClient },
};

const single = [
  ({ data }, options) => data.getVegaTime({}, options),
  ({ core }, options) => core.lastBlockHeight({}, options),
  ({ core }, options) => core.statistics({}, options),
  ({ data }, options) => data.listAssets({}, options),
  ({ data }, options) => data.getLatestMarketData({ marketId: MARKET }, options),
  ({ data }, options) => data.getLatestMarketDepth({ marketId: MARKET }, options),
  ({ client }, options) => client.listSegments(options),
  async ({ client, tracker }, options) => {
    const { key } = await client.networkParameter("spam.pow.difficulty", options);
    if (key !== "spam.pow.difficulty") {
      tracker.problem("answers are right", `another parameter, ${key}`);
    }
  },
  async ({ data }, options) => {
    try {
      await data.getOrder({ orderId: "ab".repeat(32) }, options);
    } catch (error) {
      if (!(error instanceof NodeError) || error.code !== NOT_FOUND) {
        throw error;
      }
    }
  },
];

/** One call, which its own limit ends, or a signal. */
function unary(world) {
  const { tracker, transport, random, client } = world;
  const limitMs = random.between(500, 8000);
  const asked = { ...world, data: client.service(TradingDataService), core: client.service(CoreService) };
  const call = random.of(single);
  const bySignal = random.happens(0.5);
  return tracker.call("unary", transport, limitMs, (signal) =>
    call(asked, bySignal ? { signal } : { timeoutMs: Math.ceil(limitMs) }),
  );
}

/** Records over all pages, each once, or the first ones of them. */
function listing({ tracker, transport, random, client, publicKey }) {
  const isBroken = random.happens(0.2);
  return tracker.call("listing", transport, random.between(5000, 30_000), async (signal) => {
    const listings = [
      () => client.networkParameters({ signal, pageSize: 20 }),
      () => client.stopOrders({}, { signal, pageSize: 2500 }),
      () => client.records(listTrades, {}, { signal, pageSize: 500, limit: 3000 }),
      () => client.records(listOrders, { filter: { partyIds: [publicKey] } }, { signal, pageSize: 200 }),
      () => client.pages(listMarkets, {}, { signal, pageSize: 5 }),
    ];
    const cursors = new Set();
    let count = 0;
    for await (const record of random.of(listings)()) {
      count += 1;
      if (cursors.has(record.cursor)) {
        tracker.problem("no record is listed twice", record.cursor);
      }
      if (record.cursor !== undefined) {
        cursors.add(record.cursor);
      }
      if (isBroken && count > 700) {
        break;
      }
    }
  });
}

/** A stream for a while, without reconnecting: until it has given some, its reader leaves, or its signal is aborted. */
function observe({ tracker, transport, random, client }) {
  const limitMs = random.between(500, 15_000);
  const count = random.happens(0.5) ? random.below(20) : Number.POSITIVE_INFINITY;
  const data = client.service(TradingDataService);
  const streams = [
    (signal) => data.observeMarketsData({ marketIds: [MARKET] }, { signal }),
    (signal) => data.observeMarketsDepth({ marketIds: [MARKET] }, { signal }),
    (signal) => data.observeOrders({}, { signal }),
    (signal) => data.observeTrades({}, { signal }),
    (signal) => data.observeAccounts({}, { signal }),
    (signal) => client.transactionResults({}, { signal }),
  ];
  const open = random.of(streams);
  const came = () => tracker.came("observe", transport);
  return tracker.call("observe", transport, limitMs, (signal) => take(open(signal), { count, came }));
}

/** Events for a while, without reconnecting, taken fast or slowly. */
function shortEvents({ tracker, transport, random, client }) {
  const limitMs = random.between(500, 15_000);
  const count = random.happens(0.5) ? random.below(200) : Number.POSITIVE_INFINITY;
  const pauseMs = random.happens(0.2) ? 50 : 0;
  const request = random.happens(0.5)
    ? { types: ["order", "trade", "endBlock"] }
    : { types: ["account"], batchSize: 5 };
  const came = () => tracker.came("short events", transport);
  return tracker.call("short events", transport, limitMs, (signal) =>
    take(client.events(request, { signal, maxWaiting: 50 }), { count, pauseMs, came }),
  );
}

async function take(stream, { count, pauseMs = 0, came = () => undefined }) {
  let left = count;
  for await (const _ of stream) {
    came();
    left -= 1;
    if (left <= 0) {
      return;
    }
    if (pauseMs > 0) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** A client of its own, which is closed when its calls have ended, or while they go on. */
function ownClient({ tracker, transport, random, config }) {
  const closesEarly = random.happens(0.5);
  return tracker.call("client", transport, 15_000, async (signal) => {
    const client = createClient(config);
    try {
      const calls = Promise.all([client.listSegments({ signal }), take(client.events({}, { signal }), { count: 1 })]);
      if (closesEarly) {
        calls.catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, random.between(0, 50)));
      } else {
        await calls;
      }
    } finally {
      await client.close();
    }
  });
}
