// Slow, and worth it: ports that take connections and stay silent are told by time limits alone.
import { createServer as createHttpServer } from "node:http";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterEach, describe, expect, it } from "@jest/globals";
import { type ClientConfig, createClient, TradewireError } from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { csvZip } from "../../support/archives.js";
import { block } from "../../support/block.js";
import { eventually } from "../../support/eventually.js";
import { serveNode, serveTcp } from "../../support/node.js";
import { chunk, head, startRawHttp } from "../../support/raw-http.js";
import { envelope, serveStreams } from "../../support/servers.js";
import { taken } from "../../support/taken.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

const names = ["grpc", "grpc-js", "rest"] as const;
const gRpcNames = ["grpc", "grpc-js"] as const;
const segments = [{ fromHeight: 1n, toHeight: 1000n, chainId: "chain-1" }];
const range = { table: "trades", fromBlock: 1, toBlock: 3000 } as const;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

function connect(config: ClientConfig) {
  const retries: number[] = [];
  const client = createClient(config, { hooks: { onRetry: ({ attempt }) => retries.push(attempt) } });
  closing.push(() => client.close());
  return { client, retries };
}

async function failureOf(promise: Promise<unknown>): Promise<TradewireError> {
  const reason: unknown = await promise.then(
    () => "it did not fail",
    (failure: unknown) => failure,
  );
  if (reason instanceof TradewireError) {
    return reason;
  }
  throw new Error("another error", { cause: reason });
}

/** An HTTP/2 server whose answer to a stream is the test's. */
async function streams(answer: (stream: ServerHttp2Stream) => void) {
  const server = await serveStreams(answer);
  closing.push(() => server.close());
  return server;
}

describe("connectMs", () => {
  it.each(gRpcNames)("ends every call to a port that takes connections and stays silent (%s)", async (transport) => {
    await using silent = await serveTcp((socket) => socket.resume());
    const { client } = connect({
      transport,
      grpc: { url: silent.url },
      timeouts: { connectMs: 200 },
      retry: { tries: 1 },
    });
    const failures = await Promise.all([1, 2, 3].map(() => failureOf(client.listSegments())));
    for (const failure of [...failures, await failureOf(client.listSegments())]) {
      expect(failure.summary).toContain("the connection timed out");
      expect(failure).toMatchObject({ code: Code.Unavailable, connected: false });
    }
  });

  it.each(gRpcNames)("holds for the connection after GOAWAY too (%s)", async (transport) => {
    using runtime = useVirtualRuntime({ io: true });
    let connections = 0;
    const node = createServer();
    node.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(envelope(Buffer.alloc(0)));
      const { session } = stream;
      stream.on("close", () => session?.goaway());
    });
    await using front = await serveTcp((socket) => {
      connections += 1;
      if (connections === 1) {
        node.emit("connection", socket);
      } else {
        socket.resume();
      }
    });
    const { client } = connect({
      transport,
      grpc: { url: front.url },
      timeouts: { connectMs: 200 },
      retry: { tries: 1 },
    });
    expect(await runtime.until(client.listSegments())).toEqual([]);
    await eventually(async () => {
      // Calls are answered or refused over the first connection until the client has read GOAWAY.
      const failure = await runtime.until(client.listSegments().then(() => "", String));
      return failure.includes("the connection timed out");
    });
    expect(connections).toBe(2);
  });

  it.each(names)("does not count time in which this process was blocked (%s)", async (transport) => {
    const node = createServer();
    node.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(envelope(Buffer.alloc(0)));
    });
    const gateway = createHttpServer((_, response) => response.setHeader("content-type", "application/json").end("{}"));
    await using front = await serveTcp((socket) => {
      block(2500); // Whatever comes waits, and so do timers.
      (transport === "rest" ? gateway : node).emit("connection", socket);
    });
    const { client } = connect({
      transport,
      grpc: { url: front.url },
      rest: { url: front.url },
      timeouts: { connectMs: 1000 },
      retry: { tries: 1 },
    });
    expect(await client.listSegments()).toEqual([]);
  });

  it("ends a call to a secured gateway that stays silent, and so does its signal", async () => {
    await using silent = await serveTcp((socket) => socket.resume());
    const url = silent.url.replace("http:", "https:");
    const { client } = connect({ rest: { url }, timeouts: { connectMs: 200 }, retry: { tries: 1 } });
    expect(await failureOf(client.listSegments())).toMatchObject({ code: Code.Unavailable, connected: false });
    const patient = connect({ rest: { url }, retry: { tries: 1 } });
    const aborted = await failureOf(patient.client.listSegments({ signal: AbortSignal.timeout(50) }));
    expect(aborted.code).toBe(Code.DeadlineExceeded);
  });
});

describe("auto", () => {
  it("goes on over REST where gRPC takes connections and stays silent, and names both where both fail", async () => {
    using runtime = useVirtualRuntime({ io: true });
    await using silent = await serveTcp((socket) => socket.resume());
    await using node = await serveNode({ listAllNetworkHistorySegments: () => ({ segments }) });
    const timeouts = { connectMs: 200 };
    const { client } = connect({ grpc: { url: silent.url }, rest: { url: node.restUrl }, timeouts });
    expect(await runtime.until(client.listSegments())).toHaveLength(1);
    expect(await runtime.until(client.listSegments())).toHaveLength(1);
    expect(silent.count()).toBe(1);

    const other = connect({
      grpc: { url: silent.url },
      rest: { url: "http://127.0.0.1:1" },
      timeouts,
      retry: { tries: 1 },
    });
    const { summary } = await runtime.until(failureOf(other.client.listSegments()));
    expect(summary).toContain("the connection was refused (http://127.0.0.1:1; previously over grpc: ");
    expect(summary).toContain(`the connection timed out, ${silent.url}`);
  });

  it("goes on over REST where gRPC answers a read with nothing", async () => {
    using runtime = useVirtualRuntime({ io: true });
    let streamsOpened = 0;
    const mute = await streams(() => {
      streamsOpened += 1;
    });
    const archive = await csvZip(50);
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => ({ segments }),
      async *exportNetworkHistory() {
        yield { contentType: "application/zip", data: archive };
      },
    });
    const config = { grpc: { url: mute.url }, rest: { url: node.restUrl }, timeouts: { callMs: 3000, idleMs: 300 } };
    expect(await runtime.until(connect(config).client.listSegments())).toHaveLength(1);
    const exported = connect(config).client.exportNetworkHistory(range, { extensions: "optional" });
    expect((await runtime.until(exported.toZip())).file).toBeDefined();
    expect(streamsOpened).toBe(2);
  });
});

