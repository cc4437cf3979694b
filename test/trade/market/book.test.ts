import { setImmediate } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import {
  type BookGap,
  type BookView,
  type Client,
  createClient,
  NodeError,
  ProtocolError,
  signerFromMnemonic,
} from "tradewire";
import { CoreService, TradingDataService, type vega } from "tradewire/api";
import { startDevnode } from "tradewire/devnode";
import type { GetLatestMarketDepthResponseSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { startCuttingProxy } from "../../support/cutting-proxy.js";
import { openMarket } from "../../support/devnode.js";
import { quiet } from "../../support/event-server.js";
import { eventually } from "../../support/eventually.js";
import { clientsOf, ways } from "../../support/listing-clients.js";
import { serveNode } from "../../support/node.js";
import { changeBook, type ReadBook, readBook } from "../../support/order-book.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const market = "b2".repeat(32);
const retry = { baseMs: 1, maxMs: 5 };

const depthOf = (client: Client, marketId = openMarket) =>
  client.service(TradingDataService).getLatestMarketDepth({ marketId });

/** Waits until a book is the node's. */
async function untilEqual(book: ReadBook, client: Client): Promise<void> {
  const { buy, sell, sequenceNumber } = await depthOf(client);
  await eventually(() => book.last()?.sequenceNumber === sequenceNumber && book.last()?.state === "live");
  expect(book.last()).toMatchObject({ buy, sell });
}

describe("the order book of a local node", () => {
  it.each(ways)("is the node's after each block, over %s", async (way) => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    using signer = await signerFromMnemonic(node.mnemonic);
    const clients = clientsOf(node);
    const client = clients[way];
    await using book = readBook(client, openMarket);
    for (let turn = 0; turn < 4; turn += 1) {
      await changeBook(client, node, signer, turn);
      await untilEqual(book, client);
    }
    expect(book.last()?.buy.length).toBeGreaterThan(0);
    expect(book.last()?.gaps).toBe(0);
    await Promise.all(Object.values(clients).map((each) => each.close()));
    expect(await book.failed).toMatchObject({ isClosed: true });
  });

  it("is the node's after its connection was cut, with one gap for each cut", async () => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using proxy = await startCuttingProxy(node.grpcUrl);
    await using direct = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    await using client = createClient({ transport: "grpc", grpc: { url: proxy.url }, retry });
    const gaps: BookGap[] = [];
    await using book = readBook(client, openMarket, (gap) => gaps.push(gap));
    for (let turn = 0; turn < 5; turn += 1) {
      await eventually(() => book.last()?.state === "live");
      proxy.isDown = true;
      proxy.cut();
      await eventually(() => book.last()?.state === "reloading");
      await changeBook(direct, node, signer, turn); // Nobody hears of it.
      proxy.isDown = false;
      await untilEqual(book, direct);
    }
    expect(gaps.map(({ reason }) => reason)).toEqual(Array(5).fill("connection"));
    expect(book.last()?.gaps).toBe(5);
  });

  it("needs a market that exists", async () => {
    await using node = await startDevnode({ segments: 1, blocksPerSegment: 10 });
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    expect(() => client.book("market")).toThrow('marketId must be 64 hex digits (got "market")');
    expect(() => Reflect.apply(client.book, client, [market, { onLoss: 1 }])).toThrow('"onLoss"');
    expect(() => Reflect.apply(client.book, client, [market, { onGap: 1 }])).toThrow(
      "onGap must be a function (got 1)",
    );
    await using book = readBook(client, market);
    expect(await book.failed).toBeInstanceOf(NodeError);
    expect(book.views).toEqual([]);
  });

  it("ends with the loop and with the signal, and a reader that is slow gets the latest state", async () => {
    await using node = await startDevnode({ blockMs: 0, segments: 1, blocksPerSegment: 10 });
    using signer = await signerFromMnemonic(node.mnemonic);
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl } });
    const controller = new AbortController();
    const views = client.book(openMarket, { signal: controller.signal })[Symbol.asyncIterator]();
    expect((await views.next()).value).toMatchObject({ state: "live" });
    for (let turn = 0; turn < 10; turn += 1) {
      await changeBook(client, node, signer, turn);
    }
    const { sequenceNumber } = await depthOf(client);
    let came = 0;
    for (let last: BookView | undefined; last?.sequenceNumber !== sequenceNumber; came += 1) {
      last = (await views.next()).value;
    }
    expect(came).toBeLessThan(10);
    controller.abort();
    await expect(views.next()).rejects.toThrow("canceled");
    for await (const { state } of client.book(openMarket)) {
      expect(state).toBe("live");
      break;
    }
    const core = client.service(CoreService);
    await eventually(async () => (await core.statistics({})).statistics?.marketDepthUpdatesSubscriptions === 0);
  });
});

