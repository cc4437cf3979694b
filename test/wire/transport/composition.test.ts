import { mkdtemp, readFile, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient as createServiceClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, describe, expect, it } from "@jest/globals";
import {
  type CallEnd,
  type CallInfo,
  CanceledError,
  type Client,
  type ClientConfig,
  ConnectionError,
  createClient,
  createTransport,
  type FallbackInfo,
  fallback,
  type Hooks,
  NodeError,
  type RetryInfo,
  readConfig,
  type TradewireError,
} from "tradewire";
import { HistorySegmentSchema, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { retrying } from "tradewire/transport";
import { csvZip } from "../../support/archives.js";
import { closedUrl, serveNode, serveTcp } from "../../support/node.js";
import { serveStreams } from "../../support/servers.js";
import { shapeMethod } from "../../support/shapes.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const segments = [create(HistorySegmentSchema, { fromHeight: 1n, toHeight: 1000n, chainId: "chain-1" })];
const listing = { listAllNetworkHistorySegments: () => ({ segments }) };
const range = { table: "trades", fromBlock: 1, toBlock: 1000 } as const;
const quick = { retry: { tries: 3, baseMs: 1, maxMs: 2 } };
/** For calls that come to nothing: they would wait for as long. */
const brief = { callMs: 300, idleMs: 300 };

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

function recorded() {
  const seen = {
    starts: [] as CallInfo[],
    bytes: 0,
    ends: [] as CallEnd[],
    retries: [] as RetryInfo[],
    fallbacks: [] as FallbackInfo[],
  };
  const hooks: Hooks = {
    onCallStart: (call) => seen.starts.push(call),
    onBytes: (_, bytes) => {
      seen.bytes += bytes;
    },
    onCallEnd: (_, end) => seen.ends.push(end),
    onRetry: (retry) => seen.retries.push(retry),
    onFallback: (fallback) => seen.fallbacks.push(fallback),
  };
  return { seen, hooks };
}

function connect(config: ClientConfig, options: { hooks?: Hooks; interceptors?: Interceptor[] } = {}): Client {
  const client = createClient({ ...quick, ...config }, options);
  clients.push(client);
  return client;
}

async function failureOf(promise: Promise<unknown>): Promise<TradewireError> {
  return promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: TradewireError) => reason,
  );
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const piece of bytes) {
    size += piece.length;
  }
  return size;
}

