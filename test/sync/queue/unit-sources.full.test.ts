import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { Client as Postgres } from "pg";
import { type Client, createClient, type HistorySegment } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import {
  DivergenceError,
  postgresSink,
  queueStatus,
  queueSync,
  runWorker,
  type SyncClient,
  type SyncEvent,
} from "tradewire/sync";
import { eventually } from "../../support/eventually.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { TIMINGS } from "../../support/queue.js";
import { useRuntime } from "../../support/virtual-runtime.js";

let server: PostgresServer;
let url: string;
let nodes: Devnode[];
let clients: Client[];
beforeAll(async () => {
  const history = { chainId: "tradewire-queue", blockMs: 0, segments: 4, blocksPerSegment: 10 };
  [server, ...nodes] = await Promise.all([
    startPostgres(),
    startDevnode({ ...history, activity: 2 }),
    startDevnode({ ...history, segments: 2, blocksPerSegment: 20 }),
  ]);
  url = await server.createDatabase();
  clients = nodes.map(({ grpcUrl }) => createClient({ grpc: { url: grpcUrl } }));
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client[Symbol.asyncDispose]()));
  await Promise.all(nodes.map((node) => node.close()));
  await server[Symbol.asyncDispose]();
});

/** A client of a node, and the first blocks of what it was asked for. */
function nodeOf(name: string, which: number, list: (all: HistorySegment[]) => HistorySegment[] = (all) => all) {
  const asked: bigint[] = [];
  const [client] = clients.slice(which);
  if (client === undefined) {
    throw new Error("there are two nodes");
  }
  const node: SyncClient = {
    name,
    listSegments: async (options) => list(await client.listSegments(options)),
    exportNetworkHistory(request, options) {
      asked.push(BigInt(request.fromBlock ?? 0));
      return client.exportNetworkHistory(request, options);
    },
  };
  return { node, asked };
}

const planning = { tables: ["trades", "blocks"] as const, timings: TIMINGS, attempts: 1 };

/** Starts a planner and a worker on a schema. */
function start(schema: string, planned: SyncClient, working: readonly SyncClient[]) {
  const stop = new AbortController();
  const events: SyncEvent[] = [];
  const sink = () => postgresSink(url, { schema });
  const ending = { signal: stop.signal };
  const planner = queueSync(planned, { ...planning, sink: sink(), ...ending });
  const hooks = { onEvent: (event: SyncEvent) => events.push(event) };
  const worker = runWorker(working, { timings: TIMINGS, countExports: false, hooks, sink: sink(), ...ending });
  planner.catch(() => undefined);
  worker.catch(() => undefined);
  return { planner, worker, events, stop, sink };
}

