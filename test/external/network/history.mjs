// Network history: all tables over three transports, and tables of databases beside those of the data node.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import pg from "pg";
import { NEWEST_SCHEMA_VERSION, tableNames, tableSchema } from "tradewire";
import { duckdbSink, postgresSink, syncHistory } from "tradewire/sync";
import { startServer } from "../../support/postgres-server.mjs";
import { eventually } from "./network.mjs";
import { LeftOut } from "./report.mjs";

const TRANSPORTS = ["grpc", "grpc-js", "rest"];

/** Make the cases. */
export function historyCases({ network, market, report, folder }) {
  const { clients, urls } = network;
  const lines = [];

  /** All segments that there are when it is first asked for: from the first block to the newest segment's last. */
  const range = lazily(async () => {
    await market();
    const { height } = await network.services.core.lastBlockHeight({});
    const segments = await eventually("a segment with the market's trades", async () => {
      const found = await clients.grpc.listSegments();
      return found.length > 0 && found.at(-1).toHeight >= height - 40n ? found : undefined;
    });
    return { fromBlock: segments[0].fromHeight, toBlock: segments.at(-1).toHeight };
  });

  async function table(name, signal) {
    const asked = { table: name, ...(await range()) };
    const results = await Promise.all(
      TRANSPORTS.map(async (transport) => {
        const hash = createHash("sha256");
        let count = 0;
        let types;
        for await (const row of clients[transport].exportNetworkHistory(asked, { signal }).rows({ typed: true })) {
          hash.update(JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}n` : value)));
          count += 1;
          types ??= Object.entries(row).map(
            ([column, value]) => `${column}: ${value === null ? "null" : typeof value}`,
          );
        }
        return { count, digest: hash.digest("hex"), types };
      }),
    );
    lines.push(
      `${name.padEnd(20)} ${String(results[0].count).padStart(8)} rows, sha256 ${results[0].digest.slice(0, 12)}`,
    );
    assert.deepEqual(results[1], results[0], "grpc-js beside grpc");
    assert.deepEqual(results[2], results[0], "rest beside grpc");
  }

  const tables = tableNames.map((name) => ({
    group: "history",
    name: `${name} over ${TRANSPORTS.join(", ")}, typed`,
    check: (signal) => table(name, signal),
  }));

  /** Rows of the data node's own tables in the covered blocks: count and digest of each. */
  const ownTables = lazily(async () => {
    if (urls.postgres === undefined) {
      throw new LeftOut("the data node's PostgreSQL is not given");
    }
    const { fromBlock, toBlock } = await range();
    const client = new pg.Client(urls.postgres);
    await client.connect().catch((error) => {
      throw new LeftOut(`the data node's PostgreSQL does not answer: ${error.message}`);
    });
    try {
      const where = `WHERE vega_time >= (SELECT vega_time FROM blocks WHERE height = ${fromBlock}) AND vega_time <= (SELECT vega_time FROM blocks WHERE height = ${toBlock})`;
      return await digests(
        (sql) => client.query({ text: sql, rowMode: "array" }).then(({ rows }) => rows),
        POSTGRES,
        where,
      );
    } finally {
      await client.end();
    }
  });

  async function compare(name, found) {
    const own = await ownTables();
    report.figure(
      `sync into ${name}, beside the data node's tables`,
      Object.entries(own).map(
        ([table, { count, digest }]) =>
          `${table.padEnd(20)} ${found[table].count} of ${count} rows, ${found[table].digest === digest ? "equal" : "DIFFERENT"}`,
      ),
    );
    assert.deepEqual(found, own);
  }

  async function intoPostgres(signal) {
    await ownTables();
    const server = await startServer(["fsync=off"]);
    try {
      const summary = await syncHistory(clients.grpc, { sink: postgresSink(server.url), range: await range(), signal });
      assert.deepEqual(summary.failed, []);
      const client = new pg.Client(server.url);
      await client.connect();
      try {
        await compare(
          "PostgreSQL",
          await digests((sql) => client.query({ text: sql, rowMode: "array" }).then(({ rows }) => rows), POSTGRES),
        );
      } finally {
        await client.end();
      }
    } finally {
      await server.stop();
    }
  }

  async function intoDuckdb(signal) {
    await ownTables();
    const path = join(folder, "history.duckdb");
    const summary = await syncHistory(clients.grpc, { sink: duckdbSink(path), range: await range(), signal });
    assert.deepEqual(summary.failed, []);
    const instance = await DuckDBInstance.create(path);
    const connection = await instance.connect();
    try {
      await compare("DuckDB", await digests(async (sql) => (await connection.runAndReadAll(sql)).getRows(), DUCKDB));
    } finally {
      connection.closeSync();
      instance.closeSync();
    }
  }

  return [
    ...tables,
    {
      group: "history",
      name: "what was exported",
      async check() {
        const { fromBlock, toBlock } = await range();
        report.figure(`rows of blocks ${fromBlock} to ${toBlock}, the same over ${TRANSPORTS.join(", ")}`, lines);
      },
    },
    { group: "history", name: "sync into PostgreSQL equals the data node's tables", check: intoPostgres },
    { group: "history", name: "sync into DuckDB equals the data node's tables", check: intoDuckdb },
  ];
}

/** The text of a column, the same in each database. */
const POSTGRES = ({ name, type }) => {
  switch (type) {
    case "bytea":
      return `encode(${name}, 'hex')`;
    case "timestamptz":
      return `(extract(epoch from ${name}) * 1000000)::bigint::text`;
    case "bool":
      return `${name}::int::text`;
    default:
      return `${name}::text`;
  }
};
const DUCKDB = ({ name, type }) => {
  switch (type) {
    case "bytea":
      return `lower(hex(${name}))`;
    case "timestamptz":
      return `epoch_us(${name})::varchar`;
    case "bool":
      return `${name}::int::varchar`;
    default:
      return `${name}::varchar`;
  }
};

/** Count and digest of each table: the digest of its rows as text, in an order of their own. */
async function digests(query, text, where = "") {
  const found = {};
  for (const table of tableNames) {
    const { columns } = tableSchema(table, NEWEST_SCHEMA_VERSION);
    const rows = await query(`SELECT ${columns.map(text).join(", ")} FROM ${table} ${where}`);
    const lines = rows.map((row) => JSON.stringify(row)).sort();
    found[table] = { count: lines.length, digest: createHash("sha256").update(lines.join("\n")).digest("hex") };
  }
  return found;
}

function lazily(make) {
  let made;
  return () => {
    made ??= make();
    return made;
  };
}
