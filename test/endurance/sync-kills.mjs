// Whatever is killed, whenever: a sync ends with each row of the node once.
//
//   npm run build && node test/endurance/sync-kills.mjs [postgres|duckdb|parquet|queue] [KILLS] [NODE_KILLS] [POSTGRES_KILLS]
//
// Syncs (or planners and workers) run in processes of their own and are killed (SIGKILL) at random times, as are the node
// and, where there is one, PostgreSQL. At the end one sync runs undisturbed, and each table is compared with what the node
// exports, value by value.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { startServer } from "../support/postgres-server.mjs";
import { command, end, startNode } from "./node-process.mjs";
import { compare } from "./same-rows.mjs";

const [kind = "postgres", ...numbers] = process.argv.slice(2);
const [kills = 60, nodeKills = 6, postgresKills = 6] = numbers.map(Number);
const SEGMENTS = 50;
const BLOCKS = 10;
const folder = await mkdtemp(join(tmpdir(), "tradewire-sync-kills-"));
const postgres = kind === "postgres" || kind === "queue" ? await startServer() : undefined;
const [grpcPort, restPort] = [await freePort(), await freePort()];
const reaching = ["--grpc-url", `http://127.0.0.1:${grpcPort}`, "--transport", "grpc"];
const to =
  postgres?.url ?? (kind === "duckdb" ? `duckdb:${join(folder, "h.duckdb")}` : `parquet:${join(folder, "p")}/`);
const began = performance.now();
const ends = new Map();

function log(text) {
  console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${text}`);
}

/** What runs all the time: a planner and three workers, or two syncs into one sink where that may be. */
const processes = {
  queue: [
    ["sync", "--queue", "--follow"],
    ["sync", "worker"],
    ["sync", "worker"],
    ["sync", "worker"],
  ],
  duckdb: [["sync", "--follow"]],
}[kind] ?? [
  ["sync", "--follow"],
  ["sync", "--follow"],
];

function start(args) {
  const all = [command, ...args, "--to", to, ...reaching, ...(args.includes("--follow") ? ["--interval", "1s"] : [])];
  const child = spawn(process.execPath, all, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text) => {
    said = (said + text).slice(-2000);
  });
  const gone = once(child, "exit").then(([code, signal]) => {
    const how = signal ?? `exit ${code}`;
    ends.set(how, (ends.get(how) ?? 0) + 1);
    if (signal === null) {
      log(`${args.join(" ")}: exit ${code}: ${said.trim().split("\n").slice(-3).join(" | ")}`);
    }
  });
  return { child, gone };
}

const startNodeAgain = () =>
  startNode({ grpcPort, restPort }, join(folder, "node"), [
    ...["--segments", String(SEGMENTS), "--blocks-per-segment", String(BLOCKS)],
    ...["--block-time", "100ms", "--activity", "3"],
  ]);

let node = await startNodeAgain();
const running = processes.map(start);
const plan = [
  ...Array(kills).fill("sync"),
  ...Array(nodeKills).fill("node"),
  ...Array(postgres === undefined ? 0 : postgresKills).fill("postgres"),
]
  .map((what) => ({ what, at: Math.random() }))
  .sort((a, b) => a.at - b.at);
for (const [index, { what }] of plan.entries()) {
  await sleep(200 + Math.random() ** 2 * 6000);
  if (what === "sync") {
    const slot = Math.floor(Math.random() * running.length);
    running[slot].child.kill("SIGKILL");
    await running[slot].gone;
  } else if (what === "node") {
    await end(node);
    node = await startNodeAgain();
  } else {
    await postgres.killAndStart();
  }
  for (const [slot, { child }] of running.entries()) {
    if (child.exitCode !== null || child.signalCode !== null) {
      running[slot] = start(processes[slot]);
    }
  }
  if ((index + 1) % 10 === 0 || index + 1 === plan.length) {
    log(`${index + 1} of ${plan.length} killed; ends: ${[...ends].map((each) => each.join(" ")).join(", ")}`);
  }
}
await sleep(5000);
for (const { child, gone } of running) {
  child.kill("SIGTERM");
  await gone;
}

// The history goes on, so one sync takes what there is to a block, undisturbed, and that is compared.
const client = createClient({ transport: "grpc", grpc: { url: reaching[1] } });
const toBlock = (await client.listSegments()).at(-1).toHeight;
await client.close();
const final = start(["sync", "--to-block", String(toBlock)]);
await final.gone;
const differ = await compare(to, reaching[1], toBlock);
await end(node, "SIGTERM");
await postgres?.stop();
await rm(folder, { recursive: true });
process.exitCode = differ === 0 && final.child.exitCode === 0 ? 0 : 1;
