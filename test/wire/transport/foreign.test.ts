import { readFileSync } from "node:fs";
import { createServer, type Http2Server } from "node:http2";
import {
  createRegistry,
  type DescMethod,
  type DescMethodStreaming,
  type DescService,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createRouterTransport, type Interceptor, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport as createGrpcTransportOfConnect,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { createClient, httpStatusOf, NodeError, ProtocolError, RequestError, type TradewireError } from "tradewire";
import {
  type CallEnd,
  type CallInfo,
  type ClosableTransport,
  closing,
  createGrpcJsTransport,
  createGrpcTransport,
  createPace,
  createRestTransport,
  fallback,
  idleLimited,
  limited,
  paced,
  type RestTransportOptions,
  retrying,
  withHooks,
  withOurErrors,
} from "tradewire/transport";
import { knownTypes } from "../../support/any.js";
import { anyMessage } from "../../support/any-message.js";
import { compile, isServerStreaming, isUnary, serviceOf, unaryMethod } from "../../support/definitions.js";
import { chunk, head, type RawHttpServer, startRawHttp, whole } from "../../support/raw-http.js";
import { runs } from "../../support/tier.js";
import { useVirtualRuntime } from "../../support/virtual-runtime.js";

/** The server closes a connection behind its answer. */
const JSON_TYPE = { "content-type": "application/json", connection: "close" };
const CHUNKED = { "transfer-encoding": "chunked" };

let library: DescService;
let server: RawHttpServer;
const transports: ClosableTransport[] = [];

beforeAll(async () => {
  const text = readFileSync(new URL("../../support/library.proto", import.meta.url), "utf8");
  library = serviceOf(await compile({ "library.proto": text }), "library.v1.LibraryService");
  server = await startRawHttp();
});
beforeEach(() => {
  server.requests.length = 0;
});
afterEach(() => Promise.all(transports.splice(0).map((transport) => transport.close())));
afterAll(() => server.close());

function connect(options: Partial<RestTransportOptions> = {}): ClosableTransport {
  const transport = createRestTransport({ url: server.url, ...options });
  transports.push(transport);
  return transport;
}

function method(name: string): DescMethod {
  const found = library.methods.find((one) => one.name === name);
  if (found === undefined) {
    throw new Error(`there is no method ${name}`);
  }
  return found;
}

function isStreaming(method: DescMethod): method is DescMethodStreaming {
  return method.methodKind !== "unary";
}

/** The answers to a call, in JSON. The error of a stream comes behind what came before it. */
async function call(transport: Transport, name: string, request: JsonObject = {}, came: JsonValue[] = []) {
  const called = method(name);
  const message = fromJson(called.input, request);
  if (isUnary(called)) {
    const response = await transport.unary(called, undefined, undefined, undefined, message);
    came.push(toJson(called.output, response.message));
  } else if (isStreaming(called)) {
    const response = await transport.stream(called, undefined, undefined, undefined, createAsyncIterable([message]));
    for await (const item of response.message) {
      came.push(toJson(called.output, item, { registry: knownTypes }));
    }
  }
  return came;
}

async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  const reason = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(reason instanceof ConnectError)) {
    throw new Error("a ConnectError was expected", { cause: reason });
  }
  return reason;
}

