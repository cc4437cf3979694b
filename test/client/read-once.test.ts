// A program writes its next order into the same object, or passes objects with getters: what a call does is what its arguments were
// when it was made.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  assemble,
  type Client,
  createClient,
  encodeCsv,
  fallback,
  type Journal,
  loadConfig,
  Order_TimeInForce,
  Order_Type,
  openArchive,
  openFileJournal,
  type SeedSigner,
  Side,
  signerFromMnemonic,
  Table,
} from "tradewire";
import { TradingDataService } from "tradewire/api";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { CoreService, SubmitTransactionRequest_Type } from "tradewire/gen/vega/api/v1/core_pb.js";
import { createTransaction, openTransaction } from "tradewire/transaction";
import { createGrpcTransport } from "tradewire/transport";
import { csvZip } from "../support/archives.js";
import { changing, WAYS, type Way } from "../support/changing-arguments.js";
import { openMarket } from "../support/devnode.js";
import { type RecordingNode, startRecordingNode } from "../support/recording-node.js";
import { lastBlock } from "../support/transactions.js";

let devnode: Devnode;
let node: RecordingNode;
let signer: SeedSigner;
let other: SeedSigner;
let folder: string;
let archive: Buffer;
beforeAll(async () => {
  devnode = await startDevnode({ blockMs: 30, segments: 2, blocksPerSegment: 50 });
  node = await startRecordingNode(devnode.grpcUrl);
  signer = await signerFromMnemonic(devnode.mnemonic);
  other = await signerFromMnemonic(devnode.mnemonic, { index: 2 });
  archive = await csvZip();
  folder = await mkdtemp(join(tmpdir(), "tradewire-read-once-"));
});
afterAll(async () => {
  await node.close();
  await devnode.close();
  await Promise.all(journals.map((journal) => journal[Symbol.asyncDispose]()));
  await rm(folder, { recursive: true });
});

const limitOrder = (more: object = {}) => ({
  case: "orderSubmission" as const,
  value: {
    marketId: openMarket,
    size: 3n,
    side: Side.BUY,
    timeInForce: Order_TimeInForce.GTC,
    type: Order_Type.LIMIT,
    price: "100",
    reference: "one",
    ...more,
  },
});
const leasedOrder = {
  case: "orderSubmission" as const,
  value: { marketId: openMarket, size: 3n, side: Side.BUY, type: Order_Type.LIMIT, price: "100" },
};
const stopOrders = {
  case: "stopOrdersSubmission" as const,
  value: {
    risesAbove: {
      trigger: { case: "price" as const, value: "9000000" },
      orderSubmission: {
        marketId: openMarket,
        size: 1n,
        side: Side.SELL,
        timeInForce: Order_TimeInForce.IOC,
        type: Order_Type.MARKET,
        reduceOnly: true,
      },
    },
  },
};
const batch = {
  case: "batchMarketInstructions" as const,
  value: { submissions: [limitOrder({ reference: "a" }).value, limitOrder({ reference: "b" }).value] },
};
const policy = {
  maxOrdersPerMinute: 1000,
  markets: { [openMarket]: { maxSize: "1000", maxNotional: "99999999999", maxPosition: "1000" } },
};
const headers = { "x-program": "one" };
const timeoutMs = 60_000;
const range = { startTimestamp: 1n, endTimestamp: 2_000_000_000_000_000_000n };
const party = { partyIds: ["0a".repeat(32)], marketIds: [openMarket] };

/** A public function, and arguments that it takes. */
interface Door {
  readonly run: (client: Client, way: Way | "as it was") => Promise<readonly string[]>;
}

/** Passes arguments to a function, changes them, and waits for what the function does. */
function door<const A extends unknown[]>(
  argumentsOf: () => A,
  call: (client: Client, ...given: A) => Promise<unknown>,
): Door {
  return doorAfter(
    async () => undefined,
    argumentsOf,
    (client, _, ...given) => call(client, ...given),
  );
}

/** The same for a function that needs something else before. */
function doorAfter<T, const A extends unknown[]>(
  before: (client: Client) => Promise<T>,
  argumentsOf: () => A,
  call: (client: Client, made: T, ...given: A) => Promise<unknown>,
): Door {
  return {
    async run(client, way) {
      const made = await before(client);
      node.takeRequests();
      if (way === "as it was") {
        await call(client, made, ...argumentsOf());
        return [];
      }
      const given = changing(argumentsOf(), way, new Map<unknown, unknown>([[signer, other]]));
      node.onRequest = way === "a change while the call waits" ? given.change : () => undefined;
      const running = call(client, made, ...given.value);
      if (way === "a change after the call") {
        given.change();
      }
      try {
        await running;
      } finally {
        node.onRequest = () => undefined;
      }
      return given.readMoreThanOnce();
    },
  };
}

