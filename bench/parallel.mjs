// How much less time does an export take whose parts are fetched side by side, where a node makes each on one core?
//
//   npm run build && node bench/parallel.mjs [SEGMENTS] [PARALLEL] [ROUNDS] [COST ...]
//
// The node is a process of its own that makes each export in a worker thread of its own: a worker writes the archive of
// the segments that are asked for, and spends besides a COST on each MiB of CSV: 400 is 400 ms of CPU time, 400w as long
// a wait, as if the node had cores of its own. One stream and parts beside each other are saved in turn, by a client
// process each, and the ratio of their times is the median over the rounds. Where node and client share their cores, the
// client's CPU time is lost to the node, so both are shown.
import { execFile, fork } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { on, once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http2";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const MIB = 1024 * 1024;
const BLOCKS = 1000;
const SEGMENT_BYTES = 2 * MIB;
const PIECE = 64 * 1024;
const CHAIN = { chainId: "bench-1", table: "trades" };
const [role, ...args] = process.argv.slice(2);

if (!isMainThread) {
  await work();
} else if (role === "node") {
  await serve(Number(args[0]), args[1], Number(args[2]));
} else if (role === "client") {
  await save(...args);
} else {
  const [segments = 16, parallel = 2, rounds = 3] = process.argv.slice(2, 5).map(Number);
  const costs = process.argv.slice(5);
  await bench(segments, parallel, rounds, costs.length > 0 ? costs : ["100", "400", "100w", "400w"]);
}

async function bench(segments, parallel, rounds, costs) {
  console.log(
    `${segments} segments of ${SEGMENT_BYTES / MIB} MiB of CSV, ${availableParallelism()} cores for node and client`,
  );
  console.log(
    `| cost | node, CPU ms/MiB | one stream, s | ${parallel} at once, s | ratio | rounds | client, CPU ms/MiB |\n|---|---|---|---|---|---|---|`,
  );
  for (const cost of costs) {
    const node = fork(fileURLToPath(import.meta.url), ["node", ...[segments, cost, parallel].map(String)]);
    const [url] = await once(node, "message");
    const cpuMs = async () => {
      node.send("cpu");
      const [{ user, system }] = await once(node, "message");
      return (user + system) / 1000;
    };
    const runs = [];
    await client(url, segments, parallel); // The first one warms the node up.
    for (let round = 0; round < rounds; round += 1) {
      // The order changes, so that what else the machine does hits both.
      const order = round % 2 === 0 ? [1, parallel] : [parallel, 1];
      const found = new Map();
      for (const count of order) {
        const before = await cpuMs();
        const run = await client(url, segments, count);
        found.set(count, { ...run, nodeMs: (await cpuMs()) - before });
      }
      runs.push({ one: found.get(1), many: found.get(parallel) });
    }
    node.kill();
    if (runs.some(({ one, many }) => one.rows !== many.rows)) {
      throw new Error("the archives differ");
    }
    const ratios = runs.map(({ one, many }) => one.seconds / many.seconds);
    const mib = (segments * SEGMENT_BYTES) / MIB;
    const ofBoth = (of) =>
      ["one", "many"].map((way) => (median(runs.map((run) => of(run[way]))) / mib).toFixed(0)).join(" and ");
    const cells = [
      cost,
      ofBoth((run) => run.nodeMs),
      median(runs.map(({ one }) => one.seconds)).toFixed(2),
      median(runs.map(({ many }) => many.seconds)).toFixed(2),
      median(ratios).toFixed(2),
      ratios.map((ratio) => ratio.toFixed(2)).join(" "),
      ofBoth((run) => run.cpuMs),
    ];
    console.log(`| ${cells.join(" | ")} |`);
  }
}

async function client(url, segments, parallel) {
  const args = [fileURLToPath(import.meta.url), "client", url, String(segments), String(parallel)];
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
}

async function save(url, segments, parallel) {
  const folder = await mkdtemp(join(tmpdir(), "tradewire-parallel-"));
  const { createClient } = await import("../dist/src/index.js");
  const own = createClient({ grpc: { url } });
  try {
    await own.listSegments();
    const request = { table: "trades", fromBlock: 1, toBlock: Number(segments) * BLOCKS };
    const exported = own.exportNetworkHistory(request, { extensions: "optional" });
    const [start, cpu] = [performance.now(), process.cpuUsage()];
    const { entries } = await exported.saveTo(`${folder}/`, { parallel: Number(parallel) });
    const seconds = (performance.now() - start) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    const rows = entries.map(({ name, size, crc32 }) => `${name} ${size} ${crc32}`).join();
    console.log(JSON.stringify({ seconds, cpuMs: (user + system) / 1000, rows }));
  } finally {
    await own.close();
    await rm(folder, { recursive: true });
  }
}

async function serve(segments, cost, parallel) {
  const { connectNodeAdapter } = await import("@connectrpc/connect-node");
  const { csvName } = await import("../dist/src/index.js");
  const { TradingDataService } = await import("../dist/src/client/api/index.js");
  const ms = Number.parseFloat(cost);
  const waitMs = cost.endsWith("w") ? (ms * PIECE) / MIB : 0;
  const shared = { csv: rowsOf(SEGMENT_BYTES), rounds: waitMs > 0 ? 0 : roundsFor(ms), waitMs };
  const listed = Array.from({ length: segments }, (_, index) => ({
    fromHeight: BigInt(index * BLOCKS + 1),
    toHeight: BigInt((index + 1) * BLOCKS),
    historySegmentId: `segment-${index}`,
    previousHistorySegmentId: index === 0 ? "" : `segment-${index - 1}`,
    databaseVersion: 116n,
    chainId: CHAIN.chainId,
  }));
  const idle = await Promise.all(Array.from({ length: parallel + 1 }, () => startWorker(shared)));
  const routes = (router) =>
    router.service(TradingDataService, {
      listAllNetworkHistorySegments: () => ({ segments: listed }),
      async *exportNetworkHistory({ fromBlock, toBlock }) {
        const worker = idle.pop() ?? (await startWorker(shared));
        worker.postMessage({
          name: csvName({ ...CHAIN, fromBlock, toBlock }),
          count: Number(toBlock - fromBlock + 1n) / BLOCKS,
        });
        for await (const [data] of on(worker, "message")) {
          if (data === null) {
            break;
          }
          yield { contentType: "application/zip", data };
        }
        idle.push(worker);
      },
    });
  const server = createServer(connectNodeAdapter({ routes }));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.on("message", () => process.send(process.cpuUsage()));
  process.send(`http://127.0.0.1:${server.address().port}`);
}

async function startWorker(shared) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: shared });
  await once(worker, "message");
  return worker;
}

