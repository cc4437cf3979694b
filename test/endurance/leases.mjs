// A program with leased orders and positions is killed: after how many blocks are its orders gone and its positions closed?
//
//   npm run build && node test/endurance/leases.mjs [--rounds N] [--orders N] [--lease-ms N] [--renew-every-ms N] [--flatten-after-ms N]
//     [--block-ms N] [--json]
//   ... --grpc URL --chain-id ID --markets ID,ID   (keys: LEASES_SEED and COUNTERPARTY_SEED, 64 hex digits each)
//
// Without a URL, it starts the local node. The counterparty makes both books liquid. In each round a program opens a position in
// each market, long in one and short in the other, and leases orders on both sides of each book. Once all of it is covered and has
// been renewed, the program is killed by SIGKILL, and the blocks are counted until none of its orders is live and until it has no
// position. The exit code is 1 if that took longer than the leases allow.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { TradingDataService } from "../../dist/gen/datanode/api/v2/trading_data_pb.js";
import { createClient, signerFromMnemonic, signerFromSeed } from "../../dist/src/index.js";
import { freePort } from "../support/free-port.mjs";
import { end, startNode } from "./node-process.mjs";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    orders: { type: "string", default: "4" }, // On each side of each book.
    "lease-ms": { type: "string", default: "15000" },
    "renew-every-ms": { type: "string", default: "5000" },
    "flatten-after-ms": { type: "string", default: "20000" },
    "block-ms": { type: "string", default: "1000" }, // Of the local node.
    grpc: { type: "string" },
    "chain-id": { type: "string" },
    markets: { type: "string" },
    json: { type: "boolean", default: false },
    program: { type: "string" }, // Set for the program that is killed: its parameters as JSON.
  },
});

const [BUY, SELL] = [1, 2];
const [LIMIT, GTC] = [1, 1];
const CONTINUOUS = 1;
const MNEMONIC = "test test test test test test test test test test test junk"; // The keys of the local node.
const times = {
  leaseMs: Number(values["lease-ms"]),
  renewEveryMs: Number(values["renew-every-ms"]),
  flattenAfterMs: Number(values["flatten-after-ms"]),
};

const clientOf = ({ url, chainId }) => createClient({ profile: "deployed", chainId, grpc: { url } });
const signers = async () =>
  process.env.LEASES_SEED === undefined
    ? [await signerFromMnemonic(MNEMONIC), await signerFromMnemonic(MNEMONIC, { index: 2 })]
    : [signerFromSeed(process.env.LEASES_SEED), signerFromSeed(process.env.COUNTERPARTY_SEED)];

const orderOf = (marketId, side, size, price, more = {}) => ({
  case: "orderSubmission",
  value: { marketId, side, size, price: String(price), type: LIMIT, ...more },
});

/** The program that is killed. */
async function runProgram({ markets, orders, ...node }) {
  const client = clientOf(node);
  const [signer] = await signers();
  let renewed = 0;
  const onEvent = (event) => {
    renewed += event.kind === "renewed" ? 1 : 0;
    if (event.kind.endsWith("Failed") || event.kind.endsWith("Refused")) {
      console.error(event.kind, event.error?.message ?? event.reason);
    }
  };
  const leases = client.leases({ signer, ...times, onEvent });
  for (const [index, { marketId, price }] of markets.entries()) {
    // Through the counterparty's best orders: a position of 3.
    await leases.submit(orderOf(marketId, index % 2 === 0 ? BUY : SELL, 3n, index % 2 === 0 ? price + 2 : price - 2));
    for (let step = 1; step <= orders; step += 1) {
      await leases.submit(orderOf(marketId, BUY, 1n, price - 100 - step));
      await leases.submit(orderOf(marketId, SELL, 1n, price + 100 + step));
    }
  }
  const before = renewed;
  const isCovered = () => {
    const covered = leases.coverage().markets.filter(({ position }) => position.status === "covered");
    return covered.length === markets.length && renewed >= before + 2 * markets.length;
  };
  while (!isCovered()) {
    await sleep(20);
  }
  console.log("covered");
  await new Promise(() => setInterval(() => undefined, 1000));
}

/** Makes a market trade continuously with orders around a price, and returns the price. */
async function makeLiquid(client, signer, other, marketId) {
  const data = client.service(TradingDataService);
  const send = (command, by = other) => client.sendCommand(command, { signer: by, until: "executed" });
  const marketData = async () => (await data.getLatestMarketData({ marketId })).marketData;
  const { lastTradedPrice, markPrice } = await marketData();
  const price = Number(lastTradedPrice) || Number(markPrice) || 100_000;
  for (const by of [other, signer]) {
    await send({ case: "orderCancellation", value: { marketId, orderId: "" } }, by); // Orders of earlier runs.
  }
  const gtc = { timeInForce: GTC };
  for (const [side, at] of [
    [BUY, price - 1],
    [SELL, price + 1],
  ]) {
    const { outcome } = await send(orderOf(marketId, side, 1000n, at, gtc));
    if (outcome.status !== "executed") {
      throw new Error(`the counterparty's order: ${outcome.reason}`);
    }
  }
  if ((await marketData()).marketTradingMode !== CONTINUOUS) {
    await send(orderOf(marketId, BUY, 1n, price, gtc), signer); // The opening auction ends with a trade.
    await send(orderOf(marketId, SELL, 1n, price, gtc));
    while ((await marketData()).marketTradingMode !== CONTINUOUS) {
      await sleep(500);
    }
    await send(orderOf(marketId, SELL, 1n, price - 1, { timeInForce: 3 }), signer); // Its own position.
  }
  return price;
}