/** Reads the first message of a stream, and ends it. */
async function first(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages) {
    return;
  }
}

async function all(messages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of messages);
}

const journals: Journal[] = [];
async function newJournal() {
  const journal = await openFileJournal(join(folder, `${journals.length}.journal`));
  journals.push(journal);
  return journal;
}

/** The intents of a new journal. */
async function newIntents(client: Client) {
  const journal = await newJournal();
  return client.intents({ signer, journal });
}

const options = () => ({ signer, timeoutMs, headers });

/** The functions that sign and send. */
const sending: Readonly<Record<string, Door>> = {
  sendCommand: door(
    () => [limitOrder(), options()],
    (client, ...given) => client.sendCommand(...given),
  ),
  "sendCommand, all fields": door(
    () => [
      { ...limitOrder({ icebergOpts: { peakSize: 2n, minimumVisibleSize: 1n } }) },
      { ...options(), type: "sync", version: "TX_VERSION_V3", maxDifficulty: 25 },
    ],
    (client, ...given) => client.sendCommand(...given),
  ),
  "sendCommand, stop orders": door(
    () => [stopOrders, options()],
    (client, ...given) => client.sendCommand(...given),
  ),
  "sendCommand, a batch": door(
    () => [batch, options()],
    (client, ...given) => client.sendCommand(...given),
  ),
  "sendCommand until executed": door(
    () => [limitOrder(), { ...options(), until: "executed" }],
    (client, ...given) => client.sendCommand(...given),
  ),
  signCommand: door(
    () => [limitOrder(), options()],
    async (client, ...given) => client.submitTransaction({ tx: await client.signCommand(...given) }),
  ),
  "intents.submit": doorAfter(
    newIntents,
    () => [limitOrder(), { id: "one", timeoutMs }],
    async (_, intents, ...given) => intents.submit(...given),
  ),
  "intents.submit, a batch": doorAfter(
    newIntents,
    () => [batch, { id: "one", timeoutMs }],
    async (_, intents, ...given) => intents.submit(...given),
  ),
  intents: doorAfter(
    newJournal,
    () => [{ signer, chainId: devnode.chainId, maxDifficulty: 25 }],
    (client, journal, given) =>
      client.intents(Object.assign(given, { journal })).submit(limitOrder(), { id: "one", timeoutMs }),
  ),
  "leases.submit": doorAfter(
    async (client) => client.leases({ signer, leaseMs: 30_000 }),
    () => [leasedOrder, { timeoutMs }],
    async (_, leases, ...given) => {
      await using submitting = leases;
      await submitting.submit(...given);
    },
  ),
  leases: door(
    () => [{ signer, chainId: devnode.chainId, leaseMs: 30_000, renewEveryMs: 5000, marketIds: [openMarket] }],
    async (client, given) => {
      await using leases = client.leases(given);
      await leases.submit(leasedOrder);
    },
  ),
  "sendCommand, with a guard": doorAfter(
    (client) => client.guard({ signer, policy }),
    () => [limitOrder(), { timeoutMs, headers }],
    async (client, guard, command, given) => {
      await using signing = guard;
      await client.sendCommand(command, Object.assign(given, { signer: signing }));
    },
  ),
  "guard.check": doorAfter(
    (client) => client.guard({ signer, policy }),
    () => [limitOrder()],
    async (_, guard, given) => {
      await using checking = guard;
      await checking.check(given);
    },
  ),
};

