import { createServer, get, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { anyPack, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type Client, createClient, NodeError } from "tradewire";
import { TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { AccountType, ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { createGateway } from "../../src/node/gateway.js";
import { csvZip, cutEvery } from "../support/archives.js";

const EXPORT = "/api/v2/networkhistory/export?fromBlock=1&toBlock=3000&table=TABLE_TRADES";
const SEGMENTS = "/api/v2/networkhistory/segments";
const extension = anyPack(StringValueSchema, create(StringValueSchema, { value: "all rows" }));
const detail = { desc: ErrorDetailSchema, value: { code: 7, message: "m", inner: "i" } };
const detailJson = { "@type": "type.googleapis.com/vega.ErrorDetail", code: 7, message: "m", inner: "i" };

/** A node whose export of a range that begins at a known block goes wrong in a way of its own. */
const transport = createRouterTransport((router) => {
  router.service(TradingDataService, {
    async *exportNetworkHistory({ fromBlock }, { responseHeader, signal }) {
      responseHeader.set("content-disposition", "attachment;filename=chain-1-trades-1-3000.zip");
      responseHeader.set("x-internal", "1");
      if (fromBlock === 1001n) {
        throw new ConnectError("no such range", Code.InvalidArgument, undefined, [detail]);
      }
      for (const [index, data] of cutEvery(archive, 1000).entries()) {
        yield { contentType: "application/zip", data, extensions: index === 0 ? [extension] : [] };
      }
      if (fromBlock === 2001n) {
        throw new ConnectError("segment 3 is gone", Code.Internal, undefined, [detail]);
      }
      if (fromBlock === 3001n) {
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
        markAborted();
      }
    },
    async *observeAccounts() {
      const accounts = [{ owner: "network", balance: "5", type: AccountType.INSURANCE }];
      yield { response: { case: "snapshot", value: { accounts } } };
      yield { response: { case: "updates", value: {} } };
    },
    getMarket: () => ({
      market: {
        id: "a1",
        successorMarketId: undefined,
        tradableInstrument: { instrument: { id: "i", product: { case: "future", value: { quoteName: "USD" } } } },
      },
    }),
    listAllNetworkHistorySegments() {
      return { segments: [{ fromHeight: 1n, toHeight: 2n ** 63n - 1n }] };
    },
  });
});

let archive: Buffer;
let origin: string;
let markAborted: () => void;
const aborted = new Promise<void>((resolve) => {
  markAborted = resolve;
});
const listener: RequestListener = createGateway(transport, [TradingDataService]);
const server = createServer(listener);

beforeAll(async () => {
  archive = await csvZip(5000);
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => {
    server.close(resolve);
  });
});

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

async function ask(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(`${origin}${path}`, { headers, method, agent: false }, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode, headers: response.headers, body }),
        reject,
      );
    }).on("error", reject);
  });
}

function json({ body }: Answer): unknown {
  return JSON.parse(body.toString());
}

