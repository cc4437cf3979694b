import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "@jest/globals";
import {
  type Client,
  createClient,
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  signerFromMnemonic,
  signerFromSeed,
} from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { Running } from "../support/command-process.js";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";
import { installExample } from "../support/example.js";
import { freePort } from "../support/free-port.mjs";

const seed = "5a".repeat(32);
const own = signerFromSeed(seed);
const filter = { partyIds: [own.publicKey], marketIds: [openMarket] };

/** How long the leases of the bot are, in milliseconds: 200 blocks. A busy machine takes seconds to start the bot again. */
const LEASE_MS = 10_000;
const OPTIONS = { blockMs: 50, segments: 2, blocksPerSegment: 10 };

/** Buy or sell, at whatever price: a large order goes through the book. */
function buy(client: Client, signer: Signer, size: bigint, side = Side.BUY) {
  const order = { marketId: openMarket, side, size, type: Order_Type.MARKET };
  const value = { ...order, timeInForce: Order_TimeInForce.IOC };
  return client.sendCommand({ case: "orderSubmission", value }, { signer, until: "executed" });
}

async function liveTriggers(client: Client): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = [];
  const request = { filter: { ...filter, liveOnly: true } };
  for await (const { node } of client.records(TradingDataService.method.listStopOrders, request)) {
    found.push(node.stopOrder?.trigger.value);
  }
  return found;
}

async function position(client: Client): Promise<bigint | undefined> {
  const { positions } = await client.service(TradingDataService).listAllPositions({ filter });
  return positions?.edges[0]?.node?.openVolume;
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
        return value.slice(beginning.length);
      }
    }
  };
}

/** The bot with a position of 5, beside a buyer who moves the price. */
async function startBot(node: Pick<Devnode, "grpcUrl" | "mnemonic">, distance: string, step: string, size = "5") {
  const example = await installExample("stop-order-bot");
  const client = createClient({ grpc: { url: node.grpcUrl } });
  const buyer = await signerFromMnemonic(node.mnemonic);
  await buy(client, own, 5n); // The bot's own position.
  await writeFile(join(example.folder, "bot.key"), `${seed}\n`, { mode: 0o600 });
  const environment = { TRADEWIRE_GRPC_URL: node.grpcUrl, LEASE_MS: String(LEASE_MS) };
  const run = () => example.run(["bot.key", openMarket, size, distance, step], environment);
  return {
    client,
    run,
    /** Trade until the bot, which may not be listening yet, has heard of it. */
    async provoked<T>(heard: Promise<T>, amount = 1n): Promise<T> {
      let isHeard = false;
      const done = heard.finally(() => {
        isHeard = true;
      });
      while (!isHeard) {
        await buy(client, buyer, amount);
      }
      return done;
    },
    move: (amount: bigint, side?: Side) => buy(client, buyer, amount, side),
    async [Symbol.asyncDispose]() {
      await client.close();
      await example[Symbol.asyncDispose]();
    },
  };
}

it("keeps one stop order behind the market, also where the node comes and goes", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "tradewire-bot-"));
  const options = { ...OPTIONS, dataDir, grpcPort: await freePort() };
  let node = await startDevnode(options);
  await using bot = await startBot(node, "1000", "1");
  const { client } = bot;
  const running = bot.run();
  const until = linesOf(running);
  const levels = [await bot.provoked(until("stop order at "))];
  const isAlone = () =>
    eventually(async () => {
      const live = await liveTriggers(client);
      return live.length === 1 && live[0] === levels.at(-1);
    });
  for (const answer of ["given", "lost"]) {
    if (answer === "lost") {
      node.failNext({ method: "SubmitTransaction", with: "cut", times: 2 }); // The buyer's, and the bot's.
    }
    await bot.move(2000n);
    levels.push(await until("stop order at "));
    await isAlone();
  }
  await node.close();
  node = await startDevnode(options);
  levels.push(await bot.provoked(until("stop order at "), 2000n));
  await isAlone();
  expect(levels.map(Number)).toEqual([...new Set(levels.map(Number))].sort((a, b) => a - b));

  running.child.kill("SIGTERM");
  await until("stop order taken back");
  expect(await running.ended).toMatchObject({ code: 0, err: "" });
  await eventually(async () => (await liveTriggers(client)).length === 0);
  expect(await position(client)).toBe(5n);
  await node.close();
  await rm(dataDir, { recursive: true });
});

it("ends with the position, when the price has fallen", async () => {
  await using node = await startDevnode(OPTIONS);
  await using bot = await startBot(node, "1000", "1000");
  const running = bot.run();
  const until = linesOf(running);
  const level = await bot.provoked(until("stop order at "));
  await eventually(async () => (await liveTriggers(bot.client)).includes(level));
  await bot.move(2000n, Side.SELL);
  await until("the position is closed by order ");
  await bot.provoked(until("there is no position any more"));
  expect(await running.ended).toMatchObject({ code: 0, err: "" });
  expect(await position(bot.client)).toBe(0n);
});

it("leaves nothing behind when it is killed", async () => {
  await using node = await startDevnode(OPTIONS);
  await using bot = await startBot(node, "1000", "1000");
  const { client } = bot;
  const running = bot.run();
  const level = await bot.provoked(linesOf(running)("stop order at "));
  await eventually(async () => (await liveTriggers(client)).includes(level));
  const { height } = await client.lastBlockHeight();
  running.child.kill("SIGKILL");
  await running.ended;
  expect(await position(client)).toBe(5n);
  await eventually(async () => (await position(client)) === 0n);
  const { height: closed } = await client.lastBlockHeight();
  expect(Number(closed - height)).toBeLessThanOrEqual(LEASE_MS / OPTIONS.blockMs + 5);
  expect(await liveTriggers(client)).toEqual([]);
});

it("goes on with its stop order after it was killed and started again", async () => {
  await using node = await startDevnode(OPTIONS);
  await using bot = await startBot(node, "1000", "1000");
  const { client } = bot;
  const first = bot.run();
  const level = await bot.provoked(linesOf(first)("stop order at "));
  await eventually(async () => (await liveTriggers(client)).includes(level));
  first.child.kill("SIGKILL");
  await first.ended;
  const second = bot.run();
  const from = (await client.lastBlockHeight()).height;
  await eventually(
    async () => (await client.lastBlockHeight()).height > from + BigInt((2 * LEASE_MS) / OPTIONS.blockMs),
  );
  expect(await position(client)).toBe(5n);
  expect(await liveTriggers(client)).toEqual([level]);
  second.child.kill("SIGTERM");
  expect(await second.ended).toMatchObject({ code: 0, err: "" });
});

it.each([
  ["five", 'SIZE must be a whole number (got "five")'],
  ["7", "the position is 5, not 7\nThe stop order closes all of it"],
])("says what is wrong with the size %s", async (size, message) => {
  await using node = await startDevnode(OPTIONS);
  await using bot = await startBot(node, "1000", "1", size);
  const outcome = await bot.provoked(bot.run().ended);
  expect(outcome).toMatchObject({ code: 1, err: expect.stringContaining(message) });
});
