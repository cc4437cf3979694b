// Slow, and worth it: silence, and pings that find it, are of real connections, and some of their times are of grpc-js and of Node.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { constants } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { DescMethodStreaming } from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues, type HandlerContext, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterEach, describe, expect, it } from "@jest/globals";
import { CanceledError, type ClientConfig, ConnectionError, createClient, NodeError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { Market_TradingMode } from "tradewire/gen/vega/markets_pb.js";
import { idleLimited } from "tradewire/transport";
import { block } from "../../support/block.js";
import { eventually } from "../../support/eventually.js";
import { configOf, failureOf, ways } from "../../support/listing-clients.js";
import { serveNode, serveTcp, type TestNode } from "../../support/node.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { startStallingProxy } from "../../support/stalling-proxy.js";
import { useVirtualRuntime, type VirtualRuntime } from "../../support/virtual-runtime.js";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

/** Waits until the call is over; a call of the local gateway has a signal too. */
const over = ({ signal }: HandlerContext) =>
  new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** How the calls went at the node: each `opened`, and `ended` when the node learned of its end. */
let told: string[] = [];

/** A node whose market data is what `observe` gives. */
async function observed(observe: (context: HandlerContext) => AsyncIterable<string>): Promise<TestNode> {
  told = [];
  const node = await serveNode({
    async *observeMarketsData(_, context) {
      told.push("opened");
      context.signal.addEventListener("abort", () => told.push("ended"), { once: true });
      for await (const market of observe(context)) {
        yield { marketData: [{ market }] };
      }
    },
  });
  closing.push(() => node.close());
  return node;
}

function observing(config: ClientConfig, options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {}) {
  const client = createClient(config);
  closing.push(() => client.close());
  return client.service(TradingDataService).observeMarketsData({}, options);
}

/** The markets that come, and what ends them; undefined for an end that is none of an error. */
async function outcome(stream: ReturnType<typeof observing>, onMarket: (market: string) => void = () => undefined) {
  const markets: string[] = [];
  try {
    for await (const { marketData } of stream) {
      for (const { market } of marketData) {
        markets.push(market);
        onMarket(market);
      }
    }
    return { markets, reason: undefined };
  } catch (reason) {
    return { markets, reason };
  }
}

/** The messages of a stream that ends with its connection. */
async function* untilLost<T>(stream: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* stream;
  } catch (reason) {
    expect(reason).toBeInstanceOf(ConnectionError);
  }
}

describe.each(ways)("a stream that observes, over %s,", (way) => {
  it("gives what comes, is not ended by silence or by the time of a call, and ends as the node ends it", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const node = await observed(async function* () {
      yield "a";
      await runtime.after(400); // Longer than the time of a call.
      yield "b";
    });
    const config = { ...configOf(way, node), timeouts: { callMs: 150 } };
    expect(await runtime.until(outcome(observing(config)))).toEqual({ markets: ["a", "b"], reason: undefined });
  });

  it("ends at once when the signal is aborted, whether or not something came", async () => {
    for (const first of [[], ["a"]]) {
      const node = await observed(async function* (context) {
        yield* first;
        await over(context);
      });
      const abort = new AbortController();
      const stream = outcome(observing(configOf(way, node), { signal: abort.signal }), () => abort.abort());
      await eventually(() => told.length > 0);
      if (first.length === 0) {
        abort.abort();
      }
      const { markets, reason } = await stream;
      expect(markets).toEqual(first);
      expect(reason).toBeInstanceOf(CanceledError);
      await eventually(() => told.includes("ended"));
    }
  });

  it("tells the node that it is no longer read", async () => {
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    for await (const _ of observing(configOf(way, node))) {
      break;
    }
    await eventually(() => told.includes("ended"));
  });

  it("ends with the node's error, and is not begun again once something came", async () => {
    const node = await observed(async function* () {
      yield "a";
      throw new ConnectError("too slow", Code.Unavailable);
    });
    const { markets, reason } = await outcome(observing(configOf(way, node)));
    expect(markets).toEqual(["a"]);
    expect(reason).toBeInstanceOf(NodeError);
    expect(reason).toMatchObject({ code: Code.Unavailable, object: { message: "too slow" } });
    expect(told.filter((what) => what === "opened")).toHaveLength(1);
  });

  it("ends with an error where the connection is lost", async () => {
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    const { markets, reason } = await outcome(observing(configOf(way, node)), () => void node.close());
    expect(markets).toEqual(["a"]);
    expect(reason).toBeInstanceOf(ConnectionError);
  });

  it("is ended by silence where a limit is given", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    const stream = observing({ ...configOf(way, node), timeouts: { idleMs: 1500 } });
    const { markets, reason } = await runtime.until(outcome(stream));
    expect(markets).toEqual(["a"]);
    expect(reason).toBeInstanceOf(ConnectionError);
    expect(reason).toMatchObject({
      summary: "no data received for 1500 ms (idle timeout)",
      code: Code.DeadlineExceeded,
    });
  });

  it("is ended by a time limit of its own", async () => {
    using runtime = useVirtualRuntime({ io: true, unixMs: Date.now() }); // grpc-js reads the clock too.
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    const { markets, reason } = await runtime.until(outcome(observing(configOf(way, node), { timeoutMs: 2000 })));
    expect(markets).toEqual(["a"]);
    expect(reason).toMatchObject({ code: Code.DeadlineExceeded });
  });
});

