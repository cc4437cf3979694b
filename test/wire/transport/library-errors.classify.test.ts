import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "@jest/globals";
import { CanceledError, ConnectionError, NodeError, ProtocolError, RequestError } from "tradewire";
import { callError } from "../../../src/wire/transport/library-errors.js";
import { CallError, EMPTY_RESPONSE, UNEXPECTED_COMPRESSION } from "./layers/inside.js";

const context = { transport: "grpc", method: "test.Probe/Read", url: "http://node.example:3007" };
const errorFor = (reason: unknown, signal?: AbortSignal) => callError(reason, { ...context, signal });
const connect = (message: string, code = Code.Internal, metadata: Record<string, string> = {}) =>
  new ConnectError(message, code, metadata);
const WHERE = "(http://node.example:3007)";

describe("an error of the library", () => {
  it("is kept, itself or as a Connect error's cause, and names the call", () => {
    const own = new RequestError("too large", { advice: "Cut it." });
    expect(errorFor(own)).toBe(own);
    expect(own).toMatchObject({ transport: "grpc", method: "test.Probe/Read" });
    const caused = new CanceledError();
    expect(errorFor(new ConnectError("x", Code.Internal, undefined, undefined, caused))).toBe(caused);
  });

  it("keeps the call that it names", () => {
    const own = Object.assign(new CanceledError(), { transport: "rest", method: "test.Probe/Say" });
    expect(errorFor(own)).toMatchObject({ transport: "rest", method: "test.Probe/Say" });
  });

  it("is not looked for in other errors", () => {
    const error = errorFor(new Error("x", { cause: new CanceledError() }));
    expect(error).toBeInstanceOf(ProtocolError);
  });
});

describe("the error of a call whose signal was aborted", () => {
  it.each<[string, unknown]>([
    ["any reason", new Error("enough")],
    ["no reason", undefined],
    ["a Connect error", connect("no", Code.Unavailable)],
    ["what is no error", { name: "TimeoutError" }],
  ])("is the caller's giving up for %s", (_, reason) => {
    const signal = AbortSignal.abort(reason);
    const error = errorFor(connect("HTTP 404"), signal);
    expect(error).toBeInstanceOf(CanceledError);
    expect(error).toMatchObject({ transport: "grpc", method: "test.Probe/Read" });
    expect(error.cause).toBe(signal.reason);
  });

  it.each<[string, unknown]>([
    ["a timeout", new DOMException("late", "TimeoutError")],
    ["Connect's deadline", connect("the operation timed out", Code.DeadlineExceeded)],
  ])("is a time that was up for %s", (_, reason) => {
    const error = errorFor(new Error("any"), AbortSignal.abort(reason));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: "the deadline of the call passed",
      code: Code.DeadlineExceeded,
      connected: true,
      cause: reason,
    });
    expect(error.advice).toContain("timeouts.callMs");
  });

  it("is the library's where that is the reason", () => {
    const own = new ConnectionError("nothing came", { code: Code.DeadlineExceeded, advice: "Look." });
    expect(errorFor(new Error("any"), AbortSignal.abort(own))).toBe(own);
    const thrown = new ConnectError("x", Code.Canceled, undefined, undefined, own);
    expect(errorFor(new Error("any"), AbortSignal.abort(thrown))).toBe(own);
  });

  it("is not that of a signal that was not aborted", () => {
    expect(errorFor(connect("odd"), new AbortController().signal)).toBeInstanceOf(ProtocolError);
  });
});

