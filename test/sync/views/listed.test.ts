import { Code } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, it } from "@jest/globals";
import { CanceledError, RequestError } from "tradewire";
import { type Sink, SinkError, type SyncClient, type SyncEvent, syncHistory } from "tradewire/sync";
import { jsonLinesSink } from "../../support/json-lines-sink.js";
import { type Syncing, startSyncing } from "../../support/syncing.js";

let syncing: Syncing;

beforeEach(async () => {
  syncing = await startSyncing();
});

afterEach(async () => {
  await syncing[Symbol.asyncDispose]();
});

/** A sink that stores what nodes list in memory. */
function listingSink(createViews: Sink["createViews"] = async () => undefined) {
  const stored: string[] = [];
  const sink: Sink = {
    ...jsonLinesSink(syncing.folder),
    createViews,
    async storeListed(table, batches) {
      for await (const rows of batches) {
        stored.push(...rows.map(({ code }) => `${table} ${String(code)}`));
      }
    },
  };
  return { sink, stored };
}

/** The node's client, whose listing of markets waits for a promise first. */
function clientAfter(before: (signal: AbortSignal | undefined) => Promise<unknown>): SyncClient {
  const client = syncing.clientOf();
  return {
    ...client,
    referencedRecords(options = {}) {
      const records = client.referencedRecords?.(options);
      if (records === undefined) {
        throw new Error("the client lists nothing");
      }
      const markets: typeof records.markets = {
        async *[Symbol.asyncIterator]() {
          await before(options.signal);
          yield* records.markets;
        },
      };
      return { ...records, markets };
    },
  };
}

const tables = ["trades"] as const;

it("loads units while a node lists its markets, and stores them before it ends", async () => {
  const { sink, stored } = listingSink();
  let firstLoaded = (): void => {};
  const loaded = new Promise<void>((resolve) => {
    firstLoaded = resolve;
  });
  const onEvent = (event: SyncEvent) => event.kind === "loaded" && firstLoaded();
  const summary = await syncHistory(
    clientAfter(() => loaded),
    { sink, tables, hooks: { onEvent } },
  );
  expect(summary).toMatchObject({ units: 4, failed: [] });
  expect(stored).toEqual(expect.arrayContaining([expect.stringMatching(/^tradewire_markets ./)]));
  expect(stored).toEqual(expect.arrayContaining([expect.stringMatching(/^tradewire_assets ./)]));
});

it("ends at once with its signal, although a node never ends its listing", async () => {
  const { sink } = listingSink();
  const ending = new AbortController();
  const client = clientAfter(
    (signal) =>
      new Promise((_, reject) => {
        signal?.addEventListener("abort", () => reject(new CanceledError()));
        ending.abort();
      }),
  );
  await expect(syncHistory(client, { sink, tables, signal: ending.signal })).rejects.toThrow(CanceledError);
});

it("reports a listing that fails, and loads all units", async () => {
  const { sink, stored } = listingSink();
  const events: SyncEvent[] = [];
  const error = new RequestError("no listing");
  const client = clientAfter(() => Promise.reject(error));
  const summary = await syncHistory(client, { sink, tables, hooks: { onEvent: (event) => void events.push(event) } });
  expect(summary).toMatchObject({ units: 4, failed: [] });
  expect(events).toContainEqual({ kind: "unlisted", error });
  expect(stored).toEqual([]);
});

it("reports views that cannot be created, lists nothing for them, and loads all units", async () => {
  const error = new SinkError("no views", { code: Code.PermissionDenied, advice: "Grant them." });
  const { sink, stored } = listingSink(() => Promise.reject(error));
  const events: SyncEvent[] = [];
  const summary = await syncHistory(syncing.clientOf(), {
    ...{ sink, tables, hooks: { onEvent: (event) => void events.push(event) } },
  });
  expect(summary).toMatchObject({ units: 4, failed: [] });
  expect(events).toContainEqual({ kind: "unviewed", error });
  expect(stored).toEqual([]);
});
