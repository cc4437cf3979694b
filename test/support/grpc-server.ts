import { once } from "node:events";
import {
  createSecureServer,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import type { Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";
import type { TlsOptions } from "node:tls";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { StatusSchema } from "tradewire/gen/google/rpc/status_pb.js";

/** The answer to a call. */
export interface GrpcAnswer {
  /** Headers besides status 200 and the content type of gRPC. */
  readonly headers?: OutgoingHttpHeaders;
  /** The bytes of the body, each piece in a separate write. Without any, the response may consist of headers alone. */
  readonly pieces?: Iterable<Uint8Array>;
  /** Whether GOAWAY is sent after the body. */
  readonly goaway?: boolean;
  /** The trailers, or how the stream ends without any; `keep` leaves it open. */
  readonly ending: OutgoingHttpHeaders | "end" | "reset" | "destroy" | "keep";
}

/** A call that the server received. */
export interface GrpcCall {
  readonly headers: IncomingHttpHeaders;
  /** The body, which consists of gRPC frames. */
  readonly body: Buffer;
  readonly session: Http2Session;
  /** Fulfilled when the stream has closed. */
  readonly closed: Promise<unknown>;
}

/** An HTTP/2 server on 127.0.0.1 that gives the answers of a test. */
export interface GrpcServer {
  readonly url: string;
  /** The received calls, oldest first. */
  readonly calls: GrpcCall[];
  /** The answer to each further call. */
  answer: GrpcAnswer | ((call: GrpcCall) => GrpcAnswer);
  close(): Promise<void>;
}

/** Start a server. */
export async function startGrpcServer(tls?: TlsOptions): Promise<GrpcServer> {
  const sockets = new Set<Socket>();
  const options = { maxSendHeaderBlockLength: 4 * 1024 * 1024 };
  const server = tls === undefined ? createServer(options) : createSecureServer({ ...options, ...tls });
  server.on("sessionError", () => undefined);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  server.on("session", (session) => session.on("error", () => undefined)); // Clients may disconnect at any time.
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    void serve(stream, headers);
  });

  async function serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> {
    const { session } = stream;
    if (session === undefined) {
      return;
    }
    const closed = new Promise((resolve) => {
      stream.once("close", resolve);
    });
    const body: Uint8Array[] = [];
    for await (const piece of stream) {
      body.push(piece);
    }
    const call = { headers, body: Buffer.concat(body), session, closed };
    grpc.calls.push(call);
    await give(stream, typeof grpc.answer === "function" ? grpc.answer(call) : grpc.answer);
  }

  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const grpc: GrpcServer = {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    calls: [],
    answer: { ending: "end" },
    async close() {
      // Not the sessions: one that is destroyed while a write is under way may keep its socket for ever (Node 20).
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
  return grpc;
}

async function give(
  stream: ServerHttp2Stream,
  { headers = {}, pieces = [], goaway, ending }: GrpcAnswer,
): Promise<void> {
  const all = { ":status": 200, "content-type": "application/grpc+proto", ...headers };
  if (ending === "end" && Array.isArray(pieces) && pieces.length === 0) {
    stream.respond(all, { endStream: true });
    return;
  }
  if (typeof ending === "object") {
    stream.on("wantTrailers", () => stream.sendTrailers(ending));
  }
  stream.respond(all, { waitForTrailers: typeof ending === "object" });
  for (const piece of pieces) {
    if (stream.destroyed) {
      return;
    }
    await new Promise((resolve) => stream.write(piece, resolve));
    await turn(); // The client should receive this piece separately.
  }
  if (goaway === true) {
    stream.session?.goaway();
  }
  if (ending === "reset") {
    stream.destroy(new Error("reset with INTERNAL_ERROR"));
  } else if (ending === "destroy") {
    stream.session?.destroy();
  } else if (ending !== "keep") {
    stream.end();
  }
}

/** Make a gRPC frame. */
export function frame(message: Uint8Array, flag = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flag, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** Make the trailers of a failed call. */
export function failureTrailers(
  status: MessageInitShape<typeof StatusSchema> & { code: number; message: string },
): OutgoingHttpHeaders {
  const bytes = toBinary(StatusSchema, create(StatusSchema, status));
  return {
    "grpc-status": String(status.code),
    "grpc-message": encodeURIComponent(status.message),
    "grpc-status-details-bin": Buffer.from(bytes).toString("base64").replace(/=+$/, ""),
  };
}
