import type { Http2Session } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import { createGrpcTransport as createConnectGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import type { GrpcConfig } from "../config.js";
import { lenientTypes } from "../json/any.js";
import type { ClosableTransport } from "./closable.js";

/**
 * A Connect transport over gRPC, on HTTP/2.
 *
 * Node starts HTTP/2 with flow-control windows of 64 KiB, in which a stream spends most of its time waiting for leave to
 * go on; `windowBytes` sets both the streams' windows and the connection's.
 */
export function createGrpcTransport(
  config: GrpcConfig,
  options: { readonly maxMessageBytes: number; readonly interceptors?: readonly Interceptor[] },
): ClosableTransport {
  const manager = new Http2SessionManager(config.url, {}, { settings: { initialWindowSize: config.windowBytes } });
  const prepared = new WeakSet<Http2Session>();
  const transport = createConnectGrpcTransport({
    baseUrl: config.url,
    useBinaryFormat: config.codec === "proto",
    interceptors: [...(options.interceptors ?? [])],
    readMaxBytes: options.maxMessageBytes,
    acceptCompression: [], // An archive gains nothing from it.
    jsonOptions: { registry: lenientTypes, ignoreUnknownFields: true },
    sessionManager: {
      authority: manager.authority,
      async request(method, path, headers, requestOptions) {
        const stream = await manager.request(method, path, headers, requestOptions);
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
    ...transport,
    async close() {
      manager.abort();
    },
  };
}
