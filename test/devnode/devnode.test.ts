import { get } from "node:http";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { createServer, connect as dial } from "node:net";
import { networkInterfaces } from "node:os";
import { Readable } from "node:stream";
import { json, text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { Table } from "../../gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "../../gen/vega/api/v1/core_pb.js";
import { type Client, createClient } from "../../src/client.js";
import { type Devnode, startDevnode } from "../../src/devnode/index.js";
import { CanceledError, ConnectionError, NodeError, RequestError } from "../../src/errors/index.js";

let node: Devnode;
let clients: Record<"grpc" | "rest", Client>;
beforeAll(async () => {
  node = await startDevnode({ chainId: "devnode-1", segments: 4, blocksPerSegment: 10 });
  clients = {
    grpc: createClient({ transport: "grpc", grpc: { url: node.grpcUrl } }),
    rest: createClient({ transport: "rest", rest: { url: node.restUrl } }),
  };
});
afterAll(async () => {
  await Promise.all(Object.values(clients).map((client) => client.close()));
  await node.close();
});

const transports = ["grpc", "rest"] as const;

/** What a method answers in Connect's own protocol, with JSON, on the port of gRPC. */
async function callInJson(method: string, body: object): Promise<{ status: unknown; type: unknown; answer: unknown }> {
  const session = connect(node.grpcUrl);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": `/datanode.api.v2.TradingDataService/${method}`,
      "content-type": "application/json",
    });
    const headers = new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.once("response", resolve);
      stream.once("error", reject);
    });
    stream.end(JSON.stringify(body));
    const { ":status": status, "content-type": type } = await headers;
    return { status, type, answer: await json(stream) };
  } finally {
    session.close();
  }
}

