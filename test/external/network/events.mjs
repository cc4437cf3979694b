// The event bus of the data node: over gRPC and over WebSockets, as events come and in batches, beside its own tables.
import assert from "node:assert/strict";
import pg from "pg";
import { vega } from "tradewire/api";
import { idOf } from "./commands.mjs";
import { limitOrder, PRICE, percent } from "./market.mjs";
import { LeftOut } from "./report.mjs";

const { Order_Status: Status, Order_TimeInForce: TimeInForce } = vega;

const TYPES = ["order", "trade", "cancelledOrders", "expiredOrders", "transactionResult", "endBlock"];
const BATCH_SIZE = 4;

/** How long after the trading the streams go on, in blocks. */
const BLOCKS_AFTER = 6;

/** The streams that are read at the same time. */
const STREAMS = {
  gRPC: { client: "grpc", request: { types: TYPES } },
  WebSocket: { client: "rest", request: { types: TYPES } },
  "gRPC, batches of 4": { client: "grpc", request: { types: TYPES, batchSize: BATCH_SIZE } },
  "WebSocket, batches of 4": { client: "rest", request: { types: TYPES, batchSize: BATCH_SIZE } },
};

/** Orders with their ends, of all parties and of one: read at the same time, too. */
const LIFECYCLES = {
  "lifecycle over gRPC": { client: "grpc", ofAlice: false },
  "lifecycle over WebSocket": { client: "rest", ofAlice: false },
  "lifecycle of a party over gRPC": { client: "grpc", ofAlice: true },
  "lifecycle of a party over WebSocket": { client: "rest", ofAlice: true },
};

