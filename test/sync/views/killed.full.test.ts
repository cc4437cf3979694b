// Slow, and worth it: a sync is killed again and again, and replaces units in every third run. What views say afterwards is what they say
// of a sync that nothing disturbed.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { startProcess } from "../../support/command-process.js";
import { type PostgresServer, startPostgres } from "../../support/postgres.js";
import { withDuckdb } from "../sinks/support/units.js";

/** More with TRADEWIRE_KILLS. */
const KILLS = Number(process.env["TRADEWIRE_KILLS"] ?? 8);
delete process.env["TRADEWIRE_KILLS"]; // The command refuses variables that it does not know.
const SEGMENTS = 12;
const BLOCKS = 25;
const LIMIT_MS = 120_000 + KILLS * 20_000;

let node: Devnode;
let server: PostgresServer;
let folder: string;
beforeAll(async () => {
  node = await startDevnode({ segments: SEGMENTS, blocksPerSegment: BLOCKS, blockMs: 0, activity: 3 });
  server = await startPostgres();
  folder = await mkdtemp(join(tmpdir(), "tradewire-killed-views-"));
});
afterAll(async () => {
  await node.close();
  await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const LAST = SEGMENTS * BLOCKS;
/** What views and functions say: of each row what does not depend on when it was loaded. */
const QUESTIONS = [
  "SELECT count(*), sum(size), min(vega_time), max(vega_time) FROM trades_v",
  "SELECT * FROM candles_1h ORDER BY market_id, start",
  "SELECT id, market, price, size, remaining, status, complete_from, complete_to FROM orders_now ORDER BY id",
  "SELECT market, party_id, open_volume, average_entry_price, complete_to FROM positions_now ORDER BY market, party_id",
  "SELECT account_id, party, asset, account_type, balance, complete_to FROM balances_now ORDER BY account_id",
  "SELECT market, open_interest, complete_from, complete_to FROM open_interest ORDER BY market",
  `SELECT id, price FROM orders_at(${LAST}) ORDER BY id`,
  `SELECT market, party_id, open_volume FROM positions_at(${LAST - BLOCKS}) ORDER BY market, party_id`,
  "SELECT market, party_id, pnl FROM party_pnl ORDER BY market, party_id",
  "SELECT * FROM loaded_blocks ORDER BY 1, 2",
];

type Answers = readonly (readonly string[])[];

async function askDuckdb(name: string): Promise<Answers> {
  const answers: string[][] = [];
  await withDuckdb(join(folder, `${name}.duckdb`), async (ask) => {
    for (const question of QUESTIONS) {
      answers.push((await ask(question)).map((row) => row.map(String).join(" ")));
    }
  });
  return answers;
}

async function askPostgres(schema: string): Promise<Answers> {
  const { Client } = await import("pg");
  const client = new Client({ connectionString: server.url, options: `-c search_path=${schema}` });
  await client.connect();
  try {
    const answers: string[][] = [];
    for (const text of QUESTIONS) {
      const { rows } = await client.query<unknown[]>({ text, rowMode: "array" });
      answers.push(
        rows.map((row) => row.map((value) => (value instanceof Date ? value.toISOString() : String(value))).join(" ")),
      );
    }
    return answers;
  } finally {
    await client.end();
  }
}

it.each([
  ["DuckDB", (name: string) => ["--to", `duckdb:${join(folder, `${name}.duckdb`)}`], askDuckdb],
  ["PostgreSQL", (name: string) => ["--to", server.url, "--schema", name], askPostgres],
] as const)(
  "the views of %s are right after kills and replaced units",
  async (_, to, ask) => {
    const sync = (name: string, ...more: string[]) =>
      startProcess(["sync", "--grpc-url", node.grpcUrl, ...to(name), ...more], folder);
    expect(await sync("whole").ended).toMatchObject({ code: 0 });
    let [killed, limitMs] = [0, 5000];
    for (let run = 0; killed < KILLS && run < 4 * KILLS; run += 1) {
      const replaced = String(BLOCKS * (run % SEGMENTS) + 1);
      const began = performance.now();
      const { child, ended } = sync("killed", ...(run === 0 ? [] : ["--replace-from-block", replaced]));
      const moment = wait(Math.random() * limitMs, undefined, { ref: false }); // At another point each time.
      await Promise.race([moment, once(child, "exit")]);
      if (child.kill("SIGKILL")) {
        killed += 1;
      } else {
        limitMs = performance.now() - began;
      }
      await ended;
    }
    expect(killed).toBe(KILLS);
    const last = await sync("killed", "--replace-from-block", String(LAST - 2 * BLOCKS + 1)).ended;
    expect(last).toMatchObject({ code: 0 });
    const answers = await ask("killed");
    expect(answers.map(({ length }) => length > 0)).toEqual(QUESTIONS.map(() => true));
    expect(answers).toEqual(await ask("whole"));
  },
  LIMIT_MS,
);
