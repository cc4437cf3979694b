// The process under test of test/endurance/soak.mjs, which forks it: everything at once, over all transports, for a long time. It tells
// its parent what it measures, and at the end what came.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, signerFromMnemonic } from "tradewire";
import { createJumpingClock } from "./clock.mjs";
import { followTable, observeEvents, sendTransactions, syncTables } from "./lasting.mjs";
import { measure } from "./measure.mjs";
import { createRandom } from "./random.mjs";
import { kinds } from "./short.mjs";
import { createTracker } from "./tracker.mjs";

const { grpcUrl, restUrl, transports, mnemonic, folder, seed } = JSON.parse(process.argv[2]);

const tracker = createTracker();
const told = (check) => (reason) => tracker.problem(check, String(reason?.message ?? reason), reason?.stack);
process.on("unhandledRejection", told("no rejection is unhandled"));
process.on("uncaughtException", told("no exception is uncaught"));
process.on("warning", told("nothing warns"));
const setClock = createJumpingClock();
process.on("message", async (message) => {
  if (message.clock !== undefined) {
    setClock(message.clock);
  } else if (message.measure) {
    process.send({ sample: { ...(await measure()), counts: tracker.counts() } });
  } else {
    await finish();
  }
});
const random = createRandom(seed);
const empty = await measure();

const shared = {
  timeouts: { connectMs: 3000, callMs: 10_000, idleMs: 15_000 },
  retry: { tries: 3, baseMs: 50, maxMs: 2000 },
  fallback: { pauseMs: 1000, maxPauseMs: 5000 },
};
const grpc = { url: grpcUrl, keepaliveMs: 5000 };
const rest = { url: restUrl };
const hooks = {
  onRetry({ method, error }) {
    if (/\/Submit/.test(method)) {
      tracker.problem("nothing is submitted twice", `${method} is tried again after: ${error.summary}`, error.stack);
    }
  },
};
const configs = Object.fromEntries(transports.map((transport) => [transport, { ...shared, transport, grpc, rest }]));
const clients = Object.fromEntries(
  transports.map((transport) => [transport, createClient(configs[transport], { hooks })]),
);
const digests = new Map();
const worlds = await Promise.all(
  transports.map(async (transport, index) => {
    const signer = await signerFromMnemonic(mnemonic, { index: index + 1 });
    const [client, config] = [clients[transport], configs[transport]];
    const own = { random: random.fork(), transport, client, config, signer, publicKey: signer.publicKey };
    return { tracker, folder, digests, ...own };
  }),
);

/** Make calls of a kind, one after the other. */
async function repeat(world, { pauseMs, make }) {
  while (!tracker.isOver) {
    await make(world);
    await sleep(world.random.between(0, 2 * pauseMs));
  }
}

const [overGrpc, , overRest] = worlds;
const follows = [followTable(overGrpc, "trades"), followTable(overRest, "orders")];
const syncing = syncTables({ tracker, folder, clients, random: random.fork() });
const works = Promise.all([
  ...worlds.flatMap((world) =>
    Object.values(kinds).map((kind) => repeat({ ...world, random: world.random.fork() }, kind)),
  ),
  ...worlds.flatMap((world) => [observeEvents(world), sendTransactions(world)]),
  ...follows.map(({ run }) => run()),
  syncing.run(),
]);

/** End all, catch up undisturbed, close, and tell what came. */
async function finish() {
  tracker.stop();
  await Promise.race([works, sleep(30_000, undefined, { ref: false })]);
  for (const { kind, transport, isStuck } of tracker.running) {
    if (!isStuck) {
      tracker.problem("no call is stuck", `${kind} over ${transport} does not end when it is aborted`);
    }
  }
  const counts = tracker.counts();
  tracker.goOn();
  const segments = await clients.grpc.listSegments();
  const toBlock = segments.at(-1).toHeight;
  const synced = await syncing.end(toBlock);
  const followed = await Promise.all(follows.map(({ end }) => end(toBlock)));
  await Promise.all(Object.values(clients).map((client) => client.close()));
  tracker.stop();
  tracker.close();
  await sleep(2000);
  const closed = await measure();
  const left = { counts, errors: tracker.errors(), problems: tracker.problems(), empty, closed };
  process.send({ done: { ...left, toBlock: String(toBlock), synced, followed } }, () => process.disconnect());
}
