// Slow, and worth it: each failure that can be asked for is seen from all transports, also those that fall silent.
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { Code, type ConnectRouter, createRouterTransport } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, ConnectionError, createClient, NodeError, RequestError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { createFailureInjector } from "../../src/node/failure-injection.js";
import { csvZip, cutEvery } from "../support/archives.js";
import { createGateway } from "./inside.js";

const NAME = "datanode.api.v2.TradingDataService";
const request = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;
const failures = createFailureInjector([TradingDataService]);
let archive: Buffer;
const routes = (router: ConnectRouter) =>
  router.service(TradingDataService, {
    info: () => ({ version: "v0.78.0" }),
    async *exportNetworkHistory() {
      for (const data of cutEvery(archive, 10_000)) {
        yield { contentType: "application/zip", data };
      }
    },
  });

const servers: Server[] = [];
const urls = { grpc: "", rest: "" };
async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  servers.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  archive = await csvZip(5000);
  const adapter = connectNodeAdapter({ routes, interceptors: [failures.interceptor] });
  const grpc = failures.wrapListener<Http2ServerRequest, Http2ServerResponse>(adapter);
  const router = createRouterTransport(routes, { router: { interceptors: [failures.interceptor] } });
  const gateway: RequestListener = failures.wrapListener(createGateway(router, [TradingDataService]));
  urls.grpc = await listen(createHttp2Server(grpc));
  urls.rest = await listen(createServer(gateway));
});
afterAll(() => {
  for (const server of servers) {
    server.close();
  }
});

describe.each(["grpc", "grpc-js", "rest"] as const)("over %s", (transport) => {
  const connect = (): Client => {
    const settings = { profile: "deployed", retry: { tries: 1 }, timeouts: { callMs: 20_000, idleMs: 2000 } } as const;
    return transport === "rest"
      ? createClient({ ...settings, transport, rest: { url: urls.rest } })
      : createClient({ ...settings, transport, grpc: { url: urls.grpc } });
  };
  const read = async (client: Client) => {
    const pieces: Uint8Array[] = [];
    const reason = await (async () => {
      for await (const piece of client.exportNetworkHistory(request).bytes()) {
        pieces.push(piece);
      }
    })().catch((caught: unknown) => caught);
    return { bytes: Buffer.concat(pieces), reason };
  };

  it("calls fail with a code as often as was asked for, and then are answered", async () => {
    await using client = connect();
    const { info } = client.service(TradingDataService);
    failures.failNext({ method: "Info", with: "UNAVAILABLE", times: 2 });
    failures.failNext({ method: `${NAME}/Info`, with: 7 });
    for (const code of [Code.Unavailable, Code.Unavailable, Code.PermissionDenied]) {
      const reason = await info({}).catch((caught: unknown) => caught);
      expect(reason).toBeInstanceOf(NodeError);
      expect(reason).toMatchObject({ code });
    }
    expect(await info({})).toMatchObject({ version: "v0.78.0" });
  });

  it("an export fails after so many bytes, and other methods do not", async () => {
    await using client = connect();
    failures.failNext({ method: "ExportNetworkHistory", with: "INTERNAL", afterBytes: 12_345 });
    await client.service(TradingDataService).info({});
    const { bytes, reason } = await read(client);
    expect(reason).toBeInstanceOf(NodeError);
    expect(reason).toMatchObject({ code: Code.Internal });
    expect(bytes.equals(archive.subarray(0, 12_345))).toBe(true);
  });

  it("an error stands behind a whole archive", async () => {
    await using client = connect();
    failures.failNext({ method: "ExportNetworkHistory", with: "error-after-archive" });
    const { bytes, reason } = await read(client);
    expect(reason).toMatchObject({ name: "NodeError", code: Code.Internal });
    expect(bytes.equals(archive)).toBe(true);
    expect((await read(client)).reason).toBeUndefined();
  });

  it.each([0, 20_000])("the connection is cut after %d bytes", async (afterBytes) => {
    await using client = connect();
    failures.failNext({ method: "ExportNetworkHistory", with: "cut", afterBytes });
    const { bytes, reason } = await read(client);
    expect(reason).toBeInstanceOf(ConnectionError);
    expect(archive.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(bytes.length).toBeLessThanOrEqual(afterBytes);
    expect((await read(client)).bytes.equals(archive)).toBe(true);
  });

  it.each([0, 20_000])("the connection falls silent after %d bytes", async (afterBytes) => {
    await using client = connect();
    failures.failNext({ method: "ExportNetworkHistory", with: "stall", afterBytes });
    const { bytes, reason } = await read(client);
    expect(reason).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded });
    expect(bytes.length).toBeLessThanOrEqual(afterBytes);
  });

  it.each(["cut", "stall"])("an answer of fewer bytes is whole, but does not end (%s)", async (kind) => {
    await using client = connect();
    failures.failNext({ method: "ExportNetworkHistory", with: kind, afterBytes: 10_000_000 });
    const { bytes, reason } = await read(client);
    expect(reason).toBeInstanceOf(ConnectionError);
    expect(bytes.equals(archive)).toBe(true);
    const { info } = client.service(TradingDataService);
    failures.failNext({ method: "Info", with: kind, afterBytes: 1000 });
    await expect(info({}, { timeoutMs: 500 })).rejects.toThrow(ConnectionError);
    expect(await info({})).toMatchObject({ version: "v0.78.0" });
  });
});

it.each([
  [{ method: "Inf", with: "cut" }, 'unknown method "Inf"'],
  [{ method: "Info", with: "cutt" }, 'unknown failure "cutt"'],
  [{ method: "Info", with: "OK" }, 'unknown failure "OK"'],
  [{ method: "Info", with: "cut", times: 0 }, "times must be a whole number of at least 1 (got 0)"],
  [
    { method: "Info", with: "cut", afterBytes: -1 },
    "afterBytes must be a whole number of bytes of at least 0 (got -1)",
  ],
])("%j is refused", (failure, message) => {
  expect(() => failures.failNext(failure)).toThrow(RequestError);
  expect(() => failures.failNext(failure)).toThrow(message);
});