/** The functions that read. */
const reading: Readonly<Record<string, Door>> = {
  guard: door(
    () => [{ signer, policy, chainId: devnode.chainId }],
    async (client, given) => (await client.guard(given)).close(),
  ),
  "service, a method": door(
    () => [
      { filter: party, pagination: { first: 5, newestFirst: true } },
      { headers, timeoutMs },
    ],
    (client, ...given) => client.service(TradingDataService).listOrders(...given),
  ),
  "service, a stream": door(
    () => [
      { fromBlock: 1n, toBlock: 50n, table: Table.TRADES },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.service(TradingDataService).exportNetworkHistory(...given)),
  ),
  stopOrder: door(
    () => ["0a".repeat(32), { headers, timeoutMs }],
    (client, ...given) => client.stopOrder(...given).catch(() => undefined),
  ),
  "transport.unary": door(
    () => [{ partyId: "0a".repeat(32) }],
    (client, message) =>
      client.transport.unary(CoreService.method.getSpamStatistics, undefined, timeoutMs, headers, message),
  ),
  records: door(
    () => [{ filter: party }, { headers, timeoutMs, pageSize: 3 }],
    (client, ...given) => all(client.records(TradingDataService.method.listOrders, ...given)),
  ),
  pages: door(
    () => [
      { filter: party, pagination: { first: 3 } },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.pages(TradingDataService.method.listOrders, ...given)),
  ),
  listNetworkParameters: door(
    () => [{ pagination: { first: 3 } }, { headers, timeoutMs }],
    (client, ...given) => client.listNetworkParameters(...given),
  ),
  networkParameters: door(
    () => [{ headers, timeoutMs, pageSize: 50 }],
    (client, given) => all(client.networkParameters(given)),
  ),
  networkParameter: door(
    () => ["market.margin.scalingFactors", { headers, timeoutMs }],
    (client, ...given) => client.networkParameter(...given),
  ),
  listStopOrders: door(
    () => [
      {
        pagination: { first: 3 },
        filter: { ...party, statuses: ["STATUS_PENDING"] as const, dateRange: range, liveOnly: true },
      },
      { headers, timeoutMs },
    ],
    (client, ...given) => client.listStopOrders(...given),
  ),
  stopOrders: door(
    () => [
      { parties: [...party.partyIds], since: range.startTimestamp, until: range.endTimestamp },
      { headers, timeoutMs, pageSize: 50 },
    ],
    (client, ...given) => all(client.stopOrders(...given)),
  ),
  orders: door(
    () => [
      { markets: ["M0"], parties: [...party.partyIds], statuses: ["EXPIRED"] as const },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.orders(...given)),
  ),
  trades: door(
    () => [
      { markets: [openMarket], parties: [...party.partyIds], since: 1n, until: 2n },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.trades(...given)),
  ),
  markets: door(
    () => [
      { markets: [openMarket], settled: true },
      { headers, timeoutMs, limit: 1 },
    ],
    (client, ...given) => all(client.markets(...given)),
  ),
  positions: door(
    () => [
      { markets: [openMarket], parties: [...party.partyIds] },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.positions(...given)),
  ),
  accounts: door(
    () => [
      { markets: [openMarket], parties: [...party.partyIds] },
      { headers, timeoutMs },
    ],
    (client, ...given) => all(client.accounts(...given)),
  ),
  referencedRecords: door(
    () => [{ headers, timeoutMs }],
    (client, given) => all(client.referencedRecords(given).assets),
  ),
  listSegments: door(
    () => [{ headers, timeoutMs }],
    (client, given) => client.listSegments(given),
  ),
  "exportNetworkHistory.toZip": door(
    () => [
      { table: "trades", fromBlock: 1, toBlock: 100 },
      { headers, timeoutMs, snap: true, check: true, extensions: "required", maxRowBytes: 100_000 },
    ],
    (client, ...given) => client.exportNetworkHistory(...given).toZip(),
  ),
  "exportNetworkHistory.rows": door(
    () => [{ typed: true, table: "trades" }],
    (client, given) =>
      all(client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 100 }).rows({ ...given })),
  ),
  "exportNetworkHistory.saveTo": door(
    () => [{ file: join(folder, "trades.zip") }, { force: true, verify: "content" }],
    (client, ...given) => client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 100 }).saveTo(...given),
  ),
  exportLedgerEntries: door(
    () => [
      { partyId: devnode.keys[0] ?? "", dateRange: range },
      { headers, timeoutMs, maxRowBytes: 9999 },
    ],
    (client, ...given) => all(client.exportLedgerEntries(...given).bytes()),
  ),
  "exportLedgerEntries.saveTo": door(
    () => [{ file: join(folder, "ledger.csv") }, { force: true }],
    (client, ...given) => client.exportLedgerEntries({ partyId: devnode.keys[0] ?? "" }).saveTo(...given),
  ),
  events: door(
    () => [
      { types: ["beginBlock", "endBlock"], batchSize: 3 },
      { headers, timeoutMs, reconnect: true, maxWaiting: 50 },
    ],
    (client, ...given) => first(client.events(...given)),
  ),
  follow: door(
    () => [
      { table: "trades", fromBlock: 1, toBlock: 100 },
      { headers, timeoutMs, extensions: "required" },
    ],
    (client, ...given) => first(client.follow(...given)),
  ),
  marketUnits: door(
    () => [openMarket, { headers, timeoutMs }],
    (client, ...given) => client.marketUnits(...given),
  ),
  book: door(
    () => [openMarket, { headers, timeoutMs }],
    (client, ...given) => first(client.book(...given)),
  ),
  account: door(
    () => [devnode.keys[0] ?? "", { headers, timeoutMs }],
    (client, ...given) => first(client.account(...given)),
  ),
  checkTransaction: doorAfter(
    (client) => client.signCommand(limitOrder(), { signer }),
    () => [{ headers, timeoutMs }],
    (client, tx, given) => client.checkTransaction(tx, given),
  ),
  submitTransaction: doorAfter(
    (client) => client.signCommand(limitOrder(), { signer }),
    () => [{ type: SubmitTransactionRequest_Type.SYNC }, { headers, timeoutMs, throwOnRejection: true }],
    (client, tx, request, given) => client.submitTransaction(Object.assign(request, { tx }), given),
  ),
  lastBlockHeight: door(
    () => [{ headers, timeoutMs }],
    (client, given) => client.lastBlockHeight(given),
  ),
  spamStatistics: door(
    () => ["0a".repeat(32), { headers, timeoutMs }],
    (client, ...given) => client.spamStatistics(...given),
  ),
  outcome: door(
    () => ["AB".repeat(32), { headers, timeoutMs: 300 }],
    (client, ...given) => client.outcome(...given),
  ),
  dataNodeLag: door(
    () => [{ headers, timeoutMs }],
    (client, given) => client.dataNodeLag(given),
  ),
  status: door(
    () => [{ timeoutMs }],
    (client, given) => client.status(given),
  ),
};

