import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import {
  type Client,
  Code,
  createClient,
  Order_TimeInForce,
  Order_Type,
  openFileJournal,
  Side,
  signerFromMnemonic,
  TradewireError,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { parquetSink, syncHistory, syncStatus } from "tradewire/sync";
import { createTransaction } from "tradewire/transaction";
import { serveNodeOf, type TestNode } from "../../support/node.js";

let node: TestNode;
let folder: string;
beforeAll(async () => {
  // Every method is refused, so that nothing is retried.
  folder = await mkdtemp(join(tmpdir(), "caller-stack-"));
  node = await serveNodeOf(() => undefined);
});
afterAll(async () => {
  await node.close();
  await rm(folder, { recursive: true });
});

const id = "0a".repeat(32);
const range = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;
const command = { case: "stopOrdersCancellation", value: {} } as const;
const order = {
  case: "orderSubmission",
  value: {
    marketId: id,
    price: "1",
    size: 1n,
    side: Side.BUY,
    timeInForce: Order_TimeInForce.GTC,
    type: Order_Type.LIMIT,
  },
} as const;
const reconnect = false;

async function read(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages) {
    return;
  }
}

/** Calls of all kinds: single ones, listings, exports, streams, transactions and syncs. */
const calls: Record<string, (client: Client) => Promise<unknown>> = {
  exportNetworkHistory: (client) => client.exportNetworkHistory(range).saveTo("/nowhere/a.zip"),
  "exportNetworkHistory, rows": (client) => read(client.exportNetworkHistory(range).rows()),
  exportLedgerEntries: (client) => client.exportLedgerEntries({ partyId: id }).saveTo("/nowhere/a.csv"),
  listSegments: (client) => client.listSegments(),
  dataNodeLag: (client) => client.dataNodeLag(),
  service: (client) => client.service(TradingDataService).getMarket({ marketId: id }),
  "service, streams": (client) => read(client.service(TradingDataService).observeTrades({})),
  follow: (client) => read(client.follow({ table: "trades" })),
  pages: (client) => read(client.pages(TradingDataService.method.listMarkets, {})),
  records: (client) => read(client.records(TradingDataService.method.listMarkets, {})),
  listNetworkParameters: (client) => client.listNetworkParameters(),
  networkParameters: (client) => read(client.networkParameters()),
  networkParameter: (client) => client.networkParameter("a"),
  listStopOrders: (client) => client.listStopOrders(),
  stopOrders: (client) => read(client.stopOrders()),
  orders: (client) => read(client.orders()),
  trades: (client) => read(client.trades()),
  positions: (client) => read(client.positions()),
  accounts: (client) => read(client.accounts()),
  markets: (client) => read(client.markets()),
  stopOrder: (client) => client.stopOrder(id),
  transactionResults: (client) => read(client.transactionResults({}, { reconnect })),
  marketUnits: (client) => client.marketUnits(id),
  account: (client) => read(client.account(id)),
  book: (client) => read(client.book(id)),
  events: (client) => read(client.events({}, { reconnect })),
  sendCommand: async (client) => client.sendCommand(command, { signer: await signer }),
  signCommand: async (client) => client.signCommand(command, { signer: await signer }),
  checkTransaction: async (client) => client.checkTransaction(await transaction),
  submitTransaction: async (client) => client.submitTransaction({ tx: await transaction }),
  "submitTransaction, executed": async (client) =>
    client.submitTransaction({ tx: await transaction }, { until: "executed" }),
  outcome: (client) => client.outcome(id, { signal: AbortSignal.abort() }),
  intents: async (client) => {
    await using journal = await openFileJournal(join(folder, "orders.journal"));
    await using intents = client.intents({ signer: await signer, journal });
    await intents.submit(command, { id: "a", validForBlocks: 20 });
  },
  leases: async (client) => {
    await using leases = client.leases({ signer: await signer, leaseMs: 15_000 });
    await leases.submit(order);
  },
  lastBlockHeight: (client) => client.lastBlockHeight(),
  spamStatistics: (client) => client.spamStatistics(id),
  guard: async (client) => client.guard({ signer: await signer, policy: { maxOrdersPerMinute: 1, markets: {} } }),
  syncHistory: (client) => syncHistory(client, { sink: parquetSink("/nowhere") }),
  syncStatus: (client) => syncStatus(parquetSink("/nowhere"), { clients: client }),
};
const signer = signerFromMnemonic("test test test test test test test test test test test junk");
const transaction = signer.then((key) =>
  createTransaction(command, {
    signer: key,
    block: { chainId: "test", height: 1n, hash: id, difficulty: 1, hashFunction: "sha3_24_rounds" },
  }),
);

it.each(["grpc", "grpc-js", "rest"] as const)("errors over %s have the caller in their stack", async (transport) => {
  await using client = createClient({ transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } });
  for (const [name, call] of Object.entries(calls)) {
    const error: unknown = await call(client).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const { stack = "" } = error instanceof TradewireError ? error : {};
    expect([name, stack.includes("caller-stack.test.")]).toEqual([name, true]);
  }
});

it("errors amid the rows of an export have the caller in their stack", async () => {
  const devnode = await startDevnode({ segments: 1, blocksPerSegment: 10, blockMs: 0 });
  await using client = createClient({ grpc: { url: devnode.grpcUrl } });
  try {
    const stop = new AbortController();
    const exported = client.exportNetworkHistory(
      { table: "trades", fromBlock: 1, toBlock: 10 },
      { signal: stop.signal },
    );
    const rows = exported.rows();
    const reading = (async () => {
      for await (const _ of rows) {
        stop.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({
      name: "CanceledError",
      stack: expect.stringContaining("caller-stack.test."),
    });
  } finally {
    await devnode.close();
  }
});

it("an error stays what it is in a program whose stacks are no text", async () => {
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const prepare = Error.prepareStackTrace;
  let error: unknown;
  try {
    Error.prepareStackTrace = (_, frames) => frames;
    error = await client.listNetworkParameters().catch((reason: unknown) => reason);
  } finally {
    Error.prepareStackTrace = prepare;
  }
  expect(error).toMatchObject({ name: "NodeError", code: Code.Unimplemented });
});