async function listen(node: Http2Server): Promise<string> {
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  const address = node.address();
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

describe("calls of foreign definitions", () => {
  it.each<[string, string, JsonObject, string, string]>([
    ["several segments", "GetBook", { name: "shelves/a b/books/é" }, "GET /v1/shelves/a%20b/books/%C3%A9", ""],
    [
      "a second binding",
      "GetBook",
      { isbn: "1/2", genres: [1, 1] },
      "GET /v1/books/1%2F2?genres=GENRE_PROSE&genres=GENRE_PROSE",
      "",
    ],
    ["a third one", "GetBook", { like: { labels: { a: "b" } } }, "POST /v1/books:find", '{"labels":{"a":"b"}}'],
    [
      "a nested field",
      "UpdateBook",
      { book: { name: "shelves/1/books/2", pages: "9" }, allowMissing: true },
      "PATCH /v1/shelves/1/books/2?allowMissing=true",
      '{"pages":"9"}',
    ],
    [
      "a verb of one's own",
      "MoveBook",
      { book: { name: "shelves/1/books/2" }, allowMissing: true },
      "MOVE /v1/shelves/1/books/2:move:now",
      '{"book":{},"allowMissing":true}',
    ],
    ["an enum that is the body", "SetGenre", { isbn: "1", genre: "GENRE_PROSE" }, "PUT /v1/books/1/genre", "1"],
    ["all further segments", "ListTags", { name: "a/b/c" }, "GET /v1/a/b/c:tags", ""],
  ])("are written by their rule: %s", async (_, name, request, line, body) => {
    server.answer = whole("200 OK", name === "ListTags" ? "[]" : "{}", JSON_TYPE);
    await call(connect(), name, request);
    expect(server.requests).toMatchObject([{ line: `${line} HTTP/1.1`, body }]);
  });

  it.each<[JsonObject, string]>([
    [{ isbn: ".." }, 'isbn is "..", which the path /v1/books/{isbn}:title cannot contain'],
    [{ name: "shelves/1" }, 'name is "shelves/1", which the path /v1/{name=shelves/*/books/*}:title cannot contain'],
    [
      {},
      'name is "", which the path /v1/{name=shelves/*/books/*}:title cannot contain; isbn is "", which the path /v1/books/{isbn}:title cannot contain',
    ],
  ])("name the field that fits no path: %j", async (request, summary) => {
    const { cause } = await failure(call(connect(), "GetTitle", request));
    expect(cause).toMatchObject({ name: "RequestError", errorCode: "TW_NOT_OVER_REST", summary });
    expect(server.requests).toEqual([]);
  });

  it("are read by the rule that was taken", async () => {
    const transport = connect();
    server.answer = whole("200 OK", '{"fullName":"A"}', JSON_TYPE);
    expect(await call(transport, "GetAuthor", { name: "shelves/1/books/2" })).toEqual([{ author: { fullName: "A" } }]);
    server.answer = whole("200 OK", '["a","b"]', JSON_TYPE);
    expect(await call(transport, "ListTags", { name: "a" })).toEqual([{ tags: ["a", "b"] }]);
    server.answer = { pieces: [head("200 OK", { ...JSON_TYPE, "content-length": "12" })], ending: "end" };
    expect(await call(transport, "HasBook", { isbn: "1" })).toEqual([{}]);
    expect(server.requests.at(-1)?.line).toBe("HEAD /v1/books/1 HTTP/1.1");
  });

  it("are successes with the statuses of what was made or taken on", async () => {
    for (const status of ["201 Created", "202 Accepted"]) {
      server.answer = whole(status, '{"title":"t"}', JSON_TYPE);
      expect(await call(connect(), "GetBook", { isbn: "1" })).toEqual([{ title: "t" }]);
    }
  });

  it("read the largest float as Go prints it", async () => {
    server.answer = whole("200 OK", '{"rating":3.4028235e+38}', JSON_TYPE);
    expect(await call(connect(), "GetBook", { isbn: "1" })).toEqual([{ rating: 3.4028234663852886e38 }]);
  });

  it("read JSON that is sent as plain text where that is allowed, and a body of plain text as it is", async () => {
    server.answer = whole("200 OK", '{"title":"t"}', { ...JSON_TYPE, "content-type": "text/plain; charset=utf-8" });
    expect((await failure(call(connect(), "GetBook", { isbn: "1" }))).cause).toMatchObject({
      summary: expect.stringContaining("unexpected response with content type text/plain"),
    });
    const lenient = connect({ jsonAsText: true, streams: "messages" });
    expect(await call(lenient, "GetBook", { isbn: "1" })).toEqual([{ title: "t" }]);
    expect(await call(lenient, "WatchBooks", { name: "shelves/1" })).toEqual([{ title: "t" }]);
    expect(await call(lenient, "Download")).toEqual([
      { contentType: "text/plain; charset=utf-8", data: Buffer.from('{"title":"t"}').toString("base64") },
    ]);
    server.answer = whole("200 OK", "<html>", { ...JSON_TYPE, "content-type": "text/html" });
    expect((await failure(call(lenient, "GetBook", { isbn: "1" }))).code).toBe(Code.Unknown);
  });
});

describe("errors of unary calls", () => {
  const details = [{ "@type": "type.googleapis.com/google.rpc.Status", code: 5 }];
  it.each<[string, string, JsonValue, Code]>([
    ["bare", "404 Not Found", { code: 5, message: "m", details }, Code.NotFound],
    ["under error", "404 Not Found", { error: { code: 5, message: "m", details } }, Code.NotFound],
    ["Google's", "404 Not Found", { error: { code: 404, message: "m", status: "NOT_FOUND", details } }, Code.NotFound],
    [
      "Google's, in an array",
      "400 Bad",
      [{ error: { code: 400, message: "m", status: "OUT_OF_RANGE", details } }],
      Code.OutOfRange,
    ],
    ["Google's, without the name", "409 Conflict", { error: { code: 409, message: "m", details } }, Code.Aborted],
    ["the first gateway's", "404 Not Found", { error: "m", code: 5, message: "m", details }, Code.NotFound],
    ["Connect's", "400 Bad", { code: "failed_precondition", message: "m", details }, Code.FailedPrecondition],
  ])("have the right code: %s", async (_, status, body, code) => {
    server.answer = whole(status, JSON.stringify(body), JSON_TYPE);
    const error = await failure(call(connect(), "GetBook", { isbn: "1" }));
    expect(error.cause).toBeInstanceOf(NodeError);
    expect({ code: error.code, message: error.rawMessage }).toEqual({ code, message: "m" });
    expect(error.details).toMatchObject([{ type: "google.rpc.Status" }]);
  });
});

describe("the details of errors", () => {
  const book = { title: "t", pages: "9007199254740993" };
  const detail = { "@type": "type.googleapis.com/library.v1.Book", ...book };
  const mask = { "@type": "type.googleapis.com/google.protobuf.FieldMask", value: "title,pages" };
  const status = { code: 9, message: "m", details: [detail, mask, { ...detail, pages: "many" }] };
  const books = () => createRegistry(method("GetBook").output);

  it.each<[string, Partial<RestTransportOptions>]>([
    ["without a registry", {}],
    ["with a registry", { registry: createRegistry(FieldMaskSchema) }],
  ])("are found by the schema that is asked for, %s", async (_, options) => {
    server.answer = whole("400 Bad", JSON.stringify(status), JSON_TYPE);
    const unary = await failure(call(connect(options), "GetBook", { isbn: "1" }));
    server.answer = whole("200 OK", `{"result":{}}\n${JSON.stringify({ error: status })}\n`, JSON_TYPE);
    const streamed = await failure(call(connect(options), "WatchBooks", { name: "shelves/1" }));
    const either = fallback([
      { name: "closed", transport: createGrpcTransport({ url: "http://127.0.0.1:1" }) },
      { name: "open", transport: connect(options) },
    ]);
    server.answer = whole("400 Bad", JSON.stringify(status), JSON_TYPE);
    const second = await failure(call(either, "GetBook", { isbn: "1" }));
    for (const error of [unary, streamed, second]) {
      const { output } = method("GetBook");
      expect(error.findDetails(output).map((found) => toJson(output, found))).toEqual([book]);
      expect(error.findDetails(books())).toHaveLength(1);
      expect(error.findDetails(FieldMaskSchema)).toMatchObject([{ paths: ["title", "pages"] }]);
      expect(error.findDetails(method("GetBook").input)).toEqual([]);
      expect(error.cause).toMatchObject({ details: status.details });
    }
    await either.close();
  });
});

const FORMS = {
  envelopes: (texts: string[]) => texts.map((text) => `{"result":${text}}\n`).join(""),
  messages: (texts: string[]) => texts.map((text) => `${text}\n`).join(""),
  array: (texts: string[]) => `[${texts.join(",\n")}]\n`,
} as const;
type Form = keyof typeof FORMS;

describe.each<Form>(["envelopes", "messages", "array"])("streams of the form %s", (streams) => {
  const written = FORMS[streams];
  const watch = (text: string, name = "WatchBooks", came: JsonValue[] = []) => {
    server.answer = whole("200 OK", text, JSON_TYPE);
    return call(connect({ streams }), name, { name: "shelves/1" }, came);
  };

  it("give their messages, wherever the bytes are split", async () => {
    const transport = connect({ streams });
    const books = fc.array(anyMessage(method("WatchBooks").output), { maxLength: 4 });
    const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(books, places, fc.boolean(), async (sent, at, isPretty) => {
        const { output } = method("WatchBooks");
        const texts = sent.map((json) => JSON.stringify(json, undefined, isPretty ? 2 : undefined));
        const bytes = Buffer.from(written(texts));
        const bounds = [...at.map((part) => Math.floor(part * bytes.length)), bytes.length].sort((a, b) => a - b);
        const pieces = bounds
          .map((end, index) => bytes.subarray(bounds[index - 1] ?? 0, end))
          .filter((piece) => piece.length > 0);
        const header = head("200 OK", { ...JSON_TYPE, ...CHUNKED });
        server.answer = { pieces: [header, ...pieces.map(chunk), chunk("")], ending: "end" };
        const expected = sent.map((json) => toJson(output, fromJson(output, json)));
        expect(await call(transport, "WatchBooks", { name: "shelves/1" })).toEqual(expected);
      }),
      { numRuns: runs(60) },
    );
  });

  it("give a message before the next has come", async () => {
    const text = written(['{"title":"1"}', '{"title":"2"}']);
    const first = text.slice(0, text.indexOf('{"title":"2"}'));
    server.answer = { pieces: [head("200 OK", { ...JSON_TYPE, ...CHUNKED }), chunk(first)], ending: "keep" };
    const called = method("WatchBooks");
    if (!isServerStreaming(called)) {
      throw new Error("it does not stream");
    }
    const input = createAsyncIterable([fromJson(called.input, { name: "shelves/1" })]);
    const { message } = await connect({ streams }).stream(called, undefined, undefined, undefined, input);
    for await (const book of message) {
      expect(toJson(called.output, book)).toEqual({ title: "1" });
      break;
    }
  });

  it("may be empty", async () => {
    expect(await watch(written([]))).toEqual([]);
  });

  it("may be of messages whose JSON is no object, and of a part of each message", async () => {
    expect(await watch(written(["1", "-20", "300"]), "WatchCounts")).toEqual([1, -20, 300]);
    expect(await watch(written(['"a"', '"]}\\""', '""']), "WatchTitles")).toEqual([
      { title: "a" },
      { title: ']}"' },
      {},
    ]);
    expect(await watch(written(['{"fullName":"A"}', "{}"]), "WatchAuthors")).toEqual([
      { author: { fullName: "A" } },
      { author: {} },
    ]);
  });

  it.each([
    ["inside a message", 6],
    ["before the end of the last", 3],
  ])("are errors where they were cut, after what came whole: %s", async (_, missing) => {
    const came: JsonValue[] = [];
    const text = written(['{"title":"1"}', '{"title":"2"}']).trimEnd();
    const { cause } = await failure(watch(text.slice(0, -missing), "WatchBooks", came));
    expect(cause).toBeInstanceOf(ProtocolError);
    expect(cause).toMatchObject({ code: Code.DataLoss, summary: expect.stringContaining("truncated") });
    expect(came).toEqual([{ title: "1" }]);
  });

  it("hold each message to the limit, and not the stream", async () => {
    const transport = connect({ streams, limits: { maxJsonBytes: 60 } });
    const text = JSON.stringify({ title: "x".repeat(30) });
    server.answer = whole("200 OK", written(Array(20).fill(text)), JSON_TYPE);
    expect(await call(transport, "WatchBooks", { name: "shelves/1" })).toHaveLength(20);
    server.answer = whole("200 OK", written([JSON.stringify({ title: "x".repeat(60) })]), JSON_TYPE);
    expect((await failure(call(transport, "WatchBooks", { name: "shelves/1" }))).code).toBe(Code.ResourceExhausted);
  });

  it("end with their error", async () => {
    const errors: readonly [JsonObject, Code][] = [
      [{ code: 11, message: "m", details: [] }, Code.OutOfRange],
      [{ code: 404, message: "m", status: "NOT_FOUND" }, Code.NotFound],
      [{ grpc_code: 8, http_code: 429, message: "m", http_status: "Too Many Requests" }, Code.ResourceExhausted],
    ];
    for (const [error, code] of errors) {
      const came: JsonValue[] = [];
      const text = written(['{"title":"1"}', JSON.stringify({ error })]).replace('{"result":{"error"', '{"error"');
      const failed = await failure(
        watch(streams === "envelopes" ? text.replace("}}}", "}}") : text, "WatchBooks", came),
      );
      expect({ code: failed.code, message: failed.rawMessage }).toEqual({ code, message: "m" });
      expect(came).toEqual([{ title: "1" }]);
    }
  });
});

