import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it } from "@jest/globals";
import { type Client, createClient } from "../../src/client.js";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import {
  Order_TimeInForce,
  Order_Type,
  Side,
  type Signer,
  signerFromMnemonic,
  signerFromSeed,
} from "../../src/index.js";
import type { Running } from "../support/command.js";
import { openMarket } from "../support/devnode.js";
import { installExample } from "../support/example.js";

const seed = "5a".repeat(32);

/** Buy, at whatever price: a large order goes up the book. */
function buy(client: Client, signer: Signer, size: bigint) {
  const order = { marketId: openMarket, side: Side.BUY, size, type: Order_Type.MARKET };
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
  const options = { blockMs: 50, segments: 2, blocksPerSegment: 10, dataDir };
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
  node = await startDevnode({ ...options, grpcPort: Number(new URL(grpcUrl).port) });
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
