// What depends on a view keeps it from being dropped, and who owns one decides what it shows: PostgreSQL's own rules,
// https://www.postgresql.org/docs/current/ddl-depend.html.
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type pg from "pg";
import { type PostgresSinkOptions, postgresSink, type SinkOpening } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { openingOf } from "../../../support/units.js";
import { withClient } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

async function open(
  url: string,
  opening: Partial<SinkOpening> = {},
  options: PostgresSinkOptions = { views: "all" },
): Promise<void> {
  await using sink = postgresSink(url, options);
  await sink.open(openingOf(opening));
}

async function oidOf(client: pg.Client, view: string): Promise<unknown> {
  return (await client.query("SELECT to_regclass($1)::oid AS oid", [view])).rows[0]?.oid;
}

it("views stay as they are while they are up to date, and are made again for more tables", async () => {
  const url = await server.createDatabase();
  await open(url, { tables: ["trades"] });
  await withClient(url, async (client) => {
    const before = await oidOf(client, "trades_v");
    await open(url, { tables: ["trades"] });
    expect(await oidOf(client, "trades_v")).toBe(before);
    expect(await oidOf(client, "orders_now")).toBe(null);
    await open(url, { tables: ["orders"] });
    expect(await oidOf(client, "trades_v")).not.toBe(before);
    expect((await client.query("SELECT * FROM orders_now")).rows).toEqual([]);
  });
});

it("views that others use are not dropped: the sync says so, and works without views", async () => {
  const url = await server.createDatabase();
  await open(url, { tables: ["trades"] });
  await withClient(url, async (client) => {
    await client.query("CREATE VIEW mine AS SELECT market, price FROM trades_v");
    const refused = {
      name: "SinkError",
      code: Code.FailedPrecondition,
      message: expect.stringContaining("of others use them"),
    };
    await expect(open(url, { tables: ["orders"] })).rejects.toMatchObject(refused);
    await open(url, { tables: ["orders"] }, { views: "none" });
    expect((await client.query("SELECT * FROM mine")).rows).toEqual([]);
  });
});

it("nothing that someone else has made is replaced", async () => {
  const url = await server.createDatabase();
  await withClient(url, async (client) => {
    await client.query("CREATE VIEW assets AS SELECT 7 AS mine");
    await expect(open(url)).rejects.toThrow('"assets" exists but was not created by tradewire sync');
    expect((await client.query("SELECT * FROM assets")).rows).toEqual([{ mine: 7 }]);
  });
});

it("a view of another role that pretends to be of a sync is refused", async () => {
  const url = await server.createDatabase();
  await withClient(url, async (admin) => {
    await admin.query("CREATE ROLE mallory LOGIN; GRANT ALL ON SCHEMA public TO mallory");
    await withClient(url.replace("postgres@", "mallory@"), async (mallory) => {
      await mallory.query("CREATE VIEW assets AS SELECT 7 AS mine");
      await mallory.query("COMMENT ON VIEW assets IS 'created by tradewire x'");
      const refused = {
        name: "SinkError",
        code: Code.PermissionDenied,
        message: expect.stringContaining('the role "mallory"'),
      };
      await expect(open(url)).rejects.toMatchObject(refused);
    });
  });
});

it("no name of a view is run, and a view of another role stays, whatever its comment says", async () => {
  const url = await server.createDatabase();
  await withClient(url, async (admin) => {
    await admin.query("CREATE ROLE eve LOGIN; GRANT ALL ON SCHEMA public TO eve");
    const mark = `created by tradewire ${"0".repeat(64)}`;
    const name = '"a; ALTER ROLE eve SUPERUSER; --"';
    await withClient(url.replace("postgres@", "eve@"), (eve) =>
      eve.query(`CREATE VIEW ${name} AS SELECT 1 AS x; COMMENT ON VIEW ${name} IS '${mark}'`),
    );
    await admin.query(
      `CREATE VIEW "b; DROP TABLE x; --" AS SELECT 2 AS x; COMMENT ON VIEW "b; DROP TABLE x; --" IS '${mark}'`,
    );
    await open(url);
    expect((await admin.query(`SELECT * FROM ${name}`)).rows).toEqual([{ x: 1 }]);
    expect((await admin.query("SELECT rolsuper FROM pg_roles WHERE rolname = 'eve'")).rows).toEqual([
      { rolsuper: false },
    ]);
  });
});

it("columns that a newer node sends, whatever their names, break no view", async () => {
  const url = await server.createDatabase();
  const tables = ["blocks", "orders", "trades"] as const;
  await open(url, { tables });
  await withClient(url, async (client) => {
    for (const name of ["market", "ASSET", "width", "allow_gaps", "at_block", "complete_from", "new"]) {
      await client.query(`ALTER TABLE orders ADD COLUMN "${name}" text; ALTER TABLE trades ADD COLUMN "${name}" text`);
    }
    await open(url, { tables });
    expect((await client.query('SELECT "new", width, market FROM orders_v')).rows).toEqual([]);
    expect((await client.query("SELECT * FROM candles(INTERVAL '1 hour')")).rows).toEqual([]);
    expect((await client.query("SELECT * FROM orders_now")).rows).toEqual([]);
  });
});

it("tables of others and of other releases have no views", async () => {
  const url = await server.createDatabase();
  await withClient(url, async (client) => {
    await client.query("CREATE TABLE ledger (a int)");
    await open(url, { tables: ["trades"] });
    expect(await oidOf(client, "ledger_v")).toBe(null);
    expect((await client.query("SELECT * FROM trades_v")).rows).toEqual([]);
  });
});
