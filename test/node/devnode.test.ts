import { get } from "node:http";
import { connect } from "node:http2";
import { connect as dial } from "node:net";
import { Readable } from "node:stream";
import { json, text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, NodeError } from "tradewire";
import { type Devnode, startDevnode } from "tradewire/devnode";
import { Table } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { CoreService } from "tradewire/gen/vega/api/v1/core_pb.js";

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
      [5, 10],
      [1, 24],
      [1, 900],
    ])("a range off the boundaries: %d to %d", async (fromBlock, toBlock) => {
      const failing = clients[transport].exportNetworkHistory({ table: "trades", fromBlock, toBlock }).toZip();
      await expect(failing).rejects.toThrow(NodeError);
      await expect(failing).rejects.toMatchObject({
        code: Code.InvalidArgument,
        details: [
          {
            "@type": "type.googleapis.com/vega.ErrorDetail",
            code: 10_000,
            message: "could not to get contiguous history segments",
            inner: `heights ${fromBlock} to ${toBlock} do not lie within a continuous segment range`,
          },
        ],
      });
    });
  });

  // The client does not ask for these.
  it.each([
    [
      "fromBlock=20&toBlock=1&table=TABLE_TRADES",
      400,
      3,
      "heights 20 to 1 do not lie within a continuous segment range",
    ],
    [
      "fromBlock=0&toBlock=10&table=TABLE_TRADES",
      400,
      3,
      "heights 0 to 10 do not lie within a continuous segment range",
    ],
    ["table=TABLE_TRADES", 400, 3, "heights 0 to 0 do not lie within a continuous segment range"],
    ["fromBlock=1&toBlock=10", 500, 13, "empty table name"],
  ])("refuses ?%s", async (query, status, code, inner) => {
    const answer = await new Promise((resolve, reject) => {
      get(`${node.restUrl}/api/v2/networkhistory/export?${query}`, { agent: false }, (response) => {
        json(response).then((body) => resolve([response.statusCode, body]), reject);
      }).on("error", reject);
    });
    expect(answer).toEqual([
      status,
      { error: { code, message: expect.any(String), details: [expect.objectContaining({ code: 10_000, inner })] } },
    ]);
  });

  it("answers Connect's own protocol with JSON on the port of gRPC", async () => {
    const listed = await callInJson("ListAllNetworkHistorySegments", {});
    expect(listed).toMatchObject({ status: 200, type: "application/json" });
    expect(listed.answer).toMatchObject({
      segments: [{ fromHeight: "31", toHeight: "40", chainId: "devnode-1" }, {}, {}, {}],
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
    expect(answer).toContain("the body exceeds 4194304 bytes");
  });
});
