import { TradewireError } from "../../base/errors/index.js";
import { monotonicMs } from "../../base/runtime/index.js";
import { throwIfAborted } from "../../base/signal/wait.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { RetryContext } from "../availability.js";
import type { Sink } from "../sink.js";
import type { SyncClient } from "../sync-options.js";
import { type ListedTable, listedRecords } from "./listed-records.js";

/** The shortest time between two listings, in milliseconds. */
const EVERY_MS = 600_000;

const TABLES: readonly ListedTable[] = ["tradewire_markets", "tradewire_assets", "tradewire_accounts"];

/**
 * Returns a function that stores in a sink with views what a node lists, at most once in ten minutes. If no node answers, that is
 * reported, and the sync goes on: the views lack the decimals and names that no exported row has.
 */
export function createListedStore(
  clients: readonly SyncClient[],
  sink: Sink,
  tables: readonly TableName[],
  { report, signal }: RetryContext,
): () => Promise<void> {
  let storedAt = Number.NEGATIVE_INFINITY;

  async function store(records: NonNullable<SyncClient["records"]>): Promise<void> {
    const listed = await listedRecords(records, tables, signal);
    for (const table of TABLES) {
      for await (const rows of listed[table]) {
        await sink.storeListed?.(table, rows);
      }
    }
  }

  return async () => {
    if (sink.storeListed === undefined || monotonicMs() - storedAt < EVERY_MS) {
      return;
    }
    storedAt = monotonicMs();
    let failure: TradewireError | undefined;
    for (const { records } of clients) {
      if (records === undefined) {
        continue;
      }
      try {
        await store(records);
        return;
      } catch (reason) {
        throwIfAborted(signal);
        if (!(reason instanceof TradewireError)) {
          throw reason;
        }
        failure = reason;
      }
    }
    if (failure !== undefined) {
      report({ kind: "unlisted", error: failure });
    }
  };
}