describe("a failure that the transport names", () => {
  const ofCall = (error: CallError, more: Partial<Parameters<typeof callError>[1]> = {}) =>
    callError(error, { ...context, ...more });

  it("of a stream that the server reset is a loss, with gRPC's code for HTTP/2's", () => {
    expect(ofCall(new CallError({ kind: "stream reset", http2Code: 11 }))).toMatchObject({
      name: "ConnectionError",
      summary: `the call was reset because a limit was exceeded (HTTP/2 error code 11) ${WHERE}`,
      code: Code.ResourceExhausted,
      connected: true,
    });
    const canceled = new CallError({ kind: "stream reset", http2Code: 8 });
    expect(ofCall(canceled)).toMatchObject({ code: Code.Canceled });
    expect(ofCall(canceled, { leftMs: 0 })).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("of a response without a status has the code that its method's answers ask for", () => {
    const error = new CallError({ kind: "missing status" });
    const cut = { name: "ProtocolError", summary: `the response was truncated ${WHERE}`, isTruncated: true };
    expect(ofCall(error)).toMatchObject({ ...cut, code: Code.DataLoss });
    expect(ofCall(error, { hasSingleResponse: true })).toMatchObject({ ...cut, code: Code.Internal });
  });

  it.each([UNEXPECTED_COMPRESSION, EMPTY_RESPONSE])("of a broken answer has its words: $summary", (answer) => {
    const reason = new CallError({ kind: "broken answer", answer });
    expect(ofCall(reason)).toMatchObject({
      name: "ProtocolError",
      summary: `${answer.summary} ${WHERE}`,
      code: answer.code,
      advice: answer.advice,
      cause: reason,
    });
  });

  it("of a deadline is a time that was up", () => {
    expect(ofCall(new CallError({ kind: "deadline exceeded" }))).toMatchObject({ code: Code.DeadlineExceeded });
  });

  it("of an HTTP status is the node's error", () => {
    const header = new Headers({ location: "https://other.example/" });
    expect(ofCall(new CallError({ kind: "HTTP status", status: 302 }, { header }))).toMatchObject({
      object: { message: 'HTTP 302, a redirect to "https://other.example/", which is not followed' },
    });
  });

  it("is the transport's, whatever its message", () => {
    const error = new CallError({ kind: "missing status" }, { message: "HTTP 404" });
    expect(ofCall(error)).toBeInstanceOf(ProtocolError);
    expect(connect("x")).not.toBeInstanceOf(CallError); // Connect's own test would say it is.
  });
});

describe("an answer of the node", () => {
  it("with a gRPC status is its error object", () => {
    const reason = connect("no such thing", Code.NotFound, { "grpc-status": "5" });
    const error = errorFor(reason);
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({
      object: { code: Code.NotFound, message: "no such thing", details: [] },
      cause: reason,
    });
  });

  it.each([
    [Code.NotFound, "TW_NODE_NOT_FOUND", "Check the name or identifier."],
    [Code.AlreadyExists, "TW_NODE_REFUSED", "Use the existing record, or another name or identifier."],
    [Code.FailedPrecondition, "TW_NODE_REFUSED", expect.stringMatching(/^Correct the request, or first change what/)],
    [Code.OutOfRange, "TW_NODE_REFUSED", expect.stringMatching(/^Correct the request: /)],
    [Code.PermissionDenied, "TW_NODE_CREDENTIALS", expect.stringMatching(/^Set the required credentials/)],
    [Code.Unauthenticated, "TW_NODE_CREDENTIALS", expect.stringMatching(/^Set the required credentials/)],
  ])("is any with the code %d, which no fault of a response has", (code, errorCode, advice) => {
    const error = errorFor(connect("no", code));
    expect(error).toMatchObject({ name: "NodeError", code, errorCode, advice, object: { message: "no" } });
  });

  it("of a conflict with another call advises to read first", () => {
    const error = errorFor(connect("changed", Code.Aborted, { "grpc-status": "10" }));
    expect(error.advice).toMatch(/^Read the current state, then try again: /);
  });

  it.each(["HTTP 404", "unsupported content type text/html", 'unsupported response encoding "br"'])(
    "is none by the header of a response without one: %s",
    (message) => {
      const error = errorFor(connect(message, Code.Internal, { "content-type": "application/json" }));
      expect(error).toMatchObject(message === "HTTP 404" ? { http: { status: 404 } } : { name: "ProtocolError" });
    },
  );

  it.each([
    [400, Code.Internal],
    [401, Code.Unauthenticated],
    [404, Code.Unimplemented],
    [429, Code.Unavailable],
    [503, Code.Unavailable],
    [418, Code.Unknown],
  ])("with the HTTP status %d alone has the code that it stands for", (status, code) => {
    const error = errorFor(connect(`HTTP ${status}`, Code.Internal));
    expect(error).toBeInstanceOf(NodeError);
    expect(error).toMatchObject({ object: { code, message: `HTTP ${status}`, details: [] } });
  });

  it("names the target of a redirect, which is not followed", () => {
    const location = "https://other.example/\nx";
    const said = 'HTTP 302, a redirect to "https://other.example/", which is not followed';
    expect(errorFor(connect("HTTP 302", Code.Unknown, { location: location.split("\n")[0] ?? "" }))).toMatchObject({
      object: { message: said, code: Code.Unknown },
    });
    const refused = connect("no", Code.NotFound, { "grpc-status": "5", location: "https://other.example/" });
    expect(errorFor(refused)).toMatchObject({ object: { message: "no" } });
    const grpc = connect("HTTP 302 it says", Code.Unknown, { "grpc-status": "2", location: "https://other.example/" });
    expect(errorFor(grpc)).toMatchObject({ object: { message: "HTTP 302 it says" } });
    const before = connect("an HTTP 302", Code.Unknown, { "grpc-status": "2", location: "https://other.example/" });
    expect(errorFor(before)).toMatchObject({ object: { message: "an HTTP 302" } });
  });

  it.each(["HTTP 4040", "HTTP 40", "an HTTP 404", "HTTP 404 it says"])("is none by the message %j", (message) => {
    expect(errorFor(connect(message))).toBeInstanceOf(ProtocolError);
  });
});

it("a redirect is described with its target, cut to 200 characters", () => {
  const location = `https://other.example/${"a".repeat(300)}`;
  const reason = new CallError({ kind: "HTTP status", status: 307 }, { header: new Headers({ location }) });
  expect(errorFor(reason)).toMatchObject({
    object: { message: `HTTP 307, a redirect to "${location.slice(0, 200)}", which is not followed` },
    http: { status: 307, location },
  });
});

describe("a failure of the network", () => {
  it("without a connection says so", () => {
    const reason = Object.assign(new Error("no"), { code: "ECONNREFUSED", syscall: "connect" });
    const error = errorFor(reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: `the connection was refused ${WHERE}`,
      code: Code.Unavailable,
      connected: false,
      cause: reason,
    });
    expect(error.advice).toContain("Check that the server is running");
  });

  it("with one is a loss", () => {
    const reason = new ConnectError(
      "x",
      Code.Aborted,
      undefined,
      undefined,
      Object.assign(new Error("x"), { code: "EPIPE" }),
    );
    expect(errorFor(reason)).toMatchObject({ summary: `the connection was lost ${WHERE}`, connected: true });
  });

  it.each([Code.Canceled, Code.Aborted])("that Connect tells by the code %d is a loss", (code) => {
    const error = errorFor(connect("stream closed", code));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: `the connection was lost ${WHERE}`,
      code: Code.Unavailable,
      connected: true,
    });
  });

  it("that Connect tells by the code of a deadline is a time that was up", () => {
    const error = errorFor(connect("late", Code.DeadlineExceeded));
    expect(error).toMatchObject({ summary: "the deadline of the call passed", code: Code.DeadlineExceeded });
  });

  it.each<[string, number, Code]>([
    ["Stream closed with error code NGHTTP2_REFUSED_STREAM", 7, Code.Unavailable],
    ["Stream closed with error code NGHTTP2_ENHANCE_YOUR_CALM", 11, Code.ResourceExhausted],
    ["http/2 stream closed with error code CANCEL (0x8)", 8, Code.Canceled],
    ["http/2 stream closed with error code INADEQUATE_SECURITY (0xc)", 12, Code.PermissionDenied],
    ["http/2 stream closed with error code UNKNOWN (0x1f)", 31, Code.Internal],
  ])("by a reset is broken off: %s", (message, http2Code, code) => {
    const error = errorFor(connect(message));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({
      summary: `${http2Code === 11 ? "the call was reset because a limit was exceeded" : "the server reset the call"} (HTTP/2 error code ${http2Code}) ${WHERE}`,
      code,
      connected: true,
    });
    expect(errorFor(connect(`it said: ${message}`))).toBeInstanceOf(ProtocolError);
  });

  it.each([
    "Received RST_STREAM with code 2 triggered by internal client error: read ECONNRESET",
    "Stream closed with error code NGHTTP2_NOT_KNOWN",
    "Stream closed with error code NGHTTP2_DEFAULT_",
  ])("is no reset: %s", (message) => {
    expect(errorFor(connect(message))).toMatchObject({ summary: `${message} ${WHERE}` });
  });

  it("is another where the client itself has closed the stream for an error of the socket", () => {
    const cause = Object.assign(new Error("x"), { code: "ECONNRESET" });
    const message = "Received RST_STREAM with code 2 triggered by internal client error: read ECONNRESET";
    const reason = new ConnectError(message, Code.Internal, undefined, undefined, cause);
    expect(errorFor(reason)).toMatchObject({ summary: `the connection was lost ${WHERE}` });
  });
});