/** Make archives in a worker, one after the other. */
async function work() {
  const { writeArchiveFiles } = await import("../compiled/src/data/zip/write-zip.js");
  const { csv, rounds, waitMs } = workerData;
  const never = new Int32Array(new SharedArrayBuffer(4));
  async function* content(count) {
    yield Buffer.from("id,price,size,buyer,seller\n");
    for (let segment = 0; segment < count; segment += 1) {
      for (let at = 0; at < csv.length; at += PIECE) {
        const piece = csv.subarray(at, at + PIECE);
        spend(piece, rounds);
        Atomics.wait(never, 0, 0, waitMs);
        yield piece;
      }
    }
  }
  parentPort.postMessage("ready");
  for await (const [{ name, count }] of on(parentPort, "message")) {
    for await (const bytes of writeArchiveFiles([{ name, content: () => content(count) }])) {
      parentPort.postMessage(bytes);
    }
    parentPort.postMessage(null);
  }
}

/** Spend CPU time on a piece of CSV. */
function spend(piece, rounds) {
  for (let round = 0; round < rounds; round += 1) {
    createHash("sha256").update(piece).digest();
  }
}

/** How often each piece is worked on for a CPU time, as measured on this machine. */
function roundsFor(msPerMib) {
  const piece = randomBytes(PIECE);
  spend(piece, 200);
  const cpu = process.cpuUsage();
  spend(piece, 2000);
  const { user } = process.cpuUsage(cpu);
  return Math.max(1, Math.round(msPerMib / ((user / 1000 / 2000) * (MIB / PIECE))));
}

/** Rows such as those of trades: identifiers that do not deflate, and numbers that do. */
function rowsOf(bytes) {
  const parties = Array.from({ length: 50 }, () => randomBytes(32).toString("hex"));
  const lines = [];
  for (let size = 0; size < bytes; ) {
    const [buyer, seller] = [0, 0].map(() => parties[Math.floor(Math.random() * parties.length)]);
    const numbers = [10_000 + Math.floor(Math.random() * 500), Math.floor(Math.random() * 100)];
    lines.push(`\\x${randomBytes(32).toString("hex")},${numbers.join()},\\x${buyer},\\x${seller}\n`);
    size += lines.at(-1).length;
  }
  return Buffer.from(lines.join(""));
}

function median(values) {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
}
