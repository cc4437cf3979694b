import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Client } from "pg";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";

let node: Devnode;
let server: PostgresServer;
beforeAll(async () => {
  [node, server] = await Promise.all([
    startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1, chainId: "pg-1" }),
    startPostgres(),
  ]);
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

const at = (to: string) => ["--grpc-url", node.grpcUrl, "--to", to];
const two = ["--table", "trades", "--table", "blocks"];

async function ask(url: string, query: string): Promise<unknown[]> {
  const client = new Client(url);
  await client.connect();
  try {
    return (await client.query(query)).rows;
  } finally {
    await client.end();
  }
}

/** Columns, keys, indexes, views and functions of a schema, as PostgreSQL writes them. */
const shapeOf = (url: string, schema: string) =>
  ask(
    url,
    `SELECT c.relname::text AS name, NULL::text AS part, format_type(a.atttypid, a.atttypmod) || a.attnotnull ||
       coalesce(pg_get_expr(d.adbin, d.adrelid), '') AS shape, a.attname::text AS of
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
     WHERE c.relnamespace = '${schema}'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
     UNION ALL SELECT tablename, indexname, replace(indexdef, '${schema}.', ''), NULL FROM pg_indexes WHERE schemaname = '${schema}'
     UNION ALL SELECT t.typname, e.enumlabel, e.enumsortorder::text, NULL FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid
     WHERE t.typnamespace = '${schema}'::regnamespace
     UNION ALL SELECT viewname, definition, NULL, NULL FROM pg_views WHERE schemaname = '${schema}'
     UNION ALL SELECT proname, pg_get_functiondef(oid), NULL, NULL FROM pg_proc WHERE pronamespace = '${schema}'::regnamespace
     ORDER BY 1, 2, 4, 3`,
  ).then((rows) => JSON.stringify(rows).replaceAll(new RegExp(`(\\\\"|)${schema}\\1\\.`, "g"), ""));

describe("tradewire schema --for-sync", () => {
  it("prints what a sync makes", async () => {
    const url = await server.createDatabase();
    const { out, code } = await run(["schema", "--for-sync", "--schema", "printed"]);
    expect(code).toBe(0);
    await ask(url, out);
    const keys = ["--indexes", "keys"];
    expect(await run(["sync", ...at(`${url}?schema=made`), ...keys], { cwd: tmpdir() })).toMatchObject({ code: 0 });
    const shape = await shapeOf(url, "made");
    expect(shape).toContain("current_setting");
    expect(await shapeOf(url, "printed")).toBe(shape);
    const written = () =>
      ask(
        url,
        `SELECT relname::text AS name, xmin::text FROM pg_class WHERE relnamespace = 'printed'::regnamespace AND relkind = 'v'
         UNION ALL SELECT proname, xmin::text FROM pg_proc WHERE pronamespace = 'printed'::regnamespace ORDER BY 1`,
      );
    const before = await written();
    expect(before).toContainEqual(expect.objectContaining({ name: "trades_v" }));
    expect(await run(["sync", ...at(`${url}?schema=printed`), ...keys], { cwd: tmpdir() })).toMatchObject({ code: 0 });
    expect(await written()).toEqual(before); // A sync takes the printed views for its own, and leaves them.
    expect(await shapeOf(url, "printed")).toBe(shape);
    const { err } = await run(["sync", ...at(`${url}?schema=printed`)], { cwd: tmpdir() });
    expect(err).toContain("indexes for common queries. To create none, use --indexes keys.\n");
    expect(await shapeOf(url, "printed")).toContain("trades_by_buyer_hex_vega_time");
  });

  it.each([
    [["--partition-by", "month", "--partition-from", "2023-09", "--partition-count", "2"], "orders_p2023_10"],
    [["--partition-by", "blocks:10", "--partition-count", "2"], "orders_p10"],
  ])("prints partitioned tables that a sync takes: %j", async (partitioned, filled) => {
    const url = await server.createDatabase();
    const { out } = await run(["schema", "--for-sync", ...partitioned]);
    await ask(url, out);
    const { code, err } = await run(["sync", ...at(url), "-o", "table"], { cwd: tmpdir() });
    expect(code).toBe(0);
    expect(err).not.toContain("the views were not created");
    const without = await run(["schema", "--for-sync", "--views", "none", ...partitioned]);
    expect(out.startsWith(without.out)).toBe(true);
    expect(without.out).not.toContain("trades_v");
    expect(await ask(url, `SELECT count(*) > 0 AS some FROM ${filled}`)).toEqual([{ some: true }]);
    const verified = await run(["sync", "verify", ...at(url), "--deep", "-o", "table"], { cwd: tmpdir() });
    expect(verified).toMatchObject({ code: 0, out: expect.stringContaining("All units match.") });
  });

  it.each([
    [["--partition-by", "week"], "Use month, or blocks:COUNT"],
    [["--partition-by", "month", "--partition-from", "10"], "must be a month, such as 2023-10"],
    [["--dialect", "duckdb"], "--for-sync applies only to PostgreSQL"],
  ])("refuses %j", async (args, advice) => {
    expect(await run(["schema", "--for-sync", ...args])).toMatchObject({
      code: 2,
      err: expect.stringContaining(advice),
    });
  });
});

describe("tradewire sync --to postgres:", () => {
  it("fills a schema of the URL, makes views, and keys after the rows", async () => {
    const url = await server.createDatabase();
    const more = ["--create-indexes", "after", "-o", "table"];
    const { code, out, err } = await run(["sync", ...at(`${url}?schema=history`), ...two, ...more], { cwd: tmpdir() });
    expect(code).toBe(0);
    expect(out).toMatch(/^Loaded 90 rows from 6 exports, /);
    expect(err).toContain("Creating the primary keys and indexes.\n");
    const keys =
      "SELECT count(*)::int AS keys FROM pg_constraint WHERE contype = 'p' AND conrelid = 'history.trades'::regclass";
    expect(await ask(url, keys)).toEqual([{ keys: 1 }]);
    expect(await ask(url, "SELECT count(*)::int AS rows FROM history.trades_v")).toEqual([{ rows: 60 }]);
  });

  it("shares the work through a queue, which status shows", async () => {
    const url = await server.createDatabase();
    const worker = startCommand(["sync", "worker", ...at(url)], { cwd: tmpdir() });
    const planned = await run(["sync", "--queue", ...at(url), ...two], { cwd: tmpdir() });
    expect(planned.code).toBe(0);
    const status = await run(["sync", "status", ...at(url), ...two, "-o", "table"], { cwd: tmpdir() });
    expect(status.out).toMatch(/^trades +3 +60 .* 0$/m);
    expect(status.out).toContain("Nothing is missing.");
    expect(status.out).toContain("Queue: 0 units waiting, 0 waiting for a retry, 0 in flight, 0 failed.");
    expect(status.out).toMatch(/ alive$/m);
    worker.interrupt("SIGTERM");
    const { code, out } = await worker.ended;
    expect(code).toBe(0);
    expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      event: "summary",
      units: 6,
      rows: "90",
    });
  });
});
