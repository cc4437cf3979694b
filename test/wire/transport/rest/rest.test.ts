import { Code, type Interceptor } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { afterAll, afterEach, describe, expect, it } from "@jest/globals";
import { RequestError } from "tradewire";
import { Table, TradingDataService } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { chunk, head, whole } from "../../../support/raw-http.js";
import { CHUNKED, failure, JSON_TYPE, result, startRestProbe, ZIP_TYPE } from "../../../support/rest-probe.js";
import { shapeMethod } from "../../../support/shapes.js";

const { exportNetworkHistory } = TradingDataService.method;
const { server, connect, segments, exported, disconnect } = await startRestProbe();

afterEach(async () => {
  await disconnect();
  server.requests.length = 0;
});
afterAll(() => server.close());

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
      ["user-agent", expect.stringMatching(/^tradewire\/\d/)],
      ["x-trace", "7"],
    ]);
    expect(body).toBe("");
  });

  it("go below the path of the URL", async () => {
    for (const path of ["/node/7", "/node/7/"]) {
      await segments(whole("200 OK", "{}", JSON_TYPE), { path });
      await disconnect();
    }
    const line = "GET /node/7/api/v2/networkhistory/segments HTTP/1.1";
    expect(server.requests.map((request) => request.line)).toEqual([line, line]);
    expect(server.requests[0]?.headers.get("accept")).toBe("application/json");
  });

  it("keep the accept header of the caller, and ask for the known compressions whatever the caller says", async () => {
    server.answer = whole("200 OK", "{}", JSON_TYPE);
    await connect().client.listAllNetworkHistorySegments(
      {},
      { headers: { accept: "application/x-ndjson", "accept-encoding": "zstd" } },
    );
    const headers = server.requests[0]?.headers;
    expect(headers?.get("accept")).toBe("application/x-ndjson");
    expect(headers?.get("accept-encoding")).toBe("gzip, br");
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

  it("are not sent where the method has no HTTP rule, or streams its requests alone", async () => {
    const method = shapeMethod();
    const { transport } = connect();
    const unary = await failure(transport.unary(method, undefined, undefined, undefined, {}));
    expect(unary.cause).toBeInstanceOf(RequestError);
    expect(unary.rawMessage).toContain("shapes.Shapes/Call has no HTTP rule, so it cannot be called over REST");
    const joining = { ...exportNetworkHistory, methodKind: "client_streaming" } as const;
    const input = createAsyncIterable([{}]);
    const streaming = await failure(transport.stream(joining, undefined, undefined, undefined, input));
    expect(streaming).toMatchObject({ code: Code.Unimplemented, cause: { name: "ProtocolError" } });
    expect(String(streaming.cause)).toContain("Call the method over gRPC");
    expect(server.requests).toEqual([]);
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
    await disconnect();
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
    expect((await next).code).toBe(Code.Canceled);
    expect((await failure(client.listAllNetworkHistorySegments({}))).code).toBe(Code.Canceled);
  });
});