describe("auto", () => {
  it("takes gRPC where both are there", async () => {
    await using node = await serveNode(listing);
    const { seen, hooks } = recorded();
    const client = connect({ grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } }, { hooks });
    expect(await client.listSegments()).toEqual(segments);
    expect(node.connections).toEqual({ grpc: 1, rest: 0 });
    expect(seen.fallbacks).toEqual([]);
  });

  it("goes on over REST where gRPC cannot be reached, with one failed connection in a hundred calls", async () => {
    await using node = await serveNode(listing);
    await using dead = await serveTcp((socket) => socket.destroy());
    for (const url of [dead.url, await closedUrl()]) {
      const { seen, hooks } = recorded();
      const client = connect({ grpc: { url }, rest: { url: node.restUrl } }, { hooks });
      for (let call = 0; call < 100; call += 1) {
        expect(await client.listSegments()).toEqual(segments);
      }
      expect(seen.fallbacks).toHaveLength(1);
      expect(seen.fallbacks[0]).toMatchObject({ from: "grpc", to: "rest" });
      expect(seen.fallbacks[0]?.error).toBeInstanceOf(ConnectionError);
      expect(seen.retries).toEqual([]);
    }
    expect(dead.count()).toBe(1);
  });

  it("tries a transport again after a while, and stays with it where it is back", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using node = await serveNode(listing);
    let alive = false;
    await using front = await serveTcp((socket) => {
      if (!alive) {
        socket.destroy();
        return;
      }
      const { hostname, port } = new URL(node.grpcUrl);
      const back = new Socket().connect(Number(port), hostname);
      back.on("error", () => socket.destroy());
      socket.on("close", () => back.destroy());
      socket.pipe(back).pipe(socket);
    });
    const { seen, hooks } = recorded();
    const fallback = { pauseMs: 20, maxPauseMs: 40 };
    const client = connect({ grpc: { url: front.url }, rest: { url: node.restUrl }, fallback }, { hooks });
    await client.listSegments();
    expect(seen.fallbacks).toHaveLength(1);
    alive = true;
    runtime.skip(30);
    await client.listSegments();
    await client.listSegments();
    expect(seen.fallbacks).toHaveLength(1);
    expect(node.connections.grpc).toBe(1);
  });

  it("goes on where the method is not offered, and not for a bad request", async () => {
    await using old = await serveNode({});
    await using node = await serveNode(listing);
    const { seen, hooks } = recorded();
    const client = connect({ grpc: { url: old.grpcUrl }, rest: { url: node.restUrl } }, { hooks });
    expect(await client.listSegments()).toEqual(segments);
    expect(seen.fallbacks[0]?.error).toMatchObject({ code: Code.Unimplemented });

    await using strict = await serveNode({
      listAllNetworkHistorySegments: () => {
        throw new ConnectError("no", Code.InvalidArgument);
      },
    });
    const other = connect({ grpc: { url: strict.grpcUrl }, rest: { url: node.restUrl } });
    const error = await failureOf(other.listSegments());
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({ code: Code.InvalidArgument, transport: "grpc" });
    expect(node.connections.rest).toBe(1);
  });

  it("fetches a file again over REST where gRPC breaks off, but not bytes that were handed out", async () => {
    const archive = await csvZip(5000, "chain-1-trades-1-1000.csv");
    const extensions = [{ typeUrl: "type.googleapis.com/google.protobuf.Empty", value: new Uint8Array() }];
    const part = (from: number, to?: number) => ({
      contentType: "application/zip",
      data: archive.subarray(from, to),
      extensions: from === 0 ? extensions : [],
    });
    await using broken = await serveNode({
      async *exportNetworkHistory() {
        yield part(0, 1000);
        throw new ConnectError("going down", Code.Unavailable);
      },
    });
    await using whole = await serveNode({
      async *exportNetworkHistory() {
        yield part(0, 1000);
        yield part(1000);
      },
    });
    const { seen, hooks } = recorded();
    const client = connect({ grpc: { url: broken.grpcUrl }, rest: { url: whole.restUrl } }, { hooks });
    const folder = await mkdtemp(join(tmpdir(), "tradewire-composition-"));
    const saved = await client.exportNetworkHistory(range).saveTo(folder);
    expect(await readFile(saved.path)).toEqual(archive);
    expect(seen.fallbacks).toHaveLength(1);
    await rm(folder, { recursive: true });

    let bytes = 0;
    const taken = async () => {
      for await (const piece of client.exportNetworkHistory(range).bytes()) {
        bytes += piece.length;
      }
    };
    expect(await failureOf(taken())).toMatchObject({ code: Code.Unavailable, transport: "grpc" });
    expect(bytes).toBe(1000);
    expect(seen.fallbacks).toHaveLength(1);
  });

  describe("a file", () => {
    /** Save an export of a node that sends the beginning of an archive, and then fails, or sends something else. */
    async function saved(end: ConnectError | undefined) {
      const folder = await mkdtemp(join(tmpdir(), "tradewire-composition-"));
      const archive = await csvZip(5000, "chain-1-trades-1-1000.csv");
      let calls = 0;
      await using node = await serveNode({
        async *exportNetworkHistory() {
          calls += 1;
          yield { contentType: "application/zip", data: archive.subarray(0, 1000) };
          if (end !== undefined) {
            throw end;
          }
          yield { contentType: "application/zip", data: Buffer.from("no archive") };
        },
      });
      const { seen, hooks } = recorded();
      const client = connect(
        { grpc: { url: node.grpcUrl }, rest: { url: node.restUrl }, retry: { tries: 1 } },
        { hooks },
      );
      const error = await failureOf(client.exportNetworkHistory(range, { extensions: "optional" }).saveTo(folder));
      await rm(folder, { recursive: true });
      return { calls, seen, error };
    }

    it("is fetched once over each transport where all break off, and that is told", async () => {
      const { calls, seen, error } = await saved(new ConnectError("going down", Code.Unavailable));
      expect(calls).toBe(2);
      expect(error).toMatchObject({ name: "NodeError", code: Code.Unavailable });
      const { id, method } = seen.fallbacks[0] ?? {};
      expect(seen.fallbacks).toEqual([{ id, method, from: "grpc", to: "rest", error: expect.any(NodeError) }]);
      expect({ id, method }).toEqual({ id: seen.starts[0]?.id, method: seen.starts[0]?.method });
    });

    it("is fetched once where the failure is the node's", async () => {
      const { calls, seen, error } = await saved(new ConnectError("broken", Code.Internal));
      expect(calls).toBe(1);
      expect(error).toMatchObject({ name: "NodeError", code: Code.Internal });
      expect(seen.fallbacks).toEqual([]);
    });

    it("is fetched once where what came is no archive", async () => {
      const { calls, seen, error } = await saved(undefined);
      expect(calls).toBe(1);
      expect(error).toMatchObject({ name: "ProtocolError" });
      expect(seen.fallbacks).toEqual([]);
    });
  });
});

