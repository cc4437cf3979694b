import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "pg";
import { ConnectionError } from "tradewire";
import { eventually } from "../../support/eventually.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { unitOf } from "../../support/units.js";
import {
  admit,
  claimJob,
  completeJob,
  createPermits,
  endProbe,
  installQueue,
  jobOf,
  markReachable,
  markUnreachable,
  openQueueDatabase,
  parseTarget,
  type QueueDatabase,
  queueSchema,
  registerNodes,
  takeCallToken,
  UNIT_QUEUE,
} from "./inside.js";

let server: PostgresServer;
let url: string;
let db: QueueDatabase;
beforeAll(async () => {
  server = await startPostgres();
  url = await server.createDatabase();
  db = await openQueueDatabase(parseTarget(url, "limits"));
  await installQueue(db);
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const WORKER = "00000000-0000-4000-8000-000000000000";

describe("the schema of a queue", () => {
  it("is named by the sink's, as far as pg-boss can take that", () => {
    expect(queueSchema("public")).toBe("public_queue");
    expect(queueSchema("a".repeat(44))).toBe(`${"a".repeat(44)}_queue`);
    for (const schema of ["a".repeat(45), "Main", "1", 'a"b', "a-b", "ä", "a b; DROP TABLE x"]) {
      expect(queueSchema(schema)).toMatch(/^tradewire_[0-9a-f]{24}_queue$/u);
    }
    expect(queueSchema("Main")).not.toBe(queueSchema("main"));
  });
});

describe("the units of a queue", () => {
  it("are there once, and are taken in the order of their blocks, those of all tables in turn", async () => {
    const units = [31, 11, 1, 21].flatMap((from) =>
      (["trades", "blocks", "orders"] as const).map((table) => unitOf(table, from, from + 9)),
    );
    const jobs = units.map((unit) => jobOf(unit, { replace: false, attempts: 3, retrySeconds: 1 }));
    await db.boss.insert(jobs);
    await db.boss.insert(jobs);
    const taken: string[] = [];
    for (let job = await claimJob(db, WORKER, "n"); job !== undefined; job = await claimJob(db, WORKER, "n")) {
      taken.push(`${job.data.fromBlock} ${job.data.table}`);
      const { id } = job;
      await db.boss.insert(jobs.filter((other) => other.id === id)); // Nor is one that is under way inserted again.
      await completeJob(db, id);
    }
    const blocks = taken.map((unit) => unit.split(" ")[0]);
    expect(blocks).toEqual(["1", "11", "21", "31"].flatMap((from) => [from, from, from]));
    expect(new Set(taken).size).toBe(12);
    const left = await db.query<{ n: number }>(
      "looking",
      `SELECT count(*)::int AS n FROM ${db.schema}.job WHERE name = $1`,
      [UNIT_QUEUE],
    );
    expect(left).toEqual([{ n: 0 }]);
  });
});

describe("permits", () => {
  it("are as many as they may be over all workers, by node, and are free once their connection has ended", async () => {
    const a = createPermits(db, 3);
    const b = createPermits(db, 3);
    const [first, second] = await Promise.all([a.take("x"), a.take("x")]);
    const [third, none] = await Promise.all([b.take("x"), b.take("x")]);
    expect([first, second, third, none].map((permit) => permit !== undefined)).toEqual([true, true, true, false]);
    expect(await b.take("y")).toBeDefined();
    await first?.release();
    expect(await b.take("x")).toBeDefined();
    expect(await a.take("x")).toBeUndefined();
    const client = new Client(url);
    await client.connect();
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()",
    );
    await client.end();
    await eventually(() => second?.signal.aborted === true && third?.signal.aborted === true);
    const c = createPermits(db, 3);
    expect(
      (await Promise.all([1, 2, 3, 4].map(() => c.take("x")))).filter((permit) => permit !== undefined),
    ).toHaveLength(3);
    expect(await a.take("x")).toBeUndefined();
    await c[Symbol.asyncDispose]();
    await eventually(async () => (await a.take("x")) !== undefined);
    await a[Symbol.asyncDispose]();
    await b[Symbol.asyncDispose]();
  });
});

describe("calls of a node", () => {
  it("come from one budget, ahead of which no more wait than it lasts for", async () => {
    await registerNodes(db, ["budget"]);
    const budget = { rate: 1, burst: 3 };
    const { signal } = new AbortController();
    await Promise.all([1, 2, 3].map(() => takeCallToken(db, "budget", budget, signal)));
    const ending = new AbortController();
    const waiting = takeCallToken(db, "budget", budget, ending.signal);
    await eventually(async () => (await tokens()) < 0);
    ending.abort();
    await expect(waiting).rejects.toThrow("canceled");
    await db.query(
      "filling",
      `UPDATE ${db.schema}.tradewire_nodes SET tokens = -3, filled_at = clock_timestamp() + interval '1 hour' WHERE node = 'budget'`,
    );
    const late = new AbortController();
    const refused = takeCallToken(db, "budget", budget, late.signal);
    await Promise.all([1, 2, 3].map(() => db.query("waiting", "SELECT 1")));
    late.abort();
    await expect(refused).rejects.toThrow("canceled");
    expect(await tokens()).toBe(-3);
  });

  it("rest for all after a failure, and one probes first", async () => {
    await registerNodes(db, ["resting"]);
    const lost = new ConnectionError("nobody listens", { code: Code.Unavailable, advice: "Wait.", connected: false });
    const long: readonly [number, number] = [3_600_000, 3_600_000];
    expect(await admit(db, "resting")).toBe("free");
    expect(await markUnreachable(db, "resting", lost, long)).toBe(true);
    expect(await markUnreachable(db, "resting", lost, long)).toBe(false);
    expect(await admit(db, "resting")).toBe("rests");
    await db.query(
      "ending the rest",
      `UPDATE ${db.schema}.tradewire_nodes SET rest_until = now() WHERE node = 'resting'`,
    );
    expect(await admit(db, "resting")).toBe("probe");
    expect(await admit(db, "resting")).toBe("rests");
    await endProbe(db, "resting");
    expect(await admit(db, "resting")).toBe("probe");
    expect(await markUnreachable(db, "resting", lost, long)).toBe(false); // It was not well before.
    await markReachable(db, "resting");
    expect(await admit(db, "resting")).toBe("free");
  });
});

async function tokens(): Promise<number> {
  const sql = `SELECT tokens FROM ${db.schema}.tradewire_nodes WHERE node = 'budget'`;
  const [row] = await db.query<{ tokens: number }>("looking", sql);
  return row?.tokens ?? Number.NaN;
}
