import { gzipSync } from "node:zlib";
import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { Table, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { HttpBody } from "../../../gen/google/api/httpbody_pb.js";
import { readConfig } from "../../../src/config/schema.js";
import { ProtocolError, RequestError, TradewireError } from "../../../src/errors/index.js";
import { anyToObject } from "../../../src/json/any.js";
import type { ClosableTransport } from "../../../src/transport/closable.js";
import { limited } from "../../../src/transport/layers/time-limits.js";
import { createRestTransport } from "../../../src/transport/rest/rest.js";
import { chunk, head, type RawAnswer, type RawHttpServer, startRawHttp, whole } from "../../support/raw-http.js";
import { shapeMethod } from "../../support/shapes.js";

const JSON_TYPE = { "content-type": "application/json" };
const ZIP_TYPE = { "content-type": "application/zip" };
const CHUNKED = { "transfer-encoding": "chunked" };
const SEGMENT = { fromHeight: "1", toHeight: "1000", databaseVersion: "3", chainId: "chain-1" };
const { exportNetworkHistory } = TradingDataService.method;

let server: RawHttpServer;
let transport: ClosableTransport | undefined;

beforeAll(async () => {
  server = await startRawHttp();
});
afterEach(async () => {
  await transport?.close();
  transport = undefined;
  server.requests.length = 0;
});
afterAll(() => server.close());

function connect({ path = "", maxJsonBytes = 1024, interceptors = [] as Interceptor[] } = {}) {
  const url = `${server.url}${path}`;
  const { rest = raise(), timeouts } = readConfig({ transport: "rest", rest: { url } });
  const bare = createRestTransport(rest, { maxJsonBytes, ...timeouts });
  transport = limited(bare, { url, timeouts, interceptors });
  return { transport, client: createClient(TradingDataService, transport) };
}

function raise(): never {
  throw new Error("the configuration has no REST");
}

/** The segments that a server's answer lists. */
async function segments(answer: RawAnswer, options: Parameters<typeof connect>[0] = {}) {
  server.answer = answer;
  return (await connect(options).client.listAllNetworkHistorySegments({})).segments;
}

/** The messages of an export that a server's answer streams. */
async function exported(answer: RawAnswer, options: Parameters<typeof connect>[0] = {}): Promise<HttpBody[]> {
  server.answer = answer;
  const messages: HttpBody[] = [];
  for await (const message of connect(options).client.exportNetworkHistory({})) {
    messages.push(message);
  }
  return messages;
}

function data(messages: readonly HttpBody[]): string {
  return Buffer.concat(messages.map((message) => message.data)).toString("latin1");
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

/** The error of this library that a call failed with. */
async function ownFailure(promise: Promise<unknown>): Promise<TradewireError> {
  const { cause } = await failure(promise);
  if (!(cause instanceof TradewireError)) {
    throw new Error("an error of the library was expected as the cause", { cause });
  }
  return cause;
}

function result(bytes: string, more: { [key: string]: JsonValue } = {}): string {
  const body = { contentType: "application/zip", data: Buffer.from(bytes, "latin1").toString("base64"), ...more };
  return `${JSON.stringify({ result: body })}\n`;
}

describe("requests of the REST transport", () => {
  it("are as the specification has them", async () => {
    server.answer = whole("200 OK", "PK", ZIP_TYPE);
    const { client } = connect();
    const request = { fromBlock: 1n, toBlock: 3000n, table: Table.TRADES };
    for await (const _ of client.exportNetworkHistory(request, { headers: { "x-trace": "7" } })) {
      // Only what was sent matters here.
    }
    const [{ line, headers, body } = { line: "", headers: new Headers(), body: "" }] = server.requests;
    expect(line).toBe("GET /api/v2/networkhistory/export?fromBlock=1&toBlock=3000&table=TABLE_TRADES HTTP/1.1");
    expect([...headers].filter(([name]) => name !== "connection")).toEqual([
      ["accept", "*/*"],
      ["accept-encoding", "identity"],
      ["host", server.url.slice("http://".length)],
      ["x-trace", "7"],
    ]);
    expect(body).toBe("");
  });

  it("go below the path of the URL", async () => {
    for (const path of ["/node/7", "/node/7/"]) {
      await segments(whole("200 OK", "{}", JSON_TYPE), { path });
      await transport?.close();
    }
    const line = "GET /node/7/api/v2/networkhistory/segments HTTP/1.1";
    expect(server.requests.map((request) => request.line)).toEqual([line, line]);
    expect(server.requests[0]?.headers.get("accept")).toBe("application/json");
  });

  it("keep the accept header of the caller, and ask for no compression whatever the caller says", async () => {
    server.answer = whole("200 OK", "{}", JSON_TYPE);
    await connect().client.listAllNetworkHistorySegments(
      {},
      { headers: { accept: "application/x-ndjson", "accept-encoding": "gzip" } },
    );
    const headers = server.requests[0]?.headers;
    expect(headers?.get("accept")).toBe("application/x-ndjson");
    expect(headers?.get("accept-encoding")).toBe("identity");
  });

  it("carry a body of JSON where the rule has one", async () => {
    const method = shapeMethod({ post: "/shapes/{name}", body: "*", responseBody: "raw_bytes" });
    server.answer = whole("200 OK", '"AAE="', JSON_TYPE);
    const init = { name: "é/1", text_value: "no such key", maybeNumber: 5n };
    const { message } = await connect().transport.unary(method, undefined, undefined, undefined, init);
    expect(server.requests[0]?.line).toBe("POST /shapes/%C3%A9%2F1 HTTP/1.1");
    expect(server.requests[0]?.headers.get("content-type")).toBe("application/json");
    expect(server.requests[0]?.body).toBe('{"maybeNumber":"5"}');
    // The rule says that the response is one field of the message.
    expect(message).toMatchObject({ rawBytes: Uint8Array.of(0, 1) });
  });

  it("are not sent where the method has no HTTP rule, or streams its requests", async () => {
    const method = shapeMethod();
    const { transport } = connect();
    const unary = await failure(transport.unary(method, undefined, undefined, undefined, {}));
    expect(unary.cause).toBeInstanceOf(RequestError);
    expect(unary.rawMessage).toContain("shapes.Shapes/Call has no HTTP rule, so it cannot be called over REST");
    const both = { ...exportNetworkHistory, methodKind: "bidi_streaming" } as const;
    const input = createAsyncIterable([{}]);
    const streaming = await failure(transport.stream(both, undefined, undefined, undefined, input));
    expect(streaming.code).toBe(Code.Unimplemented);
    expect(server.requests).toEqual([]);
  });
});

describe("unary calls over REST", () => {
  it("read a message, and ignore fields that are not known", async () => {
    const json = JSON.stringify({ segments: [{ ...SEGMENT, laterField: {} }], more: [1] });
    const [segment, ...rest] = await segments(
      whole("200 OK", json, { "content-type": "Application/JSON; charset=utf-8" }),
    );
    expect(rest).toEqual([]);
    expect(segment).toMatchObject({ fromHeight: 1n, toHeight: 1000n, databaseVersion: 3n, chainId: "chain-1" });
  });

  it("read a body in chunks, cut anywhere", async () => {
    const json = Buffer.from(JSON.stringify({ segments: [{ chainId: "é🦊" }] }));
    const pieces = [...json].map((byte) => chunk(Uint8Array.of(byte)));
    const [segment] = await segments({
      pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), ...pieces, chunk("")],
      ending: "end",
    });
    expect(segment?.chainId).toBe("é🦊");
  });

  it("read a body that ends with the connection", async () => {
    const pieces = [head("200 OK", JSON_TYPE), '{"segments":', "[{}]}"];
    expect(await segments({ pieces, ending: "end" })).toHaveLength(1);
  });

  it("read a body that was compressed with gzip all the same", async () => {
    const body = gzipSync(JSON.stringify({ segments: [SEGMENT] }));
    expect(await segments(whole("200 OK", body, { ...JSON_TYPE, "content-encoding": "gzip" }))).toHaveLength(1);
  });

  it.each<[string, string, string | Uint8Array, Record<string, string>, Code]>([
    [
      'the response is text/html, not of the node\'s interface; it begins with "<html>"',
      "200 OK",
      "<html>",
      { "content-type": "text/html; charset=utf-8" },
      Code.Internal,
    ],
    [
      `the response is of no content type, not of the node's interface; it begins with "{}"`,
      "200 OK",
      "{}",
      {},
      Code.Internal,
    ],
    ["the response is of no content type, not of the node's interface", "200 OK", "", {}, Code.Internal],
    ["the response is empty", "200 OK", "", JSON_TYPE, Code.Internal],
    ["the response does not fit its definitions", "200 OK", '{"segments":[', JSON_TYPE, Code.Internal],
    ["the response does not fit its definitions", "200 OK", Uint8Array.of(0x22, 0xff, 0x22), JSON_TYPE, Code.Internal],
    ["the response does not fit its definitions", "200 OK", "{}{}", JSON_TYPE, Code.Internal],
    ["a message is larger than the limit", "200 OK", " ".repeat(1025), JSON_TYPE, Code.ResourceExhausted],
    [
      "the response is compressed in a way that was not asked for",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": "br" },
      Code.Internal,
    ],
    [
      "the response is compressed in a way that was not asked for",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": "gzip, gzip" },
      Code.Internal,
    ],
    [
      "the response's gzip is broken: incorrect header check",
      "200 OK",
      "{}",
      { ...JSON_TYPE, "content-encoding": "gzip" },
      Code.DataLoss,
    ],
    [
      "the response's gzip is broken: unexpected end of file",
      "200 OK",
      gzipSync("{}").subarray(0, -4),
      { ...JSON_TYPE, "content-encoding": "gzip" },
      Code.DataLoss,
    ],
  ])("refuse: %s", async (summary, status, body, headers, code) => {
    const error = await ownFailure(segments(whole(status, body, headers)));
    expect(error).toBeInstanceOf(ProtocolError);
    expect({ summary: error.summary, code: error.code }).toEqual({ summary, code });
  });

  it.each(['{"segments":{}}', '{"segments":[{"fromHeight":"x"}]}', "[]", "null", "1"])(
    "refuse JSON that does not fit: %s",
    async (json) => {
      const error = await ownFailure(segments(whole("200 OK", json, JSON_TYPE)));
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error.summary).toBe("the response does not fit its definitions");
    },
  );

  it("do not wait for the end of a body that is over the limit", async () => {
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(" ".repeat(2000))];
    const { code } = await ownFailure(segments({ pieces, ending: "keep" }));
    expect(code).toBe(Code.ResourceExhausted);
    await server.requests[0]?.closed;
  });

  it("do not wait for the end of a body that cannot be read", async () => {
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED, "content-encoding": "br" }), chunk("{")];
    expect((await ownFailure(segments({ pieces, ending: "keep" }))).summary).toMatch(/^the response is compressed/);
    await server.requests[0]?.closed;
  });
});