let clients = 0;
function clientOf(): Client {
  clients += 1;
  node.client = String(clients);
  return createClient({ grpc: { url: node.grpcUrl, headers: { "x-client": node.client } } });
}

/** What a client asks by itself, at any time. */
const BACKGROUND = /^((GetVegaTime|LastBlockHeight|Statistics|Info|GetLatestMarketData|ListLatestMarketData) )/;

/** The requests that depend on arguments. Expiries and signed transactions are new each time. */
const takeRequests = () =>
  node
    .takeRequests()
    .filter((each) => !BACKGROUND.test(each))
    .map((each) => each.replace(/"expiresAt":"\d+"/, '"expiresAt":"?"').replace(/^(CheckTransaction) .*/, "$1"));

/** The transactions that callers send. Leases renew orders by themselves, at any time. */
const takeSubmissions = () =>
  takeRequests().filter((each) => each.startsWith("SubmitTransaction") && !each.includes('"amendments"'));

/** A stream of events may begin before or after a call ends. */
const isOf = (name: string) => (request: string) => name === "events" || !request.startsWith("ObserveEventBus");

describe.each(WAYS)("with %s", (way) => {
  it.each(Object.entries(sending))("%s does what it was called with", async (_, { run }) => {
    await using client = clientOf();
    node.takeRequests();
    await run(client, "as it was");
    const expected = takeSubmissions();
    expect(await run(client, way)).toEqual([]);
    expect(takeSubmissions()).toEqual(expected);
  });

  it.each(Object.entries(reading))("%s does what it was called with", async (name, { run }) => {
    await using client = clientOf();
    node.takeRequests();
    await run(client, "as it was");
    const expected = takeRequests().filter(isOf(name));
    expect(await run(client, way)).toEqual([]);
    expect(takeRequests().filter(isOf(name))).toEqual(expected);
  });
});

describe.each(WAYS)("offline, with %s", (way) => {
  it("createTransaction signs what it was called with", async () => {
    await using client = clientOf();
    const { height, hash, chainId } = await lastBlock(client);
    const block = { height, hash, chainId, difficulty: 1, hashFunction: "sha3_24_rounds" };
    const given = changing([limitOrder(), { signer, block }] as const, way, new Map([[signer, other]]));
    const creating = createTransaction(...given.value);
    if (way !== "a getter") {
      given.change();
    }
    const tx = await creating;
    expect(given.readMoreThanOnce()).toEqual([]);
    const opened = changing([tx, { chainId }] as const, way, new Map());
    const opening = openTransaction(...opened.value);
    if (way !== "a getter") {
      opened.change();
    }
    expect(await opening).toMatchObject({
      publicKey: signer.publicKey,
      inputData: { command: limitOrder() },
      problems: [],
    });
  });

  it("signerFromMnemonic has the key of the index that it was called with", async () => {
    const given = changing([devnode.mnemonic, { index: 1 }] as const, way, new Map());
    const creating = signerFromMnemonic(...given.value);
    if (way !== "a getter") {
      given.change();
    }
    expect((await creating).publicKey).toBe(signer.publicKey);
    expect(given.readMoreThanOnce()).toEqual([]);
  });
});