/** Follows blocks; `next` resolves with the next block that has ended. */
function followBlocks(client) {
  const blocks = client.events({ types: ["beginBlock", "endBlock"] }, { reconnect: true })[Symbol.asyncIterator]();
  let time = 0n;
  const next = async () => {
    for (;;) {
      const { value: event } = await blocks.next();
      if (event.kind === "beginBlock") {
        time = event.value.timestamp;
      } else if (event.kind === "endBlock") {
        return { height: event.block, time };
      }
    }
  };
  return { next, stop: () => blocks.return() };
}

async function measure(client, partyId, markets, node) {
  const data = client.service(TradingDataService);
  const marketIds = markets.map(({ marketId }) => marketId);
  const filter = { partyIds: [partyId], marketIds };
  const liveOrders = async () =>
    (await data.listOrders({ filter: { ...filter, liveOnly: true }, pagination: { newestFirst: true } })).orders.edges
      .length;
  const openPositions = async () =>
    (await data.listAllPositions({ filter })).positions.edges.filter((edge) => edge.node.openVolume !== 0n).length;
  const own = fileURLToPath(import.meta.url);
  const parameters = JSON.stringify({ ...node, markets, orders: Number(values.orders) });
  const args = process.argv.slice(2).filter((arg) => arg !== "--json");
  const program = spawn(process.execPath, [own, ...args, "--program", parameters], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: program.stdout })) {
    if (line === "covered") {
      break;
    }
  }
  const blocks = followBlocks(client);
  await sleep(Math.random() * times.renewEveryMs); // At any moment between two renewals.
  const before = { orders: await liveOrders(), positions: await openPositions() };
  const last = await blocks.next();
  await end(program);
  const result = { ...before };
  for (;;) {
    const { height, time } = await blocks.next();
    const since = { blocks: Number(height - last.height), ms: Number((time - last.time) / 1_000_000n) };
    if (result.ordersGone === undefined && (await liveOrders()) === 0) {
      result.ordersGone = since;
    }
    if (result.positionsClosed === undefined && (await openPositions()) === 0) {
      result.positionsClosed = since;
    }
    if ((result.ordersGone && result.positionsClosed) || since.ms > 3 * times.flattenAfterMs) {
      await blocks.stop();
      return result;
    }
  }
}

/** Starts the local node, or takes the one of the options. */
async function openNode() {
  if (values.grpc !== undefined) {
    return { url: values.grpc, chainId: values["chain-id"], close: async () => undefined };
  }
  const folder = await mkdtemp(join(tmpdir(), "tradewire-leases-"));
  const ports = { grpcPort: await freePort(), restPort: await freePort() };
  const more = [
    "--profile",
    "deployed",
    "--segments",
    "1",
    "--blocks-per-segment",
    "60",
    "--block-time",
    `${values["block-ms"]}ms`,
  ];
  const node = await startNode(ports, folder, more);
  return {
    url: `http://127.0.0.1:${ports.grpcPort}`,
    chainId: undefined,
    async close() {
      await end(node);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The markets of the options, or the first two that trade. */
async function chooseMarkets(client) {
  if (values.markets !== undefined) {
    return values.markets.split(",");
  }
  const { markets } = await client.service(TradingDataService).listMarkets({});
  const open = markets.edges
    .map((edge) => edge.node)
    .filter(({ state, tradingMode }) => state === 5 && tradingMode === 1);
  return open.slice(0, 2).map(({ id }) => id);
}

async function main() {
  const { close, ...node } = await openNode();
  const client = clientOf(node);
  try {
    const [signer, other] = await signers();
    const marketIds = await chooseMarkets(client);
    const results = [];
    for (let round = 0; round < Number(values.rounds); round += 1) {
      const markets = [];
      for (const marketId of marketIds) {
        markets.push({ marketId, price: await makeLiquid(client, signer, other, marketId) });
      }
      results.push(await measure(client, signer.publicKey, markets, node));
    }
    if (values.json) {
      console.log(JSON.stringify(results));
    } else {
      console.table(
        results.map(({ orders, positions, ordersGone, positionsClosed }) => ({
          orders,
          positions,
          "blocks until orders are gone": ordersGone?.blocks,
          "ms of the chain": ordersGone?.ms,
          "blocks until positions are closed": positionsClosed?.blocks,
          "ms of the chain ": positionsClosed?.ms,
        })),
      );
    }
    const slack =
      3 * Math.max(...results.map(({ ordersGone }) => (ordersGone ? ordersGone.ms / ordersGone.blocks : 0)));
    const isLate = ({ ordersGone, positionsClosed }) =>
      !(ordersGone?.ms <= times.leaseMs + slack && positionsClosed?.ms <= times.flattenAfterMs + slack);
    process.exitCode = results.some(isLate) ? 1 : 0;
  } finally {
    await client.close();
    await close();
  }
}

await (values.program === undefined ? main() : runProgram(JSON.parse(values.program)));
