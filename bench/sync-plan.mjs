// What a sync of a large history costs beside the loading itself: listing, checking and agreeing on 300,000 segments, a
// plan of 15 tables, and the loop's overhead per unit with a sink that loads nothing. Then the same with PostgreSQL's
// ledger, filled by generate_series.
//
//   npm run build && node bench/sync-plan.mjs [SEGMENTS] [UNITS]
//
// Every measurement is a process of its own, so that peaks of memory are its own.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer } from "node:http2";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";

const BLOCKS = 300;
const EVERY = 2n ** 63n - 1n;
const self = fileURLToPath(import.meta.url);
const [kind, ...rest] = process.argv.slice(2);
const kinds = { agree, listing, merged, loop, postgres, end };
if (kind in kinds) {
  const [count, ...more] = rest;
  const rows = await kinds[kind](Number(count), ...more);
  const peak = (process.resourceUsage().maxRSS * 1024) / 1e6;
  process.stdout.write(JSON.stringify({ rows, peak }));
  process.exit();
}
const [count, units] = [Number(kind ?? 300_000), Number(rest[0] ?? 20_000)];
console.log(`| of ${count} segments | CPU ms | ms | peak of the process, MB |\n|---|---:|---:|---:|`);
await measured("agree", count);
await measured("listing", count);
await measured("merged", count, "0");
await measured("merged", count, "0.98");
await measured("loop", count, units);
const { startServer } = await import("../test/support/postgres-server.mjs");
const server = await startServer(["shared_buffers=512MB", "max_wal_size=8GB"]);
try {
  await measured("postgres", count, server.url);
  await measured("end", count, server.url, 2000);
} finally {
  await server.stop();
}

/** Run a kind in a process of its own, and print its rows. */
async function measured(what, ...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [self, what, ...args.map(String)], {
    maxBuffer: 1e7,
  });
  const { rows, peak } = JSON.parse(stdout);
  const shown = (ms) => ms.toFixed(ms < 10 ? 3 : 0);
  for (const [name, [cpu, clock], share = 1] of rows) {
    console.log(`| ${name} | ${shown(cpu / share)} | ${shown(clock / share)} | ${peak.toFixed(0)} |`);
  }
}

function idOf(index) {
  return index < 0 ? "" : createHash("sha256").update(String(index)).digest("hex");
}

/** Segments as a node lists them. */
function listed(count) {
  const ids = Array.from({ length: count }, (_, index) => idOf(index));
  return ids.map((historySegmentId, index) => ({
    fromHeight: BigInt(index * BLOCKS + 1),
    toHeight: BigInt((index + 1) * BLOCKS),
    historySegmentId,
    previousHistorySegmentId: ids[index - 1] ?? "",
    databaseVersion: 116n,
    chainId: "made-up",
  }));
}

function client(segments, name) {
  return { name, listSegments: async () => segments, exportNetworkHistory() {} };
}

/** Milliseconds: of this process's CPU, and by the clock. */
async function timed(act) {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const result = await act();
  const { user, system } = process.cpuUsage(cpu);
  return [result, [(user + system) / 1000, performance.now() - began]];
}

async function agree(count) {
  const { readHistory } = await import("../compiled/src/sync/node-history.js");
  const segments = listed(count);
  const signal = new AbortController().signal;
  const clients = [client(segments, "a"), client(segments.slice(count / 3), "b"), client(segments.slice(0, -5), "c")];
  const [known, one] = await timed(() => readHistory(clients.slice(0, 1), signal));
  const [, three] = await timed(() => readHistory(clients, signal, known));
  return [
    ["check the listing of a node", one],
    ["check and compare those of three, and what was known", three],
  ];
}