describe("streams of bare messages", () => {
  const watch = (json: JsonValue, name: string, came?: JsonValue[]) => {
    server.answer = whole("200 OK", `[${JSON.stringify(json)}]`, JSON_TYPE);
    return call(connect({ streams: "array" }), name, { name: "shelves/1" }, came);
  };
  const google = { error: { code: 404, message: "m", status: "NOT_FOUND" } };

  it("tell a message with a field of that name from an error", async () => {
    const error = { code: 5, message: "m" };
    expect(await watch({ error }, "WatchJobs")).toEqual([{ error }]);
    expect(await watch({ name: "n", error }, "WatchJobs")).toEqual([{ name: "n", error }]);
    expect(await watch({ result: "r" }, "WatchJobs")).toEqual([{ result: "r" }]);
    expect(await watch({ error: { note: 1 } }, "WatchNotes")).toEqual([{ error: { note: 1 } }]);
    for (const name of ["WatchJobs", "WatchNotes", "WatchBooks"]) {
      expect((await failure(watch(google, name))).code).toBe(Code.NotFound);
    }
  });

  it("take no message of such fields for an error", async () => {
    const { output } = method("WatchJobs");
    const options = { registry: knownTypes };
    await fc.assert(
      fc.asyncProperty(anyMessage(output), async (job) => {
        expect(await watch(job, "WatchJobs")).toEqual([toJson(output, fromJson(output, job, options), options)]);
      }),
      { numRuns: runs(40) },
    );
  });

  it("take no envelope, and no bare error, for a message without fields", async () => {
    const { cause } = await failure(watch({ result: { title: "1" } }, "WatchBooks"));
    expect(cause).toMatchObject({
      summary: 'an object of the stream has only the field "result", which its message does not have',
      advice: expect.stringContaining('set streams to "envelopes"'),
    });
    expect((await failure(watch({ code: 5, message: "gone" }, "WatchBooks"))).code).toBe(Code.NotFound);
    expect(await watch({ fieldOfALaterVersion: 1 }, "WatchBooks")).toEqual([{}]);
  });

  it("are told where the form is another one than was said", async () => {
    const cases: readonly [Form, Form][] = [
      ["envelopes", "array"],
      ["envelopes", "messages"],
      ["messages", "array"],
      ["messages", "envelopes"],
      ["array", "messages"],
      ["array", "envelopes"],
    ];
    for (const [said, sent] of cases) {
      const came: JsonValue[] = [];
      server.answer = whole("200 OK", FORMS[sent](['{"title":"1"}', '{"title":"2"}']), JSON_TYPE);
      const { cause } = await failure(call(connect({ streams: said }), "WatchBooks", { name: "shelves/1" }, came));
      expect(cause).toBeInstanceOf(ProtocolError);
      expect(came).toEqual([]);
    }
  });
});

