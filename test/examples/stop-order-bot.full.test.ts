import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Code, ConnectError, createClient as createNodeClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { expect, it } from "@jest/globals";
import {
  type Client,
  type CommandInit,
  createClient,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  StopOrder_ExpiryStrategy,
  StopOrder_Status,
  signerFromMnemonic,
  signerFromSeed,
} from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { type ListStopOrdersResponse, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import type { Running } from "../support/command-process.js";
import { openMarket } from "../support/devnode.js";
import { installExample } from "../support/example.js";
import { freePort } from "../support/free-port.mjs";
import { serveNode } from "../support/node.js";

const seed = "5a".repeat(32);

/** Buy or sell, at whatever price: a large order goes through the book. */
function buy(client: Client, signer: Signer, size: bigint, side = Side.BUY) {
  const order = { marketId: openMarket, side, size, type: Order_Type.MARKET };
  const value = { ...order, timeInForce: Order_TimeInForce.IOC };
  return client.sendCommand({ case: "orderSubmission", value }, { signer, until: "executed" });
}

async function liveTriggers(client: Client): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  const { publicKey } = signerFromSeed(seed);
  for await (const { node } of client.stopOrders({ filter: { partyIds: [publicKey], liveOnly: true } })) {
    found.push(node.stopOrder.trigger.value);
  }
  return found;
}

/** Read the lines of a program, until one begins with a text. */
function linesOf({ child }: Running) {
  if (child.stdout === null) {
    throw new Error("the program has no output");
  }
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (beginning: string): Promise<string> => {
    for (;;) {
      const { done, value } = await lines.next();
      if (done === true) {
        throw new Error(`the program ended without ${beginning}`);
      }
      if (value.startsWith(beginning)) {
        return value;
      }
    }
  };
}

it("keeps one stop order behind the market, also where the node comes and goes", async () => {
  await using example = await installExample("stop-order-bot");
  const dataDir = await mkdtemp(join(tmpdir(), "tradewire-bot-"));
  const options = { blockMs: 50, segments: 2, blocksPerSegment: 10, dataDir, grpcPort: await freePort() };
  let node: Devnode = await startDevnode(options);
  const { grpcUrl } = node;
  await using client = createClient({ grpc: { url: grpcUrl } });
  const buyer = await signerFromMnemonic(node.mnemonic);
  await buy(client, signerFromSeed(seed), 5n); // The bot's own position.
  await writeFile(join(example.folder, "bot.key"), `${seed}\n`, { mode: 0o600 });
  const mistaken = example.run(["bot.key", openMarket, "five"], { TRADEWIRE_GRPC_URL: grpcUrl });
  expect(await mistaken.ended).toMatchObject({ code: 1, err: expect.stringContaining('SIZE is "five"\nGive') });
  const running = example.run(["bot.key", openMarket, "5", "1000", "1"], { TRADEWIRE_GRPC_URL: grpcUrl });
  const until = linesOf(running);
  // What became of it may not be known at once, where its answer was lost.
  const level = async () => (await until("stop order at ")).slice("stop order at ".length).replace(/: .*/, "");
  const isAlone = async (price: string | undefined) => {
    for (let live = await liveTriggers(client); live.join() !== price; live = await liveTriggers(client)) {
      await buy(client, buyer, 1n);
    }
  };

  /** Trade until the bot, which may not be listening yet, has heard of it. */
  const provoked = async (heard: Promise<string>) => {
    let isHeard = false;
    const done = heard.finally(() => {
      isHeard = true;
    });
    while (!isHeard) {
      await buy(client, buyer, 1n);
    }
    return done;
  };

  const levels = [await provoked(level())];
  for (const answer of ["given", "lost"]) {
    if (answer === "lost") {
      node.failNext({ method: "SubmitTransaction", with: "cut", times: 2 }); // The buyer's, and the bot's.
    }
    await buy(client, buyer, 2000n);
    levels.push(await level());
    await isAlone(levels.at(-1));
  }

  await node.close();
  node = await startDevnode(options);
  await provoked(until("the connection was lost, and is there again"));
  await buy(client, buyer, 2000n);
  levels.push(await provoked(level())); // While it is not known what became of the last one, each price has it look again.
  await isAlone(levels.at(-1));
  expect(levels.map(Number)).toEqual([...new Set(levels.map(Number))].sort((a, b) => a - b));

  running.child.kill("SIGTERM");
  await until("stop order taken back");
  expect(await running.ended).toMatchObject({ code: 0, err: "" });
  expect(await liveTriggers(client)).toEqual([]);
  await node.close();
  await rm(dataDir, { recursive: true });
});