describe("failing responses over REST", () => {
  const details = [
    { "@type": "type.googleapis.com/vega.ErrorDetail", code: 10, message: "no segment", inner: "1-7" },
    { "@type": "node.example/other.Thing", a: [1] },
  ];
  const object = { code: 3, message: "bad range", details };

  it.each([
    ["bare", "400 Bad Request", object],
    ["under error", "400 Bad Request", { error: object }],
    ["bare", "500 Internal Server Error", object],
    ["under error", "500 Internal Server Error", { error: object }],
    ["bare, after a text under error", "500 Internal Server Error", { error: "bad range", ...object }],
  ])("become the error object: %s, %s", async (_, status, body) => {
    for (const call of [segments, exported]) {
      const error = await failure(call(whole(status, JSON.stringify(body), JSON_TYPE)));
      expect(error.code).toBe(Code.InvalidArgument);
      expect(error.rawMessage).toBe("bad range");
      expect(error.metadata.get("grpc-status")).toBe("3");
      expect(error.details.map((detail) => ("type" in detail ? detail.type : ""))).toEqual([
        "vega.ErrorDetail",
        "other.Thing",
      ]);
      await transport?.close();
    }
  });

  it.each([
    ["bare", object],
    ["under error", { error: object }],
  ])("are errors of calls that do not stream whatever the status says: %s", async (_, body) => {
    const error = await failure(segments(whole("200 OK", JSON.stringify(body), JSON_TYPE)));
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.rawMessage).toBe("bad range");
    await transport?.close();
  });

  it.each<[string, string, string, Record<string, string>, Code]>([
    [
      'HTTP 404: "<html>gone</html>"',
      "404 Not Found",
      "<html>gone</html>",
      { "content-type": "text/html" },
      Code.Unimplemented,
    ],
    [
      'HTTP 502: "<html>bad</html>"',
      "502 Bad Gateway",
      "<html>bad</html>",
      { "content-type": "text/html" },
      Code.Unavailable,
    ],
    ["HTTP 503", "503 Service Unavailable", "", {}, Code.Unavailable],
    ['HTTP 401: "{}"', "401 Unauthorized", "{}", JSON_TYPE, Code.Unauthenticated],
    ['HTTP 429: "[3]"', "429 Too Many Requests", "[3]", JSON_TYPE, Code.ResourceExhausted],
    [
      'HTTP 500: "{\\"error\\":{\\"message\\":\\"x\\"}}"',
      "500 Oops",
      '{"error":{"message":"x"}}',
      JSON_TYPE,
      Code.Unknown,
    ],
    [
      'HTTP 302, a redirect to "https://other.example/login", which is not followed',
      "302 Found",
      "",
      { location: "https://other.example/login" },
      Code.Unknown,
    ],
    ['HTTP 206: "{}"', "206 Partial Content", "{}", JSON_TYPE, Code.Unknown],
  ])("without an error object become: %s", async (message, status, body, headers, code) => {
    for (const call of [segments, exported]) {
      const error = await failure(call(whole(status, body, headers)));
      expect({ message: error.rawMessage, code: error.code }).toEqual({ message, code });
      await transport?.close();
    }
    expect(server.requests).toHaveLength(2); // A redirect leads nowhere, and nothing is tried twice.
  });

  it("may have no body at all", async () => {
    for (const call of [segments, exported]) {
      const error = await failure(call({ pieces: [head("204 No Content")], ending: "keep" }));
      expect(error.rawMessage).toBe("HTTP 204");
      await transport?.close();
    }
  });

  it("may be compressed", async () => {
    const body = gzipSync(JSON.stringify(object));
    const error = await failure(segments(whole("400 Bad Request", body, { ...JSON_TYPE, "content-encoding": "gzip" })));
    expect(error.rawMessage).toBe("bad range");
  });

  it("are none that switch to another protocol: the connection is closed, and the call ends", async () => {
    const upgrade = head("101 Switching Protocols", { upgrade: "h2c", connection: "upgrade" });
    for (const call of [segments, exported]) {
      const error = await failure(call({ pieces: [upgrade], ending: "keep" }));
      expect(error).toMatchObject({ code: Code.Unavailable, cause: { code: "ECONNRESET" } });
      await transport?.close();
    }
  });

  it("are read no further than they can be an error object", async () => {
    const pieces = [head("500 Oops", CHUNKED), ...Array.from({ length: 18 }, () => chunk("x".repeat(64 * 1024)))];
    const error = await failure(segments({ pieces, ending: "keep" }));
    const large = "HTTP 500, with more than 1048576 bytes about it, too many to be read";
    expect(error.rawMessage).toBe(`${large}: "${"x".repeat(200)}"`);
    await server.requests[0]?.closed;
  });

  it("keep their code where the error object is too large to be read, and say so", async () => {
    const message = "x".repeat(1024 * 1024);
    const too = /^HTTP 404, with more than 1048576 bytes about it, too many to be read: "/;
    for (const [body, code] of [
      [{ code: Code.NotFound, message, details: [] }, Code.NotFound],
      [{ error: { code: Code.NotFound, message } }, Code.NotFound],
      [{ code: 99, message }, Code.Unknown],
      [{ message, code: Code.NotFound }, Code.Unimplemented], // That of the status alone.
    ] as const) {
      const error = await failure(segments(whole("404 Not Found", JSON.stringify(body), JSON_TYPE)));
      expect(error.code).toBe(code);
      expect(error.rawMessage).toMatch(too);
      expect(error.rawMessage.length).toBeLessThan(400);
    }
    const filled = JSON.stringify({ code: Code.Aborted, message: "", details: [] }).padEnd(1024 * 1024, " ");
    const error = await failure(segments(whole("404 Not Found", filled, JSON_TYPE)));
    expect(error).toMatchObject({ code: Code.Aborted, rawMessage: "" });
  });
});

