import type { Http2Session, IncomingHttpHeaders } from "node:http2";
import { Code, ConnectError, decodeBinaryHeader } from "@connectrpc/connect";
import { createGrpcTransport as createConnectGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { GrpcConfig } from "../../config/schema.js";
import { knownTypes } from "../../json/any.js";
import type { ClosableTransport } from "../closable.js";
import { readTls } from "../tls.js";
import { readingJson } from "./json-codec.js";

/**
 * Make a Connect transport over gRPC, on HTTP/2.
 *
 * Node's default flow-control windows are 64 KiB, so a stream would mostly wait for window updates; `windowBytes` sets
 * the windows of the streams and of the connection.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors, and with the JSON codec also {@link ProtocolError}
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createGrpcTransport(
  config: GrpcConfig,
  options: { readonly maxMessageBytes: number; readonly connectMs: number },
): ClosableTransport {
  const manager = new Http2SessionManager(
    config.url,
    { pingIntervalMs: config.keepaliveMs },
    { ...readTls(config.tls), settings: { initialWindowSize: config.windowBytes } },
  );
  const prepared = new WeakSet<Http2Session>();
  const transport = createConnectGrpcTransport({
    baseUrl: config.url,
    useBinaryFormat: config.codec === "proto",
    readMaxBytes: options.maxMessageBytes,
    acceptCompression: [], // An archive gains nothing from compression.
    jsonOptions: { registry: knownTypes },
    sessionManager: {
      authority: manager.authority,
      async request(method, path, headers, requestOptions) {
        await connected(manager, options.connectMs);
        const stream = await manager.request(method, path, headers, requestOptions);
        stream.on("response", dropBrokenDetails).on("trailers", dropBrokenDetails);
        const { session } = stream;
        if (session !== undefined && !prepared.has(session)) {
          prepared.add(session);
          // Connect stops listening to a session that it has dropped; a late error would then end the process.
          session.on("error", () => undefined);
          session.setLocalWindowSize(config.windowBytes);
        }
        return stream;
      },
      notifyResponseByteRead: (stream) => manager.notifyResponseByteRead(stream),
    },
  });
  return {
    ...(config.codec === "json" ? readingJson(transport) : transport),
    async close() {
      manager.abort();
    },
  };
}

/** Wait for a connection, for `connectMs` at most. */
async function connected(manager: Http2SessionManager, connectMs: number): Promise<void> {
  const state = manager.state();
  if (state === "open" || state === "idle") {
    return;
  }
  const timer = setTimeout(() => {
    const cause = Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" });
    manager.abort(new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause));
  }, connectMs);
  const reached = await manager.connect().finally(() => clearTimeout(timer));
  if (reached === "error") {
    throw manager.error();
  }
}

/** Drop details that cannot be read: Connect would lose the error that they belong to. */
function dropBrokenDetails(headers: IncomingHttpHeaders): void {
  const details = headers["grpc-status-details-bin"];
  try {
    if (typeof details === "string") {
      decodeBinaryHeader(details, StatusSchema);
    }
  } catch {
    delete headers["grpc-status-details-bin"];
  }
}
