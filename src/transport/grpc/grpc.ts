import type { IncomingHttpHeaders } from "node:http2";
import { decodeBinaryHeader } from "@connectrpc/connect";
import { createGrpcTransport as createConnectGrpcTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.js";
import type { GrpcConfig } from "../../config/schema.js";
import { knownTypes } from "../../json/any.js";
import type { ClosableTransport } from "../closable.js";
import { readingJson } from "./json-codec.js";
import { createSessions } from "./sessions.js";

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
  const sessions = createSessions(config, options);
  const transport = createConnectGrpcTransport({
    baseUrl: config.url,
    useBinaryFormat: config.codec === "proto",
    readMaxBytes: options.maxMessageBytes,
    acceptCompression: [], // An archive gains nothing from compression.
    jsonOptions: { registry: knownTypes },
    sessionManager: {
      ...sessions,
      async request(method, path, headers) {
        const stream = await sessions.request(method, path, headers);
        return stream.on("response", dropBrokenDetails).on("trailers", dropBrokenDetails);
      },
    },
  });
  return {
    ...(config.codec === "json" ? readingJson(transport) : transport),
    async close() {
      sessions.close();
    },
  };
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