describe("startDevnode", () => {
  it.each(transports)("lists its segments (%s)", async (transport) => {
    const segments = await clients[transport].listSegments();
    expect(
      segments.map(({ fromHeight, toHeight, databaseVersion }) => [fromHeight, toHeight, databaseVersion]),
    ).toEqual([
      [1n, 10n, 115n],
      [11n, 20n, 115n],
      [21n, 30n, 115n],
      [31n, 40n, 116n],
    ]);
    expect(segments.map(({ chainId }) => chainId)).toEqual(Array(4).fill("devnode-1"));
  });

  it("exports the same archive over either transport, named with the version where it crosses a change", async () => {
    const request = { table: "trades", fromBlock: 21, toBlock: 40 } as const;
    const files = await Promise.all(
      transports.map(async (transport) => {
        const zip = await clients[transport].exportNetworkHistory(request).toZip();
        const texts = Object.values(zip.files).map(async (file) => [file.name, await file.async("text")]);
        return Promise.all(texts);
      }),
    );
    expect(files[0]).toEqual(files[1]);
    expect(files[0]?.map(([name]) => name)).toEqual([
      "devnode-1-trades-115-21-30.csv",
      "devnode-1-trades-116-31-40.csv",
    ]);
  });

  it.each(["grpc", "rest"] as const)(
    "tells what it exported in the first chunk's extensions (%s)",
    async (transport) => {
      const headers = transport === "rest" ? { headers: { accept: "application/x-ndjson" } } : {};
      const exported = clients[transport].exportNetworkHistory({ table: "blocks", fromBlock: 1, toBlock: 10 }, headers);
      const found = [];
      for await (const { result } of exported.chunks()) {
        found.push(result?.extensions);
      }
      expect(found[0]).toEqual([
        {
          "@type": "type.googleapis.com/google.protobuf.Struct",
          value: { chainId: "devnode-1", table: "blocks", fromBlock: "1", toBlock: "10" },
        },
      ]);
      expect(found.slice(1).flat()).toEqual([]);
    },
  );

  describe.each(transports)("refuses over %s", (transport) => {
    it.each([
      [5, 10, "fromBlock 5 is not the first block of a history segment; the nearest valid range is 1 to 10"],
      [1, 24, "toBlock 24 is not the last block of a history segment; the nearest valid range is 1 to 20"],
      [1, 900, "toBlock 900 is not the last block of a history segment; the nearest valid range is 1 to 40"],
    ])("a range off the boundaries: %d to %d", async (fromBlock, toBlock, reason) => {
      const failing = clients[transport].exportNetworkHistory({ table: "trades", fromBlock, toBlock }).toZip();
      await expect(failing).rejects.toThrow(NodeError);
      await expect(failing).rejects.toMatchObject({
        code: Code.InvalidArgument,
        summary: `the node answered INVALID_ARGUMENT: ${reason}`,
        details: [
          { "@type": "type.googleapis.com/vega.ErrorDetail", code: 20_002, message: "invalid range", inner: reason },
        ],
      });
    });
  });

  // The client does not ask for these.
  it.each([
    ["fromBlock=20&toBlock=1&table=TABLE_TRADES", "fromBlock 20 is after toBlock 1; the nearest valid range is"],
    ["fromBlock=0&toBlock=10&table=TABLE_TRADES", "the nearest valid range is 1 to 10"],
    ["table=TABLE_TRADES", "the nearest valid range is 1 to 10"],
    ["fromBlock=1&toBlock=10", "0 is not a table that can be exported; the tables are balances, checkpoints"],
    ["fromBlock=1&toBlock=10&table=99", "99 is not a table that can be exported"],
  ])("refuses ?%s", async (query, reason) => {
    const answer = await new Promise((resolve, reject) => {
      get(`${node.restUrl}/api/v2/networkhistory/export?${query}`, { agent: false }, (response) => {
        json(response).then((body) => resolve([response.statusCode, body]), reject);
      }).on("error", reject);
    });
    expect(answer).toEqual([
      400,
      { error: { code: 3, message: expect.stringContaining(reason), details: [expect.anything()] } },
    ]);
  });

  it("answers Connect's own protocol with JSON on the port of gRPC", async () => {
    const listed = await callInJson("ListAllNetworkHistorySegments", {});
    expect(listed).toMatchObject({ status: 200, type: "application/json" });
    expect(listed.answer).toMatchObject({
      segments: [{ fromHeight: "1", toHeight: "10", chainId: "devnode-1" }, {}, {}, {}],
    });
  });

  it("speaks gRPC with JSON", async () => {
    await using client = createClient({ transport: "grpc", grpc: { url: node.grpcUrl, codec: "json" } });
    const zip = await client.exportNetworkHistory({ table: Table.TRADES, fromBlock: 1n, toBlock: 10n }).toZip();
    expect(Object.keys(zip.files)).toEqual(["devnode-1-trades-1-10.csv"]);
  });

  it.each(transports)("reads no request of more than 4 MiB (%s)", async (transport) => {
    const core = clients[transport].service(CoreService);
    const call = (bytes: number) => core.submitRawTransaction({ tx: new Uint8Array(bytes) });
    await expect(call(4 * 1024 * 1024)).rejects.toMatchObject({ code: Code.ResourceExhausted });
    await expect(call(1024 * 1024)).rejects.toMatchObject({ code: Code.InvalidArgument });
  });

  it("answers a client that reads nothing before it has sent too much", async () => {
    const { port } = new URL(node.restUrl);
    const socket = dial({ port: Number(port), host: "127.0.0.1" }).pause();
    const size = 32 * 1024 * 1024;
    socket.write(`POST /transaction/raw HTTP/1.1\r\nhost: x\r\ncontent-length: ${size}\r\nconnection: close\r\n\r\n`);
    await pipeline(Readable.from(Array(32).fill(Buffer.alloc(size / 32))), socket, { end: false });
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 429 /);
    expect(answer).toContain("the body is larger than 4194304 bytes");
  });

  it("listens on the loopback address only", async () => {
    expect(node.grpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(node.restUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const others = Object.values(networkInterfaces()).flatMap((found) =>
      (found ?? []).filter(({ internal, family }) => !internal && family === "IPv4"),
    );
    for (const { address } of others) {
      for (const url of [node.grpcUrl, node.restUrl]) {
        const refused = new Promise((resolve) => {
          const socket = dial(Number(new URL(url).port), address);
          socket.once("connect", () => {
            socket.destroy();
            resolve("connected");
          });
          socket.once("error", () => resolve("refused"));
        });
        expect(await refused).toBe("refused");
      }
    }
  });

  it.each(["grpcPort", "restPort"] as const)(
    "says where the %s is taken, and leaves nothing running",
    async (which) => {
      const server = createServer();
      await new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", resolve);
      });
      const { port } = server.address() as AddressInfo;
      const starting = startDevnode({ segments: 1, blocksPerSegment: 1, [which]: port });
      await expect(starting).rejects.toThrow(ConnectionError);
      await expect(starting).rejects.toMatchObject({
        code: Code.Unavailable,
        summary: expect.stringMatching(new RegExp(`^127\\.0\\.0\\.1:${port} cannot be listened on: .*EADDRINUSE`)),
        advice: "Choose another port, or 0 for a free one.",
      });
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  );

  it.each([
    [{ grpcPort: -1 }, "grpcPort is -1"],
    [{ restPort: 65_536 }, "restPort is 65536"],
    [{ restPort: 1.5 }, "restPort is 1.5"],
    [{ segments: 0 }, "segments is 0"],
    [{ segments: 1e15 }, "segments is 1000000000000000"],
    [{ blocksPerSegment: 1e9 }, "segments and blocksPerSegment make 5000000000 blocks"],
    [{ segments: "5" }, 'segments is "5"'],
    [{ chainId: "../x" }, 'chainId "../x" cannot be part of a file name'],
    [{ chainId: null }, 'chainId "null" cannot be part of a file name'],
    [{ schemaVersions: 116 }, "schemaVersions is 116"],
    [{ genesis: null }, 'genesis is "null"'],
    [{ chainIdPrefix: "signature_only" }, 'chainIdPrefix is "signature_only"'],
    [{ rateLimit: 5 }, "rateLimit is 5"],
    [{ rateLimit: null }, 'rateLimit is "null"'],
    [{ dataDir: "" }, 'dataDir is ""'],
  ])("refuses %j", async (options: object, summary) => {
    const starting = startDevnode(options);
    await expect(starting).rejects.toThrow(RequestError);
    await expect(starting).rejects.toMatchObject({ summary });
  });
});

