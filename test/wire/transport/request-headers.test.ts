import { readFileSync } from "node:fs";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, beforeEach, describe, expect, it } from "@jest/globals";
import { type Client, createClient } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { frame, startGrpcServer } from "../../support/grpc-server.js";
import { startRawHttp, whole } from "../../support/raw-http.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const { version } = JSON.parse(readFileSync("package.json", "utf8"));
const node = await startGrpcServer();
const gateway = await startRawHttp();
node.answer = { pieces: [frame(new Uint8Array())], ending: { "grpc-status": "0" } };
gateway.answer = ({ headers }) =>
  headers.has("upgrade") ? whole("403 No", "") : whole("200 OK", "{}", { "content-type": "application/json" });
afterAll(() => Promise.all([node.close(), gateway.close()]));
beforeEach(() => {
  node.calls.length = 0;
  gateway.requests.length = 0;
});

async function withClient(transport: "grpc" | "grpc-js" | "rest", use: (client: Client) => Promise<unknown>) {
  await using client = createClient({ transport, grpc: { url: node.url }, rest: { url: gateway.url } });
  await use(client).catch(() => undefined);
  return (name: string) => gateway.requests[0]?.headers.get(name) ?? node.calls[0]?.headers[name];
}

const list = (client: Client) => client.listSegments();
const talk = (client: Client) =>
  client.service(TradingDataService).observeOrders({}, { timeoutMs: 5000 })[Symbol.asyncIterator]().next();

describe("user-agent", () => {
  it("names this package and its version", async () => {
    expect((await withClient("grpc", list))("user-agent")).toBe(`tradewire/${version}`);
    node.calls.length = 0;
    expect((await withClient("grpc-js", list))("user-agent")).toMatch(
      new RegExp(`^tradewire/${version} grpc-node-js/\\d+\\.\\d+\\.\\d+$`),
    );
  });

  it("does so over REST, for streams and WebSockets too", async () => {
    for (const use of [
      list,
      talk,
      (client: Client) =>
        client
          .events({ types: ["order"] })
          [Symbol.asyncIterator]()
          .next(),
    ]) {
      gateway.requests.length = 0;
      expect((await withClient("rest", use))("user-agent")).toBe(`tradewire/${version}`);
    }
  });

  it("may be the caller's", async () => {
    const use = (client: Client) => client.listSegments({ headers: { "user-agent": "mine" } });
    expect((await withClient("rest", use))("user-agent")).toBe("mine");
  });
});

it.each(["grpc", "rest"] as const)("grpc-timeout has eight digits at most (%s)", async (transport) => {
  using runtime = useVirtualRuntime({ io: true });
  for (const [timeoutMs, value] of [
    [99_999_999, "99999999m"],
    [100_000_000, "100000S"],
  ] as const) {
    gateway.requests.length = 0;
    node.calls.length = 0;
    const use = (client: Client) => runtime.until(client.listSegments({ timeoutMs }));
    expect((await withClient(transport, use))("grpc-timeout")).toBe(value);
  }
});

describe("grpc-timeout over REST", () => {
  const timeoutOf = (header: unknown) => Number(/^(\d+)m$/.exec(String(header))?.[1]);

  it("says what remains of a call's time", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const list = (client: Client) => runtime.until(client.listSegments({ timeoutMs: 30_000 }));
    expect((await withClient("rest", list))("grpc-timeout")).toBe("30000m");
    gateway.requests.length = 0;
    const headers = () => runtime.after(12_000).then(() => ({}));
    await using client = createClient({ rest: { url: gateway.url, headers } });
    await list(client);
    expect(gateway.requests[0]?.headers.get("grpc-timeout")).toBe("18000m");
  });

  it("is sent for streams that have a time limit, and only for those", async () => {
    expect(timeoutOf((await withClient("rest", talk))("grpc-timeout"))).toBeLessThanOrEqual(5000);
    gateway.requests.length = 0;
    const endless = (client: Client) =>
      client.transport.stream(
        TradingDataService.method.observeOrders,
        undefined,
        undefined,
        undefined,
        createAsyncIterable([{}]),
      );
    expect((await withClient("rest", endless))("grpc-timeout")).toBeUndefined();
    expect(gateway.requests).toHaveLength(1);
  });
});
