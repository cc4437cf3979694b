import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { claimJob, completeJob, expireClaims, failJob, releaseJob } from "../../../src/sync/queue/claims.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { unitOf } from "../../support/units.js";
import {
  DEAD_LETTER_QUEUE,
  installQueue,
  jobOf,
  openQueueDatabase,
  parseTarget,
  type QueueDatabase,
  readDeadLetters,
  sendHeartbeat,
  UNIT_QUEUE,
} from "./inside.js";

let server: PostgresServer;
let db: QueueDatabase;
beforeAll(async () => {
  server = await startPostgres();
  db = await openQueueDatabase(parseTarget(await server.createDatabase(), "claims"));
  await installQueue(db);
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const [WORKER, OTHER] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
const FAILURE = { name: "NodeError", message: "no luck", advice: "Wait.", code: 13, node: "n" };
const unit = unitOf("trades", 1, 10);

beforeEach(async () => {
  await db.query(
    "emptying",
    `TRUNCATE ${db.schema}.job, ${db.schema}.tradewire_claims, ${db.schema}.tradewire_workers`,
  );
  await db.boss.insert([jobOf(unit, { replace: false, attempts: 2, retrySeconds: 60 })]);
  await sendHeartbeat(db, WORKER, { leaseMs: 1000 });
  await sendHeartbeat(db, OTHER, { leaseMs: 1000 });
});

async function take(worker = WORKER) {
  await db.query(
    "ending all waits",
    `UPDATE ${db.schema}.job SET start_after = now() - interval '1 s' WHERE name = $1`,
    [UNIT_QUEUE],
  );
  const job = await claimJob(db, worker, "n");
  if (job === undefined) {
    throw new Error("there is no unit");
  }
  return job;
}

async function states(): Promise<string[]> {
  const sql = `SELECT name || ' ' || state AS state FROM ${db.schema}.job ORDER BY 1`;
  const rows = await db.query<{ state: string }>("looking", sql);
  const claims = await db.query("looking", `SELECT FROM ${db.schema}.tradewire_claims`);
  return [...rows.map(({ state }) => state), ...claims.map(() => "claim")];
}

describe("the claim of a unit", () => {
  it("is put back without the loss of an attempt, and not taken while it rests", async () => {
    for (let round = 0; round < 3; round += 1) {
      const { id, retryCount } = await take();
      expect([retryCount, await states()]).toEqual([0, [`${UNIT_QUEUE} active`, "claim"]]);
      await releaseJob(db, WORKER, id, 3_600_000);
      expect(await states()).toEqual([`${UNIT_QUEUE} created`]);
      expect(await claimJob(db, WORKER, "n")).toBeUndefined();
    }
  });

  it("keeps the attempts that were used up when it is released, and is claimed before newer units", async () => {
    await failJob(db, WORKER, (await take()).id, FAILURE);
    await releaseJob(db, WORKER, (await take()).id, 0);
    await db.boss.insert([jobOf(unitOf("trades", 11, 20), { replace: false, attempts: 2, retrySeconds: 60 })]);
    const job = await take();
    expect(job).toMatchObject({
      data: { fromBlock: "1", attempted: 1 },
      retryCount: 0,
      retryLimit: 0,
      retryDelay: 120,
    });
    await failJob(db, WORKER, job.id, FAILURE);
    expect(await readDeadLetters(db)).toMatchObject([{ unit, tries: 2, error: "no luck" }]);
  });

  it("is tried as often as it may be, and is then a dead letter with its error", async () => {
    const first = await take();
    await failJob(db, WORKER, first.id, FAILURE);
    expect([await states(), await readDeadLetters(db)]).toEqual([[`${UNIT_QUEUE} retry`], []]);
    expect(await claimJob(db, WORKER, "n")).toBeUndefined();
    const { id, retryCount } = await take();
    expect([id, retryCount]).toEqual([first.id, 1]);
    await failJob(db, WORKER, id, FAILURE);
    expect(await states()).toEqual([`${UNIT_QUEUE} failed`, `${DEAD_LETTER_QUEUE} created`]);
    expect(await readDeadLetters(db)).toMatchObject([
      { unit, tries: 2, error: "no luck", advice: "Wait.", code: 13, node: "n" },
    ]);
  });

  it("is another worker's once its own one was silent, which then changes nothing unless the unit is loaded", async () => {
    const { id } = await take(WORKER);
    expect(await expireClaims(db, 3_600_000)).toBe(0);
    await db.query(
      "falling silent",
      `UPDATE ${db.schema}.tradewire_workers SET beat_at = now() - interval '1 h' WHERE id = $1`,
      [WORKER],
    );
    expect(await expireClaims(db, 60_000)).toBe(1);
    expect(await expireClaims(db, 60_000)).toBe(0);
    expect((await take(OTHER)).retryCount).toBe(1);
    await failJob(db, WORKER, id, FAILURE);
    await releaseJob(db, WORKER, id, 0);
    expect(await states()).toEqual([`${UNIT_QUEUE} active`, "claim"]);
    await completeJob(db, id);
    expect(await states()).toEqual([]);
    await completeJob(db, id); // The other one has loaded it too, and found it there.
    await failJob(db, OTHER, id, FAILURE);
    expect(await states()).toEqual([]);
  });

  it("tells a worker whether it has beaten long enough to judge others", async () => {
    const at = (since: string, beaten: string) =>
      db.query(
        "setting",
        `UPDATE ${db.schema}.tradewire_workers SET steady_since = now() - interval '${since}', beat_at = now() - interval '${beaten}' WHERE id = $1`,
        [WORKER],
      );
    await at("10 s", "1 s");
    expect(await sendHeartbeat(db, WORKER, { leaseMs: 30_000 })).toBe(false);
    await at("60 s", "1 s");
    expect(await sendHeartbeat(db, WORKER, { leaseMs: 30_000 })).toBe(true);
    await at("1 h", "20 s"); // An outage lies between.
    expect(await sendHeartbeat(db, WORKER, { leaseMs: 30_000 })).toBe(false);
  });
});
