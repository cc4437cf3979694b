import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { createServer as createHttp2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { Writable } from "node:stream";
import { create, type MessageInitShape, toBinary, toJson } from "@bufbuild/protobuf";
import type { ErrorObject } from "tradewire";
import { HttpBodySchema } from "tradewire/gen/google/api/httpbody_pb.js";
import { StatusSchema } from "tradewire/gen/google/rpc/status_pb.js";
import { anyFromObject, knownTypes } from "./any.js";
import { cutEvery } from "./archives.js";
import { httpStatusOf } from "./http-status.js";

/** The form in which an export reaches the client: gRPC messages, a raw body, or JSON objects. */
export type Wire = "grpc" | "raw" | "envelopes";

/** The answer of a server to an export. */
export interface Script {
  readonly chunks: readonly MessageInitShape<typeof HttpBodySchema>[];
  /**
   * How the answer goes on behind the chunks: an error, a lost connection, or silence. Without it, the answer ends
   * normally.
   */
  readonly end?: ErrorObject | "cut" | "wait";
  /** A page that is sent in place of the export. */
  readonly page?: { readonly status: number; readonly text: string };
  /** Further lines behind those of the chunks; over `envelopes` only. */
  readonly lines?: readonly string[];
  readonly disposition?: string;
  /** The number of bytes in each write; 0 writes each chunk at once. */
  readonly pieceSize?: number;
}

/** A server that answers every request by a script. */
export interface ExportServer extends AsyncDisposable {
  readonly url: string;
  /** Settled when a client has sent a request. */
  readonly asked: Promise<void>;
  /** Settled when a stream has closed. */
  readonly closed: Promise<void>;
}

/** Start a server that serves exports by a script. */
export async function serveExport(wire: Wire, script: Script): Promise<ExportServer> {
  const { promise: closed, resolve: markClosed } = withResolvers();
  const { promise: asked, resolve: markAsked } = withResolvers();
  const sessions = new Set<ServerHttp2Session>();
  const http = createHttpServer((_, response) => {
    markAsked();
    response.on("close", markClosed);
    void answerHttp(response, wire, script);
  });
  const http2 = createHttp2Server();
  http2.on("session", (session) => sessions.add(session));
  http2.on("stream", (stream, headers) => {
    stream.on("error", () => undefined); // The client has gone.
    markAsked();
    stream.on("close", markClosed);
    void answerGrpc(stream, String(headers["content-type"]), script);
  });
  const server = wire === "grpc" ? http2 : http;
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    closed,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections();
      for (const session of sessions) {
        session.destroy();
      }
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
}

function withResolvers() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function answerHttp(response: ServerResponse, wire: Wire, script: Script): Promise<void> {
  const { chunks, end, page, lines = [], disposition } = script;
  if (page !== undefined) {
    response.writeHead(page.status, { "content-type": "text/html" }).end(page.text);
    return;
  }
  const failing = typeof end === "object";
  if (failing && chunks.length === 0) {
    response.writeHead(httpStatusOf(end.code), { "content-type": "application/json" });
    response.end(JSON.stringify({ error: end }));
    return;
  }
  const first = create(HttpBodySchema, chunks[0]);
  response.writeHead(200, {
    "content-type": wire === "envelopes" ? "application/json" : first.contentType,
    ...(disposition === undefined ? {} : { "content-disposition": disposition }),
  });
  for (const chunk of chunks) {
    const message = create(HttpBodySchema, chunk);
    const result = toJson(HttpBodySchema, message, { registry: knownTypes, alwaysEmitImplicit: true });
    await send(response, wire === "envelopes" ? Buffer.from(`${JSON.stringify({ result })}\n`) : message.data, script);
  }
  for (const line of lines) {
    await send(response, Buffer.from(`${line}\n`), script);
  }
  if (failing) {
    await send(response, Buffer.from(JSON.stringify({ error: end }) + (wire === "envelopes" ? "\n" : "")), script);
  }
  if (end === "cut") {
    response.destroy();
  } else if (end !== "wait") {
    response.end();
  }
}

async function answerGrpc(stream: ServerHttp2Stream, contentType: string, script: Script): Promise<void> {
  const { chunks, end, page, disposition } = script;
  if (page !== undefined) {
    stream.respond({ ":status": page.status, "content-type": "text/html" });
    stream.end(page.text);
    return;
  }
  stream.respond(
    {
      ":status": 200,
      "content-type": contentType,
      ...(disposition === undefined ? {} : { "content-disposition": disposition }),
    },
    { waitForTrailers: true },
  );
  stream.on("wantTrailers", () => {
    stream.sendTrailers(typeof end === "object" ? trailers(end) : { "grpc-status": "0" });
  });
  stream.resume();
  for (const chunk of chunks) {
    const message = create(HttpBodySchema, chunk);
    const bytes = contentType.includes("json")
      ? Buffer.from(JSON.stringify(toJson(HttpBodySchema, message, { registry: knownTypes })))
      : toBinary(HttpBodySchema, message);
    const head = Buffer.alloc(5);
    head.writeUInt32BE(bytes.length, 1);
    await send(stream, Buffer.concat([head, bytes]), script);
  }
  if (end === "cut") {
    stream.session?.destroy();
  } else if (end !== "wait") {
    stream.end();
  }
}

function trailers({ code, message, details }: ErrorObject) {
  const status = create(StatusSchema, { code, message, details: details.map(anyFromObject) });
  return {
    "grpc-status": String(code),
    "grpc-message": encodeURIComponent(message),
    "grpc-status-details-bin": Buffer.from(toBinary(StatusSchema, status)).toString("base64"),
  };
}

/** Write bytes. The promise is fulfilled when they are written, or when the receiver has closed. */
async function send(to: Writable, bytes: Uint8Array, { pieceSize = 0 }: Script): Promise<void> {
  const buffer = Buffer.from(bytes);
  for (const piece of pieceSize === 0 ? [buffer] : cutEvery(buffer, pieceSize)) {
    await new Promise<void>((resolve) => {
      to.once("close", resolve);
      to.write(piece, () => {
        to.off("close", resolve);
        resolve();
      });
    });
  }
}
