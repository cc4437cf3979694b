import { Code } from "../../base/errors/code.js";
import { TradewireError } from "../../base/errors/index.js";
import { monotonicMs, timeoutSignal } from "../../base/runtime/index.js";
import { linkedController } from "../../base/signal/abort.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import type { ReferencedRecords } from "../../data/history/referenced-records.js";
import type { TableName } from "../../data/schema/table-names.js";
import { type RetryContext, retryWhileUnavailable } from "../availability.js";
import type { Sink } from "../sink.js";
import type { SyncClient } from "../sync-options.js";
import { listedRecords, listedTables } from "./listed-records.js";

/** The shortest time between the starts of two listings, and the longest time that one may take, in milliseconds. */
const EVERY_MS = 600_000;

/** Stores in a sink what nodes list, for its views, while units are loaded. */
export interface ListedStore extends AsyncDisposable {
  /** Starts a listing, unless one was started in the last ten minutes. */
  start(): void;
  /** Waits until the last listing has ended. */
  ended(): Promise<void>;
}

/**
 * Creates the views of an open sink, if it has any, and returns the store of what nodes list. A sync never fails because of its views: if
 * they cannot be created, that is reported, and nothing is listed.
 *
 * @throws {@link TradewireError} if the sink stays unreachable; {@link CanceledError}
 */
export async function openViews(
  clients: readonly SyncClient[],
  sink: Sink,
  tables: readonly TableName[],
  retryContext: RetryContext,
): Promise<ListedStore> {
  const { report, signal } = retryContext;
  try {
    await retryWhileUnavailable(async () => sink.createViews?.(signal), retryContext);
    return createListedStore(clients, sink, tables, retryContext);
  } catch (reason) {
    throwIfAborted(signal);
    if (!(reason instanceof TradewireError) || reason.code === Code.Unavailable) {
      throw reason;
    }
    report({ kind: "unviewed", error: reason });
    return createListedStore([], sink, tables, retryContext);
  }
}

/**
 * Creates a store of what nodes list. If no node answers, that is reported, and the sync goes on: the views lack the decimals and names that
 * no exported row has. Disposing of it cancels the listing.
 */
export function createListedStore(
  clients: readonly SyncClient[],
  sink: Sink,
  tables: readonly TableName[],
  { report, signal }: Pick<RetryContext, "report" | "signal">,
): ListedStore {
  const controller = linkedController(signal);
  let startedAt = Number.NEGATIVE_INFINITY;
  let running = Promise.resolve();

  async function store(records: ReferencedRecords): Promise<void> {
    const listed = await listedRecords(records, tables);
    for (const table of listedTables) {
      await sink.storeListed?.(table, listed[table]);
    }
  }

  /** Lists from the first node that can. */
  async function storeFromAny(): Promise<void> {
    let failure: TradewireError | undefined;
    for (const client of clients) {
      const within = linkedController(controller.signal, timeoutSignal(EVERY_MS));
      try {
        const records = client.referencedRecords?.({ signal: within.signal });
        if (records !== undefined) {
          await store(records);
          return;
        }
      } catch (reason) {
        throwIfAborted(controller.signal);
        if (!(reason instanceof TradewireError)) {
          throw reason;
        }
        failure = reason;
      } finally {
        within.abort(); // Removes its listeners.
      }
    }
    if (failure !== undefined) {
      report({ kind: "unlisted", error: failure });
    }
  }

  return {
    start() {
      if (sink.storeListed !== undefined && monotonicMs() - startedAt >= EVERY_MS) {
        startedAt = monotonicMs();
        running = running.then(storeFromAny);
        running.catch(() => undefined); // `ended` throws it.
      }
    },
    ended: () => running,
    async [Symbol.asyncDispose]() {
      controller.abort();
      await running.catch(() => undefined);
    },
  };
}
