// What a long life got, beside what the node has: rows and its exports, transactions and its blocks, events among themselves.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "tradewire";
import { compare } from "../same-rows.mjs";
import { checkEvents } from "./events-check.mjs";
import { digestOf } from "./exports.mjs";
import { checkTransactions } from "./transactions-check.mjs";

/** Compare what came with what the node has. The node is stopped. */
export async function compareWithNode(folder, node, { toBlock, synced, followed }, log) {
  const differ = await compare(`duckdb:${synced.path}`, node.grpcUrl, BigInt(toBlock), log);
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const [{ fromHeight }] = await client.listSegments();
  const follows = [];
  for (const { table, digest } of followed) {
    const range = { fromBlock: fromHeight, toBlock: BigInt(toBlock) };
    const exported = await digestOf(client.exportNetworkHistory({ table, ...range }).rows());
    follows.push({ table, digest, exported });
  }
  await client.close();
  await node.stop("SIGTERM");
  const names = await readdir(folder);
  const logs = (kind) => names.filter((name) => name.startsWith(`${kind}-`)).map((name) => join(folder, name));
  const events = await checkEvents(logs("events"));
  const transactions = await checkTransactions(logs("transactions"), node.folder);
  return { differ, follows, events, transactions };
}
