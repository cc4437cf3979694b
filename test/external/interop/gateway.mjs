// The REST transport through grpc-gateway, generated from this project's definitions, in front of the local node: every
// answer has to be the one that gRPC gives.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createClient, signerFromMnemonic } from "tradewire";
import { CoreService, TradingDataService } from "tradewire/api";
import { all, answers, outcome, plain, sha256 } from "./compare.mjs";
import { start } from "./processes.mjs";
import { once } from "./tools.mjs";

const NOBODY = "0".repeat(64);
/** A market of the local node that is open. */
const market = createHash("sha256").update("market:0").digest("hex");
/** How many blocks are made until a stream is there, and how long each waits, in milliseconds. */
const BLOCKS = 100;
const BLOCK_MS = 50;

/** The largest chunk of an export. */
const CHUNK_BYTES = 1024 * 1024;

const data = TradingDataService.method;
const core = CoreService.method;
const range = { fromBlock: 1, toBlock: 4000 };

/** Calls that read, with what the gateway has to put into paths, queries and bodies. */
const CALLS = [
  [data.listAllNetworkHistorySegments, {}],
  [data.listNetworkParameters, { pagination: { first: 7, newestFirst: false } }],
  [data.getNetworkParameter, { key: "spam.pow.difficulty" }],
  [data.listMarkets, {}],
  [data.listAssets, {}],
  [data.listTrades, { marketIds: [market], pagination: { first: 50 } }],
  [data.getLatestMarketDepth, { marketId: market, maxDepth: 3n }],
  [core.lastBlockHeight, {}],
];

/** Calls that fail. */
const FAILING = [
  [data.getStopOrder, { orderId: NOBODY }],
  [data.getStopOrder, { orderId: "x%y ä?&" }],
  [data.listStopOrders, { pagination: { first: 5001 } }],
  [data.listStopOrders, { pagination: { after: "%" } }],
  [data.exportNetworkHistory, { fromBlock: 2n, toBlock: 7n, table: 6 }],
];

const STOP_ORDERS = [
  [{}, { pageSize: 100, limit: 250 }],
  [
    { statuses: ["PENDING", "TRIGGERED"], markets: [market], since: 0n },
    { pageSize: 7, limit: 20 },
  ],
  [{ live: true, expiryStrategies: ["CANCELS", "SUBMIT"] }, { limit: 20 }],
];