/** A real listing over gRPC and REST. */
async function listing(count) {
  const [{ createClient }, { TradingDataService }] = await Promise.all([
    import("../dist/src/index.js"),
    import("../dist/src/client/api/index.js"),
  ]);
  const segments = listed(count);
  const schema = TradingDataService.method.listAllNetworkHistorySegments.output;
  const message = create(schema, { segments });
  const [binary, json] = [toBinary(schema, message), toJsonString(schema, message)];
  const rows = [];
  const routes = (router) => router.service(TradingDataService, { listAllNetworkHistorySegments: () => message });
  const grpc = createServer(connectNodeAdapter({ routes })).listen(0, "127.0.0.1");
  const { createServer: createHttp } = await import("node:http");
  const rest = createHttp((_, response) => response.setHeader("content-type", "application/json").end(json));
  rest.listen(0, "127.0.0.1");
  await new Promise((resolve) => setTimeout(resolve, 100));
  const url = (server) => `http://127.0.0.1:${server.address().port}`;
  for (const [transport, bytes, server] of [
    ["grpc", binary.length, grpc],
    ["grpc-js", binary.length, grpc],
    ["rest", json.length, rest],
  ]) {
    for (const limit of [64, 256]) {
      const limits = { maxMessageBytes: limit * 2 ** 20, maxJsonBytes: limit * 2 ** 20 };
      const at = { url: url(server) };
      const made = createClient({ transport, grpc: at, rest: at, limits, retry: { tries: 1 } });
      const [outcome, ms] = await timed(() =>
        made.listSegments().then(
          (all) => `${all.length} segments`,
          (reason) => reason.message.replaceAll("\n", " "),
        ),
      );
      rows.push([`list over ${transport}, ${(bytes / 1e6).toFixed(1)} MB, limit ${limit} MiB: ${outcome}`, ms]);
      await made.close();
    }
  }
  return rows;
}

/** A sink that has so much of each table already. */
function madeUpSink(count, share = 0) {
  const there = Math.floor(count * share);
  const ids = Array.from({ length: there }, (_, index) => idOf(index));
  return {
    name: "made-up",
    async open() {},
    async inspect() {
      return "made-up";
    },
    async *entries(table) {
      for (let index = 0; index < there; index += 1) {
        yield {
          chainId: "made-up",
          ...{ table, segmentId: ids[index], previousSegmentId: ids[index - 1] ?? "", schemaVersion: 116n },
          ...{ rows: 10n, bytes: 1000n, sha256: "", loadedAt: "" },
          ...{ fromBlock: BigInt(index * BLOCKS + 1), toBlock: BigInt((index + 1) * BLOCKS) },
        };
      }
    },
    async load() {},
    async remove() {},
    async countRows() {
      return 10n;
    },
    async compareRows() {
      return { missing: 0n, extra: 0n };
    },
    async close() {},
    async [Symbol.asyncDispose]() {},
  };
}

async function merged(count, share) {
  const { planHistory, compareLedger, checkHistory, tableNames } = await ours();
  const segments = listed(count);
  const sink = madeUpSink(count, Number(share));
  const node = client(segments);
  const history = checkHistory(segments);
  const question = { history, tables: tableNames, range: { fromBlock: 1n, toBlock: EVERY }, limit: 5000 };
  const [, survey] = await timed(() => compareLedger(sink, question));
  const [, plan] = await timed(() => planHistory(node, { sink }));
  const there = `${Number(share) * 100} % there, ${tableNames.length} tables`;
  return [
    [`merged survey, ${there}`, survey],
    [`planHistory, ${there}`, plan],
  ];
}

async function loop(count, units) {
  const { syncHistory } = await ours();
  const segments = listed(count);
  const sink = madeUpSink(count, 0);
  const fromBlock = (count - Number(units)) * BLOCKS + 1;
  const node = client(segments);
  const options = { sink, tables: ["trades"], range: { fromBlock } };
  const lists = new Map();
  sink.load = async (unit) => {
    const entry = { ...unit, rows: 10n, bytes: 1000n, sha256: "", loadedAt: "" };
    const list = lists.get(unit.table) ?? [];
    lists.set(unit.table, list);
    list.push(entry);
    return { outcome: "loaded", entry };
  };
  sink.entries = async function* (table) {
    yield* (lists.get(table) ?? []).toSorted((a, b) => Number(a.fromBlock - b.fromBlock));
  };
  const [summary, ms] = await timed(() => syncHistory(node, options));
  return [
    [`syncHistory of ${summary.units} units that a sink takes at once: each, surveys included`, ms, summary.units],
  ];
}

