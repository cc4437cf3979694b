// Slow, and worth it: statements are answered by a real PostgreSQL.
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { Client } from "pg";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { run, startCommand } from "../support/command.js";
import { eventually } from "../support/eventually.js";
import { type PostgresServer, startPostgres } from "../support/postgres.js";

let node: Devnode;
let server: PostgresServer;
let url: string;
beforeAll(async () => {
  [node, server] = await Promise.all([
    startDevnode({ segments: 3, blocksPerSegment: 10, blockMs: 0, activity: 1, chainId: "pg-1" }),
    startPostgres(),
  ]);
  url = await server.createDatabase();
  await run(["sync", "--grpc-url", node.grpcUrl, "--to", url, "--schema", "history", "--table", "trades,markets"]);
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
});

const query = (...args: string[]) => run(["query", "--from", url, "--schema", "history", ...args]);

it("answers from the tables and views of the schema, in PostgreSQL's own SQL", async () => {
  const { out, code, err } = await query(
    "SELECT market, sum(trades)::int AS trades FROM candles_1d GROUP BY market ORDER BY 1",
  );
  expect({ code, err }).toEqual({ code: 0, err: "" });
  const rows = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(rows.reduce((sum: number, row: { trades: number }) => sum + row.trades, 0)).toBe(60);
});

it("prints the digits of numbers, times in RFC 3339 and bytes in hex", async () => {
  const sql = `SELECT 9223372036854775807::int8 AS big, 1.10::numeric AS exact, 0.1::float8 AS number, 'NaN'::float8 AS none,
    timestamptz '2024-01-01 01:02:03.5+02' AS at, '\\xf7eb'::bytea AS id, true AS yes, NULL AS nothing, 1::int4 AS yes`;
  const { out } = await query(sql);
  expect(JSON.parse(out)).toEqual({
    big: "9223372036854775807",
    exact: "1.10",
    number: 0.1,
    none: "NaN",
    at: "2023-12-31T23:02:03.5Z",
    id: "f7eb",
    yes: true,
    nothing: null,
    "yes:1": 1,
  });
});

it("fetches rows as they are printed", async () => {
  const { out, code } = await query("-o", "csv", "--limit", "2", "SELECT generate_series(1, 100000000000) AS n");
  expect({ out, code }).toEqual({ out: "n\n1\n2\n", code: 0 });
  const all = await query("-o", "csv", "SELECT n FROM generate_series(1, 5000) AS n;");
  expect(all.out.split("\n")).toHaveLength(5002);
});

it.each([
  "INSERT INTO trades SELECT * FROM trades",
  "CREATE TABLE evil (x int)",
  "COMMIT",
  "SELECT 1; COMMIT; CREATE TABLE public.evil (x int)",
  "WITH gone AS (DELETE FROM trades RETURNING 1) SELECT * FROM gone",
  "SELECT set_config('transaction_read_only', 'off', true)",
  "SELECT lo_create(1)",
  "SELECT 1 FROM trades FOR UPDATE",
  "EXPLAIN ANALYZE INSERT INTO trades SELECT * FROM trades",
  "EXPLAIN (ANALYZE) CREATE TABLE evil AS SELECT 1",
  "EXPLAIN ANALYZE SELECT lo_create(1)",
  "EXPLAIN SELECT 1; COMMIT; CREATE TABLE public.evil (x int)",
])("changes nothing: %s", async (sql) => {
  const { code, out, err } = await query(sql);
  expect({ code, out, err }).toEqual({ code: 2, out: "", err: expect.stringMatching(/^tradewire: /) });
  const client = new Client(url);
  await client.connect();
  const { rows } = await client.query(
    "SELECT (SELECT count(*)::int FROM history.trades) AS trades, (SELECT count(*)::int FROM pg_class WHERE relname = 'evil') AS evil",
  );
  await client.end();
  expect(rows).toEqual([{ trades: 60, evil: 0 }]);
});

it("shows the plan of a statement", async () => {
  const { out, code, err } = await query("-o", "csv", "EXPLAIN (ANALYZE, COSTS off) SELECT count(*) FROM trades_v;");
  expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(out).toMatch(/^QUERY PLAN\n.*actual.*rows=60.*\nExecution Time: /s);
  const estimated = await query("-o", "csv", "-- why\nEXPLAIN VERBOSE SELECT 1");
  expect(estimated.out).toContain("Output: 1");
  const wrong = await query("EXPLAIN SELECT nothing FROM trades");
  expect(wrong.err).toBe('tradewire: column "nothing" does not exist (at character 16)\n');
});

it("advises what to do to query", async () => {
  const away = await run(["query", "--from", "postgres://nobody@127.0.0.1:1/history", "SELECT 1"]);
  expect(away).toMatchObject({
    code: 1,
    err: expect.stringMatching(/\nWait until PostgreSQL is reachable, and run the statement again\.\n$/),
  });
  const other = await run(["query", "--from", url.replace(/[^/]*$/, "none_of_that_name"), "SELECT 1"]);
  expect(other).toMatchObject({ code: 1, err: expect.stringMatching(/\nCorrect the name of the database\.\n$/) });
});

it("names the place of an error", async () => {
  const { code, err } = await query("SELECT nothing FROM trades");
  expect({ code, err }).toEqual({ code: 2, err: 'tradewire: column "nothing" does not exist (at character 8)\n' });
  const parquet = await query("-o", "parquet", "--to", "x.parquet", "SELECT 1");
  expect(parquet).toMatchObject({ code: 2, err: expect.stringContaining("does not apply to PostgreSQL") });
});

it("ends a statement after --timeout and with Ctrl-C, also on the server", async () => {
  const timed = await query("--timeout", "1s", "SELECT pg_sleep(100)");
  expect(timed.code).toBe(1);
  const running = startCommand([
    "query",
    "--from",
    url,
    "-o",
    "csv",
    "SELECT 1 AS a UNION ALL SELECT 2 FROM pg_sleep(50)",
  ]);
  const client = new Client(url);
  await client.connect();
  const active = async () =>
    (await client.query("SELECT 1 FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'")).rows.length;
  await eventually(async () => (await active()) === 1);
  running.interrupt("SIGINT");
  expect((await running.ended).code).toBe(130);
  await eventually(async () => (await active()) === 0);
  await client.end();
});

it("prints no password of the environment", async () => {
  const secret = url.replace("://", "://nobody:verysecret@").replace(/@[^@]*@/, "@");
  const { code, err } = await run(["query", "--from-env", "HISTORY_URL", "SELECT 1"], {
    environment: { HISTORY_URL: secret.replace(/:\/\/.*@/, "://nobody:verysecret@") },
  });
  expect(code).toBe(1);
  expect(err).not.toContain("verysecret");
});
