// Proof of work compared with other libraries, in hashes a second.
//
//   npm run build && node bench/proof-of-work.mjs [ROUNDS [TASKS]]
//
// Every round runs each subject once, in a separate process, on the same block hashes and transaction identifiers,
// which are new in each round. The table shows medians of the rounds. Solvers are measured at difficulty 20 from the
// call to the answer, after a search to warm up. The plain hash functions are too slow for that and hash the messages
// of the first nonces.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const DIFFICULTY = 20;
const HASHED_NONCES = 20_000;

const VEGA = "@vegaprotocol/crypto, 1 core";

/**
 * By name, a factory of the function that does a task. That function returns the number of hashes and, if it solves,
 * the nonce.
 */
const subjects = {
  "tradewire, 1 core": () => tradewire(1),
  "tradewire, 2 cores": () => tradewire(2),
  [VEGA]: async () => {
    const { solve } = await import("@vegaprotocol/crypto/pow");
    return async ({ blockHash, tid }, difficulty) => solved(await solve(difficulty, blockHash, tid));
  },
  "node:crypto, 1 core": async () => hasher((message) => createHash("sha3-256").update(message).digest()),
  "@noble/hashes, 1 core": async () => hasher((await import("@noble/hashes/sha3.js")).sha3_256),
};

async function tradewire(threads) {
  const { solve } = await import("../compiled/src/trade/transaction/proof-of-work.js");
  return async (task, difficulty) => solved(await solve({ ...task, difficulty, threads }));
}

function solved({ nonce }) {
  return { nonce: String(nonce), hashes: Number(nonce) + 1 };
}

function hasher(hash) {
  return async ({ blockHash, tid }) => {
    const message = Buffer.from(`Vega_SPAM_PoW${blockHash}${tid}........`);
    for (let nonce = 0n; nonce < HASHED_NONCES; nonce++) {
      message.writeBigUInt64BE(nonce, message.length - 8);
      hash(message);
    }
    return { hashes: HASHED_NONCES };
  };
}

function taskOf(round, number) {
  const text = (what) => createHash("sha256").update(`${what} ${round} ${number}`).digest("hex");
  return { blockHash: text("block"), tid: text("transaction") };
}

async function measure(name, round, tasks) {
  const search = await subjects[name]();
  for (let number = 0; number < 4; number++) await search(taskOf("warm up", number), DIFFICULTY - 3);
  const done = [];
  const processorTime = process.cpuUsage();
  const start = performance.now();
  for (let number = 0; number < tasks; number++) done.push(await search(taskOf(round, number), DIFFICULTY));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(processorTime);
  return {
    nonces: done.flatMap(({ nonce }) => nonce ?? []),
    rate: done.reduce((sum, { hashes }) => sum + hashes, 0) / seconds,
    cores: (user + system) / 1e6 / seconds,
  };
}

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

async function main(rounds, tasks) {
  const script = fileURLToPath(import.meta.url);
  const runs = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    const answers = new Set();
    for (const name of Object.keys(subjects)) {
      const { stdout } = await promisify(execFile)(process.execPath, [script, "--measure", name, round, tasks]);
      const { nonces, rate, cores } = JSON.parse(stdout);
      runs[name].push({ rate, cores });
      if (nonces.length > 0) answers.add(nonces.join());
    }
    if (answers.size !== 1) throw new Error(`round ${round}: the solvers do not agree on the nonces`);
  }
  console.log(
    `difficulty ${DIFFICULTY}, ${rounds} rounds of ${tasks} tasks, Node ${process.version}, ${availableParallelism()} cores\n`,
  );
  // The column of cores shows when other load on the processors reduced a rate.
  console.log("| subject | hashes/s, median | lowest | highest | to @vegaprotocol/crypto | cores it got |");
  console.log("|---|---:|---:|---:|---:|---:|");
  const rateOf = (name) => median(runs[name].map(({ rate }) => rate));
  for (const [name, of] of Object.entries(runs)) {
    const rates = of.map(({ rate }) => rate);
    const figures = [rateOf(name), Math.min(...rates), Math.max(...rates)].map((rate) =>
      Math.round(rate).toLocaleString("en"),
    );
    const cores = median(of.map(({ cores }) => cores)).toFixed(2);
    console.log(`| ${name} | ${figures.join(" | ")} | ${(rateOf(name) / rateOf(VEGA)).toFixed(2)} | ${cores} |`);
  }
}

const [first, ...rest] = process.argv.slice(2);
if (first === "--measure") console.log(JSON.stringify(await measure(rest[0], rest[1], Number(rest[2]))));
else await main(Number(first ?? 5), Number(rest[0] ?? 12));
