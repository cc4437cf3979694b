// How fast does history get into tables, beside the tools of those who do it by hand?
//
//   npm run build && node bench/sync.mjs [SEGMENTS] [MEGABYTES] [ROUNDS] [CHECKOUT]
//
// A server with prepared archives (deflated, MEGABYTES of CSV in each) gives them over gRPC; ours are whole processes of
// `tradewire sync`, with every check. The peers have the same archives, or the unzipped files, on disk already:
// `unzip -p | psql -c "\copy"` into the same tables, and DuckDB's own read_csv, with the same types. Needs unzip and psql.
// Runs are interleaved, the table shows medians. With CHECKOUT, a built working copy of another commit, that build's syncs
// to PostgreSQL and DuckDB run in the same rounds, and the other ways are left out.
import { execFile, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ExportNetworkHistoryRequestSchema, TradingDataService } from "../dist/gen/datanode/api/v2/trading_data_pb.js";
import { HttpBodySchema } from "../dist/gen/google/api/httpbody_pb.js";
import { createTableSql, createTypesSql } from "../dist/src/index.js";
import { startServer } from "../test/support/postgres-server.mjs";
import { BLOCKS, CHAIN, nameOf, schema, writeArchives } from "./trades.mjs";

const run = promisify(execFile);
const CHUNK = 1024 * 1024;
const PREFIX_BYTES = 5;
const self = fileURLToPath(import.meta.url);
const COMMAND = "dist/src/cli/main.js";
const command = fileURLToPath(new URL(`../${COMMAND}`, import.meta.url));

if (process.argv[2] === "server") {
  await serve(process.argv[3], Number(process.argv[4]));
} else {
  await measure(process.argv[5], ...process.argv.slice(2, 5).map(Number));
}

/** Listings by connect-node, exports as bodies that were encoded before: what they cost must not be what is measured. */
async function serve(folder, segments) {
  const id = (index) => (index < 0 ? "" : createHash("sha256").update(String(index)).digest("hex"));
  const bodies = new Map();
  for (let index = 0; index < segments; index += 1) {
    bodies.set(BigInt(index * BLOCKS + 1), bodyOf(await readFile(join(folder, `${nameOf(index)}.zip`))));
  }
  const listing = connectNodeAdapter({
    routes: (router) =>
      router.service(TradingDataService, {
        listAllNetworkHistorySegments: () => ({
          segments: Array.from({ length: segments }, (_, index) => ({
            fromHeight: BigInt(index * BLOCKS + 1),
            toHeight: BigInt((index + 1) * BLOCKS),
            historySegmentId: id(index),
            previousHistorySegmentId: id(index - 1),
            databaseVersion: 116n,
            chainId: CHAIN,
          })),
        }),
      }),
  });
  const server = createServer({ maxSessionMemory: 1000 }, async (request, response) => {
    if (!request.url.endsWith("/ExportNetworkHistory")) {
      return listing(request, response);
    }
    const { fromBlock } = fromBinary(ExportNetworkHistoryRequestSchema, (await buffer(request)).subarray(PREFIX_BYTES));
    response.writeHead(200, {
      "content-type": "application/grpc+proto",
      "content-disposition": `attachment;filename=${nameOf(Number(fromBlock - 1n) / BLOCKS)}.zip`,
      trailer: "grpc-status",
    });
    response.addTrailers({ "grpc-status": "0" });
    response.end(bodies.get(fromBlock));
  });
  server.listen(0, "127.0.0.1", () => process.send(`http://127.0.0.1:${server.address().port}`));
}

/** The messages of an export, each behind its prefix: no compression, and its size. */
function bodyOf(archive) {
  const parts = [];
  for (let at = 0; at < archive.length; at += CHUNK) {
    const data = archive.subarray(at, at + CHUNK);
    const message = toBinary(HttpBodySchema, create(HttpBodySchema, { contentType: "application/zip", data }));
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(message.length, 1);
    parts.push(prefix, message);
  }
  return Buffer.concat(parts);
}

