// What the fragments of the documentation take for granted. It runs where the package is installed, beside a local node.
import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { createClient, Order_TimeInForce, Order_Type, Side, signerFromKeyFile } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { createGrpcTransport, createRestTransport } from "tradewire/transport";

export { readFile } from "node:fs/promises";
export { openArchive, signerFromKeyFile } from "tradewire";
export { TradingDataService } from "tradewire/api";
export { startDevnode } from "tradewire/devnode";
export { fallback, limited, retrying } from "tradewire/transport";

const grpcUrl = "http://127.0.0.1:3007";
const restUrl = "http://127.0.0.1:3008";

export const client = createClient({ grpc: { url: grpcUrl }, rest: { url: restUrl } });
export const members = [
  { name: "grpc", transport: createGrpcTransport({ url: grpcUrl }) },
  { name: "rest", transport: createRestTransport({ url: restUrl }) },
];
/** @type {import("@connectrpc/connect").Interceptor} */
export const mine = (next) => next;
export const signer = await signerFromKeyFile("trader.key");
export const { signal } = new AbortController();

for (const table of /** @type {const} */ (["orders", "trades"])) {
  const exported = client.exportNetworkHistory({ table, fromBlock: 1, toBlock: 1000 });
  await exported.saveTo(`${table}.zip`);
  for await (const file of exported.files()) await writeFile(`${table}.csv`, file.content());
}

/** A market that is open. */
export const marketId = createHash("sha256").update("market:0").digest("hex");
export const id = marketId;
export const marketIds = [marketId];
export const assetId = undefined;

const { trades } = await client.service(TradingDataService).listTrades({ marketIds, pagination: { first: 1 } });
/** A party that trades. */
export const partyId = trades?.edges[0]?.node?.buyer ?? "";
export const party = partyId;

export const order = {
  marketId,
  price: "1",
  size: 10n,
  side: Side.BUY,
  timeInForce: Order_TimeInForce.GTC,
  type: Order_Type.LIMIT,
};
export const command = /** @type {const} */ ({ case: "orderSubmission", value: order });

/** Where a program keeps the place that it has read to.
 * @type {string | undefined}
 */
let kept;
export const load = async () => kept;
/**
 * @param {readonly unknown[]} _rows
 * @param {typeof kept} cursor
 */
export const save = async (_rows, cursor) => {
  kept = cursor;
};
