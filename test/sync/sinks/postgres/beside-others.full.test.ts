import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { postgresSink } from "tradewire/sync";
import { builtProgram } from "../../../support/built-program.js";
import { eventually } from "../../../support/eventually.js";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { calm, count, withClient, withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe("a sink in PostgreSQL beside others", () => {
  it("loads a unit however short the role's transactions may be", async () => {
    const url = await server.createDatabase();
    await withClient(url, async (client) => {
      const settings = ["transaction", "statement", "lock", "idle_in_transaction_session"];
      const set = settings.map((name) => `ALTER ROLE hasty SET ${name}_timeout TO 100`).join("; ");
      await client.query(`CREATE ROLE hasty LOGIN; ${set}; GRANT ALL ON SCHEMA public TO hasty`);
      await using sink = postgresSink(url.replace("postgres@", "hasty@"));
      await sink.open(openingOf());
      const slow = fetchOf(blocksCsv(1, 10), 3, () => setTimeout(150)); // Longer than the role's limits.
      expect(await sink.load(unitOf("blocks", 1, 10), slow, calm)).toMatchObject({ outcome: "loaded" });
      expect(await count(client)).toBe(10);
    });
  });

  it("puts no rows into a temporary table that a connection of the pool has", async () => {
    const url = await server.createDatabase();
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    pool.on("connect", (client) => client.query("CREATE TEMP TABLE blocks (vega_time text, height text, hash text)"));
    try {
      await using sink = postgresSink(pool);
      await sink.open(openingOf());
      await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
      await withClient(url, async (client) => expect(await count(client)).toBe(10));
    } finally {
      await pool.end();
    }
  });

  it("does not wait for another sink that shares its pool and waits for it", async () => {
    const url = await server.createDatabase();
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    try {
      await using one = postgresSink(pool, { schema: "one" });
      await using two = postgresSink(pool, { schema: "two" });
      await one.open(openingOf());
      await two.open(openingOf());
      // A column that is not known needs a connection beside that of the unit.
      const csv = blocksCsv(1, 10)
        .replace("hash\n", "hash,fresh\n")
        .replaceAll(/(\\x\w+)\n/g, "$1,new\n");
      const slow = async () => {
        await setTimeout(100); // Meanwhile the other sink asks for its connections.
        return await fetchOf(csv)();
      };
      const load = (sink: typeof one) => sink.load(unitOf("blocks", 1, 10), slow, calm);
      expect(await Promise.all([load(one), load(two)])).toMatchObject([{ outcome: "loaded" }, { outcome: "loaded" }]);
    } finally {
      await pool.end();
    }
  });

  it("waits no longer than it may for a process that was frozen just before it would commit", async () => {
    await withSink(server, async (sink, client, url) => {
      const { rows } = await client.query("SELECT 'public'::regnamespace::oid::text AS schema");
      await client.query("BEGIN");
      await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
        `tradewire ledger ${rows[0].schema} blocks`,
      ]);
      const child = fork(await builtProgram("test/sync/sinks/postgres/loading-process.ts", "loading"), [url, "whole"]);
      const waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
      await eventually(async () => (await client.query(waiting)).rowCount !== 0);
      child.kill("SIGSTOP");
      await client.query("COMMIT"); // The frozen process has the lock now.
      expect(await sink.load(unitOf("blocks", 11, 20), fetchOf(blocksCsv(11, 20)), calm)).toMatchObject({
        outcome: "loaded",
      });
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
      expect(await count(client)).toBe(10);
    });
  });
});