function lines({ body }: Answer): unknown[] {
  expect(body.toString().endsWith("\n")).toBe(true);
  return body
    .toString()
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

describe("createGateway", () => {
  it("streams the archive itself, with its name", async () => {
    const answer = await ask(EXPORT);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/zip",
      "content-disposition": "attachment;filename=chain-1-trades-1-3000.zip",
      "transfer-encoding": "chunked",
    });
    expect(answer.headers).not.toHaveProperty("content-encoding");
    expect(answer.headers).not.toHaveProperty("x-internal");
    expect(answer.body.equals(archive)).toBe(true);
  });

  it("streams a JSON object a line where that is what is accepted, with every field", async () => {
    const answer = await ask(EXPORT, { accept: "application/x-ndjson" });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/x-ndjson");
    const parts = cutEvery(archive, 1000).map((data, index) => ({
      result: {
        contentType: "application/zip",
        data: data.toString("base64"),
        extensions:
          index === 0 ? [{ "@type": "type.googleapis.com/google.protobuf.StringValue", value: "all rows" }] : [],
      },
    }));
    expect(lines(answer)).toEqual(parts);
  });

  it.each([undefined, "application/x-ndjson"])(
    "compresses with gzip where that is accepted, flushing nothing less (%s)",
    async (accept) => {
      const plain = await ask(EXPORT, accept === undefined ? {} : { accept });
      const answer = await ask(EXPORT, {
        "accept-encoding": "br, gzip;q=0.5",
        ...(accept === undefined ? {} : { accept }),
      });
      expect(answer.headers["content-encoding"]).toBe("gzip");
      expect(gunzipSync(answer.body).equals(plain.body)).toBe(true);
    },
  );

  it.each(["identity", "br", "gzip;q=0", "xgzip"])("does not compress for %j", async (encoding) => {
    const answer = await ask(SEGMENTS, { "accept-encoding": encoding });
    expect(answer.headers).not.toHaveProperty("content-encoding");
  });

  it.each(["5", "x", "5 s", "m", "-1m"])("refuses the time limit %j, as grpc-gateway does", async (limit) => {
    const answer = await ask(SEGMENTS, { "grpc-timeout": limit });
    expect(json(answer)).toMatchObject({ code: Code.InvalidArgument, message: `invalid grpc-timeout: ${limit}` });
    expect((await ask(SEGMENTS, { "grpc-timeout": "10S" })).status).toBe(200);
  });

  it("answers a unary call with JSON that has every field, 64-bit numbers as strings", async () => {
    const answer = await ask(SEGMENTS);
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(json(answer)).toEqual({
      segments: [
        {
          fromHeight: "1",
          toHeight: "9223372036854775807",
          historySegmentId: "",
          previousHistorySegmentId: "",
          databaseVersion: "0",
          chainId: "",
        },
      ],
    });
  });

  it("writes null for messages that are not set, and nothing for optional fields and alternatives", async () => {
    const { market } = json(await ask("/api/v2/market/a1")) as Record<string, Record<string, never>>;
    expect(market).toMatchObject({
      id: "a1",
      fees: null,
      marketTimestamps: null,
      tickSize: "",
      tradableInstrument: {
        marginCalculator: null,
        instrument: {
          metadata: null,
          future: { quoteName: "USD", dataSourceSpecForSettlementData: null },
        },
      },
    });
    expect(market).not.toHaveProperty("successorMarketId");
    for (const alternative of ["spot", "perpetual", "future.cap"]) {
      expect(market).not.toHaveProperty(`tradableInstrument.instrument.${alternative}`);
    }
  });

  it("as deployed, always answers an export with the archive, and gives the type of an error twice", async () => {
    const deployed = createServer(createGateway(transport, [TradingDataService], "deployed"));
    await new Promise<void>((resolve) => {
      deployed.listen(0, "127.0.0.1", resolve);
    });
    const { port } = deployed.address() as AddressInfo;
    try {
      const answer = await fetch(`http://127.0.0.1:${port}${EXPORT}`, { headers: { accept: "application/x-ndjson" } });
      expect(answer.headers.get("content-type")).toBe("application/zip");
      expect(Buffer.from(await answer.arrayBuffer()).equals(archive)).toBe(true);
      const error = await fetch(`http://127.0.0.1:${port}/api/v2/nothing`);
      expect(error.status).toBe(404);
      expect(error.headers.get("content-type")).toBe("application/json, application/json");
    } finally {
      deployed.closeAllConnections();
      deployed.close();
    }
  });

  it("answers an error before the first chunk with its status, under error", async () => {
    for (const accept of ["*/*", "application/x-ndjson"]) {
      const answer = await ask(EXPORT.replace("=1&", "=1001&"), { accept });
      expect(answer.status).toBe(400);
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(json(answer)).toEqual({ error: { code: 3, message: "no such range", details: [detailJson] } });
    }
  });

  it("appends an error that comes after the first chunk", async () => {
    const error = { error: { code: 13, message: "segment 3 is gone", details: [detailJson] } };
    const raw = await ask(EXPORT.replace("=1&", "=2001&"));
    expect(raw.status).toBe(200);
    expect(raw.body.subarray(0, archive.length).equals(archive)).toBe(true);
    expect(JSON.parse(raw.body.subarray(archive.length).toString())).toEqual(error);
    const envelopes = await ask(EXPORT.replace("=1&", "=2001&"), { accept: "application/x-ndjson" });
    expect(lines(envelopes).at(-1)).toEqual(error);
    const packed = await ask(EXPORT.replace("=1&", "=2001&"), { "accept-encoding": "gzip" });
    expect(gunzipSync(packed.body).equals(raw.body)).toBe(true);
  });

  it("is understood by the client where it appends an error", async () => {
    await using client: Client = createClient({ transport: "rest", rest: { url: origin } });
    for (const headers of [{}, { accept: "application/x-ndjson" }]) {
      const exported = client.exportNetworkHistory({ table: "trades", fromBlock: 2001, toBlock: 3000 }, { headers });
      const failing = exported.toZip();
      await expect(failing).rejects.toThrow(NodeError);
      await expect(failing).rejects.toMatchObject({ code: Code.Internal, details: [detailJson] });
    }
  });

  it.each([
    ["another path", "/api/v2/networkhistories", "GET"],
    ["a path that goes on", `${SEGMENTS}/1`, "GET"],
    ["a gRPC path", "/datanode.api.v2.TradingDataService/ListAllNetworkHistorySegments", "GET"],
    ["a path that cannot be decoded", "/api/v2/%zz", "GET"],
  ])("answers %s with 404 and the bare error object", async (_, path, method) => {
    const answer = await ask(path, {}, method);
    expect(answer.status).toBe(404);
    expect(json(answer)).toEqual({ code: 5, message: "Not Found", details: [] });
  });

  it.each([
    ["a method that it does not carry out", "/api/v2/networkhistory", "GET"],
    ["a method whose requests are a stream", "/api/v2/stream/event/bus", "GET"],
    ["another verb", `${SEGMENTS}?a=1`, "POST"],
    ["another verb where the path has a variable", "/api/v2/order/1", "DELETE"],
  ])("answers %s with 501 and the bare error object", async (_, path, method) => {
    const answer = await ask(path, {}, method);
    expect(answer.status).toBe(501);
    expect(json(answer)).toMatchObject({ code: 12 });
  });

  it.each([
    ["a block that is no number", "/api/v2/networkhistory/export?fromBlock=x&toBlock=3000&table=TABLE_TRADES"],
    ["a block beyond 64 bits", "/api/v2/networkhistory/export?fromBlock=9223372036854775808"],
  ])("refuses %s", async (_, path) => {
    const answer = await ask(path);
    expect(answer.status).toBe(400);
    expect(json(answer)).toMatchObject({ code: 3, message: expect.stringContaining("from_block") });
  });

  it("says that it is well", async () => {
    const answer = await ask("/health");
    expect({ ...answer, body: answer.body.toString() }).toMatchObject({
      status: 200,
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: "ok",
    });
    expect((await ask("/health", {}, "POST")).status).toBe(404);
  });

  it("leaves defaults out below the path of streams, and has enums as numbers", async () => {
    const answer = await ask("/api/v2/stream/accounts");
    expect(answer.status).toBe(200);
    expect(lines(answer)).toEqual([
      { result: { snapshot: { accounts: [{ owner: "network", balance: "5", type: 1 }] } } },
      { result: { updates: {} } },
    ]);
  });

  it("ignores query parameters that it does not know", async () => {
    expect((await ask(`${EXPORT}&colour=blue&a.b=1`)).status).toBe(200);
  });

  it("takes query parameters by their names in the definitions and enums by number", async () => {
    expect((await ask("/api/v2/networkhistory/export?from_block=1&to_block=3000&table=6")).status).toBe(200);
  });

  it("ends the call when whoever asked has gone", async () => {
    await new Promise<void>((resolve, reject) => {
      const request = get(`${origin}${EXPORT.replace("=1&", "=3001&")}`, { agent: false }, (response) => {
        response.once("data", () => {
          request.destroy();
          resolve();
        });
      });
      request.on("error", reject);
    });
    await aborted;
  });
});
