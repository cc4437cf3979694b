// Calls at the limit that deployed nodes set: 100 at once, 20 a second. The client must not be banned, must not be
// refused, and must take at most 1.15 of the time that the limit allows. Run after `npm run build`:
// node test/endurance/limits.mjs [--calls 5000] [--at-once 32] [--page-size 10] [--transport grpc]
import { parseArgs } from "node:util";
import { createClient } from "../../dist/src/index.js";
import { startDevnode } from "../../dist/src/node/index.js";

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "5000" },
    "at-once": { type: "string", default: "32" },
    "page-size": { type: "string", default: "10" },
    transport: { type: "string", default: "grpc" },
  },
});
const [BURST, PER_SECOND, MOST] = [100, 20, 1.15];

/** Measure calls to a node of their own; the function gets a client and returns the number of calls that it made. */
async function measure(what, call) {
  const node = await startDevnode({ rateLimit: true });
  let retries = 0;
  const { transport } = values;
  const config = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
  const client = createClient(config, { hooks: { onRetry: () => (retries += 1) } });
  const start = performance.now();
  const calls = await call(client);
  const seconds = (performance.now() - start) / 1000;
  await client.close();
  await node.close();
  const allowed = Math.max((calls - BURST) / PER_SECOND, 0);
  return { what, calls, refusals: retries, seconds, allowed, ratio: seconds / allowed };
}

async function manyCalls(client) {
  let left = Number(values.calls);
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await client.networkParameter("snapshot.interval.length");
    }
  };
  await Promise.all(Array.from({ length: Number(values["at-once"]) }, worker));
  return Number(values.calls);
}

async function manyPages(client) {
  const pageSize = Number(values["page-size"]);
  let records = 0;
  for await (const _ of client.stopOrders({}, { pageSize })) {
    records += 1;
  }
  return Math.ceil(records / pageSize);
}

// Each has an address of its own as far as the limit goes: a node of its own.
const results = await Promise.all([
  measure(`${values["at-once"]} at once`, manyCalls),
  measure(`pages of ${values["page-size"]}`, manyPages),
]);
console.table(results);
if (results.some(({ refusals, ratio }) => refusals > 0 || ratio > MOST)) {
  throw new Error(`there were refusals, or the time was more than ${MOST} of what the limit allows`);
}
