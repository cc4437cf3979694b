import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, type Signer, signerFromSeed, withSharedCount } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
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
    node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    clients = [0, 1].map(() => createClient({ grpc: { url: node.grpcUrl } }));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await node.close();
  });

  /**
   * Has each client send orders with proofs of the same block, and counts those that the next block has. A block's third order
   * of a key needs a harder proof than the first two, the fifth an even harder one, and so on.
   */
  async function executed(shared: Signer, each: number): Promise<number> {
    await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: each }, () => client.sendCommand(restingOrder, { signer: shared })),
      ),
    );
    await node.makeBlock();
    const [client] = clients;
    const listed = await client?.service(TradingDataService).listOrders({ filter: { partyIds: [shared.publicKey] } });
    return listed?.orders?.edges.length ?? 0;
  }

  it("lose transactions if each counts its own", async () => {
    expect(await executed(signerFromSeed("5f".repeat(32)), 6)).toBeLessThan(12);
  });

  it("lose none if they share a count", async () => {
    expect(await executed(withSharedCount(signerFromSeed("60".repeat(32))), 3)).toBe(6);
  });
});
