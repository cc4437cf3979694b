import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import type pg from "pg";
import type { TableName } from "tradewire";
import { sinkColumns } from "tradewire/sync";
import { type PostgresServer, startPostgres } from "../../../support/postgres.js";
import { withSink } from "./open-sink.js";

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
});

/** Rows of each table, so many that reading all of them costs more than an index. */
const ROWS = Number(process.env["TRADEWIRE_QUERY_ROWS"] ?? 60_000);
/** Whether plans and times are printed, as they are where the number of rows is given. */
const PRINTS = process.env["TRADEWIRE_QUERY_ROWS"] !== undefined;
const LIMIT_MS = 300_000 * Math.ceil(ROWS / 500_000);
/** The most pages, of 8 kB, of an answer and of the way to it: the rows of a party or a market grow with those of the table. */
const MAX_PAGES = 3000 + ROWS / 200;
const TABLES: readonly TableName[] = [
  ...(["trades", "orders", "market_data", "balances", "ledger", "positions", "rewards", "blocks"] as const),
];

/** How many there are of what a column names: a few markets, many parties, an order for a few of its states. */
const COUNTS: { readonly [name: string]: number } = { market_id: 20, market: 20, id: ROWS / 4 };
const DEFAULT_COUNT = 2000;

function valueSql({ name, type, holds, values }: ReturnType<typeof sinkColumns>[number]): string {
  switch (holds) {
    case "time":
      return "timestamptz '2024-01-01 00:00:00+00' + g * interval '1 second'";
    case "id":
      return `int8send((g::int8 * 7919) % ${COUNTS[name] ?? DEFAULT_COUNT}) || '\\x0000000000000000'::bytea`;
    case "flag":
      return "true";
    case "json":
      return "'{}'";
    case "text":
      return "'x'";
    case "enum":
      return `'${values?.[0]}'`;
    default:
      return type === "int2" ? "1" : "g";
  }
}

async function fill(client: pg.Client, table: TableName): Promise<void> {
  const columns = sinkColumns(table);
  await client.query(
    `INSERT INTO ${table} (${columns.map(({ name }) => name).join()}, _from_block)
     SELECT ${columns.map(valueSql).join()}, g / 1000 FROM generate_series(1, ${ROWS}) AS g; ANALYZE ${table}`,
  );
}

const ID = "int8send(7) || '\\x0000000000000000'::bytea";
/** What stands for the market, the party and the order of the documented questions. */
const inTest = (sql: string, hex: string) =>
  sql.replaceAll("BTC/USDT", "M7").replaceAll(/'[0-9a-f]{64}'/gu, `'${hex}'`);

/** Fills what views refer to: markets, an asset, accounts, and the ledger. */
async function fillReferences(client: pg.Client): Promise<void> {
  await client.query(`
    INSERT INTO tradewire_markets SELECT DISTINCT market_id, timestamptz '2024-01-01', 'M' || get_byte(market_id, 7), 'm', 1, 1, '1', '\\xaa'::bytea FROM trades;
    INSERT INTO tradewire_assets VALUES ('\\xaa', '2024-01-01', 'A', 'a', 1, '1');
    INSERT INTO tradewire_accounts SELECT DISTINCT account_id, encode(account_id, 'hex'), '\\xaa'::bytea, NULL::bytea, 'ACCOUNT_TYPE_GENERAL' FROM balances`);
  for (const table of TABLES) {
    await client.query(
      `INSERT INTO tradewire_ledger (chain_id, table_name, from_block, to_block, segment_id, previous_segment_id, schema_version, rows, bytes, sha256)
       VALUES ('chain-1', $1, 1, ${ROWS}, 'a', '', 116, ${ROWS}, 1, '')`,
      [table],
    );
  }
  await client.query("ANALYZE");
}

function print(line: string): void {
  if (PRINTS) {
    process.stderr.write(`${new Date().toISOString()} ${line}\n`);
  }
}

interface Plan {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly "Shared Hit Blocks": number;
  readonly "Shared Read Blocks": number;
  readonly Plans?: readonly Plan[];
}

const textOf = (plan: Plan): string =>
  [plan["Node Type"], plan["Index Name"] ?? plan["Relation Name"] ?? "", ...(plan.Plans ?? []).map(textOf)].join(" ");
/** Returns the large tables that a plan reads from one end to the other. */
function scannedIn({ "Node Type": type, "Relation Name": name = "", Plans = [] }: Plan): string[] {
  const own = type.endsWith("Seq Scan") && TABLES.some((table) => table === name) ? [name] : [];
  return [...own, ...Plans.flatMap(scannedIn)];
}

it(
  "answers the documented questions without reading a whole table",
  async () => {
    const docs = await readFile("docs/queries.md", "utf8");
    const [, list = ""] = docs.split("## Twelve questions");
    const questions = [...list.matchAll(/^SELECT .*;$/gmu)].map(([text]) => text);
    expect(questions).toHaveLength(12);
    await withSink(
      server,
      async (sink, client) => {
        for (const table of TABLES) {
          await fill(client, table);
          print(`${table} is filled`);
        }
        await sink.createViews?.(new AbortController().signal);
        await fillReferences(client);
        const hex = (await client.query(`SELECT encode(${ID}, 'hex') AS hex`)).rows[0]?.hex;
        const plansOf = async () => {
          const found: { readonly query: string; readonly scans: readonly string[]; readonly pages: number }[] = [];
          for (const query of questions) {
            const sql = inTest(query, hex);
            const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${sql}`);
            const [explained] = rows[0]["QUERY PLAN"];
            const plan: Plan = explained.Plan;
            found.push({
              query,
              scans: scannedIn(plan),
              pages: plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
            });
            print(
              `${explained["Execution Time"]} ms, ${found.at(-1)?.pages} pages, ${explained.Plan["Actual Rows"]} rows, ${textOf(plan)}: ${sql}`,
            );
          }
          return found;
        };
        const scanning = ({ scans, pages }: { readonly scans: readonly string[]; readonly pages: number }) =>
          scans.length > 0 || pages > MAX_PAGES;
        expect((await plansOf()).filter(scanning).length).toBeGreaterThanOrEqual(5);
        expect(await sink.createQueryIndexes()).toBe(15);
        expect(await sink.createQueryIndexes()).toBe(0);
        expect((await plansOf()).filter(scanning)).toEqual([]);
      },
      { opening: { tables: TABLES } },
    );
  },
  LIMIT_MS,
);
