// What more workers of a queue bring where the node is far away, and that killed ones lose nothing.
//
//   npm run build && node bench/sync-workers.mjs [DELAY_MS]
//
// One worker, four, and four of which two are killed (SIGKILL) once a fifth is loaded, each a process of its own, load
// 300 units from a node whose answers take DELAY_MS longer. What killed workers held is put back after half a minute, so
// that the third time has that in it. Each database must then hold each row of the node once.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { startDevnode } from "../dist/src/node/index.js";
import { compare } from "../test/endurance/same-rows.mjs";
import { startServer } from "../test/support/postgres-server.mjs";

const delayMs = Number(process.argv[2] ?? 100);
const [SEGMENTS, BLOCKS, UNITS] = [20, 10, 300];
const command = fileURLToPath(new URL("../dist/src/cli/main.js", import.meta.url));
const node = await startDevnode({ activity: 3, blockMs: 0, segments: SEGMENTS, blocksPerSegment: BLOCKS });
const postgres = await startServer();
const far = createServer((near) => {
  const { hostname, port } = new URL(node.grpcUrl);
  const there = connect(Number(port), hostname);
  near.pipe(there);
  there.on("data", (bytes) => setTimeout(() => near.write(bytes), delayMs));
  for (const [one, other] of [
    [near, there],
    [there, near],
  ]) {
    one.on("error", () => other.destroy()).on("close", () => other.destroy());
  }
}).listen(0, "127.0.0.1");
await once(far, "listening");
const reaching = ["--grpc-url", `http://127.0.0.1:${far.address().port}`, "--transport", "grpc"];

function start(args, to) {
  const child = spawn(process.execPath, [command, ...args, "--to", to, ...reaching], {
    stdio: ["ignore", "ignore", "ignore"],
  });
  return { child, gone: once(child, "exit") };
}

async function measure(workers, killed) {
  const name = `workers_${workers}_${killed}`;
  const admin = new pg.Client(postgres.url);
  await admin.connect();
  await admin.query(`CREATE DATABASE ${name}`);
  await admin.end();
  const to = Object.assign(new URL(postgres.url), { pathname: `/${name}` }).href;
  const client = new pg.Client(to);
  await client.connect();
  const loaded = async () => {
    const { rows } = await client
      .query("SELECT count(*)::int AS n, count(DISTINCT (table_name, from_block))::int AS once FROM tradewire_ledger")
      .catch(() => ({ rows: [{ n: 0, once: 0 }] }));
    return rows[0];
  };
  const began = performance.now();
  const planner = start(["sync", "--queue"], to);
  const running = Array.from({ length: workers }, () => start(["sync", "worker", "--parallel", "1"], to));
  if (killed > 0) {
    while ((await loaded()).n < UNITS / 5) {
      await sleep(50);
    }
    for (const { child } of running.slice(0, killed)) {
      child.kill("SIGKILL");
    }
  }
  const [code] = await planner.gone;
  const seconds = (performance.now() - began) / 1000;
  for (const { child, gone } of running) {
    child.kill("SIGTERM");
    await (child.exitCode === null && child.signalCode === null ? gone : undefined);
  }
  const { n, once: distinct } = await loaded();
  await client.end();
  const differ = await compare(to, node.grpcUrl, BigInt(SEGMENTS * BLOCKS));
  const isRight = code === 0 && n === UNITS && distinct === UNITS && differ === 0;
  return { workers, killed, seconds: Number(seconds.toFixed(1)), units: n, "tables that differ": differ, isRight };
}

const found = [];
for (const [workers, killed] of [
  [1, 0],
  [4, 0],
  [4, 2],
]) {
  found.push(await measure(workers, killed));
}
console.table(found);
far.close();
await node.close();
await postgres.stop();
process.exit(found.every(({ isRight }) => isRight) ? 0 : 1);