async function measure(checkout, segments = 8, megabytes = 60, rounds = 3) {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-bench-sync-"));
  await writeArchives(folder, segments, megabytes);
  let total = 0;
  for (let index = 0; index < segments; index += 1) {
    total += (await stat(join(folder, `${nameOf(index)}.csv`))).size;
  }
  const server = fork(self, ["server", folder, String(segments)]);
  const url = await new Promise((resolve) => server.once("message", resolve));
  const postgres = await startServer(["max_wal_size=8GB", "shared_buffers=512MB", "synchronous_commit=on"]);
  const psql = (...sql) =>
    run("psql", ["-q", "-v", "ON_ERROR_STOP=1", postgres.url, ...sql.flatMap((text) => ["-c", text])]);
  const names = Array.from({ length: segments }, (_, index) => join(folder, nameOf(index)));

  const rows = {
    "unzip -p | psql \\copy": async () => {
      await psql("DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
      await psql(...createTypesSql([schema], "postgres"), createTableSql(schema, "postgres"));
      return timed(async () => {
        for (const name of names) {
          const copy = `unzip -p ${name}.zip | psql -q -v ON_ERROR_STOP=1 ${postgres.url} -c "\\copy trades from stdin csv header"`;
          await run("sh", ["-c", copy]);
        }
      });
    },
    "sync to PostgreSQL": async () => {
      await psql("DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
      return sync(postgres.url);
    },
    ...(checkout === undefined
      ? {
          "sync to PostgreSQL, one unit at a time": async () => {
            await psql("DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
            return sync(postgres.url, { more: ["--parallel", "1"] });
          },
        }
      : {
          "sync to PostgreSQL, the other build": async () => {
            await psql("DROP SCHEMA public CASCADE", "CREATE SCHEMA public");
            return sync(postgres.url, { by: join(checkout, COMMAND) });
          },
        }),
    "read_csv into DuckDB": () => duckdb((select) => `CREATE TABLE trades AS ${select}`),
    "sync to DuckDB": () => sync(newDuckdb()),
    ...(checkout === undefined
      ? {
          "read_csv to Parquet": () =>
            duckdb(
              (select, index) =>
                `COPY (${select}) TO '${folder}/peer-${index}.parquet' (FORMAT parquet, COMPRESSION zstd)`,
              true,
            ),
          "sync to Parquet": async () => {
            const target = join(folder, String(Math.random()));
            await mkdir(target);
            return sync(`parquet:${target}/`);
          },
        }
      : { "sync to DuckDB, the other build": () => sync(newDuckdb(), { by: join(checkout, COMMAND) }) }),
  };

  function newDuckdb() {
    return `duckdb:${join(folder, `${Math.random()}.duckdb`)}`;
  }

  async function sync(to, { by = command, more = [] } = {}) {
    const report = join(folder, "memory");
    const memory = `data:text/javascript,${encodeURIComponent(
      `import { writeFileSync } from "node:fs"; process.on("exit", () => writeFileSync(${JSON.stringify(report)}, String(process.resourceUsage().maxRSS)))`,
    )}`;
    const args = [
      "sync",
      "--to",
      to,
      "--table",
      "trades",
      "--grpc-url",
      url,
      "--transport",
      "grpc",
      "--profile",
      "deployed",
    ];
    const result = await timed(() => run(process.execPath, ["--import", memory, by, ...args, ...more]));
    return { ...result, peak: Number(await readFile(report, "utf8")) / 1024 };
  }

  /** DuckDB reads the unzipped files with the types that the sinks have. */
  async function duckdb(statement, each = false) {
    const script = `
      import { DuckDBInstance } from "@duckdb/node-api";
      const instance = await DuckDBInstance.create(${JSON.stringify(join(folder, `${Math.random()}.duckdb`))});
      const connection = await instance.connect();
      for (const sql of JSON.parse(process.argv[1])) await connection.run(sql);
      connection.closeSync(); instance.closeSync();`;
    const columns = schema.columns.map(({ name, type }) => {
      const read = {
        bytea: "VARCHAR",
        timestamptz: "TIMESTAMPTZ",
        hugeint: "HUGEINT",
        int8: "BIGINT",
        int4: "INTEGER",
        int2: "SMALLINT",
        bool: "BOOLEAN",
      };
      return { name, read: read[type] ?? "VARCHAR", id: type === "bytea" };
    });
    const types = columns.map(({ name, read }) => `'${name}': '${read}'`).join(", ");
    const values = columns.map(({ name, id }) => (id ? `unhex(substr(${name}, 3)) AS ${name}` : name)).join(", ");
    const selectOf = (files) =>
      `SELECT ${values} FROM read_csv([${files.map((name) => `'${name}.csv'`).join(", ")}], header = true, auto_detect = false, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, columns = {${types}})`;
    const statements = each
      ? names.map((name, index) => statement(selectOf([name]), index))
      : [statement(selectOf(names))];
    return timed(() => run(process.execPath, ["--input-type=module", "-e", script, JSON.stringify(statements)]));
  }

  async function timed(work) {
    const start = performance.now();
    await work();
    return { seconds: (performance.now() - start) / 1000 };
  }

  const results = new Map(Object.keys(rows).map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, work] of Object.entries(rows)) {
      results.get(name).push(await work());
    }
  }
  const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
  const rates = (name) => results.get(name).map(({ seconds }) => total / 1e6 / seconds);
  const rate = (name) => median(rates(name));
  console.log(
    `${segments} segments of trades, ${(total / 1e6).toFixed(0)} MB of CSV, medians of ${rounds} interleaved runs`,
  );
  console.log("| | MB/s of CSV (slowest, fastest) | ratio | peak memory, MiB |\n|---|---|---|---|");
  let peer = "";
  for (const [name, runs] of results) {
    peer = name.startsWith("sync") ? peer : name;
    const peaks = runs.flatMap(({ peak }) => (peak === undefined ? [] : [peak]));
    const peak = peaks.length === 0 ? "" : median(peaks).toFixed(0);
    const range = [Math.min, Math.max].map((of) => of(...rates(name)).toFixed(0)).join(", ");
    console.log(
      `| ${name} | ${rate(name).toFixed(0)} (${range}) | ${(rate(name) / rate(peer)).toFixed(2)} | ${peak} |`,
    );
  }
  server.kill();
  await postgres.stop();
  await rm(folder, { recursive: true });
}
