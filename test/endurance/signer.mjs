// What does a signer process cost, beside a key in memory, and does it keep its policy?
//
//   npm run build && node test/endurance/signer.mjs [--submissions N] [--signatures N]
//   npm run build && node test/endurance/signer.mjs --parts N
//   npm run build && node test/endurance/signer.mjs --attempts N [--seed N] [--parallel N] [--restarts N]
//
// A local node and `tradewire signer` run in processes of their own. Submissions alternate between a key in memory, a key
// file and the signer process, so that all see the same node and machine. Then signatures and shares alone are measured,
// for which nothing is sent.
//
// With --parts, what a submission is made of is measured alone, in one process: a signature with a key in memory, the same
// behind a guard that counts all signed before, and an entry of a journal in a file, until the disk has it.
//
// With --attempts, several programs make random commands at once, within the policy and beyond it, and an observer reads from
// the node what became of them. Between them, the signer is killed and started again, its clock jumps by up to an hour, and at the
// end comes the kill switch, after which the programs go on. The exit code is 1 if anything was beyond the policy.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  connectSigner,
  createClient,
  createKeyFile,
  createTransaction,
  openFileJournal,
  signerFromKeyFile,
  signerFromSeed,
  withSharedCount,
} from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { command, end, startNode } from "./node-process.mjs";
import { createAttempts, createRandom } from "./policy-attempts.mjs";
import { observePolicy } from "./policy-observer.mjs";

const { values } = parseArgs({
  options: {
    submissions: { type: "string", default: "300" },
    signatures: { type: "string", default: "3000" },
    parts: { type: "string" },
    attempts: { type: "string" },
    seed: { type: "string", default: "1" },
    parallel: { type: "string", default: "4" },
    restarts: { type: "string", default: "3" },
  },
});

/** Two open markets of the local node that the policy names, and one that it does not; the decimals of their prices. */
const MARKETS = [
  { id: "6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93", decimals: 1 },
  { id: "2b67c09c1d3e2dd8bcfb9fac2f7b428fa5b3e191fe84652ef882678bd13434c7", decimals: 4 },
];
const OTHER = "05b6b2680a174d812ffd6d69fd4b5dbf7a927621390b029b24c885907b8abf42";
const LIMITS = { maxSize: 10, maxPosition: 25, maxDistance: 0.02, notional: 5, ordersPerMinute: 900 };
/** A price near which the local node's markets trade, in whole numbers. */
const PRICE = 2_680_000;

const policyFor = (fuzzed) => ({
  mode: "active",
  maxOrdersPerMinute: fuzzed ? LIMITS.ordersPerMinute : 1_000_000,
  markets: Object.fromEntries(
    MARKETS.map(({ id, decimals }) => [
      id,
      fuzzed
        ? {
            maxSize: String(LIMITS.maxSize),
            maxPosition: String(LIMITS.maxPosition),
            maxNotional: String((LIMITS.notional * PRICE) / 10 ** decimals),
            maxDistance: String(LIMITS.maxDistance),
          }
        : { maxSize: "100", maxNotional: "100000000", maxPosition: "1000000" },
    ]),
  ),
});

const folder = await mkdtemp(join(tmpdir(), "tradewire-signer-"));
const ports = { grpcPort: await freePort(), restPort: await freePort() };
const url = `http://127.0.0.1:${ports.grpcPort}`;
const fuzzed = values.attempts !== undefined;
const nodeArgs = [
  "--segments",
  "1",
  "--blocks-per-segment",
  "10",
  // The node ends a stream of events that is read too slowly, and the observer is a part of this process.
  // On deployed networks, the order of a stop order has an identifier that no other order has.
  ...(fuzzed
    ? ["--block-time", "100ms", "--activity", "2", "--profile", "deployed"]
    : ["--block-time", "50ms", "--activity", "0"]),
];
const node = await startNode(ports, join(folder, "node"), nodeArgs);

/** Lets the clock of a process jump by up to an hour, ahead or back, at each SIGUSR2. */
const JUMPING_CLOCK = `data:text/javascript,${encodeURIComponent(`
  const now = Date.now;
  let shift = 0;
  Date.now = () => now() + shift;
  process.on("SIGUSR2", () => { shift = Math.round((Math.random() - 0.5) * 7_200_000); });
`)}`;

