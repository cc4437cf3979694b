import { describe, expect, it } from "@jest/globals";
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

/** Returns how many orders of a key blocks have, with one more block of those that wait. */
async function executed(node: Devnode, client: Client, { publicKey }: Signer): Promise<number | undefined> {
  await node.makeBlock();
  const { orders } = await client.service(TradingDataService).listOrders({ filter: { partyIds: [publicKey] } });
  return orders?.edges.length;
}

describe("clients with one key", () => {
  it("lose transactions if each counts its own", async () => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    const clients = [0, 1, 2].map(() => createClient({ grpc: { url: node.grpcUrl } }));
    const own = signerFromSeed("5f".repeat(32));
    // A block asks for a harder proof after every second transaction of a key. All are signed before the first is sent, so that
    // no client sees those of the others.
    const signed = await Promise.all(
      clients.flatMap((client) =>
        Array.from({ length: 8 }, async () => ({
          client,
          tx: await client.signCommand(restingOrder, { signer: own }),
        })),
      ),
    );
    const sent = await Promise.all(signed.map(({ client, tx }) => client.submitTransaction({ tx })));
    expect(sent).toHaveLength(24);
    const [client] = clients;
    expect(client && (await executed(node, client, own))).toBeLessThan(24);
    await Promise.all(clients.map((each) => each.close()));
  });

  it("lose none if they share a count", async () => {
    await using node = await startDevnode({ blockMs: 300, commitDelayMs: 0, segments: 1, blocksPerSegment: 10 });
    await using first = createClient({ grpc: { url: node.grpcUrl } });
    await using second = createClient({ grpc: { url: node.grpcUrl } });
    const shared = withSharedCount(signerFromSeed("60".repeat(32)));
    const sent = await Promise.all(
      [first, second].flatMap((client) =>
        Array.from({ length: 30 }, () => client.sendCommand(restingOrder, { signer: shared })),
      ),
    );
    expect({ sent: sent.length, executed: await executed(node, first, shared) }).toEqual({ sent: 60, executed: 60 });
  });
});
