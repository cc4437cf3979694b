import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createClient } from "tradewire";
import { createSyncState, type SyncEvent, startWatch, syncHistory, syncStatus } from "tradewire/sync";
import { run } from "../support/command.js";
import { jsonLinesSink } from "../support/json-lines-sink.js";
import { serveNode, type TestNode } from "../support/node.js";

let folder: string;
/** Its data node stopped writing 45 s before the core's last block. */
let lagging: TestNode;
/** Its data node has the core's last block, which is three hours old. */
let stalled: TestNode;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lag-"));
  const now = BigInt(Date.now()) * 1_000_000n;
  [lagging, stalled] = [await nodeAt(now - 45_000_000_000n, now), await nodeAt(now - 3n * 3_600_000_000_000n)];
});
afterAll(async () => {
  await lagging.close();
  await stalled.close();
  await rm(folder, { recursive: true });
});

function nodeAt(stored: bigint, made = stored): Promise<TestNode> {
  return serveNode(
    { getVegaTime: () => ({ timestamp: stored }), listAllNetworkHistorySegments: () => ({ segments: [] }) },
    { getVegaTime: () => ({ timestamp: made }) },
  );
}

// A data node that missed blocks keeps answering with old state, as one of v0.78.0 did.
describe("a data node that stopped writing", () => {
  test("is reported by a sync, in its state and in its metrics", async () => {
    const events: SyncEvent[] = [];
    const state = createSyncState({ tables: ["trades"] });
    const onEvent = (event: SyncEvent) => {
      events.push(event);
      state.take(event);
    };
    await using client = createClient({ transport: "grpc", grpc: { url: lagging.grpcUrl } });
    await syncHistory(client, { sink: jsonLinesSink(folder), tables: ["trades"], hooks: { onEvent } });
    const reported = { state: "lagging", behindCoreMs: 45_000 };
    expect(events).toMatchObject([{ kind: "lag", node: "the node", lag: reported }]);
    const { nodes } = state.snapshot();
    expect(nodes).toMatchObject([
      {
        name: "the node",
        lag: {
          state: "lagging",
          behindCoreSeconds: 45,
          text: expect.stringMatching(/^lags: its last block is 45 s older than the core's/),
        },
      },
    ]);
    await using watch = await startWatch({ listen: "127.0.0.1:0", state });
    const metrics = await (await fetch(`${watch.url}/metrics`)).text();
    expect(metrics).toContain('\ntradewire_sync_data_node_lag_seconds{node="the node"} 45\n');
    expect(metrics).toMatch(/\ntradewire_sync_last_block_age_seconds\{node="the node"\} \d/);
  });

  test("is reported by the status of a sync, other than a network that makes no blocks", async () => {
    const lags = await Promise.all(
      [lagging, stalled].map(async ({ restUrl }) => {
        await using client = createClient({ transport: "rest", rest: { url: restUrl } });
        return (await syncStatus(jsonLinesSink(folder), { clients: client })).lags;
      }),
    );
    expect(lags).toMatchObject([
      [{ node: "the node", lag: { state: "lagging", behindCoreMs: 45_000 } }],
      [{ node: "the node", lag: { state: "stalled", behindCoreMs: 0 } }],
    ]);
  });

  test("is no reason for a sync to fail", async () => {
    await using node = await serveNode({ listAllNetworkHistorySegments: () => ({ segments: [] }) });
    const events: SyncEvent[] = [];
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const hooks = { onEvent: (event: SyncEvent) => events.push(event) };
    const { units } = await syncHistory(client, { sink: jsonLinesSink(folder), tables: ["trades"], hooks });
    expect({ units, events }).toEqual({ units: 0, events: [] });
  });
});

describe("the command", () => {
  test("says in sync and sync status that a data node lags", async () => {
    const to = ["--to", "parquet:lagging"];
    const synced = await run(["sync", "-o", "table", "--grpc-url", lagging.grpcUrl, ...to], { cwd: folder });
    expect(synced.err).toMatch(/Z the data node of http:\S+ lags: its last block is 45 s older than the core's/);
    await mkdir(join(folder, "lagging"), { recursive: true }); // A sync that has loaded nothing leaves no folder.
    const status = await run(["sync", "status", "-o", "table", "--grpc-url", lagging.grpcUrl, ...to], { cwd: folder });
    expect(status.out).toMatch(/ The data node of http:\S+ lags: its last block is 45 s older than the core's/);
    const asJson = await run(["sync", "status", "--json", "--grpc-url", lagging.grpcUrl, ...to], { cwd: folder });
    expect(JSON.parse(asJson.out)).toMatchObject({ lags: [{ lag: { state: "lagging", behindCoreMs: 45_000 } }] });
  });

  test("says that no blocks are made where the data node has the core's last one", async () => {
    const asked = ["--grpc-url", stalled.grpcUrl, "--to", "parquet:stalled"];
    expect((await run(["sync", "-o", "table", ...asked], { cwd: folder })).err).not.toContain("data node");
    await mkdir(join(folder, "stalled"), { recursive: true });
    const status = await run(["sync", "status", "-o", "table", ...asked], { cwd: folder });
    expect(status.out).toMatch(
      / has the core's last block, which is 3 h old: the network makes no blocks, the core lags/,
    );
  });
});