describe("the transports", () => {
  it("refuse options that are wrong, by name", () => {
    expect(() => createRestTransport({ url: "library.example" })).toThrow(RequestError);
    expect(() => createRestTransport({ url: server.url, ...{ stream: "array" } })).toThrow(/stream\b/);
    expect(() => createGrpcTransport({ url: "http://library.example", headers: { a: "b" } })).toThrow(
      /would be sent over plain HTTP to library\.example/,
    );
    expect(() => createGrpcJsTransport({ url: "http://127.0.0.1:1/path" })).toThrow(/must have no path/);
  });

  it("send headers, pass interceptors, and end with close", async () => {
    const seen: string[] = [];
    const watching: Interceptor = (next) => (req) => {
      seen.push(req.method.name);
      return next(req);
    };
    const transport = connect({ headers: { "x-key": "k" }, interceptors: [watching] });
    server.answer = whole("200 OK", "{}", JSON_TYPE);
    await call(transport, "GetBook", { isbn: "1" });
    expect(server.requests[0]?.headers.get("x-key")).toBe("k");
    expect(seen).toEqual(["GetBook"]);
    await transport.close();
    expect((await failure(call(transport, "GetBook", { isbn: "1" }))).rawMessage).toContain("closed");
  });

  it("call a server over gRPC with the same definitions", async () => {
    const getBook = method("GetBook");
    if (!isUnary(getBook)) {
      throw new Error("it streams");
    }
    const answer = (request: MessageShape<typeof getBook.input>) =>
      fromJson(getBook.output, { title: JSON.stringify(toJson(getBook.input, request)) });
    const node = createServer(connectNodeAdapter({ routes: (router) => router.rpc(getBook, answer) }));
    const url = await listen(node);
    for (const make of [createGrpcTransport, createGrpcJsTransport]) {
      const transport = make({ url });
      expect(await call(transport, "GetBook", { isbn: "1" })).toEqual([{ title: '{"isbn":"1"}' }]);
      await transport.close();
    }
    node.close();
  });

  it("have layers that go around Connect's own transports", async () => {
    const getBook = method("GetBook");
    if (!isUnary(getBook)) {
      throw new Error("it streams");
    }
    const own = createRouterTransport((router) => {
      router.rpc(getBook, () => {
        throw new ConnectError("no such book", Code.NotFound);
      });
    });
    const endpoint = { name: "library", url: "https://library.example" };
    const ended: (TradewireError | undefined)[] = [];
    const hooks = { onCallEnd: (_: CallInfo, { error }: CallEnd) => void ended.push(error) };
    const inTurn = paced(idleLimited(own, 1000), createPace(undefined), () => true);
    const transport = closing(withHooks(withOurErrors(inTurn, endpoint), endpoint, hooks), "library");
    const { code, cause } = await failure(call(transport, "GetBook"));
    expect(code).toBe(Code.NotFound);
    expect(cause).toBeInstanceOf(NodeError);
    expect(cause).toMatchObject({ transport: "library", method: "library.v1.LibraryService/GetBook" });
    expect(ended).toEqual([cause]);
    await transport.close();
    expect((await failure(call(transport, "GetBook"))).code).toBe(Code.Canceled);
  });

  it("say what a call needs whose requests stream, without words about nodes", async () => {
    server.answer = whole("404 Not Found", "", JSON_TYPE);
    const { cause } = await failure(call(connect(), "Talk"));
    expect(cause).toMatchObject({
      advice: "Over REST, bidirectional streams need grpc-gateway's WebSocket proxy. Use a URL that has it, or gRPC.",
    });
  });

  it("ask no server of another API for its chain, and one alone for what is not found", async () => {
    server.answer = whole("404 Not Found", '{"code":5,"message":"no such book","details":[]}', JSON_TYPE);
    await using client = createClient({ rest: { url: [`${server.url}/a`, `${server.url}/b`] } });
    const { cause } = await failure(call(client.transport, "GetBook", { isbn: "1" }));
    expect(cause).toMatchObject({ name: "NodeError", code: Code.NotFound });
    expect(server.requests.map(({ line }) => line)).toEqual(["GET /a/v1/books/1 HTTP/1.1"]);
  });

  it.each([
    ["Connect's", false],
    ["gRPC's", true],
  ])("give what a server says over a transport of %s", async (_, isGrpc) => {
    const getBook = method("GetBook");
    const watch = method("WatchBooks");
    if (!isUnary(getBook) || !isServerStreaming(watch)) {
      throw new Error("the definitions are others");
    }
    let status = new ConnectError("");
    let calls = 0;
    const fail = () => {
      calls += 1;
      throw status;
    };
    const node = createServer(
      connectNodeAdapter({
        routes: (router) =>
          router.rpc(getBook, fail).rpc(watch, async function* () {
            yield fromJson(watch.output, {});
            fail();
          }),
      }),
    );
    const baseUrl = await listen(node);
    const sessionManager = new Http2SessionManager(baseUrl);
    const own = isGrpc
      ? createGrpcTransportOfConnect({ baseUrl, sessionManager })
      : createConnectTransport({ baseUrl, httpVersion: "2", sessionManager });
    const value = fromJson(getBook.output, { title: "t" });
    const messages = ["no such book", "invalid name", "JSON is larger than 5", "missing status", "cannot be read"];
    const either = fallback([
      { name: "own", transport: own },
      { name: "rest", transport: connect() },
    ]);
    for (const [code, errorCode, http] of [
      [Code.InvalidArgument, "TW_NODE_REFUSED", 400],
      [Code.NotFound, "TW_NODE_NOT_FOUND", 404],
      [Code.FailedPrecondition, "TW_NODE_REFUSED", 400],
      [Code.ResourceExhausted, "TW_NODE_RATE_LIMITED", 503],
      [Code.Aborted, "TW_NODE_UNAVAILABLE", 503],
      [Code.Internal, "TW_NODE_FAILED", 502],
    ] as const) {
      for (const message of messages) {
        status = new ConnectError(message, code, undefined, [{ desc: getBook.output, value }]);
        for (const name of ["GetBook", "WatchBooks"]) {
          const error = await failure(call(withOurErrors(own, { name: "own", url: baseUrl }), name));
          expect(error).toMatchObject({ code, rawMessage: message, cause: { errorCode, object: { message } } });
          expect(error.cause).toBeInstanceOf(NodeError);
          expect(error.cause).toMatchObject({ details: [{ "@type": "type.googleapis.com/library.v1.Book" }] });
          expect(httpStatusOf(error)).toBe(http);
        }
      }
      calls = 0;
      await expect(call(either, "GetBook", { isbn: "1" })).rejects.toThrow("cannot be read");
      expect({ calls, requests: server.requests.length }).toEqual({ calls: 1, requests: 0 });
    }
    await either.close();
    sessionManager.abort();
    node.close();
  });

  it("call over gRPC whatever a rule's path is, and not over REST without a path that can be read", async () => {
    const odd = await compile({
      "odd.proto": `
        syntax = "proto3";
        package odd;
        import "google/api/annotations.proto";
        message Note { string text = 1; }
        service Notes { rpc Get(Note) returns (Note) { option (google.api.http) = {get: "/{text=**}/more"}; } }`,
    });
    const get = unaryMethod(serviceOf(odd, "odd.Notes"), "Get");
    const node = createServer(connectNodeAdapter({ routes: (router) => router.rpc(get, (note) => note) }));
    const transport = createGrpcTransport({ url: await listen(node) });
    const note = fromJson(get.input, { text: "a" });
    expect(toJson(get.output, (await transport.unary(get, undefined, undefined, undefined, note)).message)).toEqual({
      text: "a",
    });
    await transport.close();
    node.close();
    const { code, message } = await failure(connect().unary(get, undefined, undefined, undefined, note));
    expect(code).toBe(Code.InvalidArgument);
    expect(message).toContain('"/{text=**}/more" is not a path template: "**" must be its last segment');
  });

  it("refuse a request that cannot be written, in the same words, and send nothing", async () => {
    const strict = await compile({
      "strict.proto": `
        syntax = "proto2";
        package strict;
        import "google/api/annotations.proto";
        message Order { required string id = 1; }
        service Orders { rpc Get(Order) returns (Order) { option (google.api.http) = {post: "/orders" body: "*"}; } }`,
    });
    const get = unaryMethod(serviceOf(strict, "strict.Orders"), "Get");
    let called = 0;
    const node = createServer(
      connectNodeAdapter({
        routes: (router) =>
          router.rpc(get, (order) => {
            called += 1;
            return order;
          }),
      }),
    );
    const url = await listen(node);
    const all = [
      connect(),
      createGrpcTransport({ url }),
      createGrpcTransport({ url, codec: "json" }),
      createGrpcJsTransport({ url }),
    ];
    for (const transport of all) {
      const { code, cause } = await failure(transport.unary(get, undefined, undefined, undefined, {}));
      expect(cause).toBeInstanceOf(RequestError);
      const summary = "the request cannot be serialized: cannot encode field strict.Order.id: required field not set";
      expect({ code, cause }).toMatchObject({ code: Code.InvalidArgument, cause: { summary } });
      await transport.close();
    }
    node.close();
    expect({ called, requests: server.requests }).toEqual({ called: 0, requests: [] });
  });

  it("try a call once, and more often where that is asked for", async () => {
    server.answer = whole("503 Service Unavailable", "", JSON_TYPE);
    await failure(call(connect(), "GetBook", { isbn: "1" }));
    expect(server.requests).toHaveLength(1);
    await failure(call(connect({ retry: { tries: 3, baseMs: 1, maxMs: 1 } }), "GetBook", { isbn: "1" }));
    expect(server.requests).toHaveLength(4);
  });

  it("are composed with layers around them, each of which has its own time", async () => {
    using runtime = useVirtualRuntime({ io: true });
    server.answer = (request) =>
      request.line.includes("/silent/") ? { pieces: [], ending: "keep" } : whole("200 OK", '{"title":"t"}', JSON_TYPE);
    const ids: number[] = [];
    const names: string[] = [];
    const members = ["silent", "good"].map((name) => ({ name, transport: connect({ url: `${server.url}/${name}` }) }));
    const hooks = {
      onCallStart: ({ id }: { readonly id: number }) => void ids.push(id),
      onFallback: ({ id, from, to }: { readonly id: number; readonly from: string; readonly to: string }) => {
        ids.push(id);
        names.push(from, to);
      },
    };
    const transport = withHooks(
      limited(retrying(fallback(members, { hooks }), { tries: 2, baseMs: 1, maxMs: 1 }), {
        url: server.url,
        timeouts: { callMs: 6000 },
      }),
      { name: "library", url: server.url },
      hooks,
    );
    expect(await runtime.until(call(transport, "GetBook", { isbn: "1" }))).toEqual([{ title: "t" }]);
    expect(names).toEqual(["silent", "good"]);
    expect(new Set(ids).size).toBe(1);
    expect(ids).toHaveLength(2);
  });
});