const own = signerFromSeed(seed);
const HOUR = 3_600_000_000_000n;

/** The identifier of the bot's live stop order. */
async function liveId(client: Client): Promise<string> {
  for await (const { node } of client.stopOrders({ filter: { partyIds: [own.publicKey], liveOnly: true } })) {
    return node.stopOrder.id;
  }
  throw new Error("there is no live stop order");
}

/** How the bot's stop order can end without the bot: what brings that about, at which distance from the price. */
const ends: readonly [
  "TRIGGERED" | "CANCELLED" | "EXPIRED" | "STOPPED",
  string,
  (client: Client, node: Devnode) => Promise<unknown>,
][] = [
  ["TRIGGERED", "1000", async (client, node) => buy(client, await signerFromMnemonic(node.mnemonic), 2000n, Side.SELL)],
  [
    "CANCELLED",
    "1000000",
    async (client) => {
      const value = { marketId: openMarket, stopOrderId: await liveId(client) };
      await client.sendCommand({ case: "stopOrdersCancellation", value }, { signer: own, until: "executed" });
    },
  ],
  ["EXPIRED", "1000000", async (_, node) => node.setTime(BigInt(Date.now()) * 1_000_000n + 2n * HOUR)],
  // The other half of a pair triggers.
  ["STOPPED", "1000000", async (client, node) => buy(client, await signerFromMnemonic(node.mnemonic), 2000n)],
];

/** Stop orders that the bot finds, with ends that its own cannot have: one that expires, or a pair. */
function found(status: string, lastPrice: bigint): CommandInit {
  const orderSubmission = {
    marketId: openMarket,
    side: Side.SELL,
    size: 5n,
    type: Order_Type.MARKET,
    timeInForce: Order_TimeInForce.IOC,
    reduceOnly: true,
  };
  const setup = (price: bigint) => ({ orderSubmission, trigger: { case: "price" as const, value: String(price) } });
  const fallsBelow = setup(lastPrice - 1_000_000n);
  if (status === "STOPPED") {
    return { case: "stopOrdersSubmission", value: { fallsBelow, risesAbove: setup(lastPrice + 50n) } };
  }
  const expiresAt = BigInt(Date.now()) * 1_000_000n + HOUR;
  const expiry = { expiresAt, expiryStrategy: StopOrder_ExpiryStrategy.CANCELS };
  return { case: "stopOrdersSubmission", value: { fallsBelow: { ...fallsBelow, ...expiry } } };
}

async function lastPriceOf(client: Client): Promise<bigint> {
  const { marketData } = await client.service(TradingDataService).getLatestMarketData({ marketId: openMarket });
  return BigInt(marketData?.lastTradedPrice ?? 0);
}

it.each(ends)("ends well when its stop order has ended: %s at a distance of %s", async (status, distance, end) => {
  await using example = await installExample("stop-order-bot");
  await using node = await startDevnode({ blockMs: 50, segments: 2, blocksPerSegment: 10 });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  const buyer = await signerFromMnemonic(node.mnemonic);
  await buy(client, own, 5n);
  const isFound = status === "EXPIRED" || status === "STOPPED";
  if (isFound) {
    await client.sendCommand(found(status, await lastPriceOf(client)), { signer: own, until: "executed" });
  }
  await writeFile(join(example.folder, "bot.key"), `${seed}\n`, { mode: 0o600 });
  const running = example.run(["bot.key", openMarket, "5", distance, "1000"], { TRADEWIRE_GRPC_URL: node.grpcUrl });
  const until = linesOf(running);
  const heard = until(isFound ? "a stop order is live" : "stop order at ");
  const provoked = async (done: Promise<unknown>) => {
    let isDone = false;
    const settled = done.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await buy(client, buyer, 1n);
    }
    await settled;
  };
  await provoked(heard);
  await end(client, node);
  await provoked(until("the stop order has come to its end"));
  const outcome = await running.ended;
  expect(outcome).toMatchObject({ code: 0, err: "" });
  expect(outcome.out).not.toContain("stop order taken back"); // What has ended is not cancelled.
  const statuses: (StopOrder_Status | undefined)[] = [];
  for await (const { node: found } of client.stopOrders({ filter: { partyIds: [own.publicKey] } })) {
    statuses.push(found.stopOrder.status);
  }
  expect(statuses.toSorted()).toEqual(
    status === "STOPPED" ? [StopOrder_Status.STOPPED, StopOrder_Status.TRIGGERED] : [StopOrder_Status[status]],
  );
});