/** Functions that do not call a node: what they come to does not depend on what becomes of their arguments. */
const alone: Readonly<Record<string, (way: Way) => Promise<readonly string[]>>> = {
  encodeCsv: (way) =>
    offline(way, [["a", "b"], { nullString: "N" }] as const, async (columns, given) => {
      const texts: string[] = [];
      for await (const bytes of encodeCsv(columns, [["1", null]], given)) {
        texts.push(Buffer.from(bytes).toString());
      }
      expect(texts.join("")).toBe("a,b\n1,N\n");
    }),
  assemble: (way) =>
    offline(way, [{ extensions: "optional" }] as const, async (given) => {
      const chunks = (async function* () {
        const data = await csvZip();
        yield { result: { contentType: "application/zip", data, extensions: [] } };
      })();
      await all(assemble(chunks, given));
    }),
  "openArchive, and its rows": (way) =>
    offline(
      way,
      [
        { maxSize: 1e9, maxRatio: 1000 },
        { columns: "own", typed: false },
      ] as const,
      async (given, rows) => {
        await all(openArchive(archive, given).rows(rows));
      },
    ),
  loadConfig: (way) =>
    offline(
      way,
      [{ environment: { TRADEWIRE_GRPC_URL: "http://127.0.0.1:1" }, directory: folder }] as const,
      (given) => {
        expect(loadConfig(given).config.grpc?.url).toBe("http://127.0.0.1:1");
        return Promise.resolve();
      },
    ),
  startDevnode: (way) =>
    offline(way, [{ chainId: "one", segments: 1, blocksPerSegment: 1, blockMs: 0 }], async (given) => {
      await using started = await startDevnode(given);
      expect(started.chainId).toBe("one");
    }),
  fallback: (way) =>
    offline(way, [[{ name: "one" }], { pauseMs: 5 }] as const, async ([member], given) => {
      const transport = createGrpcTransport({ url: node.grpcUrl });
      const used = fallback([Object.assign(member, { transport })], given);
      await used.unary(CoreService.method.lastBlockHeight, undefined, timeoutMs, undefined, {});
      await used.close();
    }),
};

/** Calls a function, and changes its arguments at once. Returns what was read more than once. */
async function offline<const A extends unknown[] | readonly unknown[]>(
  way: Way,
  original: A,
  call: (...given: A) => Promise<void>,
): Promise<readonly string[]> {
  const given = changing(original, way, new Map());
  const calling = call(...given.value);
  if (way !== "a getter") {
    given.change();
  }
  await calling;
  return given.readMoreThanOnce();
}

describe.each(WAYS)("without a client, with %s", (way) => {
  it.each(Object.entries(alone))("%s does what it was called with", async (_, run) => {
    expect(await run(way)).toEqual([]);
  });
});

it("uses the hooks and the journal's methods that it was given first", async () => {
  const called: string[] = [];
  const hooks = { onCallStart: () => void called.push("first") };
  await using client = createClient({ grpc: { url: node.grpcUrl } }, { hooks });
  hooks.onCallStart = () => void called.push("second");
  await using journal = await newJournal();
  const { append } = journal;
  const intents = client.intents({ signer, journal });
  const change = { append: () => Promise.reject(new Error("exchanged")) };
  Object.assign(journal, change);
  await intents.submit(limitOrder(), { id: "one", timeoutMs });
  Object.assign(journal, { append });
  expect(new Set(called)).toEqual(new Set(["first"]));
});

it("covers the functions of a client", async () => {
  await using client = clientOf();
  const tested = new Set(Object.keys({ ...sending, ...reading }).map((name) => /^\w+/.exec(name)?.[0]));
  const functions = Object.entries(client).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
  expect(functions.filter((name) => !tested.has(name))).toEqual(["transactionResults", "close"]);
});