type Depth = MessageInitShape<typeof GetLatestMarketDepthResponseSchema>;
type Update = MessageInitShape<typeof vega.MarketDepthUpdateSchema>;

const level = (price: number, volume = 1n, numberOfOrders = volume === 0n ? 0n : 1n) => ({
  price: String(price),
  volume,
  numberOfOrders,
});
const prices = (levels: readonly { price?: string; volume?: bigint }[] = []) =>
  levels.map(({ price, volume }) => `${price}:${volume}`);

/** A node whose book and updates the test gives. Each connection has its own updates; a connection without any is quiet. */
async function serveBook(
  depth: (call: number) => Depth | Promise<Depth>,
  updates: (connection: number, loads: () => number) => AsyncIterable<Update>,
) {
  let loads = 0;
  let connections = 0;
  const server = await serveNode({
    getMarket: () => ({ market: { id: market } }),
    async getLatestMarketDepth() {
      loads += 1;
      return { marketId: market, ...(await depth(loads - 1)) };
    },
    async *observeMarketsDepthUpdates(_: unknown, { signal }: Pick<HandlerContext, "signal">) {
      connections += 1;
      for await (const update of updates(connections - 1, () => loads)) {
        yield { update: [{ marketId: market, ...update }] };
      }
      yield* quiet(signal);
    },
  });
  const client = createClient({ transport: "grpc", grpc: { url: server.grpcUrl }, retry });
  return {
    client,
    loads: () => loads,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

/** Yields updates once the book was loaded, each after some turns. */
const afterLoad = (loads: () => number, ...updates: Update[]) =>
  (async function* () {
    await eventually(() => loads() > 0);
    for (const update of updates) {
      await setImmediate();
      yield update;
    }
  })();

const first: Depth = { sequenceNumber: 10n, buy: [level(99, 5n), level(98)], sell: [level(101), level(102, 7n)] };

describe("the updates of an order book", () => {
  it("change, add and remove levels, which stay in the order of their prices", async () => {
    await using node = await serveBook(
      () => first,
      (_, loads) =>
        afterLoad(
          loads,
          {
            sequenceNumber: 11n,
            previousSequenceNumber: 10n,
            buy: [level(100, 2n), level(98, 0n)],
            sell: [level(101, 9n)],
          },
          {
            sequenceNumber: 15n,
            previousSequenceNumber: 11n,
            buy: [level(9)],
            sell: [level(1000, 3n), level(102, 0n)],
          },
        ),
    );
    await using book = readBook(node.client, market);
    await eventually(() => book.last()?.sequenceNumber === 15n);
    expect(prices(book.last()?.buy)).toEqual(["100:2", "99:5", "9:1"]);
    expect(prices(book.last()?.sell)).toEqual(["101:9", "1000:3"]);
    expect(book.views.every(({ state }) => state === "live")).toBe(true);
    expect(prices(book.views[0]?.buy)).not.toEqual(prices(book.last()?.buy)); // A view does not change later.
  });

  // v0.78.0: changes are published at the end of a block, and GetLatestMarketDepth answers within one.
  it("continue a book that was loaded in the middle of a block, and those from before it are passed over", async () => {
    await using node = await serveBook(
      () => first,
      (_, loads) =>
        afterLoad(
          loads,
          { sequenceNumber: 8n, previousSequenceNumber: 5n, buy: [level(1)] },
          { sequenceNumber: 12n, previousSequenceNumber: 8n, buy: [level(99, 6n)] },
          { sequenceNumber: 12n, previousSequenceNumber: 12n, sell: [level(101, 2n)] },
        ),
    );
    await using book = readBook(node.client, market);
    await eventually(() => prices(book.last()?.sell).includes("101:2"));
    expect(prices(book.last()?.buy)).toEqual(["99:6", "98:1"]);
    expect(book.last()?.gaps).toBe(0);
  });

  it("that do not continue the book are a gap: the book is loaded again", async () => {
    const next: Depth = { sequenceNumber: 30n, buy: [level(50)], sell: [] };
    const gaps: BookGap[] = [];
    await using node = await serveBook(
      (call) => (call === 0 ? first : next),
      (_, loads) =>
        afterLoad(
          loads,
          { sequenceNumber: 12n, previousSequenceNumber: 10n, buy: [level(97)] },
          { sequenceNumber: 25n, previousSequenceNumber: 20n, buy: [level(96)] },
          { sequenceNumber: 31n, previousSequenceNumber: 25n, buy: [level(51)] },
        ),
    );
    await using book = readBook(node.client, market, (gap) => {
      gaps.push(gap);
      throw new Error("the hook of a test");
    });
    await eventually(() => book.last()?.sequenceNumber === 31n);
    expect(book.last()).toMatchObject({ state: "live", gaps: 1 });
    expect(prices(book.last()?.buy)).toEqual(["51:1", "50:1"]);
    expect(gaps).toEqual([{ reason: "sequence", sequenceNumber: 12n }]);
  });

  it.each<[string, Update]>([
    ["has a price that is no whole number", { buy: [{ price: "1.5", volume: 1n, numberOfOrders: 1n }] }],
    ["has a volume that wrapped around", { buy: [{ price: "1", volume: 2n ** 64n - 1n, numberOfOrders: 1n }] }],
    ["has orders without volume", { sell: [{ price: "1", volume: 0n, numberOfOrders: 1n }] }],
    ["has volume without orders", { sell: [{ price: "1", volume: 1n, numberOfOrders: 0n }] }],
    ["ends before it begins", { sequenceNumber: 10n, previousSequenceNumber: 11n }],
  ])("are not applied where one %s", async (_, update) => {
    const gaps: BookGap[] = [];
    await using node = await serveBook(
      (call) => (call === 0 ? first : { ...first, sequenceNumber: 12n, buy: [] }),
      (connection, loads) =>
        afterLoad(loads, { sequenceNumber: 12n, previousSequenceNumber: connection === 0 ? 10n : 12n, ...update }),
    );
    await using book = readBook(node.client, market, (gap) => gaps.push(gap));
    await eventually(() => book.last()?.sequenceNumber === 12n && book.last()?.state === "live");
    expect(prices(book.last()?.buy)).toEqual([]);
    expect(prices(book.last()?.sell)).toEqual(prices(first.sell));
    expect(gaps).toMatchObject([{ sequenceNumber: 10n }]);
  });

  it("that cross the book are compared with the node's book: in an auction, both are crossed", async () => {
    const crossing: Update = { sequenceNumber: 11n, previousSequenceNumber: 10n, buy: [level(105)] };
    const crossed: Depth = { ...first, sequenceNumber: 11n, buy: [level(105), ...(first.buy ?? [])] };
    for (const [depth, gaps] of [
      [crossed, 0],
      [{ ...first, sequenceNumber: 11n }, 1],
    ] as const) {
      using runtime = useVirtualRuntime({ io: true }); // No comparison is due while no time passes.
      await using node = await serveBook(
        (call) => (call === 0 ? first : depth),
        (_, loads) => afterLoad(loads, crossing),
      );
      await using book = readBook(node.client, market);
      await eventually(() => node.loads() === 2 && prices(book.last()?.buy).length === depth.buy?.length);
      await eventually(() => book.last()?.state === "live");
      expect(book.last()).toMatchObject({ sequenceNumber: 11n, gaps });
      expect(runtime.monotonicMs()).toBe(1000);
    }
  });

  // v0.78.0: updates have no volume of AMMs, and a trade with an AMM does not change the number of the book.
  it("that concern AMMs make the book load again, without a gap", async () => {
    const amm = (volume: bigint): Depth => ({ ...first, buy: [{ ...level(99, 5n), ammVolume: volume }] });
    for (const update of [
      { sequenceNumber: 11n, previousSequenceNumber: 10n, buy: [level(99, 6n)] },
      { sequenceNumber: 10n, previousSequenceNumber: 10n, buy: [level(97, 0n)] },
    ]) {
      using runtime = useVirtualRuntime({ io: true });
      await using node = await serveBook(
        (call) => (call === 0 ? amm(40n) : { ...amm(30n), sequenceNumber: 12n }),
        (_, loads) => afterLoad(loads, update),
      );
      await using book = readBook(node.client, market);
      await eventually(() => book.last()?.sequenceNumber === 12n);
      expect(book.last()).toMatchObject({ state: "live", gaps: 0, buy: [{ price: "99", ammVolume: 30n }] });
      expect(runtime.monotonicMs()).toBe(1000);
    }
  });
});

// v0.78.0, `refreshAMM` in datanode/service/market_depth_amm.go: an AMM that is submitted, amended or cancelled, or that trades,
// is expanded into levels anew. `publishChanges` in market_depth.go lists these levels with their orders only: none, or as before.
describe("the levels of an AMM", () => {
  const withAmm: Depth = {
    sequenceNumber: 11n,
    buy: [{ ...level(99, 5n), ammVolume: 30n }, level(98), { ...level(97, 0n), ammVolume: 40n }],
    sell: first.sell ?? [],
  };

  it.each<[string, Update]>([
    ["as empty levels that the book lacks", { buy: [level(97, 0n)] }],
    ["as levels whose orders have not changed", { buy: [level(99, 5n)] }],
    ["without a number of its own", { sequenceNumber: 10n }],
  ])("are loaded at once where an update has them %s", async (_, update) => {
    using runtime = useVirtualRuntime({ io: true }); // No comparison is due while no time passes.
    await using node = await serveBook(
      (call) => (call === 0 ? first : withAmm),
      (_connection, loads) => afterLoad(loads, { sequenceNumber: 11n, previousSequenceNumber: 10n, ...update }),
    );
    await using book = readBook(node.client, market);
    await eventually(() => book.last()?.buy.some(({ ammVolume }) => ammVolume > 0n) === true);
    expect(book.last()).toMatchObject({ state: "live", gaps: 0, sequenceNumber: 11n, buy: withAmm.buy });
    expect(runtime.monotonicMs()).toBe(1000);
  });

  it("are loaded again where the book went on while it was loaded", async () => {
    using runtime = useVirtualRuntime({ io: true });
    let book: ReadBook | undefined;
    await using node = await serveBook(
      async (call) => {
        if (call === 1) {
          await eventually(() => book?.last()?.sequenceNumber === 12n);
        }
        const later = { ...withAmm, sequenceNumber: 12n, sell: [...(first.sell ?? []), level(103)] };
        return [first, withAmm][call] ?? later;
      },
      (_, loads) =>
        (async function* () {
          await eventually(() => loads() === 1);
          yield { sequenceNumber: 11n, previousSequenceNumber: 10n, buy: [level(97, 0n)] };
          await eventually(() => loads() === 2);
          yield { sequenceNumber: 12n, previousSequenceNumber: 11n, sell: [level(103)] };
        })(),
    );
    await using reading = readBook(node.client, market);
    book = reading;
    await eventually(() => reading.last()?.buy.some(({ ammVolume }) => ammVolume > 0n) === true);
    expect(reading.last()).toMatchObject({ state: "live", gaps: 0, sequenceNumber: 12n });
    expect(runtime.monotonicMs()).toBe(1000);
  });
});

describe("an order book that the node gives", () => {
  const noUpdates = () => afterLoad(() => 1);

  it("is compared with the node's after a second, and then every 30 seconds: what was lost silently comes then", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const books: Depth[] = [first, { ...first, sequenceNumber: 11n, sell: [] }, { ...first, sequenceNumber: 11n }];
    await using node = await serveBook((call) => books[call] ?? { ...first, sequenceNumber: 12n }, noUpdates);
    const gaps: BookGap[] = [];
    const views = node.client.book(market, { onGap: (gap) => gaps.push(gap) })[Symbol.asyncIterator]();
    const startedAt = runtime.monotonicMs();
    const next = async () => {
      const { value } = await runtime.until(views.next());
      return [
        Math.round((runtime.monotonicMs() - startedAt) / 1000),
        value?.sequenceNumber,
        value?.sell.length,
        value?.gaps,
      ];
    };
    expect(await next()).toEqual([0, 10n, 2, 0]);
    expect(await next()).toEqual([1, 11n, 0, 0]);
    expect(await next()).toEqual([31, 11n, 2, 1]); // The same number, and another book.
    expect(await next()).toEqual([61, 12n, 2, 1]);
    expect(gaps).toEqual([{ reason: "contradiction", sequenceNumber: 11n }]);
    await views.return?.();
  });

  it.each<[string, (call: number) => Depth, string]>([
    [
      "older than one before",
      (call) => ({ ...first, sequenceNumber: call === 0 ? 10n : 9n }),
      "is older than state 10",
    ],
    ["with a price that is no number", () => ({ ...first, buy: [{ ...level(1), price: "x" }] }), "impossible prices"],
    ["with a price twice", () => ({ ...first, buy: [level(1), level(1)] }), "impossible prices"],
    ["with a volume that wrapped around", () => ({ ...first, buy: [level(1, 2n ** 63n)] }), "impossible prices"],
  ])("%s is asked for ten times, and then an error", async (_, depth, said) => {
    await using node = await serveBook(depth, async function* (_, loads) {
      await eventually(() => loads() > 0);
      yield { sequenceNumber: 20n, previousSequenceNumber: 19n };
    });
    await using book = readBook(node.client, market);
    const error = await book.failed;
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({ summary: expect.stringContaining(said) });
    expect(node.loads()).toBeGreaterThanOrEqual(10);
  });

  it("of more than 100 000 levels a side is refused", async () => {
    const buy = Array.from({ length: 100_001 }, (_, at) => level(at + 1));
    await using node = await serveBook(() => ({ ...first, buy }), noUpdates);
    await using book = readBook(node.client, market);
    expect(await book.failed).toMatchObject({ summary: "the order book has more than 100000 levels to buy" });
  });
});