/** Starts the signer process. */
async function startSigner(keyFile) {
  const policy = join(folder, "policy.json");
  await writeFile(policy, JSON.stringify(policyFor(fuzzed)), { mode: 0o600 });
  const socket = join(folder, "s.sock");
  const args = ["signer", "--policy", policy, "--key-file", keyFile, "--socket", socket, "--grpc-url", url, "--quiet"];
  args.push(...(fuzzed ? ["--profile", "deployed"] : []));
  const signing = spawn(process.execPath, ["--import", JUMPING_CLOCK, command, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(signing.stdout);
  await Promise.race([
    once(lines, "line"),
    once(signing, "exit").then(([code]) => {
      throw new Error(`the signer did not start: exit ${code}`);
    }),
  ]);
  return { signing, socket };
}

/** The percentiles of times, in milliseconds. */
function percentiles(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(3);
  return { p50: at(0.5), p99: at(0.99) };
}

async function timed(times, act) {
  const startedAt = performance.now();
  await act();
  times.push(performance.now() - startedAt);
}

async function measure(client, remote) {
  const value = { marketId: MARKETS[0].id, size: 1n, side: 1, timeInForce: 1, type: 1, price: String(PRICE) };
  const order = { case: "orderSubmission", value };
  const memory = withSharedCount(signerFromSeed("5e".repeat(32)));
  const otherKey = join(folder, "other-key");
  await createKeyFile(otherKey);
  const ways = [
    { name: "key in memory", signer: memory, times: [] },
    { name: "key file", signer: withSharedCount(await signerFromKeyFile(otherKey)), times: [] },
    { name: "signer process", signer: remote, times: [] },
  ];
  for (let index = 0; index < Number(values.submissions) + 20; index += 1) {
    for (const { signer, times } of index % 2 === 0 ? ways : ways.toReversed()) {
      await timed(index < 20 ? [] : times, () => client.sendCommand(order, { signer }));
    }
  }
  for (const { name, times } of ways) {
    console.log(`submission, ${name}:`, percentiles(times), "ms");
  }
  const { height, hash } = await client.lastBlockHeight();
  const { inputData } = await client.signCommand(order, { signer: memory });
  const alone = ways.map((way) => ({ ...way, shares: [], signatures: [] }));
  for (let index = 0; index < Number(values.signatures); index += 1) {
    for (const { signer, shares, signatures } of alone) {
      let share;
      await timed(shares, async () => {
        share = await signer.takeShare({ height, hash });
      });
      share?.giveBack();
      await timed(signatures, () => signer.sign(inputData));
    }
  }
  for (const { name, shares, signatures } of alone) {
    console.log(`share, ${name}:`, percentiles(shares), "ms");
    console.log(`signature, ${name}:`, percentiles(signatures), "ms");
  }
  return true;
}

/** Measures a signature, the check before it and the journal's entry, each alone. */
async function measureParts(client, count) {
  const signer = signerFromSeed("5e".repeat(32));
  let guard;
  const journal = await openFileJournal(join(folder, "orders.journal"));
  const { chainId, height, hash } = await client.lastBlockHeight();
  const block = { chainId, height, hash, difficulty: 1, hashFunction: "sha3_24_rounds" };
  const value = { marketId: MARKETS[0].id, size: 1n, side: 1, timeInForce: 1, type: 1, price: String(PRICE) };
  const [messages, bare, guarded, entries] = [[], [], [], []];
  const taking = { publicKey: signer.publicKey, sign: (message) => messages.push(message) && signer.sign(message) };
  for (let index = 0; index < count + 20; index += 1) {
    await createTransaction({ case: "orderSubmission", value }, { signer: taking, block });
  }
  for (const [index, message] of messages.entries()) {
    if (index % 200 === 0) {
      guard?.close(); // It asks the node for each order that it signed and has not seen, and nothing is sent here.
      guard = await client.guard({ signer, policy: policyFor(false) });
    }
    const into = (times) => (index < 20 ? [] : times);
    const entry = JSON.stringify({ message: Buffer.from(message).toString("base64") });
    await timed(into(bare), () => signer.sign(message));
    await timed(into(guarded), () => guard.sign(message));
    await timed(into(entries), () => journal.append(`order-${index}`, entry, { position: 0, isLast: false }));
  }
  guard?.close();
  await journal[Symbol.asyncDispose]();
  console.log(`signature, key in memory, ${bare.length}:`, percentiles(bare), "ms");
  console.log(`signature, behind a guard, ${guarded.length}:`, percentiles(guarded), "ms");
  console.log(`entry of a journal in a file, ${entries.length}:`, percentiles(entries), "ms");
  return true;
}

/** Makes random commands, and compares what became of them with the policy. */
async function fuzz(remote, keyFile) {
  const limit = {
    maxSize: BigInt(LIMITS.maxSize),
    maxPosition: BigInt(LIMITS.maxPosition),
    maxNotional: LIMITS.notional * PRICE,
    maxDistance: LIMITS.maxDistance,
  };
  const config = { transport: "grpc", grpc: { url }, profile: "deployed" };
  const observing = createClient(config);
  const limits = Object.fromEntries(MARKETS.map(({ id }) => [id, limit]));
  const observer = observePolicy(observing, remote.publicKey, limits, LIMITS.ordersPerMinute);
  await observer.ready;
  const random = createRandom(Number(values.seed));
  const results = new Map();
  const count = (what) => results.set(what, (results.get(what) ?? 0) + 1);
  /** Each program has connections of its own to the signer. */
  const programs = await Promise.all(
    Array.from({ length: Number(values.parallel) }, async () => ({
      client: createClient(config),
      signer: await connectSigner(socket),
    })),
  );
  const attempt = () =>
    createAttempts(random, {
      markets: MARKETS.map(({ id }) => ({ id, mark: observer.mark(id) ?? PRICE, maxSize: LIMITS.maxSize })),
      otherMarket: OTHER,
      orders: new Map(MARKETS.map(({ id }) => [id, observer.orders(id)])),
      stopOrders: new Map(MARKETS.map(({ id }) => [id, observer.stopOrders(id)])),
      assetId: "ab".repeat(32),
      chainTime: BigInt(Date.now()) * 1_000_000n,
      side: 1 + (Math.floor(performance.now() / 20_000) % 2), // Long for a while, then short.
    })();
  /** Lets all programs make attempts at once, each until the signer is killed. Returns how many were not made. */
  const run = async (attempts, phase) => {
    let left = attempts;
    const program = async ({ client: sending, signer }) => {
      let hasSigner = true;
      while (hasSigner && left > 0 && observer.isRunning()) {
        left -= 1;
        const command = attempt();
        try {
          await sending.sendCommand(command, { signer });
          count(`${phase}${command.case}: accepted`);
        } catch (reason) {
          count(`${phase}${command.case}: ${reason.name}${reason.rule === undefined ? "" : ` ${reason.rule}`}`);
          hasSigner = reason.name !== "ConnectionError";
          if (hasSigner && !["PolicyError", "CommandError", "TransactionError"].includes(reason.name)) {
            console.error(String(reason.message).slice(0, 200).replaceAll("\n", " "));
          }
        }
      }
    };
    await Promise.all(programs.map(program));
    return left;
  };
  const blocksPass = async (blocks) => {
    const last = observer.height();
    while (observer.height() < last + blocks && observer.isRunning()) {
      await sleep(50);
    }
  };

  let left = Number(values.attempts);
  for (let restarts = Number(values.restarts); left > 0 && observer.isRunning(); restarts -= 1) {
    const jumps = setInterval(() => signing.kill("SIGUSR2"), 5000);
    const running = run(left, "");
    if (restarts > 0) {
      await Promise.race([running, sleep(20_000 + random() * 20_000)]);
      await end(signing); // In the middle of requests.
    }
    left = await running;
    clearInterval(jumps);
    if (restarts > 0) {
      await blocksPass(110n); // What was signed before counts only once the node lists it.
      ({ signing } = await startSigner(keyFile));
      observer.restarted();
    }
  }
  const [{ signer: first }] = programs;
  await first.setMode("reducing");
  const isLoosened = await first.setMode("active").then(
    () => true,
    () => false,
  );
  const report = await first.kill();
  await blocksPass(5n);
  observer.killed();
  await run(300, "killed, ");
  await blocksPass(30n);
  await observer.stop();
  await Promise.all(programs.map(({ client: sending, signer }) => Promise.all([sending.close(), signer.close()])));
  await observing.close();
  for (const [what, times] of [...results].toSorted()) {
    console.log(String(times).padStart(6), what);
  }
  const { largest, ...counts } = observer.counts;
  console.log(counts, "largest exposure:", Object.values(largest).map(String), "of", LIMITS.maxPosition);
  console.log(
    "kill switch:",
    report.isClear ? "clear" : "not clear",
    isLoosened ? "and a program set a mode back" : "",
  );
  console.log(`${observer.violations.length} beyond the policy`);
  for (const violation of observer.violations.slice(0, 20)) {
    console.log(violation);
  }
  return observer.violations.length === 0 && report.isClear && !isLoosened;
}

const keyFile = join(folder, "key");
await createKeyFile(keyFile);
let { signing, socket } = await startSigner(keyFile);
try {
  const client = createClient({ transport: "grpc", grpc: { url } });
  const remote = await connectSigner(socket);
  const isRight = await (fuzzed
    ? fuzz(remote, keyFile)
    : values.parts === undefined
      ? measure(client, remote)
      : measureParts(client, Number(values.parts)));
  process.exitCode = isRight ? 0 : 1;
  await remote.close();
  await client.close();
} finally {
  await end(signing, "SIGTERM");
  await end(node);
  await rm(folder, { recursive: true });
}