describe("a broken answer", () => {
  it("of headers that are too large says so, before all else", () => {
    const reason = Object.assign(new Error("Parse Error"), { code: "HPE_HEADER_OVERFLOW" });
    const error = errorFor(reason);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({
      summary: `the response has more headers than this client accepts: 1000, of 65535 bytes together ${WHERE}`,
      code: Code.ResourceExhausted,
      cause: reason,
    });
  });

  it.each<[string, string, Code]>([
    ["missing status", "the response was truncated", Code.DataLoss],
    ["protocol error: missing status", "the response was truncated", Code.DataLoss],
    ["protocol error: promised 5 bytes in enveloped message, got 3 bytes", "the response was truncated", Code.DataLoss],
    ["protocol error: promised 512 bytes", "the response was truncated", Code.DataLoss],
    ["premature end of input", "the response was truncated", Code.DataLoss],
    ["protocol error: incomplete envelope", "the response was truncated", Code.DataLoss],
    ["protocol error: missing output message for unary method", "the response is empty", Code.Unimplemented],
    ["message is larger than configured", "a message is larger than the limit", Code.ResourceExhausted],
    ["Received message Larger Than max", "a message is larger than the limit", Code.ResourceExhausted],
    ["unsupported response encoding gzip", "the response uses a compression that was not requested", Code.Internal],
    ["do not know how to uncompress", "the response uses a compression that was not requested", Code.Internal],
    ["do not know how to decompress", "the response uses a compression that was not requested", Code.Internal],
    ["parse binary: x", "the response does not match its definition", Code.Internal],
    ["premature EOF", "the response does not match its definition", Code.Internal],
    ["cannot decode message", "the response does not match its definition", Code.Internal],
    ["invalid wire type 7", "the response does not match its definition", Code.Internal],
    ["illegal tag: field no 0", "the response does not match its definition", Code.Internal],
    ["malformed UTF-8", "the response does not match its definition", Code.Internal],
    ["Unexpected token in JSON at position 0", "the response does not match its definition", Code.Internal],
    [
      "unsupported content type text/html; charset=utf-8",
      "unexpected response with content type text/html; charset=utf-8",
      Code.Unknown,
    ],
    ["unsupported content type null", "unexpected response with no content type", Code.Unknown],
    ["unsupported content type ", "unexpected response with no content type", Code.Unknown],
  ])("is known by its message: %s", (message, summary, code) => {
    const reason = connect(message, Code.Unknown);
    const error = errorFor(reason);
    expect(error).toBeInstanceOf(ProtocolError);
    expect(error).toMatchObject({ summary: `${summary} ${WHERE}`, code, cause: reason });
  });

  it.each([
    "promised bytes",
    "we cannot parse binary",
    "it is invalid, illegal, malformed",
    "invalidated",
    "JSONL",
    "an unsupported content type text/html",
    "how to compress",
  ])("is not known by words elsewhere: %s", (message) => {
    expect(errorFor(connect(message))).toMatchObject({ summary: `${message} ${WHERE}`, code: Code.Internal });
  });

  it("that is not known has Connect's words, and a code that is neither the caller's fault nor unknown", () => {
    for (const [given, code] of [
      [Code.InvalidArgument, Code.DataLoss],
      [Code.Unknown, Code.Internal],
      [Code.Unimplemented, Code.Unimplemented],
    ] as const) {
      const reason = connect("odd", given);
      const error = errorFor(reason);
      expect(error).toBeInstanceOf(ProtocolError);
      expect(error).toMatchObject({ summary: `odd ${WHERE}`, code, cause: reason });
      expect(error.advice).toContain("another server may have answered");
    }
    expect(errorFor("a text").cause).toBeInstanceOf(ConnectError);
  });
});
