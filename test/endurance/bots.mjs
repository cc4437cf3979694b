// Ten bots, each with a key of its own, trade on one local node: is anything that they sent lost?
//
//   npm run build && node test/endurance/bots.mjs [SECONDS]
//
// Each bot submits orders that rest, orders that take, amendments and cancellations, as fast as the node's rules for
// proofs of work let it. At the end, what the bots were told is compared with what the node lists.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, signerFromMnemonic } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";

const seconds = Number(process.argv[2] ?? 60);
const failures = [];
const node = await startDevnode({ blockMs: 500, activity: 2, onFailure: (failure) => failures.push(failure) });
try {
  await measure();
} finally {
  await node.close();
}

async function measure() {
  const client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const data = client.service(TradingDataService);
  const { markets } = await data.listMarkets({});
  const open = markets.edges
    .map((edge) => edge.node)
    .filter((market) => market.state === 5 && market.tradingMode === 1);
  const end = Date.now() + 1000 * seconds;
  const began = await data.listTrades({ pagination: { first: 1 } });
  const last = began.trades.edges[0]?.node.id;
  const bots = await Promise.all(
    node.keys.map(async (_, index) => {
      const signer = await signerFromMnemonic(node.mnemonic, { index: index + 1 });
      const transport = ["grpc", "grpc-js", "rest"][index % 3];
      const urls = transport === "rest" ? { rest: { url: node.restUrl } } : { grpc: { url: node.grpcUrl } };
      return bot(createClient({ transport, ...urls }), signer, open[index % open.length], end, index);
    }),
  );
  await node.makeBlock();
  await node.makeBlock();
  const executed = (await client.service(CoreService).getVegaTime({})).timestamp;
  while ((await data.getVegaTime({})).timestamp <= executed) {
    await sleep(50); // The data node begins a later block when it has committed these.
  }
  let [listed, traded] = [0, 0];
  const missing = [];
  for (const { publicKey, references } of bots) {
    const found = new Set();
    for await (const { node: order } of client.records(TradingDataService.method.listOrders, {
      filter: { partyIds: [publicKey] },
    })) {
      found.add(order.reference);
    }
    listed += found.size;
    missing.push(...references.filter((reference) => !found.has(reference)));
    for await (const { node: trade } of client.records(TradingDataService.method.listTrades, {
      partyIds: [publicKey],
    })) {
      if (trade.id === last) {
        break;
      }
      traded += 1;
    }
  }
  const sent = bots.reduce((sum, { count }) => sum + count, 0);
  const orders = bots.reduce((sum, { references }) => sum + references.length, 0);
  console.table([
    {
      seconds,
      sent,
      "a second": Math.round(sent / seconds),
      orders,
      listed,
      missing: missing.length,
      trades: traded,
      failed: failures.length,
    },
  ]);
  for (const [error, count] of Object.entries(Object.groupBy?.(failures, ({ errors }) => errors.join("; ")) ?? {})) {
    console.log(`${count.length} failed: ${error}`);
  }
  await client.close();
  process.exitCode = missing.length === 0 ? 0 : 1;
}

async function bot(client, signer, market, end, seed) {
  const references = [];
  let count = 0;
  const send = async (command) => {
    await client.sendCommand(command, { signer });
    count += 1;
  };
  for (let round = 0; Date.now() < end; round += 1) {
    const reference = `bot-${seed}-${round}`;
    const side = (round + seed) % 2 === 0 ? 1 : 2;
    const shared = { marketId: market.id, side, size: BigInt(1 + (round % 7)), reference };
    const order =
      round % 3 === 2
        ? { ...shared, type: 2, timeInForce: 3 }
        : { ...shared, type: 1, timeInForce: 1, price: String(2_650_000 + ((round * 37 + seed) % 500)) };
    await send({ case: "orderSubmission", value: order });
    references.push(reference);
    if (round % 10 === 9) {
      await send({ case: "orderCancellation", value: { marketId: market.id } });
    }
  }
  await client.close();
  return { publicKey: signer.publicKey, references, count };
}
