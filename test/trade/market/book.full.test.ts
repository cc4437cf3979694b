import { setImmediate } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { type BookGap, createClient, signerFromMnemonic } from "tradewire";
import { TradingDataService } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { eventually } from "../../support/eventually.js";
import { changeBook, readBook } from "../../support/order-book.js";

it.each(["grpc", "rest"] as const)(
  "an order book is the node's after 200 cuts of the connection, over %s",
  async (transport) => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using proxy = await startCuttingProxy(transport === "grpc" ? node.grpcUrl : node.restUrl);
    await using direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await using client = createClient({
      transport,
      grpc: { url: proxy.url },
      rest: { url: proxy.url },
      retry: { baseMs: 1, maxMs: 5 },
    });
    const gaps: BookGap[] = [];
    await using book = readBook(client, openMarket, (gap) => gaps.push(gap));
    for (let turn = 0; turn < 200; turn += 1) {
      if (turn % 4 !== 0) {
        await eventually(() => book.last()?.state === "live"); // Otherwise the cut comes while the book is loaded.
      }
      const changing = changeBook(direct, node, signer, turn);
      for (let turns = turn % 10; turns > 0; turns -= 1) {
        await setImmediate(); // The cut comes before the block, with it, or after it.
      }
      proxy.cut();
      await changing;
    }
    const depth = await direct.service(TradingDataService).getLatestMarketDepth({ marketId: openMarket });
    const { buy, sell, sequenceNumber } = depth;
    await eventually(() => book.last()?.sequenceNumber === sequenceNumber && book.last()?.state === "live");
    expect(book.last()).toMatchObject({ buy, sell, gaps: gaps.length });
    expect(buy.length + sell.length).toBeGreaterThan(10);
    expect(gaps.length).toBeGreaterThan(100);
    expect(gaps.every(({ reason }) => reason !== "contradiction")).toBe(true);
  },
  240_000,
);
