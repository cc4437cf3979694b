import { setImmediate as turn } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { create, fromBinary, type MessageInitShape, toBinary, toJsonString } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { type ClosableTransport, createClient as createNodeClient, createTransport, readConfig } from "tradewire";
import {
  ExportNetworkHistoryRequestSchema,
  ListAllNetworkHistorySegmentsResponseSchema,
  Table,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { type HttpBody, HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { ErrorDetailSchema } from "tradewire/gen/vega/vega_pb.js";
import { createGrpcTransport } from "tradewire/transport";
import {
  failureTrailers,
  frame,
  type GrpcAnswer,
  type GrpcServer,
  startGrpcServer,
} from "../../../support/grpc-server.js";

const OK = { "grpc-status": "0" };

let server: GrpcServer;
let transport: ClosableTransport | undefined;

beforeAll(async () => {
  server = await startGrpcServer();
});
afterEach(async () => {
  await transport?.close();
  transport = undefined;
  server.calls.length = 0;
});
afterAll(() => server.close());

interface Settings {
  readonly codec?: "proto" | "json";
  readonly windowBytes?: number;
  readonly maxMessageBytes?: number;
  readonly interceptors?: readonly Interceptor[];
}

function connect({ codec, windowBytes, maxMessageBytes, interceptors }: Settings = {}) {
  transport = createGrpcTransport({ url: server.url, codec, windowBytes, limits: { maxMessageBytes }, interceptors });
  return createClient(TradingDataService, transport);
}

async function exported(answer: GrpcAnswer, settings: Settings = {}): Promise<HttpBody[]> {
  server.answer = answer;
  const messages: HttpBody[] = [];
  for await (const message of connect(settings).exportNetworkHistory({})) {
    messages.push(message);
  }
  return messages;
}

async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  const reason: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof ConnectError)) {
    throw new Error("a ConnectError was expected", { cause: reason });
  }
  return reason;
}

function body(init: MessageInitShape<typeof HttpBodySchema>): Buffer {
  return frame(toBinary(HttpBodySchema, create(HttpBodySchema, init)));
}

const PART = body({ contentType: "application/zip", data: Buffer.from("PK") });