async function rows(sql: string): Promise<unknown[]> {
  const client = new Postgres(url);
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

it("stops a worker whose node has another history of the chain, and loads nothing of it", async () => {
  const [planned, other] = [nodeOf("right", 0), nodeOf("wrong", 1)];
  const { planner, worker, sink, stop } = start("parted", planned.node, [other.node]);
  await expect(worker).rejects.toThrow(DivergenceError);
  await expect(worker).rejects.toThrow(
    /^the histories diverge: the queue has blocks 1 to 10 of \w+ from segment ".+" after none, but wrong has segment ".+" of blocks 1 to 20 after none/,
  );
  expect(other.asked).toEqual([]);
  expect(await queueStatus(sink())).toMatchObject({
    waiting: 8,
    backoff: 0,
    underWay: [],
    deadLetters: [],
    workers: [],
  });
  expect(await rows("SELECT count(*)::int AS n FROM parted.tradewire_ledger")).toEqual([{ n: 0 }]);
  stop.abort();
  await expect(planner).rejects.toThrow("canceled");
});

it("gets units from those of a worker's nodes that have them", async () => {
  const old = nodeOf("old", 0, (all) => all.slice(0, 2));
  const pruned = nodeOf("new", 0, (all) => all.slice(2));
  const { planner, worker, events, stop } = start("split", nodeOf("whole", 0).node, [old.node, pruned.node]);
  expect(await planner).toMatchObject({ units: 8, failed: [] });
  const isWhole = (event: SyncEvent) => event.kind === "planned" && event.tables.every(({ missing }) => missing === 0n);
  await eventually(() => events.some(isWhole) && events.at(-1)?.kind !== "loaded");
  stop.abort();
  expect(await worker).toMatchObject({ units: 8, failures: 0 });
  const sorted = (asked: bigint[]) => asked.map(Number).sort((a, b) => a - b);
  expect([sorted(old.asked), sorted(pruned.asked)]).toEqual([
    [1, 1, 11, 11],
    [21, 21, 31, 31],
  ]);
  // A worker tells what the leader has found, so that it is not taken for stuck.
  const plans = events.filter((event) => event.kind === "planned");
  expect(plans.at(-1)).toMatchObject({
    history: { segments: { length: 4 } },
    tables: [
      { table: "trades", units: 4, missing: 0n },
      { table: "blocks", units: 4, missing: 0n },
    ],
  });
  expect(events.filter((event) => event.kind === "idle")).toContainEqual({ kind: "idle", againMs: TIMINGS.listingMs });
});

it("puts what a worker's node does not have back without counting a try, and looks again for it", async () => {
  let listed = 2;
  const behind = nodeOf("behind", 0, (all) => all.slice(0, listed));
  const { planner, worker, stop, sink } = start("behind", nodeOf("whole", 0).node, [behind.node]);
  await eventually(async () => behind.asked.length === 4 && (await queueStatus(sink()))?.waiting === 4);
  const tries = () => rows("SELECT max(retry_count)::int AS tries FROM behind_queue.job");
  expect(await tries()).toEqual([{ tries: 0 }]);
  listed = 4;
  expect(await planner).toMatchObject({ units: 8, failed: [] });
  stop.abort();
  expect(await worker).toMatchObject({ units: 8, failures: 0 });
});

it("lists its node again at once for a unit that is new, and waits for no planner in silence", async () => {
  let listed = 2;
  const growing = nodeOf("growing", 0, (all) => all.slice(0, listed));
  const stop = new AbortController();
  const sink = () => postgresSink(url, { schema: "growing" });
  const events: SyncEvent[] = [];
  const hooks = { onEvent: (event: SyncEvent) => events.push(event) };
  const timings = { ...TIMINGS, listingMs: 3_600_000 };
  const worker = runWorker(growing.node, { timings, countExports: false, hooks, sink: sink(), signal: stop.signal });
  worker.catch(() => undefined);
  await eventually(() => events.length > 0);
  expect(events[0]).toMatchObject({
    kind: "waiting",
    error: { message: expect.stringMatching(/^postgres:\/\/.* has no queue yet$/m) },
  });
  const following = { ...planning, follow: true, pollMs: 100, sink: sink(), signal: stop.signal };
  const planner = queueSync(growing.node, following);
  planner.catch(() => undefined);
  const entries = () =>
    rows("SELECT FROM growing.tradewire_ledger").then(
      ({ length }) => length,
      () => 0,
    );
  await eventually(async () => (await entries()) === 4);
  listed = 4;
  await eventually(async () => (await entries()) === 8);
  stop.abort();
  expect(await worker).toMatchObject({ units: 8, failures: 0 });
});

it("waits for what no node has any more, and reads the nodes again", async () => {
  let [listed, looksBehind] = [4, 0];
  const node = nodeOf("restored", 0, (all) => {
    looksBehind += listed < 4 ? 1 : 0;
    return all.slice(0, listed);
  });
  const stop = new AbortController();
  const sink = () => postgresSink(url, { schema: "unheld" });
  const reported: string[] = [];
  const onEvent = (event: SyncEvent) => {
    if (event.kind === "waiting") {
      reported.push(event.error.summary);
      listed = 4;
    }
  };
  const following = { ...planning, follow: true, pollMs: 100, sink: sink(), hooks: { onEvent }, signal: stop.signal };
  const planner = queueSync(node.node, following);
  const whole = nodeOf("whole", 0).node;
  const worker = runWorker(whole, { timings: TIMINGS, countExports: false, sink: sink(), signal: stop.signal });
  planner.catch(() => undefined);
  const isLoaded = () =>
    rows("SELECT FROM unheld.tradewire_ledger").then(
      (entries) => entries.length === 8,
      () => false,
    );
  await eventually(isLoaded);
  listed = 2;
  await eventually(() => looksBehind > 1);
  for (const [table, column] of [
    ["tradewire_ledger", "from_block"],
    ["blocks", "_from_block"],
    ["trades", "_from_block"],
  ]) {
    await rows(`DELETE FROM unheld.${table} WHERE ${column} = 31`);
  }
  // What was removed by hand is found when all of the ledger is compared again, an hour later.
  using _ = useRuntime({ monotonicMs: () => performance.now() + 3_600_000 });
  await eventually(isLoaded);
  expect(reported.slice(0, 1)).toEqual([expect.stringMatching(/^no reachable node lists blocks 31 to 40 of /)]);
  stop.abort();
  await expect(planner).rejects.toThrow("canceled");
  expect(await worker).toMatchObject({ units: 10, failures: 0 });
});
