// A long life: does one process that does everything at once, for a long time, while all that can go wrong does, stay right?
//
//   npm run build && node test/endurance/soak.mjs [--minutes N] [--seed N] [--json]
//
// The process under test works over all transports at once: calls, listings, exports, streams, transactions with outcomes,
// follows, and a sync into DuckDB that follows. Meanwhile the node is killed and started again, frozen, and rehearses
// failures; the links before it stall, break and are down; its clock and that of the process jump. Each minute shows what
// the process holds. At the end what it got is compared with what the node has. The exit code is 1 where a check failed.
// The seed makes the choices; when they fall is up to the machine.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DEV_MNEMONIC } from "../../compiled/src/node/devnode-options.js";
import { freePort } from "../support/free-port.mjs";
import { startLink } from "./link.mjs";
import { end, startNode } from "./node-process.mjs";
import { compareWithNode } from "./soak/compare.mjs";
import { disturb } from "./soak/disturb.mjs";
import { judge } from "./soak/judge.mjs";
import { createRandom } from "./soak/random.mjs";
import { callTable, checkTable, sampleHead, sampleRow } from "./soak/report.mjs";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
    json: { type: "boolean", default: false },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  throw new Error("--minutes takes a number above 0, and --seed a whole number");
}
/** Progress goes to standard error where the result is JSON. */
const log = (text) => (values.json ? console.error(text) : console.log(text));
/** At first nothing is disturbed, so that the first sample is of a process that has done everything once. */
const WARM_MS = 30_000;
/** A sample a minute, and twelve at least. */
const SAMPLE_MS = (60_000 * minutes) / Math.max(12, Math.floor(minutes));
/** How long the process may take to end its calls, to catch up, and to close. */
const END_MS = 240_000;
const TRANSPORTS = ["grpc", "grpc-js", "rest", "auto"];
const NODE = ["--segments", "5", "--blocks-per-segment", "50", "--block-time", "500ms", "--activity", "3", "--admin"];

const ending = new AbortController();
const cleanups = [];
for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => ending.abort(new Error(signal)));
}
try {
  await soak();
} finally {
  for (const cleanUp of cleanups.toReversed()) {
    await cleanUp();
  }
}

async function soak() {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-soak-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const node = await startNodeOf(join(folder, "node"));
  const links = await Promise.all([node.grpcUrl, node.restUrl].map((url) => startLink(url)));
  cleanups.push(() => {
    for (const link of links) {
      link.close();
    }
  });
  const random = createRandom(seed);
  const program = startProgram(folder, links, random.below(2 ** 32));
  log(`seed ${seed}; ${minutes} minutes; one process over ${TRANSPORTS.join(", ")}`);

  await sleep(WARM_MS, undefined, { signal: ending.signal });

  const happened = {};
  const count = (name) => {
    happened[name] = (happened[name] ?? 0) + 1;
  };
  const quiet = new AbortController();
  const disturbing = disturb({ random, node, links, program: program.child }, quiet.signal, count);
  disturbing.catch((reason) => ending.abort(reason));
  const samples = [];
  const began = performance.now();
  log(sampleHead());
  while (performance.now() - began < 60_000 * minutes && !ending.signal.aborted && !program.hasEnded()) {
    const due = began + SAMPLE_MS * (samples.length + 1) - performance.now();
    await sleep(due, undefined, { signal: AbortSignal.any([ending.signal, program.ended]) }).catch(() => undefined);
    if (!ending.signal.aborted && !program.hasEnded()) {
      const sample = await program.measure();
      if (sample === undefined) {
        break;
      }
      samples.push({ minute: (performance.now() - began) / 60_000, ...sample });
      log(sampleRow(samples.at(-1)));
    }
  }
  quiet.abort();
  await disturbing;
  ending.signal.throwIfAborted();

  // What is rehearsed and has not happened yet goes with the node.
  await node.stop("SIGTERM");
  await node.start();
  const done = await program.finish();
  const found = done === undefined ? undefined : await compareWithNode(folder, node, done, log);
  const checks = judge({ samples, done, found, exit: await program.exit() });
  const result = { seed, minutes, happened, samples, ...done, found, checks };
  if (values.json) {
    console.log(JSON.stringify(result, undefined, 2));
  } else {
    console.log(`\n${callTable(done?.counts ?? samples.at(-1)?.counts ?? [])}\n`);
    console.log(
      (done?.errors ?? []).map(({ what, count: times }) => `${String(times).padStart(7)}  ${what}`).join("\n"),
    );
    console.log(`\nhappened: ${JSON.stringify(happened)}\ntransactions: ${JSON.stringify(found?.transactions.said)}`);
    console.log(`\n${checkTable(checks)}`);
  }
  process.exitCode = checks.every(({ ok }) => ok) ? 0 : 1;
}

/** The node, which can be started again on the same ports, with the blocks it had. */
async function startNodeOf(folder) {
  const ports = { grpcPort: await freePort(), restPort: await freePort() };
  const node = {
    folder,
    grpcUrl: `http://127.0.0.1:${ports.grpcPort}`,
    restUrl: `http://127.0.0.1:${ports.restPort}`,
    /** How far its clock is ahead, in milliseconds. */
    aheadMs: 0,
    process: undefined,
    async start() {
      node.process = await startNode(ports, folder, NODE);
      node.process.once("exit", endedByItself);
    },
    async stop(signal) {
      node.process?.off("exit", endedByItself);
      await (node.process && end(node.process, signal));
    },
  };
  const endedByItself = (code) => ending.abort(new Error(`the node has ended by itself, with ${code}`));
  cleanups.push(() => node.stop("SIGKILL"));
  await node.start();
  return node;
}

/** The process under test. */
function startProgram(folder, [grpc, rest], programSeed) {
  const urls = { grpcUrl: grpc.url, restUrl: rest.url };
  const given = { ...urls, transports: TRANSPORTS, mnemonic: DEV_MNEMONIC, folder, seed: programSeed };
  const path = fileURLToPath(new URL("soak/program.mjs", import.meta.url));
  const child = fork(path, [JSON.stringify(given)], { execArgv: ["--expose-gc"] });
  cleanups.push(() => end(child));
  const gone = new AbortController();
  child.once("exit", () => gone.abort(new Error("the process under test has ended")));
  /** Ask for something; undefined where no answer comes. */
  async function ask(message, limitMs) {
    if (gone.signal.aborted) {
      return undefined;
    }
    const signal = AbortSignal.any([gone.signal, ending.signal, AbortSignal.timeout(limitMs)]);
    child.send(message);
    const [answer] = await once(child, "message", { signal }).catch(() => []);
    return answer;
  }
  return {
    child,
    ended: gone.signal,
    hasEnded: () => gone.signal.aborted,
    measure: async () => (await ask({ measure: true }, 60_000))?.sample,
    /** What it got; undefined where it does not end as it should. */
    finish: async () => (await ask({ finish: true }, END_MS))?.done,
    /** How it ends by itself, once nothing is left that keeps it alive. */
    async exit() {
      await Promise.race([gone.signal.aborted || once(child, "exit"), sleep(15_000, undefined, { ref: false })]);
      return child.signalCode ?? child.exitCode ?? "does not come";
    },
  };
}