describe("a connection whose other side has vanished", () => {
  const half = async () => {
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    const [grpc, rest] = await Promise.all([node.grpcUrl, node.restUrl].map(startStallingProxy));
    closing.push(async () => Promise.all([grpc, rest].map((proxy) => proxy?.[Symbol.asyncDispose]())));
    const stall = () => {
      grpc?.stall();
      rest?.stall();
    };
    return { stall, urls: { grpcUrl: grpc?.url ?? "", restUrl: rest?.url ?? "" } };
  };

  /** Waits in virtual time; for grpc-js, which has timers of its own, in real time. */
  const inTimeOf = (way: string, runtime: VirtualRuntime) =>
    way === "grpc-js" ? <T>(work: Promise<T>) => work : <T>(work: Promise<T>) => runtime.until(work);

  it.each(["grpc", "grpc with JSON", "grpc-js"] as const)("is noticed by pings over %s", async (way) => {
    using runtime = useVirtualRuntime({ io: true });
    const { stall, urls } = await half();
    const config = configOf(way, urls);
    const grpc = { ...config.grpc, url: urls.grpcUrl, keepaliveMs: 1000 };
    const { markets, reason } = await inTimeOf(way, runtime)(outcome(observing({ ...config, grpc }), stall));
    expect(markets).toEqual(["a"]);
    expect(reason).toBeInstanceOf(ConnectionError);
    expect(reason).toMatchObject({ summary: expect.stringContaining("the connection was lost"), connected: true });
  });

  it.each(["grpc", "grpc-js"] as const)("and is none where pings are answered, over %s", async (way) => {
    using runtime = useVirtualRuntime({ io: true });
    const node = await observed(async function* () {
      yield "a";
      // Longer than a ping and its answer may take; grpc-js sends them in real time.
      await (way === "grpc-js" ? sleep(2200) : runtime.after(2200));
      yield "b";
    });
    const grpc = { url: node.grpcUrl, keepaliveMs: 1000 };
    const { markets, reason } = await inTimeOf(way, runtime)(outcome(observing({ transport: way, grpc })));
    expect([markets, reason]).toEqual([["a", "b"], undefined]);
  });

  it("and is none where this process is blocked when the answer to a ping comes", async () => {
    let isPinged = false;
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(envelope(new Uint8Array()));
      stream.session?.on("ping", () => {
        if (!isPinged) {
          isPinged = true;
          block(2500); // Longer than a ping may go without an answer.
        } else {
          stream.end();
        }
      });
    });
    closing.push(() => server.close());
    const grpc = { url: server.url, keepaliveMs: 1000 };
    const { markets, reason } = await outcome(observing({ transport: "grpc", grpc }));
    expect([markets, reason]).toEqual([[], undefined]);
  });

  it("nor where this process is blocked when something comes, over grpc", async () => {
    let send = (): void => {};
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.write(envelope(new Uint8Array()));
      send = () => stream.end(envelope(new Uint8Array()));
    });
    closing.push(() => server.close());
    const client = createClient({ transport: "grpc", grpc: { url: server.url }, timeouts: { idleMs: 1500 } });
    closing.push(() => client.close());
    let count = 0;
    for await (const _ of client.service(TradingDataService).observeMarketsData({})) {
      count += 1;
      if (count === 1) {
        setImmediate(() => {
          send();
          setImmediate(() => block(2500));
        });
      }
    }
    expect(count).toBe(2);
  });

  it("is pinged half as often where the server finds the pings too many", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const server = await serveStreams((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" });
      stream.write(envelope(new Uint8Array()));
    });
    closing.push(() => server.close());
    const client = createClient({ transport: "grpc", grpc: { url: server.url, keepaliveMs: 150 } });
    closing.push(() => client.close());
    for (const interval of [150, 300]) {
      const pings: number[] = [];
      const observe = async () => {
        for await (const _ of untilLost(client.service(TradingDataService).observeMarketsData({}))) {
          const session = server.sessions.at(-1);
          session?.on("ping", () => {
            pings.push(runtime.monotonicMs());
            if (pings.length === 3) {
              session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
              setImmediate(() => session.destroy());
            }
          });
        }
      };
      await runtime.until(observe());
      const [first = 0, second = 0, third = 0] = pings;
      expect([second - first, third - second]).toEqual([interval, interval]);
    }
    expect(server.sessions).toHaveLength(2);
  });

  it("is noticed over REST by the limit on silence", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const { stall, urls } = await half();
    const config = { ...configOf("rest", urls), timeouts: { idleMs: 1500 } };
    const { markets, reason } = await runtime.until(outcome(observing(config), stall));
    expect(markets).toEqual(["a"]);
    expect(reason).toMatchObject({ summary: "no data received for 1500 ms (idle timeout)" });
  });
});

