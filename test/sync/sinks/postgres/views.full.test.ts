// What depends on a view keeps it from being dropped, and who owns one decides what it shows: PostgreSQL's own rules,
// https://www.postgresql.org/docs/current/ddl-depend.html.
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type pg from "pg";
import { tableSchema } from "tradewire";
import { type PostgresSinkOptions, postgresSink, type SinkOpening, type SyncEvent, syncHistory } from "tradewire/sync";
import { listingClient, segments } from "../../../support/made-history.js";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { batchOf, blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { withClient } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

const { signal } = new AbortController();

async function open(url: string, opening: Partial<SinkOpening> = {}, options?: PostgresSinkOptions): Promise<void> {
  await using sink = postgresSink(url, options);
  await sink.open(openingOf(opening));
  await sink.createViews?.(signal);
}

async function oidOf(client: pg.Client, view: string): Promise<unknown> {
  return (await client.query("SELECT to_regclass($1)::oid AS oid", [view])).rows[0]?.oid;
}

it("views stay, with their privileges and what uses them, when tables and columns are added", async () => {
  const url = await server.createDatabase();
  await open(url, { tables: ["blocks", "trades"] });
  await withClient(url, async (client) => {
    await client.query("CREATE ROLE analyst; GRANT SELECT ON trades_v, candles_1h TO analyst");
    await client.query("CREATE VIEW mine AS SELECT market, price FROM trades_v");
    const before = await oidOf(client, "trades_v");
    expect(await oidOf(client, "orders_now")).toBe(null);
    await client.query("ALTER TABLE trades ADD COLUMN newer text");
    await open(url, { tables: ["orders"] });
    expect(await oidOf(client, "trades_v")).toBe(before);
    expect((await client.query("SELECT newer FROM trades_v UNION ALL SELECT market FROM mine")).rows).toEqual([]);
    expect((await client.query("SELECT * FROM orders_now")).rows).toEqual([]);
    await client.query("ALTER TABLE orders ADD COLUMN newer text");
    await open(url, { tables: ["orders"] });
    expect((await client.query("SELECT newer FROM orders_v")).rows).toEqual([]);
    await expect(client.query("SELECT newer FROM orders_at(1)")).rejects.toThrow("block 1 is not loaded into orders");
    await client.query("SET ROLE analyst");
    expect((await client.query("SELECT price FROM trades_v")).rows).toEqual([]);
  });
});

it("views of another release are made again, unless others use them", async () => {
  const url = await server.createDatabase();
  await open(url, { tables: ["trades"] });
  await withClient(url, async (client) => {
    const mark = `created by tradewire ${"0".repeat(64)}`;
    const replace = async () => {
      await client.query("DROP VIEW IF EXISTS mine");
      await client.query(
        "DROP VIEW fees_by_day; CREATE VIEW fees_by_day AS SELECT 1 AS other; CREATE VIEW gone AS SELECT 1 AS x",
      );
      await client.query(`COMMENT ON VIEW fees_by_day IS '${mark}'; COMMENT ON VIEW gone IS '${mark}'`);
    };
    await replace();
    await open(url, { tables: ["trades"] });
    expect((await client.query("SELECT day, maker FROM fees_by_day")).rows).toEqual([]);
    expect(await oidOf(client, "gone")).toBe(null);
    await replace();
    await client.query("CREATE VIEW mine AS SELECT * FROM fees_by_day");
    await expect(open(url, { tables: ["orders"] })).rejects.toMatchObject({
      name: "SinkError",
      code: Code.FailedPrecondition,
      message: expect.stringContaining("of others use them"),
    });
    expect((await client.query("SELECT * FROM mine")).rows).toEqual([{ other: 1 }]);
    expect(await oidOf(client, "orders_now")).toBe(null);
  });
});

it("a reader of a view delays its replacement only briefly, and sees the view that is there", async () => {
  const url = await server.createDatabase();
  await open(url, { tables: ["trades"] });
  await withClient(url, async (reader) => {
    await reader.query("ALTER TABLE trades ADD COLUMN newer text");
    await reader.query("BEGIN; SELECT * FROM trades_v");
    await expect(open(url, { tables: ["trades"] })).rejects.toMatchObject({
      code: Code.Aborted,
      message: expect.stringContaining("lock timeout"),
    });
    await reader.query("SELECT * FROM trades_v; COMMIT");
    await open(url, { tables: ["trades"] });
    expect((await reader.query("SELECT newer FROM trades_v")).rows).toEqual([]);
  });
});

it("a sync whose role may create nothing goes on without views, and reports that", async () => {
  const url = await server.createDatabase();
  const rows = { tables: ["blocks"] as const };
  {
    await using made = postgresSink(url, { views: "none" });
    await made.open(openingOf(rows));
    const unit = unitOf("blocks", 1, 10, { segmentId: "id-1", previousSegmentId: "" });
    await made.load(unit, fetchOf(blocksCsv(1, 10)), { replace: false, signal });
  }
  await withClient(url, async (admin) => {
    await admin.query("CREATE ROLE loader LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO loader");
  });
  const sink = postgresSink(url.replace("postgres@", "loader@"), { trustedOwners: ["postgres"] });
  const events: SyncEvent[] = [];
  const summary = await syncHistory(listingClient("node", segments(1, 1)), {
    ...{ sink, ...rows, hooks: { onEvent: (event) => void events.push(event) } },
  });
  expect(summary.failed).toEqual([]);
  expect(events).toContainEqual({
    kind: "unviewed",
    error: expect.objectContaining({ code: Code.PermissionDenied }),
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

it("functions of a block fail over an empty table, too, and the book fails without such a market", async () => {
  const url = await server.createDatabase();
  await using sink = postgresSink(url);
  await sink.open(openingOf({ tables: ["blocks", "orders"] }));
  await sink.createViews?.(signal);
  await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), { replace: false, signal });
  const twin = (id: string) => ({
    market_id: id,
    code: "TWIN",
    name: id,
    price_decimals: 1,
    size_decimals: 2,
    asset_id: "cc",
  });
  await sink.storeListed?.("tradewire_markets", batchOf(twin("aa"), twin("bb")));
  const header = tableSchema("orders", 116).columns.map(({ name }) => name);
  await sink.load(unitOf("orders", 1, 10), fetchOf(`${header.join(",")}\n`), { replace: false, signal });
  await withClient(url, async (client) => {
    expect((await client.query("SELECT * FROM orders_at(10)")).rows).toEqual([]);
    await expect(client.query("SELECT * FROM orders_at(11)")).rejects.toThrow("block 11 is not loaded into orders");
    expect((await client.query("SELECT * FROM book_at('bb', 10)")).rows).toEqual([]);
    await expect(client.query("SELECT * FROM book_at('TWIN', 10)")).rejects.toThrow(
      "several markets have the code TWIN: use an identifier",
    );
    await expect(client.query("SELECT * FROM book_at('BTC', 10)")).rejects.toThrow(
      "no market has the code or the identifier BTC: see market_versions",
    );
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
