import type { ServerHttp2Stream } from "node:http2";
import { fileURLToPath } from "node:url";
import { create, toBinary } from "@bufbuild/protobuf";
import { BytesValueSchema, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { Metadata, status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type ClosableTransport, ConnectionError, NodeError, ProtocolError } from "tradewire";
import { freePort } from "../../../support/free-port.mjs";
import { say, send } from "../../../support/probe.js";
import { envelope, serveRoutes, serveRoutesOverTls, serveSockets, serveStreams } from "../../../support/servers.js";
import { callError, createRawGrpcJsTransport, statusError, type TlsConfig } from "./inside.js";

const GRPC = { ":status": 200, "content-type": "application/grpc" };
const TEXT = envelope(toBinary(StringValueSchema, create(StringValueSchema, { value: "hello" })));
process.env["no_grpc_proxy"] = "127.0.0.1,localhost,node.invalid"; // Whatever proxy this machine has.
const open: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of open.splice(0).reverse()) {
    await each.close();
  }
});

function closing<T extends { close(): Promise<void> }>(value: T): T {
  open.push(value);
  return value;
}

function transportTo(url: string, limits: { maxMessageBytes?: number; connectMs?: number } = {}, tls: TlsConfig = {}) {
  const config = {
    tls,
    url,
    codec: "proto",
    compression: "none",
    windowBytes: 65_535,
    keepaliveMs: 60_000,
    allowInsecureHeaders: false,
  } as const;
  return closing(createRawGrpcJsTransport(config, { maxMessageBytes: 1000, connectMs: 10_000, ...limits }));
}

/** What a call of one message fails with. */
async function failure(transport: ClosableTransport): Promise<ConnectError> {
  try {
    await transport.unary(say, undefined, undefined, undefined, { value: "hello" });
  } catch (reason) {
    if (reason instanceof ConnectError) {
      return reason;
    }
    throw reason;
  }
  throw new Error("the call did not fail");
}

async function failureOf(answer: (stream: ServerHttp2Stream, cut: () => void) => void): Promise<ConnectError> {
  const server = closing(await serveStreams(answer));
  return failure(transportTo(server.url));
}