describe("streams of envelopes over REST", () => {
  const extensions = [{ "@type": "type.googleapis.com/google.protobuf.StringValue", value: "é}{" }];
  const stream = `${result("PK\u0003\u0004", { extensions })}${result("")}${result("rest")}`;

  it("are read the same wherever they are cut", async () => {
    const bytes = Buffer.from(stream);
    const places = fc.array(fc.nat(bytes.length), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(places, fc.boolean(), async (cuts, chunked) => {
        const bounds = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const pieces = bounds
          .slice(1)
          .map((end, index) => bytes.subarray(bounds[index], end))
          .filter(({ length }) => length > 0);
        const header = head("200 OK", { ...JSON_TYPE, ...(chunked ? CHUNKED : {}) });
        const messages = await exported({
          pieces: chunked ? [header, ...pieces.map(chunk), chunk("")] : [header, ...pieces],
          ending: "end",
        });
        await transport?.close();
        expect(messages.map((message) => Buffer.from(message.data).toString("latin1"))).toEqual([
          "PK\u0003\u0004",
          "",
          "rest",
        ]);
        expect(messages.map((message) => message.extensions.map(anyToObject))).toEqual([extensions, [], []]);
        expect(messages[0]?.contentType).toBe("application/zip");
      }),
      { numRuns: 40 },
    );
  });

  it.each(["application/json", "application/x-ndjson", "application/vnd.node+json; v=1"])("may be %s", async (type) => {
    expect(data(await exported(whole("200 OK", stream, { "content-type": type })))).toBe("PK\u0003\u0004rest");
  });

  it("may be compressed", async () => {
    const answer = whole("200 OK", gzipSync(stream), { ...JSON_TYPE, "content-encoding": "GZIP" });
    expect(data(await exported(answer))).toBe("PK\u0003\u0004rest");
  });

  it("may be empty", async () => {
    expect(await exported(whole("200 OK", "", JSON_TYPE))).toEqual([]);
  });

  it("give their messages before the stream has ended, and then their error", async () => {
    const error = { code: 13, message: "segment lost", details: [{ "@type": "node.example/other.Thing" }] };
    const pieces = [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(result("PK"))];
    server.answer = { pieces: [...pieces, chunk(JSON.stringify({ error })), chunk("")], ending: "end" };
    const messages = connect().client.exportNetworkHistory({})[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(2);
    const thrown = await failure(messages.next());
    expect({ code: thrown.code, message: thrown.rawMessage }).toEqual({ code: Code.Internal, message: "segment lost" });
  });

  it.each<[string, string]>([
    ["data of a chunk is not base64 (RFC 4648, section 4, with padding)", '{"result":{"data":"UE"}}'],
    ["a chunk has both a result and an error; its fields are: result, error", '{"result":{},"error":{"code":5}}'],
    ["a chunk has neither a result nor an error; its fields are: contentType, data", '{"contentType":"a","data":""}'],
    ["the stream ended at byte 10, inside a JSON object: it was cut short", '{"result":'],
    ['a JSON object was expected at byte 0, but there is "[{}]"', "[{}]"],
    ["a message is larger than the limit", result("x".repeat(1000))],
    ["the JSON object that ends at byte 11 is not valid JSON", '{"result":}'],
  ])("refuse: %s", async (summary, body) => {
    const error = await ownFailure(exported(whole("200 OK", body, JSON_TYPE)));
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error.summary).toBe(summary);
  });

  it("fail where the connection is lost inside them", async () => {
    const begun = chunk(result("PK"));
    const reset: RawAnswer = { pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), begun], ending: "reset" };
    for (const answer of [reset, { ...reset, ending: "end" } as const]) {
      expect((await failure(exported(answer))).code).toBe(Code.Unavailable);
      await transport?.close();
    }
  });
});

