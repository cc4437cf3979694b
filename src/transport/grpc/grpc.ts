import type { IncomingHttpHeaders } from "node:http2";
import { createContextValues, decodeBinaryHeader } from "@connectrpc/connect";
import { createGrpcTransport as createConnectGrpcTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "../../../gen/client/google/rpc/status_pb.js";
import type { GrpcConfig } from "../../config/schema.js";
import { knownTypes } from "../../json/any.js";
import { arrivalOf } from "../arrival.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { wholeFrames } from "./frames.js";
import { readingJson } from "./json-codec.js";
import { createSessions } from "./sessions.js";

/** Tells a stream's call from the others, between Connect's transport and the sessions; it is not sent. */
const CALL = "x-tradewire-call";

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
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const { registry = knownTypes } = options;
  const sessions = createSessions(config, options);
  const arrivals = new Map<string, () => void>();
  let calls = 0;
  const transport = createConnectGrpcTransport({
    baseUrl: config.url,
    useBinaryFormat: config.codec === "proto",
    readMaxBytes: options.maxMessageBytes,
    acceptCompression: [], // An archive gains nothing from compression.
    jsonOptions: { registry },
    sessionManager: {
      ...sessions,
      async request(method, path, headers) {
        const { [CALL]: call, ...sent } = headers;
        const told = arrivals.get(String(call));
        const stream = await sessions.request(method, path, sent);
        const arrived = () => {
          sessions.notifyResponseByteRead(stream);
          told?.();
        };
        const bytes = stream[Symbol.asyncIterator].bind(stream);
        stream[Symbol.asyncIterator] = () => wholeFrames({ [Symbol.asyncIterator]: bytes }, arrived);
        return stream.on("response", arrived).on("response", mendStatus).on("trailers", mendStatus);
      },
    },
  });
  const { unary, stream } = config.codec === "json" ? readingJson(transport, registry) : transport;
  return {
    unary,
    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      calls += 1;
      const call = String(calls);
      const marked = new Headers(header);
      marked.set(CALL, call);
      arrivals.set(call, arrivalOf(contextValues));
      return stream(method, signal, timeoutMs, marked, input, contextValues).finally(() => arrivals.delete(call));
    },
    async close() {
      sessions.close();
    },
  };
}

/** Drop details, and escape a message, that cannot be read: Connect would lose the error that they belong to. */
function mendStatus(headers: IncomingHttpHeaders): void {
  const { "grpc-status-details-bin": details, "grpc-message": message } = headers;
  try {
    decodeURIComponent(String(message));
  } catch {
    headers["grpc-message"] = encodeURIComponent(String(message));
  }
  try {
    if (typeof details === "string") {
      decodeBinaryHeader(details, StatusSchema);
    }
  } catch {
    delete headers["grpc-status-details-bin"];
  }
}
