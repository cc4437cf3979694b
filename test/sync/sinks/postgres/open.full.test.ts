import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import pg from "pg";
import { createTableSql, tableNames, tableSchema } from "tradewire";
import { postgresSink, sinkColumns } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { blocksCsv, fetchOf, openingOf, unitOf } from "../../../support/units.js";
import { calm, count, entriesOf, withClient, withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

describe("opening a schema of PostgreSQL", () => {
  it("makes all tables, once, however many open it at the same time", async () => {
    const url = await server.createDatabase();
    const sinks = [1, 2, 3, 4].map(() => postgresSink(url, { schema: 'ma"in' }));
    await Promise.all(sinks.map((sink) => sink.open(openingOf({ tables: tableNames }))));
    await Promise.all(sinks.map((sink) => sink.createViews?.(calm.signal)));
    await withClient(url, async (client) => {
      const { rows } = await client.query(
        `SELECT table_name, array_agg(column_name::text ORDER BY ordinal_position) AS columns
         FROM information_schema.columns WHERE table_schema = 'ma"in' GROUP BY 1 ORDER BY 1`,
      );
      const columns = new Map(rows.map((row) => [row.table_name, row.columns]));
      for (const table of tableNames) {
        const names = [...sinkColumns(table).map(({ name }) => name), "_from_block"];
        expect(columns.get(table)).toEqual(names);
        expect(columns.get(`${table}_v`)?.at(-1)).toBe("_from_block");
      }
      expect(await count(client, '"ma""in".tradewire_sync')).toBe(1);
    });
    await Promise.all(sinks.map((sink) => sink[Symbol.asyncDispose]()));
  });

  it("makes the keys and indexes once, however many make them at the same time", async () => {
    for (let round = 0; round < 5; round += 1) {
      const url = await server.createDatabase();
      const sinks = [1, 2, 3, 4].map(() => postgresSink(url, { createIndexes: "after" }));
      await Promise.all(sinks.map((sink) => sink.open(openingOf({ tables: ["trades", "orders"] }))));
      await Promise.all(sinks.map((sink) => sink.createIndexes()));
      const created = await Promise.all(sinks.map((sink) => sink.createQueryIndexes()));
      expect(created.reduce((sum, each) => sum + each, 0)).toBe(6);
      await Promise.all(sinks.map((sink) => sink[Symbol.asyncDispose]()));
    }
  });

  it("refuses another chain, and keeps chains apart by their schemas", async () => {
    await withSink(server, async (_sink, client, url) => {
      await using other = postgresSink(url);
      await expect(other.open(openingOf({ chainId: "chain-2" }))).rejects.toMatchObject({
        name: "RequestError",
        message: expect.stringContaining('has chain "chain-1", not "chain-2"'),
      });
      await using apart = postgresSink(url, { schema: "two" });
      await apart.open(openingOf({ chainId: "chain-2" }));
      await apart.load(unitOf("blocks", 1, 10, { chainId: "chain-2" }), fetchOf(blocksCsv(1, 10)), calm);
      expect([await count(client), await count(client, "two.blocks")]).toEqual([0, 10]);
    });
  });

  it("refuses tables that are not of a sync, and a ledger of a newer release", async () => {
    const url = await server.createDatabase();
    await withClient(url, async (client) => {
      await client.query(createTableSql(tableSchema("blocks", 116), "postgres"));
      await using sink = postgresSink(url);
      await expect(sink.open(openingOf())).rejects.toThrow(
        "the table blocks exists but was not created by tradewire sync",
      );
      await client.query("DROP TABLE blocks");
      await sink.open(openingOf());
      await client.query("UPDATE tradewire_sync SET format = 2");
      await using later = postgresSink(url);
      await expect(later.open(openingOf())).rejects.toThrow("the ledger has the format 2, and this release supports 1");
    });
  });

  it("takes tables of another release as they are, and adds what they lack", async () => {
    const url = await server.createDatabase();
    await withClient(url, async (client) => {
      await client.query(`CREATE TYPE market_state_type AS ENUM ('STATE_UNSPECIFIED', 'STATE_NEW');
        CREATE TABLE orders (id bytea NOT NULL, vega_time timestamptz NOT NULL, seq_num int8 NOT NULL, reserved_remaining int8 NOT NULL,
          initial_peak_size int8, _from_block int8 NOT NULL DEFAULT current_setting('tradewire.from_block')::int8)`);
      await using sink = postgresSink(url);
      await sink.open(openingOf({ tables: ["orders", "markets"] }));
      const { rows } = await client.query(
        "SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = 'orders'::regclass AND attname IN ('reserved_remaining', 'peak_size', 'initial_peak_size') ORDER BY 1",
      );
      expect(rows).toEqual([
        { attname: "peak_size", attnotnull: false },
        { attname: "reserved_remaining", attnotnull: false },
      ]);
      const values = await client.query("SELECT unnest(enum_range(NULL::market_state_type))::text AS value");
      expect(values.rows.map(({ value }) => value)).toEqual(expect.arrayContaining(["STATE_NEW", "STATE_SETTLED"]));
    });
  });

  it("looks at a schema without a change", async () => {
    const url = await server.createDatabase();
    await using empty = postgresSink(url, { schema: "nothing" });
    expect(await empty.inspect(calm.signal)).toBeUndefined();
    expect(await entriesOf(empty)).toEqual([]);
    const history = {
      chainId: "chain-1",
      segments: [{ ...unitOf("blocks", 1, 10), id: "segment-10", previousId: "" }],
    };
    const query = { history, tables: ["blocks"] as const, range: { fromBlock: 0n, toBlock: 99n }, limit: 10 };
    expect(await empty.compareCoverage(query)).toMatchObject({
      tables: [{ missing: 1n }],
      missing: [{ table: "blocks" }],
    });
    expect(await empty.coverage(["blocks"], query.range, 2)).toEqual([{ table: "blocks", blocks: [0, 0] }]);
    await withClient(url, async (client) => {
      expect((await client.query("SELECT FROM pg_namespace WHERE nspname = 'nothing'")).rowCount).toBe(0);
    });
  });

  it("makes keys and indexes afterwards where that is wanted", async () => {
    const indexes =
      "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'blocks'::regclass ORDER BY 1";
    await withSink(
      server,
      async (sink, client) => {
        expect((await client.query(indexes)).rows).toEqual([]);
        await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
        await sink.createIndexes();
        await sink.createIndexes();
        expect((await client.query(indexes)).rows).toEqual([{ name: "blocks_from_block" }, { name: "blocks_pkey" }]);
      },
      { createIndexes: "after" },
    );
  });

  it("makes those of all tables after it was opened to look", async () => {
    await withSink(
      server,
      async (_sink, client, url) => {
        await using looking = postgresSink(url);
        await looking.inspect(calm.signal);
        await looking.createIndexes();
        const keys = "SELECT conrelid::regclass::text AS name FROM pg_constraint WHERE conname = 'blocks_pkey'";
        expect((await client.query(keys)).rows).toEqual([{ name: "blocks" }]);
      },
      { createIndexes: "after" },
    );
  });

  it("names codes in views", async () => {
    await withSink(
      server,
      async (sink, client) => {
        await sink.createViews?.(calm.signal);
        await client.query("SET tradewire.from_block = 1");
        const columns = ["synthetic_time", "vega_time", "seq_num", "price", "size", "type", "aggressor"];
        const bytes = ["tx_hash", "id", "market_id", "buyer", "seller", "buy_order", "sell_order"];
        for (const [second, type, aggressor] of [
          [1, 1, 2],
          [2, 99, null],
        ]) {
          const values = [`2024-01-01 00:00:0${second}+00`, "2024-01-01 00:00:00+00", 1, 10, 1, type, aggressor];
          await client.query(
            `INSERT INTO trades (${columns.join()}, ${bytes.join()}) VALUES ($1, $2, $3, $4, $5, $6, $7, ${bytes.map(() => "''")})`,
            values,
          );
        }
        const { rows } = await client.query(
          "SELECT type, aggressor, _from_block FROM trades_v ORDER BY synthetic_time",
        );
        expect(rows).toEqual([
          { type: "TYPE_DEFAULT", aggressor: "SIDE_SELL", _from_block: "1" },
          { type: "99", aggressor: null, _from_block: "1" },
        ]);
      },
      { opening: { tables: ["trades"] } },
    );
  });
});

describe("a pool that was given", () => {
  it("is used and not ended, and its connections keep their settings", async () => {
    const pool = new pg.Pool({ connectionString: await server.createDatabase(), max: 2 });
    await pool.query("SELECT 1");
    const sink = postgresSink(pool, { schema: "given" });
    expect(sink.name).toMatch(/^postgres:\/\/127\.0\.0\.1:\d+\/test_\d+, schema "given"$/);
    await sink.open(openingOf());
    await sink.load(unitOf("blocks", 1, 10), fetchOf(blocksCsv(1, 10)), calm);
    await sink[Symbol.asyncDispose]();
    expect((await pool.query("SHOW search_path")).rows).toEqual([{ search_path: '"$user", public' }]);
    await pool.end();
  });

  it("has two connections or more", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    await expect(postgresSink(pool).open(openingOf())).rejects.toThrow("has only one connection");
    await pool.end();
  });
});
