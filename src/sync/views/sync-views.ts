import { RequestError } from "../../base/errors/index.js";
import { assertKnownKeys, parseSignal } from "../../base/input/assert.js";
import { snapshot } from "../../base/input/snapshot.js";
import { tableNames } from "../../data/schema/table-names.js";
import { readHistory } from "../node-history.js";
import { type Sink, withSink } from "../sink.js";
import { createReporter, type SyncHooks } from "../sync-events.js";
import { parseClients, type SyncClient } from "../sync-options.js";
import { createListedStore } from "./store-listed.js";

/** Options of {@link syncViews}. */
export interface SyncViewsOptions {
  /** The sink, which is opened, and closed at the end. */
  readonly sink: Sink;
  readonly signal?: AbortSignal | undefined;
  /** Of its events, there is only `unlisted`. */
  readonly hooks?: SyncHooks | undefined;
}

/**
 * Creates the views over the tables of a sink, or updates them, and stores what a node lists, as a sync does at its start. No unit is loaded.
 *
 * @param clients the node, or several nodes of one network
 * @param options the sink, a signal, and hooks
 * @throws `SinkError` if the views cannot be created; the previous ones remain
 * @throws `RequestError` if the sink has no views or holds another chain; errors of the node; `CanceledError`
 *
 * @example
 * await syncViews(client, { sink: postgresSink("postgres://me@db.example/history") });
 */
export function syncViews(clients: SyncClient | readonly SyncClient[], options: SyncViewsOptions): Promise<void> {
  clients = snapshot(clients);
  options = snapshot(options);
  const sink = options?.sink;
  return withSink(sink, async () => {
    assertKnownKeys("options", options, { sink: true, signal: true, hooks: true });
    const signal = parseSignal(options.signal);
    const nodes = parseClients(clients);
    if (sink.createViews === undefined) {
      throw new RequestError(`${sink.name} has no views`, { advice: "Use a sink in DuckDB or PostgreSQL." });
    }
    const { chainId } = await readHistory(nodes, signal);
    await sink.open({ chainId, tables: [], unknownColumns: "add", onUnknown: () => undefined, signal });
    await sink.createViews(signal);
    await using listed = createListedStore(nodes, sink, tableNames, { report: createReporter(options.hooks), signal });
    listed.start();
    await listed.ended();
  });
}
