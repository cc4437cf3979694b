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
  gRPC: { client: "grpc", batchSize: 0 },
  WebSocket: { client: "rest", batchSize: 0 },
  "gRPC, batches of 4": { client: "grpc", batchSize: BATCH_SIZE },
  "WebSocket, batches of 4": { client: "rest", batchSize: BATCH_SIZE },
};

/** Make the cases. */
export function eventCases({ network, market, report, options }) {
  const { clients, urls } = network;
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
    const readers = Object.entries(STREAMS).map(([name, stream]) => [
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
    return { id, sent };
  }

  /** Read a stream until its signal is aborted. */
  async function read({ client, batchSize }, signal) {
    const events = new Map();
    const gaps = [];
    let error;
    try {
      for await (const event of clients[client].events({ types: TYPES, batchSize }, { signal, reconnect: true })) {
        if ("gap" in event) {
          gaps.push(event.gap);
        } else {
          events.set(event.id, event);
        }
      }
    } catch (reason) {
      error = signal.aborted ? undefined : reason;
    }
    return { events, gaps, error };
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
    const ends = [...ended.values()].map(({ events }) =>
      [...events.values()].filter((event) => event.case === "endBlock").map(({ block }) => Number(block)),
    );
    const first = BigInt(Math.max(...ends.map((blocks) => blocks[0])));
    const last = BigInt(Math.min(...ends.map((blocks) => blocks.at(-1))));
    return { from: first + 1n, to: last - 1n };
  }

  const within = (events, { from, to }) => [...events.values()].filter(({ block }) => block >= from && block <= to);

  /** A stream beside the first one. */
  async function compare(name, signal) {
    await trading(signal);
    const { events, gaps, error } = ended.get(name);
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
        .map((event) => `${event.id} ${event.case}`)
        .sort();
    const [own, base] = [of(events), of(ended.get("gRPC").events)];
    report.figure(
      `events, ${name}`,
      `blocks ${blocks.from} to ${blocks.to}: ${own.length} of ${base.length} events, ${gaps.length} gaps (${byType(within(events, blocks))})`,
    );
    assert.deepEqual(own, base);
    // A socket ends at a line of more than 64 KiB, and says so by a gap; nothing else may.
    assert.ok(gaps.length === 0 || (name === "WebSocket" && own.length > base.length / 2), `${gaps.length} gaps`);
  }

  /** Orders and trades of the bus beside those of the data node's tables. */
  async function tables(signal) {
    if (urls.postgres === undefined) {
      throw new LeftOut("the data node's PostgreSQL is not given");
    }
    const { id, sent } = await trading(signal);
    const { from, to } = commonBlocks();
    const client = new pg.Client(urls.postgres);
    await client.connect();
    try {
      const query = async (table, columns) => {
        const sql = `SELECT ${columns} FROM ${table} JOIN blocks USING (vega_time) WHERE height BETWEEN ${from} AND ${to} AND market_id = decode('${id}', 'hex')`;
        return (await client.query({ text: sql, rowMode: "array" })).rows.map((row) => row.join(" "));
      };
      const events = within(ended.get("gRPC").events, { from, to }).filter(({ value }) => value.marketId === id);
      const lifecycle = events.flatMap((event) => statesOf(event));
      const orders = [...new Set(await query("orders", "height, encode(id, 'hex'), status"))].sort();
      const trades = [...new Set(await query("trades", "height, encode(id, 'hex')"))].sort();
      const traded = events.filter((event) => event.case === "trade").map(({ block, value }) => `${block} ${value.id}`);
      report.figure(
        "events beside the data node's tables",
        `${sent} transactions in ${options.tradingMs / 60_000} minutes; ${lifecycle.length} states of orders from events, ${orders.length} in the table; ${traded.length} trades from events, ${trades.length} in the table`,
      );
      assert.deepEqual([...new Set(traded)].sort(), trades);
      assert.deepEqual([...new Set(lifecycle)].sort(), orders);
    } finally {
      await client.end();
    }
  }

  return [
    ...Object.keys(STREAMS).map((name) => ({
      group: "events",
      name: `${name}: the same events`,
      check: (signal) => compare(name, signal),
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

/** The states of orders that an event tells of: `BLOCK ID STATUS`. */
function statesOf(event) {
  const { block, value } = event;
  switch (event.case) {
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
  for (const { case: type } of events) {
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return [...counts].map(([type, count]) => `${count} ${type}`).join(", ");
}
