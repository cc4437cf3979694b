import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { ConnectionError, NodeError, ProtocolError } from "tradewire";
import { frame } from "../support/grpc-server.js";
import { head, whole } from "../support/raw-http.js";
import { type Asked, frames, grpcHeaders, type NodeAnswer, page, pieces, restHeaders, succeed } from "./answers.js";
import { type Case, failure } from "./case.js";
import { archive, streams } from "./operations.js";

const lost = failure(ConnectionError, Code.Unavailable, "the connection was lost");
const brokenOff = failure(ConnectionError, Code.Internal, "the server reset the call (HTTP/2 error code 1)");
const onlyHttp1 = { ways: ["body", "envelopes"] as const, because: "a matter of HTTP/1.1 alone" };
const onlyGrpc = { ways: ["grpc"] as const, because: "a matter of gRPC alone" };

function httpCase(name: string, status: string, code: Code, said: string, headers = {}, body = "<h1>Sorry</h1>"): Case {
  return { name, answer: page(status, body, headers), expected: failure(NodeError, code, said) };
}

function unavailableOnce(): NodeAnswer {
  const busy = page("429 Too Many Requests", "later", { "retry-after": "1" });
  const good = succeed();
  return {
    grpc: (asked) => (asked.attempt === 1 ? busy : good).grpc(asked),
    rest: (asked) => (asked.attempt === 1 ? busy : good).rest(asked),
  };
}

/** A success that is compressed: each message over gRPC, the whole body over HTTP. */
function gzipped(compress: (bytes: Uint8Array) => Uint8Array): NodeAnswer {
  return {
    grpc: (asked) => ({
      headers: { ...grpcHeaders(asked), "grpc-encoding": "gzip" },
      pieces: frames(asked).map((bytes) => frame(compress(bytes.subarray(5)), 1)),
      ending: { "grpc-status": "0" },
    }),
    rest: (asked) =>
      whole("200 OK", compress(Buffer.concat(pieces(asked))), { ...restHeaders(asked), "content-encoding": "gzip" }),
  };
}

/** A body whose length is told wrongly. */
function wrongLength(by: number): NodeAnswer {
  return {
    grpc: (asked) => {
      const body = Buffer.concat(frames(asked));
      return {
        headers: { ...grpcHeaders(asked), "content-length": body.length + by },
        pieces: [body],
        ending: { "grpc-status": "0" },
      };
    },
    rest: (asked) => {
      const body = Buffer.concat(pieces(asked));
      return {
        pieces: [head("200 OK", { ...restHeaders(asked), "content-length": String(body.length + by) }), body],
        ending: "end",
      };
    },
  };
}