/** A node before another one, which answers lists of stop orders as they were when its data node began to lag. */
async function startLagging(grpcUrl: string) {
  const transport = createGrpcTransport({ baseUrl: grpcUrl });
  const [data, core] = [createNodeClient(TradingDataService, transport), createNodeClient(CoreService, transport)];
  let before: Promise<ListStopOrdersResponse> | undefined;
  let lists = () => {};
  const node = await serveNode(
    {
      getStopOrder(request) {
        if (before !== undefined) {
          throw new ConnectError("not found", Code.NotFound);
        }
        return data.getStopOrder(request);
      },
      async listStopOrders(request) {
        const answer = await (before ?? data.listStopOrders(request));
        lists();
        return answer;
      },
      listEntities: (request) => data.listEntities(request),
      observeEventBus: (requests, { signal }) => data.observeEventBus(requests, { signal }),
    },
    {
      lastBlockHeight: (request) => core.lastBlockHeight(request),
      statistics: (request) => core.statistics(request),
      getSpamStatistics: (request) => core.getSpamStatistics(request),
      submitTransaction: (request) => core.submitTransaction(request),
    },
  );
  return {
    grpcUrl: node.grpcUrl,
    /** Resolves when stop orders are listed the next time. */
    listed: () =>
      new Promise<void>((resolve) => {
        lists = resolve;
      }),
    lag(isBehind: boolean) {
      const filter = { partyIds: [own.publicKey], marketIds: [openMarket], liveOnly: true };
      before = isBehind ? data.listStopOrders({ filter }) : undefined;
    },
    [Symbol.asyncDispose]: () => node.close(),
  };
}

it("knows what it replaced, while the data node lags behind the network", async () => {
  await using example = await installExample("stop-order-bot");
  await using node = await startDevnode({ blockMs: 50, segments: 2, blocksPerSegment: 10 });
  await using lagging = await startLagging(node.grpcUrl);
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  const buyer = await signerFromMnemonic(node.mnemonic);
  await buy(client, own, 5n);
  await writeFile(join(example.folder, "bot.key"), `${seed}\n`, { mode: 0o600 });
  const running = example.run(["bot.key", openMarket, "5", "1000", "1"], { TRADEWIRE_GRPC_URL: lagging.grpcUrl });
  const until = linesOf(running);
  const provoked = async <T>(heard: Promise<T>, size = 1n) => {
    let isHeard = false;
    const done = heard.finally(() => {
      isHeard = true;
    });
    while (!isHeard) {
      await buy(client, buyer, size);
    }
    return done;
  };
  await provoked(until("stop order at "));
  const [first] = await liveTriggers(client);
  lagging.lag(true);
  for (let count = 0; count < 2; count += 1) {
    await provoked(until("stop order at "), 2000n); // The list still has the first one.
    await provoked(lagging.listed());
  }
  lagging.lag(false);
  await provoked(until("stop order at "), 2000n);
  const live = await liveTriggers(client);
  expect(live).toHaveLength(1);
  expect(Number(live[0])).toBeGreaterThan(Number(first));
  lagging.lag(true);
  await provoked(until("stop order at "), 2000n);
  running.child.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 0, err: "" });
  expect(await liveTriggers(client)).toEqual([]);
});

it("says why its stop order was rejected, as without a position", async () => {
  await using example = await installExample("stop-order-bot");
  await using node = await startDevnode({ blockMs: 50, segments: 2, blocksPerSegment: 10 });
  await writeFile(join(example.folder, "bot.key"), `${seed}\n`, { mode: 0o600 });
  const running = example.run(["bot.key", openMarket, "5", "1000", "1"], { TRADEWIRE_GRPC_URL: node.grpcUrl });
  await using client = createClient({ grpc: { url: node.grpcUrl } });
  const buyer = await signerFromMnemonic(node.mnemonic);
  let isOver = false;
  const ended = running.ended.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await buy(client, buyer, 1n);
  }
  const reason = expect.stringContaining("REJECTION_REASON_STOP_ORDER_NOT_ALLOWED_WITHOUT_A_POSITION");
  expect(await ended).toMatchObject({ code: 1, err: reason });
});
