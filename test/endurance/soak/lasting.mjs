// What goes on for as long as the process: streams of events that reconnect, transactions, follows, and a sync. What came is
// written to files, so that it can be checked at the end and takes no memory.
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { duckdbSink, syncHistory } from "tradewire/sync";
import { commandOf } from "./commands.mjs";

/** Gateways end a stream of all types at a busy block, as its JSON has more than 64 KiB. */
const SOME_TYPES = ["endBlock", "transactionResult", "order", "trade", "stopOrder"];
/** How long the outcome of a transaction is waited for. */
const OUTCOME_MS = 20_000;

/** Events, with gaps where some may be missing. A line each; one for each stream that begins anew. */
export async function observeEvents({ tracker, transport, client, folder }) {
  const log = createWriteStream(join(folder, `events-${transport}.log`));
  const request = transport.startsWith("grpc") ? {} : { types: SOME_TYPES };
  log.write(`types ${request.types?.join(",") ?? "all"}\n`);
  while (!tracker.isOver) {
    log.write("open\n");
    await tracker.call("events", transport, Number.POSITIVE_INFINITY, async (signal) => {
      for await (const event of client.events(request, { reconnect: true, signal })) {
        if ("gap" in event) {
          log.write(`gap ${event.gap.afterBlock ?? -1} ${event.gap.beforeBlock}\n`);
        } else {
          log.write(`${event.block} ${event.sequence} ${event.kind}\n`);
        }
        tracker.came("events", transport);
      }
    });
    await sleep(500);
  }
  await new Promise((resolve) => log.end(resolve));
}

/** Transactions with one key, one after the other, each with what was said of it. */
export async function sendTransactions({ tracker, transport, random, client, folder, signer }) {
  const log = createWriteStream(join(folder, `transactions-${transport}.log`));
  for (let index = 0; !tracker.isOver; index += 1) {
    const { command, references, mayFail } = commandOf(index, `soak-${transport}-${index}`);
    const said = { references, mayFail };
    const limitMs = random.happens(0.1) ? random.between(0, 2000) : 2 * OUTCOME_MS;
    await tracker.call("transaction", transport, limitMs, async (signal) => {
      try {
        const options = { signer, until: "executed", timeoutMs: OUTCOME_MS, signal };
        const { outcome, txHash } = await client.sendCommand(command, options);
        Object.assign(said, { hash: txHash, status: outcome.status, inBlock: outcome.block !== undefined });
      } catch (error) {
        const { name, mayHaveBeenSent, mayHaveBeenTaken, transaction } = error;
        Object.assign(said, { hash: transaction?.txHash, error: name, mayHaveBeenSent, mayHaveBeenTaken });
        throw error;
      }
    });
    log.write(`${JSON.stringify(said)}\n`);
    await sleep(random.between(0, 1500));
  }
  await new Promise((resolve) => log.end(resolve));
}

/**
 * The rows of a table, each once, whatever happens: the follow is broken off again and again, and goes on from its cursor.
 */
export function followTable({ tracker, transport, random, client }, table) {
  const hash = createHash("sha256");
  let [count, cursor] = [0, undefined];
  async function follow(request, signal, leaves) {
    for await (const item of client.follow({ table, ...request }, { cursor, pollMs: 1000, signal })) {
      const isLast = leaves && random.happens(0.02);
      const taken = isLast ? random.below(item.rows.length + 1) : item.rows.length;
      for (const row of item.rows.slice(0, taken)) {
        hash.update(JSON.stringify(row));
      }
      count += taken;
      cursor = taken === item.rows.length ? item.cursor : item.cursorAfter(taken);
      tracker.came("follow", transport);
      if (isLast) {
        return;
      }
    }
  }
  const run = async () => {
    while (!tracker.isOver) {
      await tracker.call("follow", transport, random.between(20_000, 90_000), (signal) => follow({}, signal, true));
      await sleep(random.between(0, 1000));
    }
  };
  const end = async (toBlock) => {
    await tracker.call("follow", transport, 60_000, (signal) => follow({ toBlock }, signal, false));
    return { table, digest: `${count} ${hash.digest("hex")}` };
  };
  return { run, end };
}

/** A sync of all tables into DuckDB, over each transport in turn, stopped and begun anew. */
export function syncTables({ tracker, random, clients, folder }) {
  const path = join(folder, "history.duckdb");
  function sync(transport, options, limitMs) {
    const onEvent = (event) => event.kind === "loaded" && tracker.came("sync", transport);
    return tracker.call("sync", transport, limitMs, (signal) => {
      const sink = duckdbSink(path, { memoryLimit: "128MiB" });
      return syncHistory(clients[transport], { sink, pollMs: 1000, signal, hooks: { onEvent }, ...options });
    });
  }
  const run = async () => {
    while (!tracker.isOver) {
      for (const transport of Object.keys(clients)) {
        await sync(transport, { follow: true }, random.between(20_000, 60_000));
      }
    }
  };
  const end = async (toBlock) => {
    const summary = await sync("auto", { range: { toBlock } }, 120_000);
    return { path, failed: summary?.failed.map(({ error }) => error.summary) ?? ["the last sync"] };
  };
  return { run, end };
}