describe("connections of streams", () => {
  /** The timer of a connection as Linux lists it: 2 is that of keep-alive. */
  const timerOf = ({ remotePort, localPort }: Socket) => {
    const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, "0");
    const ends = new RegExp(`: 0100007F:${hex(remotePort)} 0100007F:${hex(localPort)} .*? (\\d\\d):`);
    return ends.exec(readFileSync("/proc/net/tcp", "latin1"))?.[1];
  };

  it.each(["grpc", "rest"] as const)("are probed by the system while they are silent (%s)", async (way) => {
    if (process.platform !== "linux") {
      return;
    }
    const node = await observed(async function* (context) {
      yield "a";
      await over(context);
    });
    const sockets: Socket[] = [];
    await using front = await serveTcp((socket) => {
      sockets.push(socket);
      const back = connect(Number(new URL(way === "grpc" ? node.grpcUrl : node.restUrl).port), "127.0.0.1");
      socket.pipe(back).pipe(socket);
      back.on("error", () => undefined);
      socket.on("close", () => back.destroy());
    });
    for await (const _ of observing(configOf(way, { grpcUrl: front.url, restUrl: front.url }))) {
      // Another timer runs until all is acknowledged.
      await eventually(() => sockets[0] !== undefined && timerOf(sockets[0]) === "02");
      break;
    }
  });
});

describe("the gateway's form of streams", () => {
  it("has enum values as numbers and no defaults", async () => {
    const lines = [
      '{"result":{"marketData":[{"market":"m","marketTradingMode":2,"timestamp":"1697702400000000001"}]}}\n',
      '{"result":{}}\n{"result":{"marketData":[{"market":"n","marketTradingMode":987}]}}\n',
      '{"error":{"code":13,"message":"dropped"}}\n',
    ];
    const server = createServer((request, response) => {
      expect(request.url).toBe("/api/v2/stream/markets/data?marketIds=m&marketIds=n");
      response.writeHead(200, { "content-type": "application/json" });
      response.end(lines.join(""));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closing.push(async () => server.close());
    const client = createClient({ rest: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } });
    closing.push(() => client.close());
    const found: unknown[] = [];
    const reason = await failureOf(async () => {
      const request = { marketIds: ["m", "n"] };
      for await (const { marketData } of client.service(TradingDataService).observeMarketsData(request)) {
        found.push(
          marketData.map(({ market, marketTradingMode, timestamp }) => [market, marketTradingMode, timestamp]),
        );
      }
    });
    expect(found).toEqual([[["m", Market_TradingMode.BATCH_AUCTION, 1697702400000000001n]], [], [["n", 987, 0n]]]);
    expect(reason).toBeInstanceOf(NodeError);
    expect(reason).toMatchObject({ code: Code.Internal, object: { message: "dropped" } });
  });
});

describe("the limit on silence by default", () => {
  it.each([
    ["ends a download after a minute", TradingDataService.method.exportNetworkHistory, true],
    ["ends the other export after a minute", TradingDataService.method.exportLedgerEntries, true],
    ["leaves a stream that observes alone", TradingDataService.method.observeMarketsData, false],
    ["leaves a stream that observes in both directions alone", TradingDataService.method.observeEventBus, false],
  ])("%s", async (_, method: DescMethodStreaming, ends) => {
    using runtime = useVirtualRuntime();
    let aborted: unknown;
    const silent: Transport["stream"] = (_method, signal) => {
      signal?.addEventListener("abort", () => {
        aborted = signal.reason;
      });
      return new Promise(() => undefined);
    };
    const unary: Transport["unary"] = () => Promise.reject(new Error("not called"));
    const transport = idleLimited({ unary, stream: silent, close: async () => undefined }, undefined);
    void transport.stream(method, undefined, undefined, undefined, createAsyncIterable([]), createContextValues());
    await runtime.pass(59_000);
    expect(aborted).toBeUndefined();
    await runtime.pass(ends ? 2000 : 24 * 60 * 60_000);
    expect(aborted === undefined).toBe(!ends);
  });
});