describe("retries", () => {
  it.each(names)("leave alone what is larger than our own limit (%s)", async (transport) => {
    let calls = 0;
    await using node = await serveNode({
      listAllNetworkHistorySegments: () => {
        calls += 1;
        return { segments };
      },
    });
    const limits = { maxMessageBytes: 5, maxJsonBytes: 5 };
    const { client, retries } = connect({
      transport,
      grpc: { url: node.grpcUrl },
      rest: { url: node.restUrl },
      limits,
    });
    expect((await failureOf(client.listSegments())).summary).toContain("a message is larger than the limit");
    expect([calls, retries]).toEqual([1, []]);
  });
});

describe("idleMs", () => {
  it.each(["grpc", "rest"] as const)("counts bytes, not messages (%s)", async (transport) => {
    const archive = await csvZip(3000);
    const body = toBinary(HttpBodySchema, create(HttpBodySchema, { contentType: "application/zip", data: archive }));
    using runtime = useVirtualRuntime({ io: true });
    const slowly = async (bytes: Uint8Array, write: (piece: Uint8Array) => void) => {
      for (let at = 0; at < bytes.length; at += bytes.length / 8) {
        write(bytes.subarray(at, at + bytes.length / 8));
        await runtime.after(300);
      }
    };
    const node = await streams(async (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc+proto" }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      await slowly(envelope(body), (piece) => stream.write(piece));
      stream.end();
    });
    const gateway = await serveTcp((socket) =>
      socket.once("data", async () => {
        socket.write(head("200 OK", { "content-type": "application/json", "transfer-encoding": "chunked" }));
        const data = archive.toString("base64");
        const text = JSON.stringify({ result: { contentType: "application/zip", data } });
        await slowly(Buffer.from(text), (piece) => socket.write(chunk(piece)));
        socket.end(chunk(""));
      }),
    );
    closing.push(async () => gateway[Symbol.asyncDispose]());
    const { client } = connect({
      transport,
      grpc: { url: node.url },
      rest: { url: gateway.url },
      timeouts: { idleMs: 400 },
    });
    const { values, error } = await runtime.until(
      taken(client.exportNetworkHistory(range, { extensions: "optional" }).bytes()),
    );
    expect(error).toBeUndefined();
    expect(Buffer.concat(values)).toHaveLength(archive.length);
  });
});

describe("codes", () => {
  it.each([
    [1, Code.Internal],
    [2, Code.Internal],
    [7, Code.Unavailable],
    [8, Code.Canceled],
    [11, Code.ResourceExhausted],
    [12, Code.PermissionDenied],
    [13, Code.Internal],
  ])("of a stream that the server resets with %i are gRPC's", async (http2Code, code) => {
    const node = await streams((stream) => stream.close(http2Code));
    for (const transport of gRpcNames) {
      const { client } = connect({ transport, grpc: { url: node.url }, retry: { tries: 1 } });
      const failure = await failureOf(client.listSegments());
      expect([transport, failure.code]).toEqual([transport, code]);
      // Node resets a call with 11 as well, where a response has too many headers.
      const said = http2Code === 11 ? "the call was reset because a limit was exceeded" : "the server reset the call";
      expect(failure.summary).toContain(`${said} (HTTP/2 error code ${http2Code})`);
    }
  });

  it.each([
    [400, Code.Internal],
    [401, Code.Unauthenticated],
    [403, Code.PermissionDenied],
    [404, Code.Unimplemented],
    [405, Code.Unknown],
    [408, Code.Unknown],
    [409, Code.Unknown],
    [413, Code.Unknown],
    [422, Code.Unknown],
    [429, Code.Unavailable],
    [501, Code.Unknown],
    [502, Code.Unavailable],
    [503, Code.Unavailable],
    [504, Code.Unavailable],
    // grpc/grpc, doc/http-grpc-status-mapping.md: all that it does not list are UNKNOWN.
  ])("of HTTP %i are those of gRPC's table, over every transport", async (status, code) => {
    const headers = { "content-type": "text/html", "content-encoding": "br" };
    const node = await streams((stream) => {
      stream.respond({ ":status": status, ...headers });
      stream.end("<h1>Sorry</h1>");
    });
    const gateway = await startRawHttp();
    closing.push(() => gateway.close());
    gateway.answer = { pieces: [head(`${status} Sorry`, headers), "<h1>Sorry</h1>"], ending: "end" };
    for (const transport of names) {
      const { client } = connect({
        transport,
        grpc: { url: node.url },
        rest: { url: gateway.url },
        retry: { tries: 1 },
      });
      const failure = await failureOf(client.listSegments());
      expect([transport, failure.name, failure.code]).toEqual([transport, "NodeError", code]);
      expect(failure.summary).toContain(`HTTP ${status}`);
    }
  });
});
