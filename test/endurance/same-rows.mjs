// Compares what stands in a sink with what the node exports, value by value, read back by the sink's own client.
//
//   npm run build && node test/endurance/same-rows.mjs TO GRPC_URL [TO_BLOCK]
//
// TO is as for `tradewire sync`. Each value is compared as PostgreSQL's COPY writes it. The rows of a table are compared as
// a whole: how often each occurs, in any order.
import { createHash } from "node:crypto";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";
import { createClient, NEWEST_SCHEMA_VERSION, tableNames, tableSchema } from "../../dist/src/index.js";

/** A row whose floating-point numbers are written in one way: the shortest text of a number is not everybody's. */
function alike(table, columns) {
  const types = new Map(tableSchema(table, NEWEST_SCHEMA_VERSION).columns.map(({ name, type }) => [name, type]));
  const floats = columns.map((name) => types.get(name) === "float8");
  return (row) => row.map((text, index) => (floats[index] && text !== null ? String(Number(text)) : text));
}

/** How often each row occurs: the sum of the rows' hashes, which does not depend on their order. */
function createBag(write) {
  let sum = 0n;
  let rows = 0;
  return {
    add(row) {
      const hash = createHash("sha256")
        .update(JSON.stringify(write(row)))
        .digest("hex")
        .slice(0, 32);
      sum = (sum + BigInt(`0x${hash}`)) % (1n << 128n);
      rows += 1;
    },
    told: () => ({ rows, sum: sum.toString(16) }),
  };
}

async function ofNode(client, table, columns, toBlock) {
  const segments = (await client.listSegments()).filter(({ toHeight }) => toHeight <= toBlock);
  const range = { fromBlock: segments[0].fromHeight, toBlock: segments.at(-1).toHeight };
  const bag = createBag(alike(table, columns));
  for await (const row of client.exportNetworkHistory({ table, ...range }).rows()) {
    bag.add(columns.map((name) => row[name] ?? null));
  }
  return bag.told();
}

async function* ofPostgres(url, table, columns) {
  const { Client } = (await import("pg")).default;
  const schema = new URL(url).searchParams.get("schema") ?? "public";
  const plain = new URL(url);
  plain.searchParams.delete("schema");
  const client = new Client({ connectionString: String(plain), types: { getTypeParser: () => (text) => text } });
  await client.connect();
  try {
    await client.query("SET timezone = 0; SET DateStyle = ISO");
    await client.query("BEGIN");
    await client.query(`DECLARE c CURSOR FOR SELECT ${columns.join(", ")} FROM "${schema}".${table}`);
    for (;;) {
      const { rows } = await client.query({ text: "FETCH 5000 FROM c", rowMode: "array" });
      if (rows.length === 0) {
        return;
      }
      yield* rows;
    }
  } finally {
    await client.end();
  }
}

async function* ofDuckdb(database, from, table, columns) {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(database, database === ":memory:" ? {} : { access_mode: "READ_ONLY" });
  const connection = await instance.connect();
  await connection.run("SET timezone = 'UTC'");
  const types = new Map(tableSchema(table, NEWEST_SCHEMA_VERSION).columns.map(({ name, type }) => [name, type]));
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${from}`);
  const names = new Set(described.getRows().map(([name]) => name));
  const text = columns.map((name) => {
    const type = types.get(name);
    if (names.has(`${name}_text`)) {
      return `${name}_text`;
    }
    return type === "bytea"
      ? `'\\x' || lower(hex(${name}))`
      : type === "bool"
        ? `CASE WHEN ${name} THEN 't' WHEN NOT ${name} THEN 'f' END`
        : type === "float8"
          ? `regexp_replace(${name}::VARCHAR, '[.]0$', '')` // PostgreSQL writes 5, DuckDB 5.0.
          : `${name}::VARCHAR`;
  });
  const result = await connection.stream(`SELECT ${text.join(", ")} FROM ${from}`);
  for await (const rows of result.yieldRowsJs()) {
    yield* rows;
  }
  connection.closeSync();
  instance.closeSync();
}

/** The rows of a table in a sink, as texts. */
function ofSink(to, table, columns) {
  if (/^postgres(ql)?:/.test(to)) {
    return ofPostgres(to, table, columns);
  }
  const path = to.slice(to.indexOf(":") + 1);
  return to.startsWith("duckdb:")
    ? ofDuckdb(path, table, table, columns)
    : ofDuckdb(":memory:", `read_parquet('${path}/data/table=${table}/**/*.parquet')`, table, columns);
}

/** Compare all tables. */
export async function compare(to, grpcUrl, toBlock = 2n ** 62n, log = console.log) {
  const client = createClient({ transport: "grpc", grpc: { url: grpcUrl } });
  let differ = 0;
  let all = 0;
  for (const table of tableNames) {
    const columns = tableSchema(table, NEWEST_SCHEMA_VERSION).columns.map(({ name }) => name);
    const source = await ofNode(client, table, columns, toBlock);
    const bag = createBag(alike(table, columns));
    for await (const row of ofSink(to, table, columns)) {
      bag.add(row);
    }
    const there = bag.told();
    const same = there.rows === source.rows && there.sum === source.sum;
    all += there.rows;
    differ += same ? 0 : 1;
    log(`${table.padEnd(20)} ${String(source.rows).padStart(9)} rows  ${same ? "equal" : "DIFFERENT"}`);
    if (!same) {
      log(`  the node: ${JSON.stringify(source)}, the sink: ${JSON.stringify(there)}`);
    }
  }
  log(`${tableNames.length} tables, ${all} rows: ${differ === 0 ? "all equal" : `${differ} differ`}`);
  await client.close();
  return differ;
}

if (import.meta.url === pathToFileURL(argv[1]).href) {
  const [, , to, grpcUrl, toBlock] = argv;
  process.exitCode = (await compare(to, grpcUrl, toBlock && BigInt(toBlock))) === 0 ? 0 : 1;
}