export function gatewayCases({ node, folder, tools, clients, onEnd }) {
  const { grpc } = clients;
  const gateways = once(async () => {
    const { said, stop } = await start(join(await tools.go(), "interop"), ["gateway", new URL(node.grpcUrl).host]);
    onEnd(stop);
    return Object.fromEntries(
      Object.entries(said).map(([name, url]) => {
        const client = createClient({ transport: "rest", rest: { url }, retry: { tries: 1 } });
        onEnd(() => client.close());
        return [name, client];
      }),
    );
  });
  const through = async (name) => (await gateways())[name];

  /** Make a call over both ways: what is the same. */
  async function same(rest, method, request, options) {
    const [through, direct] = [
      await answers(rest, method, request, options),
      await answers(grpc, method, request, options),
    ];
    assert.deepEqual(through, direct, method.name);
    return direct;
  }

  async function reads(name) {
    const rest = await through(name);
    for (const [method, request] of CALLS) {
      const { messages } = await same(rest, method, request);
      assert.equal(messages.length, 1, method.name);
    }
    const lists = (client) => [
      client.listSegments(),
      all(client.networkParameters({ pageSize: 7, newestFirst: false })),
      ...STOP_ORDERS.map((given) => all(client.stopOrders(...given))),
    ];
    assert.deepEqual(plain(await Promise.all(lists(rest))), plain(await Promise.all(lists(grpc))));
  }

  async function fails(name) {
    const rest = await through(name);
    for (const [method, request] of FAILING) {
      const { error } = await same(rest, method, request);
      assert.ok(error, method.name);
    }
  }

  const exported = (client) => client.exportNetworkHistory({ table: "trades", ...range }, { extensions: "optional" });

  async function exports(name, fileName) {
    const rest = await through(name);
    const { path, bytes } = await exported(rest).saveTo(join(folder, `${name}/`));
    assert.equal(basename(path), fileName);
    const archive = await readFile(path);
    assert.ok(bytes > CHUNK_BYTES, `the archive has ${bytes} bytes, which is not enough for several chunks`);
    assert.equal(sha256(archive), sha256(Buffer.concat(await all(exported(grpc).bytes()))));
    assert.deepEqual(await all(exported(rest).rows()), await all(exported(grpc).rows()));
    const [{ node: trade }] = await all(grpc.records(data.listTrades, {}, { limit: 1 }));
    const ledger = (client) => all(client.exportLedgerEntries({ partyId: trade.buyer }).rows());
    const entries = await ledger(grpc);
    assert.ok(entries.length > 0, "the ledger is empty");
    assert.deepEqual(await ledger(rest), entries);
  }

  async function breaks(name) {
    const rest = await through(name);
    for (const failure of [
      { with: "UNAVAILABLE" },
      { with: "INTERNAL", afterBytes: 1000 },
      { with: "DATA_LOSS", afterBytes: 1_200_000 },
      { with: "error-after-archive" },
    ]) {
      const failing = (client) => {
        node.failNext({ method: "ExportNetworkHistory", ...failure });
        return outcome(() => exported(client).saveTo(join(folder, "never.zip")));
      };
      const [{ error }, direct] = [await failing(rest), await failing(grpc)];
      assert.ok(error, `an error was lost: ${JSON.stringify(failure)}`);
      assert.deepEqual([error.name, error.code], [direct.error.name, direct.error.code]);
    }
  }

  async function refuses(name) {
    const { error } = await outcome(async () => exported(await through(name)).saveTo(join(folder, "never.zip")));
    assert.equal(error?.name, "ProtocolError");
  }

  async function submits(name) {
    const rest = await through(name);
    const signer = await signerFromMnemonic(node.mnemonic, { index: 1 });
    const reference = `interop-${name}`;
    const value = { marketId: market, price: "1", size: 10n, side: 1, timeInForce: 1, type: 1, reference };
    const sent = rest.sendCommand({ case: "orderSubmission", value }, { signer, until: "executed" });
    const { txHash, outcome: end } = await making(node, sent);
    assert.equal(end.status, "executed");
    const orders = await all(
      grpc.records(data.listOrders, { filter: { partyIds: [signer.publicKey] } }, { limit: 100 }),
    );
    assert.ok(
      orders.some(({ node: order }) => order.reference === reference),
      `no order came of ${txHash}`,
    );
    await same(rest, core.checkTransaction, { tx: { inputData: new Uint8Array(3), version: 3 } });
  }

  /** Both ways at once: what the one reads, the other reads as well, though they may begin at different blocks. */
  async function streams(name) {
    const rest = await through(name);
    for (const [method, request] of [
      [data.observeAccounts, {}],
      [data.observeMarketsData, { marketIds: [market] }],
      [data.observeMarketsDepth, { marketIds: [market] }],
    ]) {
      const [over, direct] = await making(
        node,
        Promise.all([rest, grpc].map((client) => answers(client, method, request, { limit: 5 }))),
      );
      assert.equal(over.messages.length, 5, method.name);
      const isShared = over.messages.some((message) =>
        direct.messages.some((each) => isDeepStrictEqual(each, message)),
      );
      assert.ok(isShared, `${method.name}: no message in common`);
    }
  }

  /** All events of a block, over both ways at once. */
  async function follows(name) {
    const signal = AbortSignal.timeout(30_000);
    const types = ["order", "trade", "endBlock"];
    const followed = [await through(name), grpc].map((client) =>
      client.events({ types }, { signal })[Symbol.asyncIterator](),
    );
    await making(node, Promise.all(followed.map((events) => events.next())));
    const height = await node.makeBlock();
    const [rest, direct] = await Promise.all(
      followed.map(async (events) => {
        const seen = [];
        for (let ended = false; !ended; ) {
          const { value } = await events.next();
          if (value.block === height) {
            seen.push(plain(value));
            ended = value.kind === "endBlock";
          }
        }
        await events.return();
        return seen;
      }),
    );
    assert.ok(direct.length > 1, "the block has no trades");
    assert.deepEqual(rest, direct);
  }

  const cases = (name) => [
    [`grpc-gateway, ${name}: segments, parameters, markets, stop orders`, () => reads(name)],
    [`grpc-gateway, ${name}: errors`, () => fails(name)],
    [`grpc-gateway, ${name}: errors before, within and behind an export`, () => breaks(name)],
    [`grpc-gateway, ${name}: a transaction and what becomes of it`, () => submits(name)],
    [`grpc-gateway, ${name}: streams`, () => streams(name)],
    [`grpc-websocket-proxy, ${name}: the event bus`, () => follows(name)],
  ];
  return [
    ...cases("default"),
    ["grpc-gateway, default: an export that its newlines break is refused", () => refuses("default")],
    ...cases("envelopes"),
    ["grpc-gateway, envelopes: exports", () => exports("envelopes", "network-trades-1-4000.zip")],
    ...cases("raw"),
    ["grpc-gateway, raw: exports", () => exports("raw", "tradewire-devnet-trades-116-1-4000.zip")],
  ];
}

/** Make blocks until something has come of them. */
async function making(node, promise) {
  let settled = false;
  const settle = () => {
    settled = true;
  };
  promise.then(settle, settle);
  for (let made = 0; made < BLOCKS && !settled; made += 1) {
    await node.makeBlock();
    await new Promise((resolve) => setTimeout(resolve, BLOCK_MS));
  }
  return promise;
}
