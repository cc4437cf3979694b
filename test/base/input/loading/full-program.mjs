// Uses each feature for the first time while the process can open no file, and again when it can: `URLS` as JSON.
import { closeSync, openSync } from "node:fs";
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
  signerFromSeed,
} from "tradewire";

const { grpcUrl, restUrl, mnemonic, chainId, marketId, folder } = JSON.parse(process.argv[2]);
const descriptors = [];
const fill = () => {
  try {
    for (;;) descriptors.push(openSync("/dev/null"));
  } catch {
    // There are no more.
  }
};
const free = () => {
  for (const descriptor of descriptors.splice(0)) closeSync(descriptor);
};
const order = {
  case: "orderSubmission",
  value: { marketId, price: "1", size: 1n, side: Side.BUY, type: Order_Type.LIMIT, timeInForce: Order_TimeInForce.GTC },
};
const policy = {
  maxOrdersPerMinute: 1000,
  markets: { [marketId]: { maxSize: "100", maxNotional: "99999999999", maxPosition: "1000" } },
};
const first = async (items) => {
  for await (const item of items) return item;
};

async function report(name, use) {
  const results = [];
  fill();
  for (let attempt = 0; attempt < 2; attempt += 1) {
    results.push(
      await use(attempt).then(
        () => "works",
        (error) => error.errorCode ?? `no code: ${error.message}`,
      ),
    );
    free();
  }
  process.stdout.write(`${JSON.stringify([name, ...results])}\n`);
}

const transports = {
  grpc: { transport: "grpc", grpc: { url: grpcUrl } },
  "grpc-js": { transport: "grpc-js", grpc: { url: grpcUrl } },
  rest: { transport: "rest", rest: { url: restUrl } },
};
for (const [name, config] of Object.entries(transports)) {
  fill();
  const client = createClient(config);
  await report(name, () => client.lastBlockHeight());
  await client.close();
}
const client = createClient(transports.grpc);
await client.lastBlockHeight();
await report("a mnemonic", () => signerFromMnemonic(mnemonic, { index: 2 }));
fill();
const seeded = signerFromSeed("01".repeat(32));
await report("a signature", () => seeded.sign(new Uint8Array(1)));
const signer = await signerFromMnemonic(mnemonic, { index: 2 });
await report("a command", () => client.signCommand(order, { signer }));
await report("an outcome", () => client.sendCommand(order, { signer, until: "executed" }));
await report("a guard", () => client.guard({ signer, policy }));
const guard = await client.guard({ signer, policy });
await report("a signer process", () => serveSigner({ guard, chainId, listen: join(folder, "s.sock") }));
await report("a connection to a signer process", () => connectSigner(join(folder, "s.sock")));
const journal = await openFileJournal(join(folder, "orders.journal"));
fill();
const intents = client.intents({ signer, journal });
await report("an intent", () => intents.submit(order, { id: "a" }));
fill();
const leases = client.leases({ signer: await signerFromMnemonic(mnemonic, { index: 3 }).catch(() => signer) });
const { timeInForce: _, ...leased } = order.value;
await report("a lease", () => leases.submit({ case: "orderSubmission", value: leased }));
leases.close();
await report("events", () => first(client.events()));
await report("a book", () => first(client.book(marketId)));
await report("an account", () => first(client.account(signer.publicKey)));
const request = { table: "blocks", fromBlock: 1, toBlock: 20 };
await report("an export", () => first(client.exportNetworkHistory(request).rows()));
await report("a JSZip", () => client.exportNetworkHistory(request).toZip());
const { path } = await client.exportNetworkHistory(request).saveTo(`${folder}/archives/`);
await report("parts", (attempt) =>
  client.exportNetworkHistory(request).saveTo(`${folder}/${attempt}/`, { parallel: 2 }),
);
await report("an archive", () => first(openArchive(path).rows()));
process.exit(0);
