import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { createClient } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type SyncEvent, type SyncOptions, syncHistory } from "tradewire/sync";
import { freePort } from "./free-port.mjs";
import { jsonLinesSink, readRows } from "./json-lines-sink.js";

const BLOCKS = 10;
/** A node with four segments of ten blocks, in which only the test makes blocks. */
export const settings = {
  blockMs: 0,
  segments: 4,
  blocksPerSegment: BLOCKS,
  activity: 1,
  schemaVersions: [115, 115, 116],
};

/** A node, and a folder to sync its history into. */
export interface Syncing extends AsyncDisposable {
  readonly folder: string;
  /** May be put in the place of one that was closed. */
  node: Devnode;
  clientOf(url?: string): ReturnType<typeof createClient>;
  /** Sync trades and blocks, and keep what happened. */
  sync(
    options?: Partial<SyncOptions>,
    clients?: Parameters<typeof syncHistory>[0],
  ): { readonly events: readonly SyncEvent[]; readonly done: ReturnType<typeof syncHistory> };
  /** Compare the rows of a table with those that the node exports, for so many segments, 4 by default. */
  expectAll(table: "trades" | "blocks", segments?: number): Promise<void>;
  makeSegment(): Promise<void>;
}

/** Start a node to sync from. */
export async function startSyncing(): Promise<Syncing> {
  const folder = await mkdtemp(join(tmpdir(), "sync-"));
  const closing: (() => Promise<void>)[] = [];
  const syncing: Syncing = {
    folder,
    node: await startDevnode({ ...settings, grpcPort: await freePort() }), // Tests start it again there.

    clientOf(url = syncing.node.grpcUrl) {
      const client = createClient({ grpc: { url }, retry: { tries: 1 } });
      closing.push(() => client.close());
      return client;
    },

    sync(options = {}, clients = syncing.clientOf()) {
      const events: SyncEvent[] = [];
      const { hooks, ...rest } = options;
      const onEvent = (event: SyncEvent) => {
        events.push(event);
        hooks?.onEvent?.(event);
      };
      const sink = jsonLinesSink(folder);
      return {
        events,
        done: syncHistory(clients, { sink, tables: ["trades", "blocks"], ...rest, hooks: { onEvent } }),
      };
    },

    async expectAll(table, segments = 4) {
      const request = { table, fromBlock: 1, toBlock: segments * BLOCKS };
      const rows: unknown[] = [];
      for await (const row of syncing.clientOf().exportNetworkHistory(request).rows()) {
        rows.push(row);
      }
      const found = (await readRows(folder, table)).map(({ _from_block: _, ...row }) => row);
      const sorted = (list: readonly unknown[]) => list.map((row) => JSON.stringify(row)).sort();
      expect(found.length).toBeGreaterThan(0);
      expect(sorted(found)).toEqual(sorted(rows));
    },

    async makeSegment() {
      for (let block = 0; block < BLOCKS; block += 1) {
        await syncing.node.makeBlock();
      }
    },

    async [Symbol.asyncDispose]() {
      await Promise.all(closing.map((close) => close()));
      await syncing.node.close();
      await rm(folder, { recursive: true });
    },
  };
  return syncing;
}

/** Name what happened. */
export function kinds(events: readonly SyncEvent[]): string[] {
  return events.map((event) => event.kind);
}
