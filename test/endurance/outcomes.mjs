// Is what is said of transactions right, whatever happens to the node?
//
//   npm run build && node test/endurance/outcomes.mjs [COMMANDS] [KILLS] [grpc|grpc-js|rest|auto]
//
// Ten clients send COMMANDS and wait for what becomes of each: orders, orders on a market that does not exist, batches of
// which a part fails, and pairs of stop orders. The node is killed (SIGKILL) and started again KILLS times. At the end each
// outcome is compared with what the node holds: an executed part must have its order, a failed one must not, and what was
// said not to have been sent must have left nothing. None may be wrong; `unknown` is never wrong.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { DEV_MNEMONIC } from "../../compiled/src/node/devnode-options.js";
import { identifiers } from "../../compiled/src/trade/transaction/command-identifiers.js";
import { TradingDataService } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { Order_Status, StopOrder_Status } from "../../dist/gen/vega/vega_pb.js";
import { createClient, NodeError, OutcomeUnknownError, signerFromMnemonic } from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { end, startNode } from "./node-process.mjs";

const [commands = 10_000, kills = 10] = process.argv.slice(2, 4).map(Number);
const transport = process.argv[4] ?? "grpc";
const CLIENTS = 10;
const MARKET = "6e0e17a2b1d6dd1d9432e835a41c1b654f7a299b6f3099fee0c46b57e8dd1b93";
const NO_MARKET = "ab".repeat(32);
const folder = await mkdtemp(join(tmpdir(), "tradewire-outcomes-"));
const ports = { grpcPort: await freePort(), restPort: await freePort() };
const config = {
  transport,
  grpc: { url: `http://127.0.0.1:${ports.grpcPort}` },
  rest: { url: `http://127.0.0.1:${ports.restPort}` },
};
const began = performance.now();
const log = (text) => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  ${text}`);

const order = (market, size) => ({ marketId: market, size, side: 1, timeInForce: 1, type: 1, price: "1" });
const stop = (price) => ({
  orderSubmission: { marketId: MARKET, size: 1n, side: 2, timeInForce: 3, type: 2, reduceOnly: true },
  trigger: { case: "price", value: price },
});

/** The kinds of commands: how each is made, and which of its parts bring an order or a stop order that can be looked up. */
function commandOf(index) {
  const size = BigInt(1 + (index % 5));
  switch (index % 10) {
    case 3:
      return { case: "orderSubmission", value: order(NO_MARKET, size) };
    case 6:
      return { case: "batchMarketInstructions", value: { submissions: [order(MARKET, size), order(NO_MARKET, size)] } };
    case 9:
      return { case: "stopOrdersSubmission", value: { risesAbove: stop("900000000"), fallsBelow: stop("1") } };
    default:
      return { case: "orderSubmission", value: order(MARKET, size) };
  }
}

const sent = [];
/** What was thrown: nothing was sent then, and it is tried again. */
const notSent = [];
let next = 0;
async function runClient(index) {
  const client = createClient(config);
  const signer = await signerFromMnemonic(DEV_MNEMONIC, { index: index + 1 });
  while (next < commands) {
    const value = commandOf(next++);
    for (let isSent = false; !isSent; ) {
      try {
        const options = { signer, until: "executed", timeoutMs: 30_000 };
        const { outcome, transaction } = await client.sendCommand(value, options);
        sent.push({ kind: value.case, outcome, signature: transaction.signature.value });
        isSent = true;
      } catch (error) {
        notSent.push(error);
        isSent = error instanceof OutcomeUnknownError;
        await sleep(50 + Math.random() * 200);
      }
    }
  }
  await client.close();
}

const start = () => startNode(ports, folder, ["--block-time", "200ms"]);
let node = await start();
log(`the node runs; ${CLIENTS} clients send ${commands} commands over ${transport}`);
const running = Promise.all(Array.from({ length: CLIENTS }, (_, index) => runClient(index)));
let isOver = false;
void running.then(() => {
  isOver = true;
});
for (let kill = 1; kill <= kills && !isOver; kill += 1) {
  const at = (commands * (kill - 0.5 + (Math.random() - 0.5) / 2)) / kills;
  while (next < at && !isOver) {
    await sleep(20);
  }
  await end(node);
  await sleep(Math.random() * 1000);
  node = await start();
  log(`killed and started again, ${kill} of ${kills}; ${sent.length} commands are done`);
}
await running;
log("all are done; now each is looked up");

await sleep(3000);
const client = createClient({ ...config, transport: "grpc" });
const data = client.service(TradingDataService);
const none = (reason) => {
  if (reason instanceof NodeError && reason.code === 5) {
    return undefined;
  }
  throw reason;
};

/** Whether an order or a stop order is there, and was not refused. */
async function isThere(kind, id) {
  if (kind === "stopOrdersSubmission") {
    const found = await data.getStopOrder({ orderId: id }).catch(none);
    return found !== undefined && found.order.stopOrder.status !== StopOrder_Status.REJECTED;
  }
  const found = await data.getOrder({ orderId: id }).catch(none);
  return found !== undefined && found.order.status !== Order_Status.REJECTED;
}

const counts = new Map();
const wrong = [];
const count = (name) => counts.set(name, (counts.get(name) ?? 0) + 1);
for (const error of notSent) {
  count(`thrown: ${error.name}, ${error.summary?.replace(/\d{4,}/g, "N").slice(0, 80)}`);
}
for (const { kind, outcome, signature } of sent) {
  count(`${outcome.status}${outcome.status === "executed" && outcome.block === undefined ? " (by its order)" : ""}`);
  if (outcome.status === "unknown") {
    const [first] = identifiers(Buffer.from(signature, "hex"));
    count((await isThere(kind, first)) ? "unknown, and was executed" : "unknown, and was not, or a part only");
    continue;
  }
  for (const { id, status } of outcome.parts) {
    if (id !== undefined && (await isThere(kind, id)) !== (status === "executed")) {
      wrong.push({ kind, outcome });
    }
  }
}
for (const [name, number] of counts) {
  console.log(`${String(number).padStart(7)}  ${name}`);
}
console.log(`${String(wrong.length).padStart(7)}  wrong`);
for (const each of wrong.slice(0, 5)) {
  console.log(JSON.stringify(each, (_, value) => (typeof value === "bigint" ? String(value) : value)));
}
await client.close();
await end(node, "SIGTERM");
await rm(folder, { recursive: true });
process.exitCode = wrong.length === 0 ? 0 : 1;
