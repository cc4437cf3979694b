// Killing a node in the middle of an export must leave nothing behind, or the whole archive.
//
//   npm run build && node test/endurance/kills.mjs [RUNS]
//
// Each run starts a local node in a separate process, saves an export over `auto`, and kills the node (SIGKILL) at a
// random time. In every other run that is between the call and slightly more than an export takes, otherwise while
// bytes arrive. Every run must end with a complete archive, or with one of the library's errors and an empty folder.
import { execFile, fork } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, TradewireError } from "../../dist/src/index.js";
import { startDevnode } from "../../dist/src/node/index.js";

const SEGMENTS = 20;
const REQUEST = { table: "market_data", fromBlock: 1, toBlock: SEGMENTS * 1000 };

if (process.argv[2] === "node") {
  const { grpcUrl, restUrl } = await startDevnode({ segments: SEGMENTS });
  process.send({ grpcUrl, restUrl });
} else {
  const runs = Number(process.argv[2] ?? 50);
  const { durationMs: longest, comingMs } = await attempt();
  const outcomes = new Map();
  for (let run = 0; run < runs; run += 1) {
    const kill =
      run % 2 === 0 ? { afterCallMs: Math.random() * longest * 1.2 } : { afterFirstMs: Math.random() * comingMs };
    const { outcome, durationMs, bytes } = await attempt(kill);
    const known = outcomes.get(outcome) ?? { runs: 0, durations: [], bytes: [] };
    known.runs += 1;
    known.durations.push(durationMs);
    known.bytes.push(bytes);
    outcomes.set(outcome, known);
  }
  const [whole, coming] = [longest, comingMs].map((ms) => ms.toFixed(0));
  console.log(`${runs} runs; undisturbed an export takes ${whole} ms, in the last ${coming} of which bytes come`);
  console.log("| outcome | runs | slowest, ms | most bytes that had come |\n|---|---|---|---|");
  for (const [outcome, { runs: count, durations, bytes }] of outcomes) {
    console.log(`| ${outcome} | ${count} | ${Math.max(...durations).toFixed(0)} | ${Math.max(...bytes)} |`);
  }
}

/** Export once. The node is killed the given milliseconds after the call, or after the first bytes. */
async function attempt({ afterCallMs, afterFirstMs } = {}) {
  const node = fork(fileURLToPath(import.meta.url), ["node"]);
  const gone = new Promise((resolve) => node.once("exit", resolve));
  const { grpcUrl, restUrl } = await new Promise((resolve) => node.once("message", resolve));
  const folder = await mkdtemp(join(tmpdir(), "tradewire-kills-"));
  const client = createClient({
    transport: "auto",
    grpc: { url: grpcUrl },
    rest: { url: restUrl },
    retry: { baseMs: 10 },
  });
  const timers = [];
  const killAfter = (ms) => ms !== undefined && timers.push(setTimeout(() => node.kill("SIGKILL"), ms));
  let bytes = 0;
  let first;
  const onProgress = (progress) => {
    bytes = progress.bytes;
    if (first === undefined) {
      first = performance.now();
      killAfter(afterFirstMs);
    }
  };
  killAfter(afterCallMs);
  const start = performance.now();
  try {
    const exported = client.exportNetworkHistory(REQUEST, { extensions: "optional", onProgress });
    const outcome = await exported.saveTo(`${folder}/`).then(
      (saved) => whole(folder, saved),
      (reason) => clean(folder, reason),
    );
    const end = performance.now();
    return { outcome, durationMs: end - start, comingMs: end - first, bytes };
  } finally {
    timers.forEach(clearTimeout);
    node.kill("SIGKILL");
    await Promise.all([client.close(), gone, rm(folder, { recursive: true })]);
  }
}

async function whole(folder, { path, sha256, bytes }) {
  const file = await readFile(path);
  const names = await readdir(folder);
  if (names.length !== 1 || file.length !== bytes || createHash("sha256").update(file).digest("hex") !== sha256) {
    throw new Error(`the archive is not what was saved: ${names}`);
  }
  await promisify(execFile)("unzip", ["-tqq", path]).catch((reason) => {
    if (reason.code !== "ENOENT") {
      throw reason;
    }
  });
  return "a complete archive";
}

async function clean(folder, reason) {
  const names = await readdir(folder);
  if (names.length > 0) {
    throw new Error(`left behind: ${names}`, { cause: reason });
  }
  if (!(reason instanceof TradewireError)) {
    throw reason;
  }
  return `${reason.name}: ${reason.summary.replace(/ \(http.*\)$/, "")}`;
}