/** HTTP does what it should not, or something else than a node answers. */
export const httpCases: readonly Case[] = [
  httpCase(
    "HTTP 302, which is not followed",
    "302 Found",
    Code.Unknown,
    'the node answered UNKNOWN: HTTP 302, a redirect to "https://elsewhere.example/", which is not followed',
    { location: "https://elsewhere.example/" },
  ),
  httpCase(
    "HTTP 401 with a page",
    "401 Unauthorized",
    Code.Unauthenticated,
    "the node answered UNAUTHENTICATED: HTTP 401",
  ),
  httpCase(
    "HTTP 403 with a page",
    "403 Forbidden",
    Code.PermissionDenied,
    "the node answered PERMISSION_DENIED: HTTP 403",
  ),
  httpCase("HTTP 404 with a page", "404 Not Found", Code.Unimplemented, "the node answered UNIMPLEMENTED: HTTP 404"),
  httpCase("HTTP 500 with a page", "500 Oops", Code.Unknown, "the node answered UNKNOWN: HTTP 500"),
  httpCase("HTTP 502 with a page", "502 Bad Gateway", Code.Unavailable, "the node answered UNAVAILABLE: HTTP 502"),
  httpCase("HTTP 503 without a page", "503 Busy", Code.Unavailable, "the node answered UNAVAILABLE: HTTP 503", {}, ""),
  {
    name: "HTTP 429 with retry-after, and then success",
    answer: unavailableOnce(),
    expected: "success",
    config: { retry: { tries: 2, baseMs: 20_000, maxMs: 20_000 } },
    delays: [1000],
  },
  {
    name: "HTTP 200 with a page in a listing's place",
    answer: page("200 OK", "<h1>Welcome</h1>"),
    expected: failure(ProtocolError, Code.Unknown, "unexpected response with content type text/html"),
    of: (operation) => !streams(operation),
  },
  {
    name: "HTTP 200 with a page in an export's place",
    answer: page("200 OK", "<h1>Welcome</h1>"),
    expected: failure(ProtocolError, Code.Unknown, "unexpected response with content type text/html"),
    of: streams,
  },
  {
    name: "HTTP 200 of a page's type, without the page",
    answer: page("200 OK", ""),
    expected: failure(ProtocolError, Code.Unknown, "unexpected response with content type text/html"),
    over: onlyGrpc,
  },
  { name: "a content-length that is too large", answer: wrongLength(10), expected: lost, over: onlyHttp1 },
  {
    name: "a content-length that is too large over HTTP/2",
    answer: wrongLength(10),
    expected: brokenOff,
    over: onlyGrpc,
  },
  {
    name: "a content-length that is too small",
    answer: wrongLength(-10),
    expected: brokenOff,
    over: {
      ways: ["grpc"],
      because: "HTTP/2 itself holds bodies to their length; in HTTP/1.1 what follows is no answer",
    },
  },
  {
    name: "a content-length that is too small, listing over HTTP/1.1",
    answer: wrongLength(-10),
    expected: failure(ProtocolError, Code.Internal, "the response does not match its definition"),
    of: (operation) => !streams(operation),
    over: onlyHttp1,
  },
  {
    name: "a content-length that is too small, exporting over HTTP/1.1",
    answer: wrongLength(-10),
    expected: failure(
      ProtocolError,
      Code.DataLoss,
      `the archive is truncated: the stream ended after ${archive.length - 10} bytes`,
    ),
    of: streams,
    over: { ways: ["body"], because: "in envelopes, and in gRPC, it is an object that is cut short" },
  },
  {
    name: "a compression that was not asked for",
    answer: {
      grpc: (asked) => ({
        headers: { ...grpcHeaders(asked), "grpc-encoding": "br" },
        pieces: frames(asked).map((bytes) => frame(bytes, 1)),
        ending: { "grpc-status": "0" },
      }),
      rest: succeed({ headers: { "content-encoding": "zstd" } }).rest,
    },
    expected: failure(ProtocolError, Code.Internal, "the response uses a compression that was not requested"),
  },
  {
    name: "an answer that is compressed with gzip",
    answer: gzipped(gzipSync),
    expected: "success",
  },
  {
    name: "an answer whose compressed data is corrupt",
    answer: gzipped((bytes) => gzipSync(bytes).fill(0xff, 12, 18)),
    expected: failure(ProtocolError, Code.DataLoss, "the compressed data of the response is corrupt"),
    of: (operation) => !streams(operation),
  },
  {
    name: "an export whose compressed data is corrupt",
    answer: gzipped((bytes) => gzipSync(bytes).fill(0xff, 12, 18)),
    expected: failure(ProtocolError, Code.DataLoss, "the compressed data of the response is corrupt"),
    of: streams,
  },
  {
    name: "a compressed message in an answer that names no compression",
    answer: {
      ...succeed(),
      grpc: (asked) => ({
        headers: grpcHeaders(asked),
        pieces: frames(asked).map((bytes) => frame(gzipSync(bytes.subarray(5)), 1)),
        ending: { "grpc-status": "0" },
      }),
    },
    expected: failure(ProtocolError, Code.Internal, "the response uses a compression that was not requested"),
    over: onlyGrpc,
  },
  {
    name: "trailers are missing",
    answer: {
      ...succeed(),
      grpc: (asked) => ({ headers: grpcHeaders(asked), pieces: frames(asked), ending: "end" }),
    },
    expected: (operation) =>
      failure(ProtocolError, streams(operation) ? Code.DataLoss : Code.Internal, "the response was truncated"),
    over: onlyGrpc,
  },
  {
    name: "an answer that is empty",
    answer: succeed({ part: "none" }),
    expected: failure(ProtocolError, Code.Unimplemented, "the response is empty"),
    of: (operation) => !streams(operation),
  },
  {
    name: "an answer that is garbage",
    answer: {
      grpc: (asked) => ({
        headers: grpcHeaders(asked),
        pieces: [frame(Buffer.from("{{{"))],
        ending: { "grpc-status": "0" },
      }),
      rest: (asked) => page("200 OK", "{{{", restHeaders(asked)).rest(asked),
    },
    expected: failure(ProtocolError, Code.Internal, "the response does not match its definition"),
    of: (operation) => !streams(operation),
  },
  {
    name: "an answer that does not fit its definitions",
    answer: {
      grpc: (asked) => ({
        headers: grpcHeaders(asked),
        pieces: [frame(asked.json ? Buffer.from(unfitting(asked)) : Uint8Array.of(0x0a, 0x7f))],
        ending: { "grpc-status": "0" },
      }),
      rest: (asked) => page("200 OK", unfitting(asked), restHeaders(asked)).rest(asked),
    },
    expected: failure(ProtocolError, Code.Internal, "the response does not match its definition"),
    of: (operation) => !streams(operation),
  },
];

/** JSON with a number where the message has its content. */
function unfitting({ operation }: Asked): string {
  return JSON.stringify(Object.fromEntries(operation.method.output.fields.map(({ jsonName }) => [jsonName, 1])));
}
