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
 * A Connect transport over gRPC, on HTTP/2.
 *
 * Node starts HTTP/2 with flow-control windows of 64 KiB, in which a stream spends most of its time waiting for leave to
 * go on; `windowBytes` sets both the streams' windows and the connection's.
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
    acceptCompression: [], // An archive gains nothing from it.
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
          // Once it has let go of a session, Connect does not listen for its late errors, which would end the process.
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

/** Wait for a connection, but not for ever. */
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

/** Details that cannot be read would make Connect forget the error that they belong to. */
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
