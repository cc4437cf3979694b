// @ts-check
// Tests your code against a local network with injected failures: npx vitest run
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, signerFromMnemonic } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { archiveTrades, place } from "./trading.js";

/** @type {Awaited<ReturnType<typeof startDevnode>>} */
let node;
/** @type {import("tradewire").Client} */
let client;

beforeAll(async () => {
  node = await startDevnode({ blockMs: 20, segments: 2, blocksPerSegment: 10 });
  client = createClient({ grpc: { url: node.grpcUrl }, retry: { tries: 2, baseMs: 1, maxMs: 1 } });
});

afterAll(async () => {
  await client.close();
  await node.close();
});

describe("archiveTrades", () => {
  const range = { fromBlock: 1, toBlock: 20 };
  /** @type {string} */
  let folder;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "trades-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("saves an archive", async () => {
    const { path } = await archiveTrades(client, range, folder);
    expect(await readdir(folder)).toHaveLength(1);
    expect(path).toContain("trades");
  });

  it("leaves nothing behind where the export is cut, and saves it the next time", async () => {
    node.failNext({ method: "ExportNetworkHistory", with: "cut", afterBytes: 100, times: 2 });
    expect(await archiveTrades(client, range, folder)).toHaveProperty("later");
    expect(await readdir(folder)).toEqual([]);
    expect(await archiveTrades(client, range, folder)).toHaveProperty("path");
  });

  it("takes no archive for whole that is followed by an error", async () => {
    node.failNext({ method: "ExportNetworkHistory", with: "error-after-archive" });
    expect(await archiveTrades(client, range, folder)).toHaveProperty("later");
    expect(await readdir(folder)).toEqual([]);
  });

  it("tries a node that is away once more", async () => {
    node.failNext({ method: "ExportNetworkHistory", with: "UNAVAILABLE", times: 1 });
    expect(await archiveTrades(client, range, folder)).toHaveProperty("path");
    node.failNext({ method: "ExportNetworkHistory", with: "UNAVAILABLE", times: 2 });
    expect(await archiveTrades(client, range, folder)).toHaveProperty("later");
  });
});

describe("place", () => {
  const openMarket = async () => {
    const data = client.service(TradingDataService);
    const { markets } = await data.listMarkets({});
    const open = markets?.edges.find(({ node }) => node?.tradingMode === Market_TradingMode.CONTINUOUS);
    return open?.node?.id ?? "";
  };
  /** @param {bigint} size @param {boolean} reduceOnly */
  const buy = async (size, reduceOnly = false) =>
    /** @type {const} */ ({
      case: "orderSubmission",
      value: {
        marketId: await openMarket(),
        side: "BUY",
        size,
        reduceOnly,
        type: "MARKET",
        timeInForce: "IOC",
      },
    });
  const signer = () => signerFromMnemonic(node.mnemonic);

  it("buys", async () => {
    expect(await place(client, await signer(), await buy(1n))).toBe("executed");
  });

  it("says why an order is rejected", async () => {
    // Nothing is there that a purchase would reduce.
    const other = await signerFromMnemonic(node.mnemonic, { index: 2 });
    expect(await place(client, other, await buy(1n, true))).toMatch(/^failed: .*reduce/i);
  });

  it("sends an order once, also where the answer is lost", async () => {
    const [me, command] = [await signer(), await buy(1n)];
    const positionOf = async () => {
      const { positions } = await client
        .service(TradingDataService)
        .listAllPositions({ filter: { partyIds: [me.publicKey] } });
      return positions?.edges[0]?.node?.openVolume ?? 0n;
    };
    const before = await positionOf();
    node.failNext({ method: "SubmitTransaction", with: "cut" });
    expect(await place(client, me, command)).toBe("executed");
    await expect.poll(positionOf).toBe(before + 1n); // A node lists a block some milliseconds after its events.
  });

  it("says where nothing was sent", async () => {
    const nobody = createClient({ grpc: { url: "http://127.0.0.1:1" } });
    expect(await place(nobody, await signer(), await buy(1n))).toMatch(/^not sent: /);
    await nobody.close();
  });
});