describe("raw bodies over REST", () => {
  it("become messages with the body's content type and no extensions", async () => {
    const pieces = ["PK\u0003\u0004", "abc", "def"].map((piece) => Buffer.from(piece, "latin1"));
    const messages = await exported({
      pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), ...pieces.map(chunk), chunk("")],
      ending: "end",
    });
    expect(data(messages)).toBe("PK\u0003\u0004abcdef");
    for (const message of messages) {
      expect(message).toMatchObject({ contentType: "application/zip", extensions: [] });
    }
  });

  it("may be compressed", async () => {
    const answer = whole("200 OK", gzipSync("PK..."), { ...ZIP_TYPE, "content-encoding": "gzip" });
    expect(data(await exported(answer))).toBe("PK...");
  });

  it("may be of any type: what the body is, is for the reader to judge", async () => {
    const [message] = await exported(whole("200 OK", "<html>", { "content-type": "text/html; charset=utf-8" }));
    expect(message?.contentType).toBe("text/html; charset=utf-8");
    expect((await exported(whole("200 OK", "PK")))[0]?.contentType).toBe("");
  });

  it.each<[string, RawAnswer]>([
    [
      "whose content-length is longer",
      { pieces: [head("200 OK", { ...ZIP_TYPE, "content-length": "10" }), "PK"], ending: "end" },
    ],
    [
      "whose chunked coding does not end",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "end" },
    ],
    ["cut inside a chunk", { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), "5\r\nPK"], ending: "end" }],
    [
      "whose connection is reset",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "reset" },
    ],
    ["cut in the head", { pieces: ["HTTP/1.1 200 OK\r\ncontent-ty"], ending: "end" }],
    ["that never came", { pieces: [], ending: "end" }],
    ["that was refused by a reset", { pieces: [], ending: "reset" }],
    ["of no HTTP", { pieces: ["SSH-2.0-x\r\n"], ending: "end" }],
    [
      "with a broken chunk length",
      { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), "zz\r\nPK"], ending: "end" },
    ],
  ])("fail: a body %s", async (_, answer) => {
    const { code, cause } = await failure(exported(answer));
    expect(code).toBe(Code.Unavailable);
    expect(cause).toBeInstanceOf(Error);
  });

  it("fail where gzip was cut", async () => {
    const body = gzipSync("PK...").subarray(0, -6);
    const answer = whole("200 OK", body, { ...ZIP_TYPE, "content-encoding": "gzip" });
    const error = await ownFailure(exported(answer));
    expect(error.summary).toBe("the response's gzip is broken: unexpected end of file");
  });
});

