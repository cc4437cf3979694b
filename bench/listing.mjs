// Listing all stop orders of a local node over each transport, with large and with small pages. Every way must give the
// same stop orders in the same order. Run after `npm run build`: node bench/listing.mjs
import { createHash } from "node:crypto";
import { startDevnode } from "../dist/src/devnode/index.js";
import { createClient } from "../dist/src/index.js";

const started = performance.now();
const node = await startDevnode();
console.log(`the local node started in ${Math.round(performance.now() - started)} ms`);

const grpc = { url: node.grpcUrl };
const rest = { url: node.restUrl };
const configs = {
  grpc: { transport: "grpc", grpc },
  "grpc with JSON": { transport: "grpc", grpc: { ...grpc, codec: "json" } },
  "grpc-js": { transport: "grpc-js", grpc },
  rest: { transport: "rest", rest },
};

const results = [];
for (const pageSize of [1000, 7]) {
  for (const [name, config] of Object.entries(configs)) {
    const client = createClient(config);
    const start = performance.now();
    const hash = createHash("sha256");
    const ids = new Set();
    for await (const { cursor, node: record } of client.stopOrders({ pageSize })) {
      hash.update(`${cursor} ${record.stopOrder.id}\n`);
      ids.add(record.stopOrder.id);
    }
    await client.close();
    const seconds = ((performance.now() - start) / 1000).toFixed(2);
    results.push({
      transport: name,
      "page size": pageSize,
      records: ids.size,
      seconds,
      order: hash.digest("hex").slice(0, 16),
    });
  }
}
await node.close();
console.table(results);
if (new Set(results.map(({ order, records }) => `${order} ${records}`)).size !== 1) {
  throw new Error("the listings differ");
}