describe("a call that does more than read", () => {
  const method = shapeMethod({ post: "/shapes", body: "*" });
  const call = async (grpc: string, rest: string) => {
    const { seen, hooks } = recorded();
    const transport = createTransport(readConfig({ ...quick, grpc: { url: grpc }, rest: { url: rest } }), { hooks });
    const error = await failureOf(transport.unary(method, undefined, undefined, undefined, {}));
    await transport.close();
    return { seen, error };
  };

  it("is not made again where it may have left, and it is said that its outcome is unknown", async () => {
    let requests = 0;
    const dead = await serveStreams((_, cut) => {
      requests += 1;
      cut();
    });
    await using other = await serveTcp((socket) => socket.destroy());
    const { seen, error } = await call(dead.url, other.url);
    await dead.close();
    expect(error.cause).toBeInstanceOf(ConnectionError);
    expect(error.message).toContain("the connection was lost");
    expect(error.message).toContain("it is unknown whether the server executed the call");
    expect([requests, other.count()]).toEqual([1, 0]);
    expect(seen.retries).toEqual([]);
    expect(seen.fallbacks).toEqual([]);
  });

  it("is made over the next transport where there was no connection", async () => {
    await using other = await serveTcp((socket) => socket.once("data", () => socket.destroy()));
    const { seen, error } = await call(await closedUrl(), other.url);
    expect(seen.fallbacks).toHaveLength(1);
    expect(seen.retries).toEqual([]);
    expect(other.count()).toBe(1);
    expect(error.message).toContain("it is unknown whether the server executed the call");
  });
});

describe("retries", () => {
  it.each(["grpc", "rest"] as const)("try a read again that the node could not serve (%s)", async (transport) => {
    let calls = 0;
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => {
        calls += 1;
        if (calls < 3) {
          throw new ConnectError("busy", calls === 1 ? Code.Unavailable : Code.ResourceExhausted);
        }
        return { segments };
      },
    });
    const { seen, hooks } = recorded();
    const client = connect({ transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } }, { hooks });
    expect(await client.listSegments()).toEqual(segments);
    expect(seen.retries.map(({ attempt, error }) => [attempt, error.code])).toEqual([
      [1, Code.Unavailable],
      [2, Code.ResourceExhausted],
    ]);
    expect(seen.starts).toHaveLength(1);
  });

  it("end after three tries, with the last error", async () => {
    let calls = 0;
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => {
        calls += 1;
        throw new ConnectError(`busy ${calls}`, Code.Unavailable);
      },
    });
    const error = await failureOf(connect({ grpc: { url: node.grpcUrl } }).listSegments());
    expect(error.summary).toBe("the node answered UNAVAILABLE: busy 3");
  });

  it("end at once with the node's answer where retry-after goes beyond the call's deadline", async () => {
    let calls = 0;
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => {
        calls += 1;
        throw new ConnectError("later", Code.Unavailable, { "retry-after": "30" });
      },
    });
    const { seen, hooks } = recorded();
    const client = connect({ grpc: { url: node.grpcUrl }, timeouts: { callMs: 5000 } }, { hooks });
    const error = await failureOf(client.listSegments());
    expect(error).toMatchObject({ name: "NodeError", code: Code.Unavailable });
    expect(seen.retries).toEqual([]);
    expect(calls).toBe(1);
  });

  it("leave alone what fails for good", async () => {
    let calls = 0;
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => {
        calls += 1;
        throw new ConnectError("no", Code.PermissionDenied);
      },
    });
    await failureOf(connect({ grpc: { url: node.grpcUrl } }).listSegments());
    expect(calls).toBe(1);
  });
});

