// tradewire itself, with all checks on: the build of the checkout that is the current folder.
import { join } from "node:path";
import { count, KEY, keep, makeCalls } from "./support.mjs";

const build = join(process.cwd(), "dist/src");
const { createClient, openArchive } = await import(join(build, "index.js"));
const { TradingDataService } = await import(join(build, "client/api/index.js"));

const REQUEST = { table: "trades", fromBlock: 1, toBlock: 1000 };

/** Where nobody listens. */
const NOWHERE = "http://127.0.0.1:9";

function open({ transport, url }, more = {}) {
  return createClient({ transport, [transport === "rest" ? "rest" : "grpc"]: { url }, ...more });
}

function exporting(client) {
  return client.exportNetworkHistory(REQUEST, { extensions: "optional" });
}

/** Have what a first call loads be loaded before, as the import of a peer does, by one that nobody takes. */
async function ready(args, run) {
  const refused = open({ ...args, url: NOWHERE }, { retry: { tries: 1 } });
  await count(exporting(refused).bytes()).catch(() => undefined);
  return () => run(open(args));
}

/** An export's bytes, to nowhere, so many times. */
export const bytes = ({ times = 1, ...args }) =>
  ready(args, async (client) => {
    let bytes = 0;
    for (let time = 0; time < times; time += 1) {
      bytes += await count(exporting(client).bytes());
    }
    return bytes;
  });

/** Several exports at once, with one client. */
export const manyBytes = ({ exports, ...args }) =>
  ready(args, async (client) => {
    const all = await Promise.all(Array.from({ length: exports }, () => count(exporting(client).bytes())));
    return all.reduce((sum, each) => sum + each, 0);
  });

/** An export into a file, checked and synced, with its SHA-256. */
export const save = ({ folder, ...args }) =>
  ready(args, async (client) => {
    const { bytes, sha256 } = await exporting(client).saveTo(folder, { force: true });
    return sha256.length === 64 ? bytes : 0;
  });

/** The rows of an export as it arrives, in batches. */
export const rows = (args) => ready(args, (client) => countRows(exporting(client).files()));

/** The rows of an archive that is on the disk. */
export const archiveRows = ({ file }) => countRows(openArchive(file).files());

async function countRows(files) {
  let rows = 0;
  for await (const file of files) {
    for await (const batch of file.batches()) {
      rows += batch.rows.length;
    }
  }
  return rows;
}

/** Small calls. */
export const calls = (args) =>
  ready(args, (client) => {
    const service = client.service(TradingDataService);
    return makeCalls(args, () => service.getNetworkParameter(KEY));
  });

/** All pages of a listing. */
export const pages = (args) =>
  ready(args, async (client) => {
    let records = 0;
    for await (const { orders } of client.pages(TradingDataService.method.listStopOrders, {})) {
      records += orders.edges.length;
    }
    return records;
  });

/** All records of a listing, each checked. */
export const records = (args) =>
  ready(args, async (client) => {
    let records = 0;
    for await (const { cursor, node } of client.records(TradingDataService.method.listStopOrders)) {
      records += cursor !== "" && node.stopOrder.id !== "" ? 1 : 0;
    }
    return records;
  });

/** Clients that have made a call and are idle. */
export const clients = ({ amount, ...args }) =>
  ready(args, () =>
    keep(amount, async () => {
      const client = open(args);
      await client.service(TradingDataService).getNetworkParameter(KEY);
      return client;
    }),
  );

/** Streams of one client that have received a message and stay open. */
export const streams = ({ amount, ...args }) =>
  ready(args, (client) => {
    const service = client.service(TradingDataService);
    return keep(amount, async () => {
      const stream = service.observeMarketsData({})[Symbol.asyncIterator]();
      await stream.next();
      return stream;
    });
  });