describe("calls over gRPC", () => {
  it("are sent as gRPC has them", async () => {
    server.answer = { pieces: [PART], ending: OK };
    const request = { fromBlock: 1n, toBlock: 3000n, table: Table.TRADES };
    for await (const _ of connect().exportNetworkHistory(request, { headers: { "x-trace": "7" } })) {
      // Only what was sent matters here.
    }
    const [call] = server.calls;
    expect(call?.headers).toMatchObject({
      ":method": "POST",
      ":path": "/datanode.api.v2.TradingDataService/ExportNetworkHistory",
      "content-type": "application/grpc+proto",
      te: "trailers",
      "x-trace": "7",
    });
    expect(call?.headers).not.toHaveProperty("grpc-accept-encoding");
    expect(call?.body.readUInt32BE(1)).toBe((call?.body.length ?? 0) - 5);
    expect(fromBinary(ExportNetworkHistoryRequestSchema, call?.body.subarray(5) ?? Buffer.alloc(0))).toMatchObject(
      request,
    );
  });

  it("read messages however they are cut", async () => {
    const bytes = Buffer.concat([PART, body({ data: Buffer.from("abc") }), body({})]);
    const pieces = [...bytes].map((byte) => Uint8Array.of(byte));
    const messages = await exported({ pieces, ending: OK });
    expect(messages.map(({ data }) => Buffer.from(data).toString())).toEqual(["PK", "abc", ""]);
    expect(messages[0]?.contentType).toBe("application/zip");
  });

  it("read a unary answer", async () => {
    const message = create(ListAllNetworkHistorySegmentsResponseSchema, {
      segments: [{ fromHeight: 1n, toHeight: 9n }],
    });
    server.answer = { pieces: [frame(toBinary(ListAllNetworkHistorySegmentsResponseSchema, message))], ending: OK };
    expect(await connect().listAllNetworkHistorySegments({})).toEqual(message);
  });

  it("use one connection", async () => {
    server.answer = { pieces: [frame(Buffer.alloc(0))], ending: OK };
    const client = connect();
    await Promise.all([client.listAllNetworkHistorySegments({}), client.listAllNetworkHistorySegments({})]);
    await client.listAllNetworkHistorySegments({});
    expect(new Set(server.calls.map(({ session }) => session)).size).toBe(1);
  });

  it("pass interceptors", async () => {
    const seen: string[] = [];
    const watching: Interceptor = (next) => (req) => {
      req.header.set("x-token", "secret");
      seen.push(`${req.stream ? "stream" : "unary"} ${req.method.name}`);
      return next(req);
    };
    await exported({ pieces: [PART], ending: OK }, { interceptors: [watching] });
    expect(seen).toEqual(["stream ExportNetworkHistory"]);
    expect(server.calls[0]?.headers["x-token"]).toBe("secret");
  });

  it("end the stream when they are aborted in the middle", async () => {
    server.answer = { pieces: [PART], ending: "keep" };
    const abort = new AbortController();
    const messages = connect().exportNetworkHistory({}, { signal: abort.signal })[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(2);
    const next = failure(messages.next());
    abort.abort();
    expect((await next).code).toBe(Code.Canceled);
    await server.calls[0]?.closed;
  });

  it("fail when the transport is closed", async () => {
    server.answer = { pieces: [PART], ending: "keep" };
    const messages = connect().exportNetworkHistory({})[Symbol.asyncIterator]();
    await messages.next();
    const next = failure(messages.next());
    await transport?.close();
    expect([Code.Canceled, Code.Aborted, Code.Unavailable]).toContain((await next).code);
    await server.calls[0]?.closed;
  });
});

describe("flow control over gRPC", () => {
  it.each([
    ["8 MiB by default", undefined, 8 * 1024 * 1024],
    ["as configured", 1_000_000, 1_000_000],
    ["no smaller than HTTP/2's own", 65_535, 65_535],
  ])("announces windows: %s", async (_, windowBytes, expected) => {
    server.answer = { pieces: [PART], ending: "keep" };
    const messages = connect({ ...(windowBytes && { windowBytes }) })
      .exportNetworkHistory({})
      [Symbol.asyncIterator]();
    await messages.next();
    const session = server.calls[0]?.session;
    expect(session?.remoteSettings.initialWindowSize).toBe(expected);
    // What has been sent is taken off the connection's window until it is acknowledged.
    while ((session?.state.remoteWindowSize ?? 0) < expected - PART.length) {
      await turn();
    }
    expect(session?.state.remoteWindowSize).toBeLessThanOrEqual(expected);
  });
});

const HTML = { "content-type": "text/html" };
const PAGE = Buffer.from("<html>");

describe("failures over gRPC", () => {
  const detail = create(ErrorDetailSchema, { code: 10, message: "no segment", inner: "1-7" });
  const status = {
    code: Code.InvalidArgument,
    message: "bad range é",
    details: [anyPack(ErrorDetailSchema, detail), { typeUrl: "node.example/other.Thing", value: Uint8Array.of(1, 2) }],
  };

  it.each<[string, GrpcAnswer]>([
    ["in trailers, after a message", { pieces: [PART], ending: failureTrailers(status) }],
    ["in trailers, after nothing", { ending: failureTrailers(status) }],
    ["in headers alone", { headers: failureTrailers(status), ending: "end" }],
  ])("come with their details %s", async (_, answer) => {
    const error = await failure(exported(answer));
    expect({ code: error.code, message: error.rawMessage }).toEqual({ code: 3, message: "bad range é" });
    expect(error.details).toMatchObject([
      { type: "vega.ErrorDetail", value: toBinary(ErrorDetailSchema, detail) },
      { type: "other.Thing", value: Uint8Array.of(1, 2) },
    ]);
    expect(error.findDetails(ErrorDetailSchema)).toEqual([detail]);
  });

  it("come after the messages that arrived before them", async () => {
    server.answer = { pieces: [PART], ending: failureTrailers(status) };
    const messages = connect().exportNetworkHistory({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(2);
    expect((await failure(messages.next())).code).toBe(Code.InvalidArgument);
  });

  it("are told by the trailer, whatever the header says", async () => {
    const error = await failure(exported({ headers: OK, ending: failureTrailers(status) }));
    expect(error.code).toBe(Code.InvalidArgument);
    const answer = { headers: failureTrailers(status), pieces: [PART], ending: OK };
    expect(await exported(answer)).toHaveLength(1);
  });

  it("may come without details", async () => {
    const error = await failure(exported({ ending: { "grpc-status": "13", "grpc-message": "a%20b" } }));
    expect(error).toMatchObject({ code: Code.Internal, rawMessage: "a b", details: [] });
  });

  it.each<[string, GrpcAnswer, Code, string]>([
    [
      "a stream cut inside a message",
      { pieces: [PART, PART.subarray(0, 7)], ending: OK },
      Code.DataLoss,
      "the response was truncated",
    ],
    [
      "a stream cut inside a frame's head",
      { pieces: [PART, PART.subarray(0, 3)], ending: OK },
      Code.DataLoss,
      "the response was truncated",
    ],
    ["missing trailers", { pieces: [PART], ending: "end" }, Code.DataLoss, "the response was truncated"],
    [
      "a stream reset",
      { pieces: [PART], ending: "reset" },
      Code.Internal,
      "the server reset the call (HTTP/2 error code 2)",
    ],
    ["a lost connection", { pieces: [PART], ending: "destroy" }, Code.Unavailable, "the connection was lost"],
    [
      "a status in front of a body, and none behind it",
      { headers: OK, pieces: [PART], ending: "end" },
      Code.DataLoss,
      "the response was truncated",
    ],
    ["a status that is none", { ending: { "grpc-status": "x" } }, Code.Unknown, ""],
    [
      "a message that is no Protobuf",
      { pieces: [frame(Uint8Array.of(0x12, 0x7f))], ending: OK },
      Code.Internal,
      "the response does not match its definition",
    ],
    [
      "a compressed message that was not asked for",
      { pieces: [frame(gzipSync("x"), 1)], ending: OK },
      Code.Internal,
      "uses a compression that was not requested",
    ],
    [
      "an encoding that was not asked for",
      { headers: { "grpc-encoding": "br" }, pieces: [PART], ending: OK },
      Code.Internal,
      "the response uses a compression that was not requested",
    ],
    [
      "HTML with 502",
      { headers: { ":status": 502, ...HTML }, pieces: [PAGE], ending: "end" },
      Code.Unavailable,
      "HTTP 502",
    ],
    [
      "HTML with 404",
      { headers: { ":status": 404, ...HTML }, pieces: [PAGE], ending: "end" },
      Code.Unimplemented,
      "HTTP 404",
    ],
    [
      "HTML with 200",
      { headers: HTML, pieces: [PAGE], ending: "end" },
      Code.Unknown,
      "unexpected response with content type text/html",
    ],
  ])("are noticed: %s", async (_, answer, code, message) => {
    const error = await failure(exported(answer));
    expect({ code: error.code, message: error.rawMessage }).toEqual({
      code,
      message: expect.stringContaining(message),
    });
  });

  it("are noticed: a message over the limit", async () => {
    const error = await failure(
      exported({ pieces: [body({ data: Buffer.alloc(1000) })], ending: OK }, { maxMessageBytes: 999 }),
    );
    expect(error.code).toBe(Code.ResourceExhausted);
  });

  it("are noticed: a server that is not there", async () => {
    const gone = await startGrpcServer();
    await gone.close();
    transport = createTransport(readConfig({ transport: "grpc", grpc: { url: gone.url } }));
    const error = await failure(createClient(TradingDataService, transport).listAllNetworkHistorySegments({}));
    expect(error.code).toBe(Code.Unavailable);
  });
});

describe("JSON over gRPC", () => {
  it("is spoken where it is configured", async () => {
    const extension = { "@type": "type.googleapis.com/google.protobuf.StringValue", value: "a" };
    const unknown = { "@type": "type.googleapis.com/other.v1.Thing", lost: 1 };
    const message = { contentType: "application/zip", data: "UEs=", extensions: [extension, unknown], later: 1 };
    server.answer = {
      headers: { "content-type": "application/grpc+json" },
      pieces: [frame(Buffer.from(JSON.stringify(message)))],
      ending: OK,
    };
    const messages: HttpBody[] = [];
    for await (const part of connect({ codec: "json" }).exportNetworkHistory({ fromBlock: 1n, table: Table.TRADES })) {
      messages.push(part);
    }
    expect(server.calls[0]?.headers["content-type"]).toBe("application/grpc+json");
    const sent = create(ExportNetworkHistoryRequestSchema, { fromBlock: 1n, table: Table.TRADES });
    expect(server.calls[0]?.body.subarray(5).toString()).toBe(toJsonString(ExportNetworkHistoryRequestSchema, sent));
    expect(messages.map(({ data }) => Buffer.from(data).toString())).toEqual(["PK"]);
    const client = createNodeClient({ transport: "grpc", grpc: { url: server.url, codec: "json" } });
    for await (const chunk of client.exportNetworkHistory({ table: "trades", fromBlock: 1, toBlock: 1 }).chunks()) {
      expect(chunk).toMatchObject({ result: { extensions: [extension, unknown] } });
      break;
    }
    await client.close();
  });
});
