import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Client } from "pg";
import { createClient } from "tradewire";
import type { Devnode } from "tradewire/devnode";
import { postgresSink, queueStatus, queueSync } from "tradewire/sync";
import { eventually } from "../../support/eventually.js";
import {
  type CountingNode,
  type Program,
  type QueuePlace,
  startCountingNode,
  startProgram,
  startQueuePlace,
  TIMINGS,
} from "../../support/queue.js";

let place: QueuePlace;
let node: Devnode;
let url: string;
let client: Client;
beforeAll(async () => {
  place = await startQueuePlace(4);
  ({ node, url, client } = place);
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
});

const TABLES = ["trades", "blocks"];

/** Two planners, and which of them leads. */
async function twoPlanners(schema: string, counting: CountingNode) {
  const given = { postgres: url, schema, grpcUrl: counting.url };
  const start = () => startProgram("planner", { ...given, options: { timings: TIMINGS, tables: TABLES } });
  const planners = await Promise.all([start(), start()]);
  await Promise.race(planners.map((planner) => planner.saying("planned")));
  const leads = (planner: Program) => planner.said.some((event) => event.kind === "planned");
  const [leader, other] = leads(planners[0]) ? planners : [planners[1], planners[0]];
  const work = () => startProgram("worker", { ...given, options: { timings: TIMINGS, countExports: false } });
  return { leader, other, work };
}

async function units(schema: string): Promise<number> {
  const { rows } = await client.query(`SELECT count(*)::int AS n FROM ${schema}.tradewire_ledger`);
  return rows[0].n;
}

async function end(program: Program): Promise<void> {
  program.child.kill("SIGTERM");
  await program.ended;
}

describe("planners of a queue", () => {
  it("plan once, however many they are", async () => {
    await using counting = await startCountingNode(node.grpcUrl);
    const { leader, other, work } = await twoPlanners("once", counting);
    const sink = postgresSink(url, { schema: "once" });
    await eventually(async () => (await queueStatus(sink))?.waiting === 8);
    expect(await queueStatus(sink)).toMatchObject({
      waiting: 8,
      underWay: [],
      leader: expect.stringContaining(String(leader.child.pid)),
    });
    await other.saying("waiting");
    const said = { kind: "waiting", againMs: 60_000, error: expect.objectContaining({ name: "SinkError" }) };
    expect([counting.listings(), other.said]).toEqual([1, [said]]);
    const worker = await work();
    await Promise.all([leader.ended, other.ended]);
    expect(leader.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 8, failed: [] } });
    expect(other.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 0, failed: [] } });
    expect(counting.asked).toHaveLength(8);
    expect(await units("once")).toBe(8);
    await end(worker);
  });

  it("take over from a leader that is killed", async () => {
    await using counting = await startCountingNode(node.grpcUrl);
    const { leader, other, work } = await twoPlanners("killed", counting);
    leader.child.kill("SIGKILL");
    await other.saying("planned");
    const worker = await work();
    await other.ended;
    expect(other.said.at(-1)).toMatchObject({ kind: "ended", summary: { units: 8, failed: [] } });
    expect([await units("killed"), counting.listings(), counting.asked.length]).toEqual([8, 3, 8]);
    await end(worker);
  });

  it("take over from a leader that is frozen, which then waits for its turn", async () => {
    await using counting = await startCountingNode(node.grpcUrl);
    const { leader, other, work } = await twoPlanners("frozen", counting);
    leader.child.kill("SIGSTOP");
    await other.saying("planned");
    expect((await queueStatus(postgresSink(url, { schema: "frozen" })))?.leader).toContain(String(other.child.pid));
    leader.child.kill("SIGCONT");
    const worker = await work();
    await Promise.all([other.ended, leader.ended]);
    expect(other.said.at(-1)).toMatchObject({ kind: "ended", summary: { failed: [] } });
    expect(leader.said.at(-1)).toMatchObject({ kind: "ended", summary: { failed: [] } });
    expect([await units("frozen"), counting.asked.length]).toEqual([8, 8]);
    await end(worker);
  });

  it("follow the node's history", async () => {
    await using counting = await startCountingNode(node.grpcUrl);
    const given = { postgres: url, schema: "followed", grpcUrl: counting.url };
    const following = { timings: TIMINGS, tables: TABLES, follow: true, pollMs: 200 };
    const planner = await startProgram("planner", { ...given, options: following });
    const worker = await startProgram("worker", { ...given, options: { timings: TIMINGS, countExports: false } });
    await planner.saying("idle");
    expect(await units("followed")).toBe(8);
    for (let block = 0; block < 10; block += 1) {
      await node.makeBlock();
    }
    await eventually(async () => (await units("followed")) === 10);
    await Promise.all([end(planner), end(worker)]);
    expect(planner.said.at(-1)).toMatchObject({ kind: "threw", message: expect.stringContaining("CanceledError") });
    expect(await queueStatus(postgresSink(url, { schema: "followed" }))).toMatchObject({ waiting: 0, workers: [] });
  });

  it("stop where the histories part, and leave nothing in the queue", async () => {
    await using counting = await startCountingNode(node.grpcUrl);
    const given = { postgres: url, schema: "parted", grpcUrl: counting.url };
    const options = { timings: TIMINGS, tables: TABLES };
    const first = await startProgram("planner", { ...given, options });
    await first.saying("planned");
    const sink = postgresSink(url, { schema: "parted" });
    await eventually(async () => (await queueStatus(sink))?.waiting === 10);
    await end(first);
    await client.query(`INSERT INTO parted.tradewire_ledger (chain_id, table_name, from_block, to_block, segment_id,
      previous_segment_id, schema_version, rows, bytes, sha256) SELECT chain_id, 'blocks', 1, 10, 'foreign', '', 116, 0, 0, '' FROM parted.tradewire_sync`);
    const second = await startProgram("planner", { ...given, options });
    await second.ended;
    expect(second.said.at(-1)).toMatchObject({
      kind: "threw",
      message: expect.stringMatching(/the histories diverge: .*"foreign"/u),
    });
    expect(await queueStatus(sink)).toMatchObject({ waiting: 0, deadLetters: [] });
  });

  it("end where they may not make the queue, or something else has its place", async () => {
    await using source = createClient({ grpc: { url: node.grpcUrl } });
    const plan = (sink: ReturnType<typeof postgresSink>) =>
      queueSync(source, { sink, tables: ["blocks"], signal: AbortSignal.timeout(120_000) });
    await client.query("CREATE ROLE reader LOGIN; CREATE SCHEMA taken_queue");
    await client.query("CREATE TABLE taken_queue.version (version int4); INSERT INTO taken_queue.version VALUES (99)");
    const denied = plan(postgresSink(url.replace("postgres@", "reader@"), { schema: "denied" }));
    await expect(denied).rejects.toMatchObject({ name: "SinkError", code: Code.PermissionDenied });
    await expect(plan(postgresSink(url, { schema: "taken" }))).rejects.toMatchObject({
      name: "SinkError",
      code: Code.FailedPrecondition,
    });
  });
});