describe("calls over REST", () => {
  it("pass interceptors with headers and messages", async () => {
    const seen: string[] = [];
    const watching: Interceptor = (next) => async (req) => {
      req.header.set("x-token", "secret");
      seen.push(
        `${req.stream ? "stream" : "unary"} ${req.method.name} ${req.requestMethod} ${new URL(req.url).pathname}`,
      );
      const response = await next(req);
      seen.push(`answered ${response.header.get("x-node")}`);
      if (response.stream) {
        const { message: messages } = response;
        return {
          ...response,
          message: (async function* () {
            for await (const message of messages) {
              seen.push(`message ${message.$typeName}`);
              yield message;
            }
          })(),
        };
      }
      seen.push(`message ${response.message.$typeName}`);
      return response;
    };
    await segments(whole("200 OK", "{}", { ...JSON_TYPE, "x-node": "a" }), { interceptors: [watching] });
    await transport?.close();
    await exported(whole("200 OK", "PK", { ...ZIP_TYPE, "x-node": "b" }), { interceptors: [watching] });
    expect(seen).toEqual([
      "unary ListAllNetworkHistorySegments POST /datanode.api.v2.TradingDataService/ListAllNetworkHistorySegments",
      "answered a",
      "message datanode.api.v2.ListAllNetworkHistorySegmentsResponse",
      "stream ExportNetworkHistory POST /datanode.api.v2.TradingDataService/ExportNetworkHistory",
      "answered b",
      "message google.api.HttpBody",
    ]);
    expect(server.requests.map(({ headers }) => headers.get("x-token"))).toEqual(["secret", "secret"]);
  });

  it("give response headers to the caller", async () => {
    server.answer = whole("200 OK", "PK", { ...ZIP_TYPE, "content-disposition": "attachment;filename=a.zip" });
    const { transport } = connect();
    const input = createAsyncIterable([{}]);
    const { header, message } = await transport.stream(exportNetworkHistory, undefined, undefined, undefined, input);
    expect(header.get("content-disposition")).toBe("attachment;filename=a.zip");
    for await (const { data } of message) {
      expect(data).toHaveLength(2);
    }
  });

  it("close the socket when they are aborted in the middle", async () => {
    server.answer = { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "keep" };
    const abort = new AbortController();
    const messages = connect().client.exportNetworkHistory({}, { signal: abort.signal })[Symbol.asyncIterator]();
    expect((await messages.next()).value?.data).toHaveLength(2);
    const next = messages.next();
    abort.abort();
    expect((await failure(next)).code).toBe(Code.Canceled);
    await server.requests[0]?.closed;
  });

  it("close the socket when they are aborted before the answer", async () => {
    server.answer = { pieces: [], ending: "keep" };
    const abort = new AbortController();
    const waiting = failure(connect().client.listAllNetworkHistorySegments({}, { signal: abort.signal }));
    while (server.requests.length === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    abort.abort();
    expect((await waiting).code).toBe(Code.Canceled);
    await server.requests[0]?.closed;
  });

  it("close the socket when the reader stops early", async () => {
    server.answer = { pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(result("PK"))], ending: "keep" };
    const abort = new AbortController();
    for await (const { data } of connect().client.exportNetworkHistory({}, { signal: abort.signal })) {
      expect(data).toHaveLength(2);
      break;
    }
    abort.abort();
    await server.requests[0]?.closed;
  });

  it("end with their time", async () => {
    server.answer = { pieces: [], ending: "keep" };
    const call = connect().client.listAllNetworkHistorySegments({}, { timeoutMs: 20 });
    expect((await failure(call)).code).toBe(Code.DeadlineExceeded);
    await server.requests[0]?.closed;
  });

  it("fail when the transport is closed", async () => {
    server.answer = { pieces: [head("200 OK", { ...ZIP_TYPE, ...CHUNKED }), chunk("PK")], ending: "keep" };
    const { client, transport } = connect();
    const messages = client.exportNetworkHistory({})[Symbol.asyncIterator]();
    await messages.next();
    const next = failure(messages.next());
    await transport.close();
    expect((await next).code).toBe(Code.Unavailable);
    expect((await failure(client.listAllNetworkHistorySegments({}))).code).toBe(Code.Unavailable);
  });
});