describe("a node that is closed", () => {
  it("cuts off the calls under way, and can be closed twice", async () => {
    const other = await startDevnode({ segments: 1, blocksPerSegment: 2000 });
    await using client = createClient({ transport: "grpc", grpc: { url: other.grpcUrl } });
    const failing = (async () => {
      for await (const { result } of client
        .exportNetworkHistory({ table: "market_data", fromBlock: 1, toBlock: 2000 })
        .chunks()) {
        expect(result).toBeDefined();
        await other.close();
      }
    })();
    const outcome = await failing.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    // A short export may have arrived whole by then.
    expect(outcome === undefined || outcome instanceof ConnectionError).toBe(true);
    await other.close();
    await expect(client.listSegments()).rejects.toThrow(ConnectionError);
  });

  it("is not started where its signal is aborted before or during the start, and stops where it is later", async () => {
    const options = { segments: 1, blocksPerSegment: 1 };
    await expect(startDevnode({ ...options, signal: AbortSignal.abort() })).rejects.toThrow(CanceledError);
    const during = new AbortController();
    const starting = startDevnode({ ...options, signal: during.signal });
    during.abort();
    await expect(starting).rejects.toThrow(CanceledError);
    const abort = new AbortController();
    const other = await startDevnode({ ...options, signal: abort.signal });
    await using client = createClient({ transport: "rest", rest: { url: other.restUrl }, retry: { tries: 1 } });
    expect(await client.listSegments()).toHaveLength(1);
    abort.abort();
    await other.close();
    await expect(client.listSegments()).rejects.toThrow(ConnectionError);
  });
});