/** Make the cases. */
export function eventCases({ network, market, report, options }) {
  const { clients, urls } = network;
  const endpoints = {
    grpc: { transport: "grpc", grpc: { url: urls.dataGrpc } },
    rest: { transport: "rest", rest: { url: urls.dataRest } },
  };
  const ended = new Map();
  let traded;

  /** Trade for the time of the options while all streams are read. */
  function trading(signal) {
    traded ??= run(signal);
    return traded;
  }

  async function run(signal) {
    const { id, alice, bob } = await market();
    const ending = new AbortController();
    const lifecycles = Object.entries(LIFECYCLES).map(([name, { client, ofAlice }]) => {
      const request = { types: ["order"], lifecycle: true, ...(ofAlice && { partyId: alice.publicKey }) };
      return [name, { client, request }];
    });
    const readers = [...Object.entries(STREAMS), ...lifecycles].map(([name, stream]) => [
      name,
      read(stream, AbortSignal.any([signal, ending.signal])),
    ]);
    await network.blocks(4);
    const sent = await trade(id, [alice, bob], signal);
    await network.blocks(BLOCKS_AFTER);
    ending.abort();
    for (const [name, reading] of readers) {
      ended.set(name, await reading);
    }
    return { id, sent, alice };
  }

  /** Read a stream until its signal is aborted. */
  async function read({ client, request }, signal) {
    const events = new Map();
    const gaps = [];
    let error;
    const losses = [];
    const hooks = { onRetry: (lost) => losses.push(lost.error.message.split("\n")[0]) };
    const observing = network.createClient(endpoints[client], { hooks });
    try {
      for await (const event of observing.events(request, { signal, reconnect: true })) {
        if ("gap" in event) {
          gaps.push(event.gap);
        } else {
          // With `lifecycle`, one event of the node becomes one for each order that ends.
          events.set(event.kind === "order" ? `${event.id} ${event.value.id}` : event.id, event);
        }
      }
    } catch (reason) {
      error = signal.aborted ? undefined : reason;
    }
    await observing.close();
    return { events, gaps, losses, error };
  }

  /** Send orders that rest, trade, are cancelled and expire, one transaction of each party a block or so. */
  async function trade(id, [alice, bob], signal) {
    const client = clients.coreGrpc;
    const end = performance.now() + options.tradingMs;
    const send = (command, signer) => client.sendCommand(command, { signer, signal });
    let sent = 0;
    for (let round = 0n; performance.now() < end; round++) {
      const resting = await send(limitOrder(id, "BUY", percent(60), 1n + (round % 5n)), alice);
      await send(limitOrder(id, "SELL", PRICE, 1n), bob);
      await send(limitOrder(id, "BUY", PRICE, 1n), alice);
      const expiresAt = BigInt(Date.now() + 3000) * 1_000_000n;
      await send(limitOrder(id, "SELL", percent(140), 1n, { timeInForce: TimeInForce.GTT, expiresAt }), bob);
      const orderId = idOf(resting.transaction.signature.value);
      await send({ case: "orderCancellation", value: { marketId: id, orderId } }, alice);
      sent += 5;
    }
    return sent;
  }

  /** The blocks that all streams have seen wholly. */
  function commonBlocks() {
    const ends = Object.keys(STREAMS).map((name) =>
      [...ended.get(name).events.values()]
        .filter((event) => event.kind === "endBlock")
        .map(({ block }) => Number(block)),
    );
    const first = BigInt(Math.max(...ends.map((blocks) => blocks[0])));
    const last = BigInt(Math.min(...ends.map((blocks) => blocks.at(-1))));
    return { from: first + 1n, to: last - 1n };
  }

  const within = (events, { from, to }) => [...events.values()].filter(({ block }) => block >= from && block <= to);

  /** A stream beside the first one. */
  async function compare(name, signal) {
    await trading(signal);
    const { events, gaps, losses, error } = ended.get(name);
    assert.equal(error, undefined, `the stream ended after ${events.size} events: ${error?.message}`);
    const blocks = commonBlocks();
    const isLost = ({ block }) =>
      gaps.some(
        ({ afterBlock, beforeBlock }) =>
          block >= (afterBlock ?? 0n) && (beforeBlock === undefined || block <= beforeBlock),
      );
    const of = (stream) =>
      within(stream, blocks)
        .filter((event) => !isLost(event))
        .map((event) => `${event.id} ${event.kind}`)
        .sort();
    const [own, base] = [of(events), of(ended.get("gRPC").events)];
    report.figure(
      `events, ${name}`,
      `blocks ${blocks.from} to ${blocks.to}: ${own.length} of ${base.length} events, ${gaps.length} gaps (${byType(within(events, blocks))})${losses.map((loss) => `; lost: ${loss}`).join("")}`,
    );
    assert.deepEqual(own, base);
    // A socket ends at a line of more than 64 KiB, and says so by a gap; nothing else may.
    assert.ok(
      gaps.length === 0 || (name.startsWith("WebSocket") && own.length > base.length / 2),
      `${gaps.length} gaps`,
    );
  }

  /** Rows of the data node's tables in the blocks and the market of the trading. */
  async function rows(table, columns, condition = "") {
    if (urls.postgres === undefined) {
      throw new LeftOut("the data node's PostgreSQL is not given");
    }
    const { id } = await traded;
    const { from, to } = commonBlocks();
    const client = new pg.Client(urls.postgres);
    await client.connect();
    try {
      const sql = `SELECT DISTINCT ${columns} FROM ${table} JOIN blocks USING (vega_time) WHERE height BETWEEN ${from} AND ${to} AND market_id = decode('${id}', 'hex') ${condition}`;
      return (await client.query({ text: sql, rowMode: "array" })).rows.map((row) => row.join(" ")).sort();
    } finally {
      await client.end();
    }
  }

  /** Orders and trades of the bus beside those of the data node's tables. */
  async function tables(signal) {
    const { id, sent } = await trading(signal);
    const events = within(ended.get("gRPC").events, commonBlocks()).filter(({ value }) => value.marketId === id);
    const states = unique(events.flatMap((event) => statesOf(event)));
    const orders = await rows("orders", "height, encode(id, 'hex'), status");
    const trades = await rows("trades", "height, encode(id, 'hex')");
    const seen = events.filter((event) => event.kind === "trade").map(({ block, value }) => `${block} ${value.id}`);
    report.figure(
      "events beside the data node's tables",
      `${sent} transactions in ${options.tradingMs / 60_000} minutes; ${states.length} states of orders from events, ${orders.length} in the table; ${seen.length} trades from events, ${trades.length} in the table`,
    );
    assert.deepEqual(unique(seen), trades);
    assert.deepEqual(states, orders);
  }

  /** Orders with their ends, each as an event of the type `order`, beside the data node's table. */
  async function lifecycle(name, { ofAlice }, signal) {
    const { id, alice } = await trading(signal);
    const { events, gaps, losses, error } = ended.get(name);
    assert.equal(error, undefined, `the stream ended after ${events.size} events: ${error?.message}`);
    const orders = within(events, commonBlocks()).filter(({ kind: type, value }) => {
      return type === "order" && value.marketId === id;
    });
    const states = unique(orders.flatMap((event) => statesOf(event)));
    const party = ofAlice ? `AND party_id = decode('${alice.publicKey}', 'hex')` : "";
    const expected = await rows("orders", "height, encode(id, 'hex'), status", party);
    const ends = orders.filter(({ value: { status } }) => status === Status.CANCELLED || status === Status.EXPIRED);
    report.figure(
      name,
      `${states.length} states of orders, ${expected.length} in the table; ${ends.length} cancelled or expired; ${gaps.length} gaps${losses.map((loss) => `; lost: ${loss}`).join("")}`,
    );
    assert.deepEqual(states, expected);
    assert.equal(gaps.length, 0);
  }

  return [
    ...Object.keys(STREAMS).map((name) => ({
      group: "events",
      name: `${name}: the same events`,
      check: (signal) => compare(name, signal),
      extraMs: options.tradingMs,
    })),
    ...Object.entries(LIFECYCLES).map(([name, stream]) => ({
      group: "events",
      name: `${name}: the states of the data node's table`,
      check: (signal) => lifecycle(name, stream, signal),
      extraMs: options.tradingMs,
    })),
    {
      group: "events",
      name: "orders and trades equal the data node's tables",
      check: tables,
      extraMs: options.tradingMs,
    },
  ];
}

const unique = (texts) => [...new Set(texts)].sort();

/** The states of orders that an event tells of: `BLOCK ID STATUS`. */
function statesOf(event) {
  const { block, value } = event;
  switch (event.kind) {
    case "order":
      return [`${block} ${value.id} ${value.status}`];
    case "cancelledOrders":
      return value.orderIds.map((id) => `${block} ${id} ${Status.CANCELLED}`);
    case "expiredOrders":
      return value.orderIds.map((id) => `${block} ${id} ${Status.EXPIRED}`);
    default:
      return [];
  }
}

function byType(events) {
  const counts = new Map();
  for (const { kind: type } of events) {
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].map(([type, count]) => `${count} ${type}`).join(", ");
}