describe("time limits", () => {
  it.each(["grpc", "rest"] as const)("end a call to a server that accepts and says nothing (%s)", async (transport) => {
    await using silent = await serveTcp(() => undefined);
    const client = connect({ transport, grpc: { url: silent.url }, rest: { url: silent.url }, timeouts: brief });
    const call = await failureOf(client.listSegments());
    expect(call).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded });
    const stream = await failureOf(client.exportNetworkHistory(range).toZip());
    expect(stream).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded });
    expect(stream.summary).toBe("no data received for 300 ms (idle timeout)");
  });

  it("do not count the time that the caller takes", async () => {
    using runtime = useVirtualRuntime({ io: true });
    const archive = await csvZip(5000, "chain-1-trades-1-1000.csv");
    await using node = await serveNode({
      async *exportNetworkHistory() {
        for (let at = 0; at < archive.length; at += 1000) {
          yield { contentType: "application/zip", data: archive.subarray(at, at + 1000) };
        }
      },
    });
    const client = connect({ grpc: { url: node.grpcUrl }, timeouts: { idleMs: 2000 } });
    let bytes = 0;
    for await (const piece of client.exportNetworkHistory(range, { extensions: "optional" }).bytes()) {
      bytes += piece.length;
      if (bytes === 2000) {
        await runtime.pass(3000);
      }
    }
    expect(bytes).toBe(archive.length);
  });

  it("tell the caller's own abort from a time that was up", async () => {
    await using silent = await serveTcp(() => undefined);
    const client = connect({ grpc: { url: silent.url }, timeouts: { callMs: 10_000 } });
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 20); // At any time: the call does not end by itself.
    expect(await failureOf(client.listSegments({ signal: abort.signal }))).toBeInstanceOf(CanceledError);
    const deadlineError = await failureOf(client.listSegments({ signal: AbortSignal.timeout(20) }));
    expect(deadlineError).toMatchObject({ name: "ConnectionError", code: Code.DeadlineExceeded });
  });
});

it("a transport whose method was replaced is called by that method, also below others", async () => {
  await using node = await serveNode(listing);
  const transport = createTransport(readConfig({ grpc: { url: node.grpcUrl } }));
  const { unary } = transport;
  const called: string[] = [];
  transport.unary = (method, ...call) => {
    called.push(method.name);
    return unary(method, ...call);
  };
  await using above = retrying(transport, { tries: 2, baseMs: 1, maxMs: 1 });
  const { segments: found } = await createServiceClient(TradingDataService, above).listAllNetworkHistorySegments({});
  expect(found).toHaveLength(1);
  expect(called).toEqual(["ListAllNetworkHistorySegments"]);
});

