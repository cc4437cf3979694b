import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type Signer, signerFromSeed, withSharedCount } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { eventually } from "../../support/eventually.js";
import { restingOrder } from "../../support/transactions.js";

const block = { hash: "07".repeat(32), height: 7n };
const signer = signerFromSeed("5e".repeat(32));

describe("a shared count", () => {
  it("counts the transactions of each block, less those that were given back", async () => {
    const { takeShare, publicKey } = withSharedCount(signer);
    expect(publicKey).toBe(signer.publicKey);
    const first = await takeShare(block);
    expect([
      first?.count,
      (await takeShare(block))?.count,
      (await takeShare({ ...block, hash: "08".repeat(32) }))?.count,
    ]).toEqual([0, 1, 0]);
    first?.giveBack();
    first?.giveBack();
    expect((await takeShare(block))?.count).toBe(1);
  });

  it("has no shares of blocks whose transactions may be on their way already", async () => {
    const { takeShare } = withSharedCount(signer, { afterBlock: 7n });
    expect(await takeShare(block)).toBeUndefined();
    expect(await takeShare({ hash: "08".repeat(32), height: 8n })).toMatchObject({ count: 0 });
  });

  it("has no shares of a block that it had to forget", async () => {
    const { takeShare } = withSharedCount(signer);
    await takeShare(block);
    for (let height = 8n; height <= 1007n; height += 1n) {
      await takeShare({ hash: height.toString(16).padStart(64, "0"), height });
    }
    expect(await takeShare(block)).toBeUndefined();
    expect(await takeShare({ hash: `${"0".repeat(61)}3ef`, height: 1007n })).toMatchObject({ count: 1 });
  });

  it("is not counted twice", () => {
    expect(() => withSharedCount(withSharedCount(signer))).toThrow("already counts the transactions of all clients");
  });
});

describe("two clients with one key", () => {
  let node: Devnode;
  let clients: Client[];
  beforeAll(async () => {
    node = await startDevnode({ blockMs: 300, segments: 1, blocksPerSegment: 10 });
    clients = [0, 1].map(() => createClient({ grpc: { url: node.grpcUrl } }));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await node.close();
  });

  /** Sends orders by all clients at once, and counts those that blocks have. */
  async function executed(shared: Signer): Promise<{ readonly sent: number; readonly executed: number }> {
    const sent = await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 30 }, () => client.sendCommand(restingOrder, { signer: shared })),
      ),
    );
    const [client] = clients;
    const height = (await client?.lastBlockHeight())?.height ?? 0n;
    await eventually(async () => ((await client?.lastBlockHeight())?.height ?? 0n) >= height + 16n);
    const listed = await client?.service(TradingDataService).listOrders({ filter: { partyIds: [shared.publicKey] } });
    return { sent: sent.length, executed: listed?.orders?.edges.length ?? 0 };
  }

  it("lose transactions if each counts its own", async () => {
    const { sent, executed: orders } = await executed(signerFromSeed("5f".repeat(32)));
    expect(sent).toBe(60);
    expect(orders).toBeLessThan(60);
  });

  it("lose none if they share a count", async () => {
    const shared = withSharedCount(signerFromSeed("60".repeat(32)));
    expect(await executed(shared)).toEqual({ sent: 60, executed: 60 });
  });
});
