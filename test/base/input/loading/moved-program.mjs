// Starts what programs have running, says so, waits until its package was moved away, and uses each: `URLS` as JSON.
import { once } from "node:events";
import { join } from "node:path";
import {
  connectSigner,
  createClient,
  Order_TimeInForce,
  Order_Type,
  openArchive,
  openFileJournal,
  Side,
  serveSigner,
  signerFromMnemonic,
} from "tradewire";
import { parquetSink, syncHistory } from "tradewire/sync";

const { grpcUrl, restUrl, mnemonic, chainId, marketId, folder } = JSON.parse(process.argv[2]);
const signerOf = (index) => signerFromMnemonic(mnemonic, { index });
const client = createClient({ grpc: { url: grpcUrl } });
const others = {
  "grpc-js": createClient({ transport: "grpc-js", grpc: { url: grpcUrl } }),
  rest: createClient({ transport: "rest", rest: { url: restUrl } }),
};
const order = (more = {}) => ({
  case: "orderSubmission",
  value: {
    ...{ marketId, price: "1", size: 1n, side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC },
    ...more,
  },
});
const policy = {
  maxOrdersPerMinute: 1000,
  markets: { [marketId]: { maxSize: "100", maxNotional: "99999999999", maxPosition: "1000" } },
};
const executed = async (sending) => {
  const { outcome } = await sending;
  if (outcome.status !== "executed") throw new Error(JSON.stringify(outcome, (_, value) => String(value)));
};
const first = async (items) => {
  for await (const item of items) return item;
  throw new Error("it ended");
};

// What runs.
const guard = await client.guard({ signer: await signerOf(2), policy });
await client.sendCommand(order(), { signer: guard });
const served = await client.guard({ signer: await signerOf(3), policy });
await serveSigner({ guard: served, chainId, listen: join(folder, "s.sock") });
const remote = await connectSigner(join(folder, "s.sock"));
const renewals = [];
const leases = client.leases({
  signer: await signerOf(4),
  leaseMs: 300_000,
  renewEveryMs: 500,
  onEvent: (event) => renewals.push(event),
});
const { timeInForce: _, ...leased } = order().value;
await leases.submit({ case: "orderSubmission", value: leased });
const journal = await openFileJournal(join(folder, "orders.journal"));
const intents = client.intents({ signer: await signerOf(5), journal });
const plain = await signerOf(6);
const { txHash } = await client.sendCommand(order(), { signer: plain });
for (const other of Object.values(others)) await other.lastBlockHeight();
const exported = client.exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 20 });
const { path } = await client
  .exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 20 })
  .saveTo(`${folder}/archives/`);
const archive = openArchive(path);
const units = [];
const syncing = new AbortController();
const sync = syncHistory(client, {
  ...{ sink: parquetSink(join(folder, "tables")), tables: ["blocks"], follow: true, signal: syncing.signal },
  hooks: { onEvent: (event) => event.kind === "loaded" && units.push(event) },
});
sync.catch(() => undefined);
while (units.length === 0) await new Promise((done) => setTimeout(done, 20));
const follow = client.follow({ table: "blocks" })[Symbol.asyncIterator]();
const followed = follow.next();

process.stdout.write("running\n");
await once(process.stdin, "data");
const loaded = units.length;
const renewed = renewals.filter(({ kind }) => kind === "renewed").length;
const until = async (holds) => {
  while (!holds()) await new Promise((done) => setTimeout(done, 20));
};

const uses = {
  "a command through the guard": () => executed(client.sendCommand(order(), { signer: guard, until: "executed" })),
  "the kill switch": async () => {
    const { isClear, cancellations, problems } = await guard.kill();
    if (!isClear || cancellations.executed === 0) throw new Error(problems.join("; "));
  },
  "a command through the signer process": () =>
    executed(client.sendCommand(order(), { signer: remote, until: "executed" })),
  "the kill switch of the signer process": async () => {
    const { isClear, problems } = await remote.kill();
    if (!isClear) throw new Error(problems.join("; "));
  },
  "a renewal": () => until(() => renewals.filter(({ kind }) => kind === "renewed").length > renewed),
  "another lease": () => leases.submit({ case: "orderSubmission", value: leased }),
  "an intent": async () => {
    const { status } = await intents.submit(order(), { id: "a" });
    if (status !== "executed") throw new Error(status);
  },
  "an outcome": () => client.outcome(txHash, { timeoutMs: 2000 }),
  "a refused command": async () => {
    const refused = client.sendCommand(order({ marketId: "ab".repeat(32) }), { signer: plain, until: "executed" });
    const code = await refused.catch((error) => error.errorCode);
    if (code !== "TW_TRANSACTION_REFUSED") throw new Error(String(code));
  },
  "an unknown outcome": async () => {
    const signal = AbortSignal.timeout(1);
    await client.sendCommand(order(), { signer: plain, until: "executed", timeoutMs: 50, signal }).catch((error) => {
      if (!/^TW_(CANCELED|OUTCOME_UNKNOWN|TIMEOUT|UNREACHABLE)/.test(error.errorCode)) throw error;
    });
  },
  grpc: () => client.lastBlockHeight(),
  "grpc-js": () => others["grpc-js"].lastBlockHeight(),
  rest: () => others.rest.lastBlockHeight(),
  "a stream over rest": () => first(others.rest.transactionResults()),
  "a command over rest": () => executed(others.rest.sendCommand(order(), { signer: plain, until: "executed" })),
  "an export": async () => {
    await first(exported.rows());
    await exported.saveTo(`${folder}/again/`);
  },
  "an archive": () => first(archive.rows()),
  "the next segment of a follow": () => followed,
  "the next segment of a sync": () => until(() => units.length > loaded),
};
/** Uses a feature, again while the machine is too slow for the node. What cannot be loaded fails each time. */
async function result(use) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await use();
      return "works";
    } catch (error) {
      if (attempt === 20 || error.errorCode === "TW_NOT_LOADED")
        return `${error.errorCode ?? error.code}: ${error.message}`;
    }
  }
}

for (const [name, use] of Object.entries(uses)) {
  process.stdout.write(`${JSON.stringify([name, await result(use)])}\n`);
}
process.exit(0);