describe("hooks and interceptors", () => {
  it.each(["grpc", "rest"] as const)("see every call over %s", async (transport) => {
    const archive = await csvZip(50, "chain-1-trades-1-1000.csv");
    const tested: (string | null)[] = [];
    await using node = await serveNode({
      listAllNetworkHistorySegments: (_, { requestHeader }) => {
        tested.push(requestHeader.get("x-test"));
        return { segments };
      },
      async *exportNetworkHistory() {
        yield { contentType: "application/zip", data: archive };
      },
    });
    const { seen, hooks } = recorded();
    const names: string[] = [];
    const interceptor: Interceptor = (next) => (req) => {
      names.push(`${req.service.typeName}/${req.method.name}`);
      req.header.set("x-test", "1");
      return next(req);
    };
    const config = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    const client = connect(config, { hooks, interceptors: [interceptor] });
    await client.listSegments();
    expect(await drain(client.exportNetworkHistory(range, { extensions: "optional" }).bytes())).toBe(archive.length);
    expect(names).toEqual([
      "datanode.api.v2.TradingDataService/ListAllNetworkHistorySegments",
      "datanode.api.v2.TradingDataService/ExportNetworkHistory",
    ]);
    expect(seen.starts.map(({ method }) => method)).toEqual(names);
    expect(seen.starts.map((call) => call.transport)).toEqual([transport, transport]);
    expect(seen.ends).toHaveLength(2);
    expect(seen.ends.every(({ error, durationMs }) => error === undefined && durationMs > 0)).toBe(true);
    expect(seen.bytes).toBeGreaterThan(archive.length);
    if (transport === "grpc") {
      expect(tested).toEqual(["1"]); // The gateway gives no headers on.
    }
  });

  it("see how a call failed", async () => {
    const { seen, hooks } = recorded();
    const error = await failureOf(connect({ grpc: { url: await closedUrl() } }, { hooks }).listSegments());
    expect(seen.ends.map((end) => end.error)).toEqual([error]);
    expect(seen.retries).toHaveLength(2);
  });
});

describe("calls", () => {
  it("have a number that no other call of the process has", async () => {
    await using node = await serveNode(listing);
    const { seen, hooks } = recorded();
    const two = [
      connect({ grpc: { url: node.grpcUrl } }, { hooks }),
      connect({ rest: { url: node.restUrl } }, { hooks }),
    ];
    await Promise.all(two.map((client) => client.listSegments()));
    await Promise.all(two.map((client) => client.listSegments()));
    expect(new Set(seen.starts.map(({ id }) => id)).size).toBe(4);
  });
});

describe("a service of one's own", () => {
  it.each(["grpc", "grpc-js", "rest"] as const)("fails with the library's errors over %s", async (transport) => {
    await using node = await serveNode(listing);
    const config = { transport, grpc: { url: node.grpcUrl }, rest: { url: node.restUrl } };
    const service = connect(config).service(TradingDataService);
    expect((await service.listAllNetworkHistorySegments({})).segments).toEqual(segments);
    const error = await failureOf(service.getStopOrder({ orderId: "1" }));
    expect(error).toBeInstanceOf(NodeError);
    const method = "datanode.api.v2.TradingDataService/GetStopOrder";
    expect(error).toMatchObject({ code: Code.Unimplemented, transport, method });
    const aborted = await failureOf(service.getStopOrder({ orderId: "1" }, { signal: AbortSignal.abort() }));
    expect(aborted).toBeInstanceOf(CanceledError);
  });
});

describe("fallback", () => {
  it("composes transports that others made", async () => {
    await using node = await serveNode(listing);
    const fallbacks: FallbackInfo[] = [];
    const hooks = { onFallback: (info: FallbackInfo) => fallbacks.push(info) };
    const dead = createGrpcTransport({ baseUrl: await closedUrl() });
    const good = createConnectTransport({ baseUrl: node.grpcUrl, httpVersion: "2" });
    const composed = fallback(
      [
        { name: "first", transport: dead },
        { name: "second", transport: good },
      ],
      { hooks },
    );
    const service = createServiceClient(TradingDataService, composed);
    for (let call = 0; call < 5; call += 1) {
      expect((await service.listAllNetworkHistorySegments({})).segments).toEqual(segments);
    }
    expect(fallbacks).toHaveLength(1);
    expect(fallbacks[0]).toMatchObject({ from: "first", to: "second" });
    expect(fallbacks[0]?.error).toBeInstanceOf(ConnectionError);
    await composed.close();
  });
});

it.each(["grpc", "grpc-js", "rest"] as const)(
  "a file of tls that is not there is told as one to read (%s)",
  (transport) => {
    const endpoint = { url: "https://localhost:1", tls: { caFile: "/nowhere/ca.pem" } };
    expect(() => createClient({ transport, grpc: endpoint, rest: endpoint })).toThrow(
      "/nowhere/ca.pem: file not found\nCheck the path.",
    );
  },
);
