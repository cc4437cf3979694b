// tradewire itself, with all checks on.
import { createClient, openArchive, TradingDataService } from "../../dist/src/index.js";
import { atOnce, count } from "./support.mjs";

const REQUEST = { table: "trades", fromBlock: 1, toBlock: 1000 };
const METHODS = TradingDataService.method;

function open({ transport, url }) {
  return createClient({ transport, [transport === "rest" ? "rest" : "grpc"]: { url } });
}

function exporting(client) {
  return client.exportNetworkHistory(REQUEST, { extensions: "optional" });
}

/** An export's bytes, to nowhere. */
export const bytes = (args) => count(exporting(open(args)).bytes());

/** Several exports at once, with one client. */
export async function manyBytes({ exports, ...args }) {
  const client = open(args);
  const all = await Promise.all(Array.from({ length: exports }, () => count(exporting(client).bytes())));
  return all.reduce((sum, each) => sum + each, 0);
}

/** An export into a file, checked and synced; the SHA-256 is that of `saved.sha256`. */
export async function save({ folder, ...args }) {
  const saved = await exporting(open(args)).saveTo(folder, { force: true });
  if (saved.sha256.length !== 64) {
    throw new Error("no SHA-256");
  }
  return saved.bytes;
}

/** The rows of an export as it arrives, in batches. */
export const rows = (args) => countRows(exporting(open(args)).files());

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
export async function calls({ calls, ...args }) {
  const service = open(args).service(TradingDataService);
  return atOnce(calls, () => service.getNetworkParameter({ key: "snapshot.interval.length" }));
}

/** All pages of a listing. */
export async function pages(args) {
  let records = 0;
  for await (const { orders } of open(args).pages(METHODS.listStopOrders, {})) {
    records += orders.edges.length;
  }
  return records;
}

/** All records of a listing, each checked. */
export async function records(args) {
  let records = 0;
  for await (const { cursor, node } of open(args).stopOrders()) {
    records += cursor !== "" && node.stopOrder.id !== "" ? 1 : 0;
  }
  return records;
}