async function fillLedger(url, count) {
  const { default: pg } = await import("pg");
  const { tableNames } = await ours();
  const admin = new pg.Client(url);
  await admin.connect();
  await admin.query("TRUNCATE tradewire_ledger");
  await admin.query(
    `INSERT INTO tradewire_ledger (chain_id, table_name, from_block, to_block, segment_id, previous_segment_id, schema_version, rows, bytes, sha256)
     SELECT 'made-up', t, i * ${BLOCKS} + 1, (i + 1) * ${BLOCKS}, encode(sha256(i::text::bytea), 'hex'),
       CASE i WHEN 0 THEN '' ELSE encode(sha256((i - 1)::text::bytea), 'hex') END, 116, 0, 1000, sha256('x')
     FROM unnest($1::text[]) t, generate_series(0, $2::int - 1) i`,
    [tableNames, count],
  );
  await admin.query("VACUUM ANALYZE tradewire_ledger");
  await admin.end();
}

async function postgres(count, url) {
  const { planHistory, postgresSink, compareCoverage, checkHistory, tableNames } = await ours();
  const { signal } = new AbortController();
  const opening = { chainId: "made-up", tables: tableNames, unknownColumns: "add", onUnknown() {}, signal };
  const segments = listed(count);
  const history = checkHistory(segments);
  const rows = [];
  for (const share of [0, 0.98]) {
    const sink = postgresSink(url);
    await sink.open(opening);
    await fillLedger(url, Math.floor(count * share));
    const question = { history, tables: tableNames, range: { fromBlock: 1n, toBlock: EVERY }, limit: 5000 };
    const there = `${share * 100} % there, ${tableNames.length} tables`;
    rows.push([`survey in PostgreSQL, ${there}`, (await timed(() => compareCoverage(sink, question)))[1]]);
    await sink[Symbol.asyncDispose]();
  }
  const node = client(segments);
  const [, plan] = await timed(() => planHistory(node, { sink: postgresSink(url) }));
  rows.push([`planHistory with PostgreSQL, 98 % there`, plan]);
  return rows;
}

/** The last units of a history by a whole sync into PostgreSQL, from a client that sends empty tables. */
async function end(count, url, units) {
  const { syncHistory, postgresSink, tableSchema } = await ours();
  await fillLedger(url, count - Number(units));
  const header = Buffer.from(
    `${tableSchema("blocks", 116)
      .columns.map(({ name }) => name)
      .join(",")}\n`,
  );
  const node = {
    ...client(listed(count)),
    exportNetworkHistory: ({ table, fromBlock, toBlock }) => ({
      async *files() {
        yield {
          name: `made-up-${table}-${fromBlock}-${toBlock}.csv`,
          ...{ chainId: "made-up", table, fromBlock, toBlock },
          columns: header.toString().trim().split(","),
          async *content() {
            yield header;
            return { rows: 0, bytes: header.length };
          },
        };
      },
    }),
  };
  const sink = postgresSink(url);
  const [summary, ms] = await timed(() => syncHistory(node, { sink, tables: ["blocks"] }));
  return [
    [
      `syncHistory of the last ${summary.units} units, empty, into PostgreSQL: each, surveys included`,
      ms,
      summary.units,
    ],
  ];
}

async function ours() {
  const [main, sync, chain, tables] = await Promise.all([
    import("../dist/src/index.js"),
    import("../dist/src/sync/index.js"),
    import("../compiled/src/data/history/segment-chain.js"),
    import("../compiled/src/data/schema/table-names.js"),
  ]);
  return { ...main, ...sync, checkHistory: chain.checkHistory, tableNames: tables.tableNames };
}
