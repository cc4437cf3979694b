import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, type CommandInit, createClient, RequestError, type Signer, signerFromMnemonic } from "tradewire";
import { type Devnode, type DevnodeOptions, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";
import { Order_Status, Order_TimeInForce, Order_Type, Side } from "tradewire/gen/vega/vega_pb.js";
import { openMarket } from "../support/devnode.js";
import { eventually } from "../support/eventually.js";

const small = { segments: 4, blocksPerSegment: 10, blockMs: 0 } as const;

interface Played {
  readonly node: Devnode;
  readonly client: Client;
  readonly buyer: Signer;
  readonly seller: Signer;
}

async function play(options: DevnodeOptions, use: (played: Played) => Promise<void>): Promise<void> {
  await using node = await startDevnode({ ...small, ...options });
  await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
  const [buyer, seller] = await Promise.all([1, 2].map((index) => signerFromMnemonic(node.mnemonic, { index })));
  if (buyer === undefined || seller === undefined) {
    throw new Error("no keys");
  }
  await use({ node, client, buyer, seller });
}

const order = (side: Side, price: string, size = 1n): CommandInit => ({
  case: "orderSubmission",
  value: { marketId: openMarket, side, price, size, timeInForce: Order_TimeInForce.GTC, type: Order_Type.LIMIT },
});

/** The orders of a party, newest first. */
async function ordersOf({ client }: Played, { publicKey }: Signer) {
  const { orders } = await client.service(TradingDataService).listOrders({ filter: { partyIds: [publicKey] } });
  return orders?.edges.map(({ node }) => node) ?? [];
}

describe("the keys of a local node", () => {
  it("are those of its mnemonic, and have balances of every asset that is traded", async () => {
    await play({}, async ({ node, client, buyer, seller }) => {
      expect(node.keys).toHaveLength(10);
      expect(node.keys.slice(0, 2)).toEqual([buyer.publicKey, seller.publicKey]);
      const { accounts } = await client
        .service(TradingDataService)
        .listAccounts({ filter: { partyIds: [...node.keys] } });
      expect(accounts?.edges.length).toBeGreaterThanOrEqual(10 * 5);
      for (const { node: account } of accounts?.edges ?? []) {
        expect(BigInt(account?.balance ?? "")).toBeGreaterThan(0n);
      }
    });
  });
});

describe("snapshots", () => {
  it("bring back orders, balances, blocks and history, as often as one likes", async () => {
    await play({}, async (played) => {
      const { node, client, buyer } = played;
      await client.sendCommand(order(Side.BUY, "1"), { signer: buyer });
      await node.makeBlock();
      const id = node.snapshot();
      const kept = {
        orders: await ordersOf(played, buyer),
        block: await client.lastBlockHeight(),
        segments: await client.listSegments(),
      };
      for (let round = 0; round < 2; round += 1) {
        await client.sendCommand({ case: "orderCancellation", value: {} }, { signer: buyer });
        for (let block = 0; block < 10; block += 1) {
          await node.makeBlock();
        }
        expect((await ordersOf(played, buyer)).map((found) => found?.status)).toEqual([Order_Status.CANCELLED]);
        expect((await client.listSegments()).length).toBe(kept.segments.length + 1);
        node.revert(id);
        expect(await ordersOf(played, buyer)).toEqual(kept.orders);
        expect(await client.lastBlockHeight()).toEqual(kept.block);
        expect(await client.listSegments()).toEqual(kept.segments);
      }
    });
  });

  it("keep what waits for a block", async () => {
    await play({}, async (played) => {
      const { node, client, buyer } = played;
      await client.sendCommand(order(Side.BUY, "1"), { signer: buyer });
      const id = node.snapshot();
      await node.makeBlock();
      node.revert(id);
      expect(await ordersOf(played, buyer)).toEqual([]);
      await node.makeBlock();
      expect(await ordersOf(played, buyer)).toHaveLength(1);
    });
  });

  it("know the transactions that came before them", async () => {
    await play({}, async ({ node, client, buyer }) => {
      const { transaction: tx } = await client.sendCommand(order(Side.BUY, "1"), { signer: buyer });
      await node.makeBlock();
      const id = node.snapshot();
      await node.makeBlock();
      node.revert(id);
      // CometBFT's cache has what succeeded, before the network itself looks at it.
      const again = client.service(CoreService).submitTransaction({ tx });
      await expect(again).rejects.toThrow("tx already exists in cache");
    });
  });

  it("that came after one that was brought back are forgotten, and so are all by a reset", async () => {
    await play({}, async ({ node, client }) => {
      const { height } = await client.lastBlockHeight();
      const first = node.snapshot();
      await node.makeBlock();
      const second = node.snapshot();
      node.revert(first);
      expect(() => node.revert(second)).toThrow(RequestError);
      expect(() => node.revert(second)).toThrow(`unknown snapshot "${second}"`);
      node.revert(first);
      await node.makeBlock();
      node.reset();
      expect((await client.lastBlockHeight()).height).toBe(height);
      expect(() => node.revert(first)).toThrow("unknown snapshot");
    });
  });
});

describe("the clock", () => {
  it("goes on from where it is set", async () => {
    await play({}, async ({ node, client }) => {
      node.setTime("2031-05-06T07:08:09.5Z");
      await node.makeBlock();
      const { timestamp } = await client.service(TradingDataService).getVegaTime({});
      const ahead = timestamp - 1_935_817_689_500_000_000n;
      expect(ahead).toBeGreaterThanOrEqual(0n);
      expect(ahead).toBeLessThan(60_000_000_000n);
      await node.makeBlock();
      const { timestamp: next } = await client.service(TradingDataService).getVegaTime({});
      expect(next).toBeGreaterThan(timestamp);
      expect(() => node.setTime(timestamp)).toThrow("is not after the time of the last block,");
      expect(() => node.setTime("soon")).toThrow('invalid time "soon"');
      expect(() => node.setTime("2263-01-01T00:00:00Z")).toThrow("must be before 2250-01-01T00:00:00.000Z");
    });
  });

  it("lets orders expire", async () => {
    await play({}, async (played) => {
      const { node, client, buyer } = played;
      await node.makeBlock();
      const { timestamp } = await client.service(TradingDataService).getVegaTime({});
      const expiresAt = timestamp + 3_600_000_000_000n;
      const value = { marketId: openMarket, side: Side.BUY, price: "1", size: 1n, type: Order_Type.LIMIT };
      const command = { ...value, timeInForce: Order_TimeInForce.GTT, expiresAt };
      await client.sendCommand({ case: "orderSubmission", value: command }, { signer: buyer });
      await node.makeBlock();
      expect(await ordersOf(played, buyer)).toMatchObject([{ status: Order_Status.ACTIVE }]);
      node.setTime(expiresAt + 1_000_000_000n);
      await node.makeBlock();
      expect(await ordersOf(played, buyer)).toMatchObject([{ status: Order_Status.EXPIRED }]);
    });
  });
});

describe("a folder", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "tradewire-data-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("keeps the node across restarts, and what is reverted is gone", async () => {
    const dataDir = join(folder, "node");
    let kept: unknown;
    const state = async (played: Played) => ({
      orders: await ordersOf(played, played.buyer),
      block: await played.client.lastBlockHeight(),
      segments: await played.client.listSegments(),
      trades: (await played.client.service(TradingDataService).listTrades({ pagination: { first: 50 } })).trades,
    });
    await play({ dataDir, activity: 2 }, async (played) => {
      const { node, client, buyer, seller } = played;
      await client.sendCommand(order(Side.BUY, "1"), { signer: buyer });
      await client.sendCommand(order(Side.SELL, "1"), { signer: seller });
      for (let block = 0; block < 12; block += 1) {
        await node.makeBlock();
      }
      const id = node.snapshot();
      await client.sendCommand({ case: "orderCancellation", value: {} }, { signer: buyer });
      await node.makeBlock();
      node.revert(id);
      kept = await state(played);
    });
    await play({ dataDir, activity: 2 }, async (played) => {
      expect(await state(played)).toEqual(kept);
      await expect(startDevnode({ ...small, dataDir, activity: 2 })).rejects.toThrow(
        "is in use by the node of process",
      );
      played.node.reset();
    });
    await play({ dataDir, activity: 2 }, async (played) => {
      expect((await played.client.lastBlockHeight()).height).toBe(40n);
    });
    await expect(startDevnode({ ...small, dataDir, activity: 3 })).rejects.toThrow("a node with other settings");
  });
});

describe("a connection that is cut or falls silent", () => {
  it.each(["cut", "stall"])("loses the answer of a transaction, and not the transaction (%s)", async (kind) => {
    await play({}, async (played) => {
      const { node, client, buyer } = played;
      node.failNext({ method: "SubmitTransaction", with: kind });
      const leaving = new AbortController();
      // It is signed before blocks are made: a transaction is refused once its block is too old.
      const tx = await client.signCommand(order(Side.BUY, "1"), { signer: buyer });
      const sending = client.submitTransaction({ tx }, { signal: leaving.signal });
      const failed = expect(sending).rejects.toThrow();
      await eventually(async () => {
        await node.makeBlock();
        return (await ordersOf(played, buyer)).length === 1;
      });
      if (kind === "stall") {
        leaving.abort();
      }
      await failed;
    });
  });
});
