import pg from "pg";
import {
  type LedgerEntry,
  type PostgresSink,
  type PostgresSinkOptions,
  postgresSink,
  type Sink,
  type SinkOpening,
} from "tradewire/sync";
import type { PostgresServer } from "../../../support/postgres.js";
import { openingOf } from "../../../support/units.js";

/** How units are loaded in tests. */
export const calm: Parameters<Sink["load"]>[2] = { replace: false, signal: new AbortController().signal };

/** Use a sink, opened, in a database of its own. */
export async function withSink(
  server: PostgresServer,
  use: (sink: PostgresSink, client: pg.Client, url: string) => Promise<void>,
  { opening, ...options }: PostgresSinkOptions & { readonly opening?: Partial<SinkOpening> } = {},
): Promise<void> {
  const url = await server.createDatabase();
  await using sink = postgresSink(url, options);
  await sink.open(openingOf(opening));
  await withClient(url, (client) => use(sink, client, url));
}

/** Use a connection of one's own. */
export async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Count the rows of a table. */
export async function count(client: pg.Client, table = "blocks"): Promise<number> {
  return (await client.query(`SELECT count(*)::int FROM ${table}`)).rows[0].count;
}

/** Read the ledger of a table. */
export async function entriesOf(sink: Sink, table: LedgerEntry["table"] = "blocks"): Promise<LedgerEntry[]> {
  const entries = [];
  for await (const entry of sink.entries(table)) {
    entries.push(entry);
  }
  return entries;
}
