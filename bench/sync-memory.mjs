// Does a sync's memory stay flat? A long sync of much data into each sink: what is in use after each quarter of it,
// without garbage, and the peak of the process, DuckDB's own memory (limited to 256 MiB) included.
//
//   npm run build && node bench/sync-memory.mjs [SEGMENTS] [MEGABYTES]
//
// The server is that of bench/sync.mjs, a process of its own, with an archive of MEGABYTES of CSV for each segment.
import { execFile, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient } from "../dist/src/index.js";
import { duckdbSink, parquetSink, postgresSink, syncHistory } from "../dist/src/sync/index.js";
import { startServer } from "../test/support/postgres-server.mjs";
import { writeArchives } from "./trades.mjs";

const self = fileURLToPath(import.meta.url);
const sinks = {
  PostgreSQL: ({ url }) => postgresSink(url),
  DuckDB: ({ folder }) => duckdbSink(join(folder, "history.duckdb"), { memoryLimit: "256MiB" }),
  Parquet: ({ folder }) => parquetSink(join(folder, "history"), { memoryLimit: "256MiB" }),
};

if (process.argv[2] in sinks) {
  await syncInto(process.argv[2], ...process.argv.slice(3));
} else {
  await measure(...process.argv.slice(2).map(Number));
}

async function syncInto(kind, node, segments, folder, url) {
  const quarter = Number(segments) / 4;
  const used = [];
  let loaded = 0;
  function onEvent(event) {
    loaded += event.kind === "loaded" ? 1 : 0;
    if (event.kind === "loaded" && loaded % quarter === 0) {
      globalThis.gc();
      const { heapUsed, external, rss } = process.memoryUsage();
      used.push([heapUsed + external, rss]);
    }
  }
  const sink = sinks[kind]({ folder, url });
  const client = createClient({ transport: "grpc", profile: "deployed", grpc: { url: node } });
  const { units, rows, bytes, failed } = await syncHistory(client, { sink, tables: ["trades"], hooks: { onEvent } });
  await client.close();
  const peak = process.resourceUsage().maxRSS * 1024;
  const summary = { used, peak, units, rows: String(rows), bytes: Number(bytes), failed: failed.length };
  process.stdout.write(JSON.stringify(summary), () => process.exit());
}

async function measure(segments = 200, megabytes = 4) {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-bench-memory-"));
  await writeArchives(folder, segments, megabytes);
  const program = fileURLToPath(new URL("sync.mjs", import.meta.url));
  const server = fork(program, ["server", folder, String(segments)]);
  const node = await new Promise((resolve) => server.once("message", resolve));
  const postgres = await startServer(["max_wal_size=4GB"]);
  const mb = (bytes) => (bytes / 1e6).toFixed(0);
  console.log("| sink | units | rows | CSV, MB | in use after each quarter, MB | resident then, MB | peak, MB |");
  console.log("|---|---:|---:|---:|---:|---:|---:|");
  try {
    for (const kind of Object.keys(sinks)) {
      const args = ["--expose-gc", self, kind, node, String(segments), folder, postgres.url];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      const { used, peak, units, rows, bytes, failed } = JSON.parse(stdout);
      const [inUse, resident] = [0, 1].map((index) => used.map((each) => mb(each[index])).join(", "));
      const wrong = failed === 0 ? "" : ` (${failed} failed)`;
      console.log(`| ${kind} | ${units}${wrong} | ${rows} | ${mb(bytes)} | ${inUse} | ${resident} | ${mb(peak)} |`);
    }
  } finally {
    server.kill();
    await postgres.stop();
    await rm(folder, { recursive: true });
  }
}