/** Messages, then trailers. */
function answering(trailers: Record<string, string>, ...messages: Uint8Array[]) {
  return (stream: ServerHttp2Stream) => {
    stream.respond(GRPC, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    for (const message of messages) {
      stream.write(message);
    }
    stream.end();
  };
}

function described(error: ConnectError) {
  return callError(error, { transport: "grpc-js", method: "test.Probe/Say", url: "http://node.example" });
}

describe("what the node says", () => {
  test.each([
    ["in trailers", answering({ "grpc-status": "5", "grpc-message": "not%20here" })],
    [
      "in trailers only",
      (stream: ServerHttp2Stream) =>
        stream.respond({ ...GRPC, "grpc-status": "5", "grpc-message": "not%20here" }, { endStream: true }),
    ],
    [
      "in words of grpc-js's, with a trailer of its own",
      answering({ "grpc-status": "5", "grpc-message": "not here", "x-a": "b" }),
    ],
  ])("leaves with its code and message: %s", async (_, answer) => {
    const error = await failureOf(answer);

    expect(error).toMatchObject({ code: Code.NotFound, rawMessage: "not here", details: [] });
    expect(error.metadata.get("grpc-status")).toBe("5");
    expect(error.cause).toBeUndefined();
    expect(described(error)).toBeInstanceOf(NodeError);
  });

  test("with every code", async () => {
    const codes = Array.from({ length: 16 }, (_, index) => index + 1);
    const server = closing(
      await serveRoutes((router) => {
        router.rpc(say, (_, { requestHeader }) => {
          throw new ConnectError("code: 100% /known/ *", Number(requestHeader.get("x-code")));
        });
      }),
    );
    const transport = transportTo(server.url);
    const errors = await Promise.all(
      codes.map((code) =>
        transport
          .unary(say, undefined, undefined, { "x-code": String(code) }, { value: "" })
          .catch((error: ConnectError) => error),
      ),
    );

    expect(errors).toMatchObject(codes.map((code) => ({ code, rawMessage: "code: 100% /known/ *" })));
  });

  test("with details of types that are known here and of others", async () => {
    const known = create(StringValueSchema, { value: "more" });
    const server = closing(
      await serveRoutes((router) => {
        router.rpc(say, () => {
          const error = new ConnectError("no", Code.InvalidArgument, { "x-a": "b", "x-b-bin": "AQI" });
          error.details = [
            { desc: StringValueSchema, value: known },
            { type: "elsewhere.Unknown", value: Uint8Array.of(8, 1) },
          ];
          throw error;
        });
      }),
    );
    const error = await failure(transportTo(server.url));

    expect(error.findDetails(StringValueSchema)).toEqual([known]);
    expect(error.details.map((detail) => "type" in detail && [detail.type, ...detail.value])).toEqual([
      ["google.protobuf.StringValue", ...toBinary(StringValueSchema, known)],
      ["elsewhere.Unknown", 8, 1],
    ]);
    expect(error.metadata.get("x-a")).toBe("b");
    expect(error.metadata.get("x-b-bin")).toBe("AQI");
  });

  test("details that cannot be read do not hide the status", async () => {
    const error = await failureOf(
      answering({ "grpc-status": "3", "grpc-message": "no", "grpc-status-details-bin": "/////w" }),
    );

    expect(error).toMatchObject({ code: Code.InvalidArgument, rawMessage: "no", details: [] });
  });

  test("a status that gRPC does not know is still the node's", async () => {
    const error = await failureOf(answering({ "grpc-status": "99" }));

    expect(error).toMatchObject({ code: Code.Unknown });
    expect(error.metadata.get("grpc-status")).toBe("99");
  });

  test("after messages of a stream, with the response's header", async () => {
    const server = closing(
      await serveStreams((stream) => {
        stream.respond({ ...GRPC, "x-name": "archive" }, { waitForTrailers: true });
        stream.on("wantTrailers", () =>
          stream.sendTrailers({ "grpc-status": "15", "grpc-message": "rows are missing" }),
        );
        stream.write(envelope(toBinary(BytesValueSchema, create(BytesValueSchema, { value: Uint8Array.of(1) }))));
        stream.once("data", () => undefined); // The request.
        stream.session?.ping(() => stream.end());
      }),
    );
    const input = createAsyncIterable([{ value: "1" }]);
    const answer = await transportTo(server.url).stream(send, undefined, undefined, undefined, input);
    const received: number[] = [];
    const reading = (async () => {
      for await (const { value } of answer.message) {
        received.push(...value);
      }
    })();
    const error = ConnectError.from(await reading.catch((reason: unknown) => reason));

    expect(received).toEqual([1]);
    expect(error).toMatchObject({ code: Code.DataLoss, rawMessage: "rows are missing" });
    expect(error.metadata.get("grpc-status")).toBe("15");
    expect(error.metadata.get("x-name")).toBe("archive");
  });
});

describe("what fails on the way", () => {
  /** An error of this side: without the node's status, and what the library makes of it. */
  function expectLocal(error: ConnectError, code: Code, nodeCode: string | undefined, kind: unknown) {
    expect(error.metadata.has("grpc-status")).toBe(false);
    expect(Code[error.code]).toBe(Code[code]);
    expect(error.cause instanceof Error && "code" in error.cause ? error.cause.code : undefined).toBe(nodeCode);
    expect(described(error)).toBeInstanceOf(kind);
  }

  test("nobody listens", async () => {
    const error = await failure(transportTo(`http://127.0.0.1:${await freePort()}`));

    expectLocal(error, Code.Unavailable, "ECONNREFUSED", ConnectionError);
    expect(error.rawMessage).toMatch(/^connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
    expect(described(error).summary).toBe("the connection was refused (http://node.example)");
  });

  test("a name that does not resolve", async () => {
    const error = await failure(transportTo("http://node.invalid:3007"));

    expectLocal(error, Code.Unavailable, "ENOTFOUND", ConnectionError);
  });

  test("a connection that goes away before the call is on it: nothing of it was sent", () => {
    const details = "Failed to start HTTP/2 stream with error The session has been destroyed";
    const error = statusError({ code: status.INTERNAL, details, metadata: new Metadata() }, undefined);

    expectLocal(error, Code.Internal, "ECONNRESET", ConnectionError);
    expect(described(error)).toMatchObject({ code: Code.Unavailable, connected: false });
  });

  test("a server that speaks HTTP/1", async () => {
    const server = closing(await serveSockets((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
    const error = await failure(transportTo(server.url));

    expectLocal(error, Code.Unavailable, "ERR_HTTP2_ERROR", ConnectionError);
    expect(described(error).summary).toBe(
      "the server does not speak the protocol of this transport (http://node.example)",
    );
  });

  test("a server that hangs up at once", async () => {
    const server = closing(await serveSockets((socket) => socket.destroy()));
    const error = await failure(transportTo(server.url));

    expectLocal(error, Code.Unavailable, "ECONNRESET", ConnectionError);
  });

  test("a server that never says anything", async () => {
    const server = closing(await serveSockets(() => undefined));
    const error = await failure(transportTo(server.url, { connectMs: 50 }));

    expectLocal(error, Code.Unavailable, "ETIMEDOUT", ConnectionError);
  });

  test("TLS where there is none", async () => {
    const server = closing(await serveSockets((socket) => socket.end("SSH-2.0-other\r\n")));
    const error = await failure(transportTo(`https://localhost:${server.port}`));

    expectLocal(error, Code.Unavailable, "ERR_SSL_WRONG_VERSION_NUMBER", ConnectionError);
  });

  test.each([
    ["an unknown issuer", {}, "DEPTH_ZERO_SELF_SIGNED_CERT"],
    [
      "another name",
      { caFile: fileURLToPath(new URL("../../../support/tls/cert.pem", import.meta.url)) },
      "ERR_TLS_CERT_ALTNAME_INVALID",
    ],
  ])("a certificate of %s", async (_, tls, nodeCode) => {
    const server = closing(await serveRoutesOverTls(() => undefined));
    const error = await failure(transportTo(`https://localhost:${server.port}`, {}, tls));

    expectLocal(error, Code.Unavailable, nodeCode, ConnectionError);
  });

  test.each([
    ["before the header", (_: ServerHttp2Stream) => {}],
    ["after it", (stream: ServerHttp2Stream) => stream.respond(GRPC)],
    [
      "in a message",
      (stream: ServerHttp2Stream) => {
        stream.respond(GRPC);
        stream.write(TEXT.subarray(0, 8));
      },
    ],
    [
      "after a message",
      (stream: ServerHttp2Stream) => {
        stream.respond(GRPC);
        stream.write(TEXT);
      },
    ],
  ])("the connection is cut %s", async (_, answer) => {
    const error = await failureOf((stream, cut) => {
      answer(stream);
      stream.session?.ping(cut);
    });

    expectLocal(error, Code.Unavailable, "ECONNRESET", ConnectionError);
  });

  test.each([
    [2, Code.Internal, "ERR_HTTP2_STREAM_ERROR"],
    [7, Code.Unavailable, "ERR_HTTP2_STREAM_ERROR"],
    [8, Code.Canceled, "ERR_HTTP2_STREAM_ERROR"],
  ])("the stream is reset with %i", async (reset, code, nodeCode) => {
    const error = await failureOf((stream) => stream.close(reset));

    expectLocal(error, code, nodeCode, ConnectionError);
  });

  test("the stream is reset after a message", async () => {
    const error = await failureOf((stream) => {
      stream.respond(GRPC);
      stream.write(TEXT);
      stream.session?.ping(() => stream.destroy(new Error("out of order")));
    });

    expectLocal(error, Code.Internal, "ERR_HTTP2_STREAM_ERROR", ConnectionError);
  });

  test.each([
    [
      "without trailers",
      (stream: ServerHttp2Stream) => {
        stream.respond(GRPC);
        stream.end(TEXT);
      },
    ],
    ["with trailers that hold no status", answering({ "x-a": "b" }, TEXT)],
    ["with its header", (stream: ServerHttp2Stream) => stream.respond(GRPC, { endStream: true })],
  ])("a response that ends %s", async (_, answer) => {
    const error = await failureOf(answer);

    expectLocal(error, Code.Internal, undefined, ProtocolError);
    expect(error.rawMessage).toBe("the response ended without a status");
  });

  test.each([
    ["with a page", "<html>".repeat(3)],
    ["with nothing", undefined],
  ])("an HTTP status of something in front of the node, %s", async (_, page) => {
    const error = await failureOf((stream) => {
      stream.respond({ ":status": 503, "content-type": "text/html" }, { endStream: page === undefined });
      stream.end(page);
    });

    expect(error).toMatchObject({ code: Code.Unavailable, rawMessage: "HTTP 503" });
    expect(error.metadata.has("grpc-status")).toBe(false);
    expect(described(error)).toBeInstanceOf(NodeError);
  });

  test("a page instead of an answer", async () => {
    const error = await failureOf((stream) => {
      stream.respond({ ":status": 200, "content-type": "text/html" });
      stream.end("<html>".repeat(3));
    });

    expectLocal(error, Code.Unknown, undefined, ProtocolError);
    expect(error.rawMessage).toBe("unexpected response with content type text/html");
  });

  test("a message above the limit", async () => {
    const error = await failureOf(answering({ "grpc-status": "0" }, envelope(new Uint8Array(1001))));

    expectLocal(error, Code.ResourceExhausted, undefined, ProtocolError);
    expect(error.rawMessage).toBe("Received message larger than max (1001 vs 1000)");
  });

  test("a message that is no Protobuf", async () => {
    const error = await failureOf(answering({ "grpc-status": "0" }, envelope(Uint8Array.of(10, 200))));

    expectLocal(error, Code.Internal, undefined, ProtocolError);
  });

  test("a compression that was not asked for", async () => {
    const error = await failureOf((stream) => {
      stream.respond({ ...GRPC, "grpc-encoding": "br" });
      stream.end(envelope(Uint8Array.of(1), 1));
    });

    expectLocal(error, Code.Internal, undefined, ProtocolError);
    expect(error.rawMessage).toBe("the response uses a compression that was not requested");
  });

  test.each([
    ["no message", [], "the response is empty"],
    ["two messages", [TEXT, TEXT], "the response has more than one message"],
  ])("%s where there is to be one", async (_, messages, said) => {
    const error = await failureOf(answering({ "grpc-status": "0" }, ...messages));

    expectLocal(error, Code.Unimplemented, undefined, ProtocolError);
    expect(error.rawMessage).toBe(said);
  });
});
