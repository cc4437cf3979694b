import type { GrpcConfig } from "../../config/schema.js";
import { knownTypes } from "../../json/any.js";
import { arrivalOf } from "../arrival.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { jsonCodec, protoCodec } from "../codec.js";
import { transportOfCalls } from "../message-call.js";
import { startCall } from "./call.js";
import { createSessions } from "./sessions.js";

/** The largest number of digits that a time has in a header. */
const TIME_DIGITS = 8;

/**
 * Make a Connect transport over gRPC, on HTTP/2.
 *
 * Node's default flow-control windows are 64 KiB, so a stream would mostly wait for window updates; `windowBytes` sets
 * the windows of the streams and of the connection.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors, and with the JSON codec also `ProtocolError`
 * @throws `FileError` where a file of `config.tls` cannot be read
 */
export function createGrpcTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const { maxMessageBytes, registry = knownTypes } = options;
  const sessions = createSessions(config, options);
  const prefix = new URL(config.url).pathname.replace(/\/$/, "");

  return transportOfCalls({
    codec: config.codec === "json" ? jsonCodec(registry) : protoCodec,
    open(method, { header, timeoutMs, contextValues, onEnd }) {
      const told = arrivalOf(contextValues);
      return startCall({
        open: (headers, isWanted) => sessions.request(headers, isWanted),
        headers: {
          "user-agent": "tradewire",
          ...Object.fromEntries(header),
          ":method": "POST",
          ":path": `${prefix}/${method.parent.typeName}/${method.name}`,
          "content-type": `application/grpc+${config.codec}`,
          te: "trailers", // gRPC asks for it: it tells proxies that do not pass trailers on.
          ...(timeoutMs !== undefined && { "grpc-timeout": timeText(timeoutMs) }),
        },
        maxMessageBytes,
        arrived(stream) {
          sessions.notifyResponseByteRead(stream);
          told();
        },
        onEnd,
      });
    },
    check: () => sessions.check(),
    close: () => sessions.close(),
  });
}

/** Write a time as gRPC does: in milliseconds, or in seconds where these have too many digits. */
function timeText(timeMs: number): string {
  const text = `${Math.ceil(timeMs)}`;
  return text.length > TIME_DIGITS ? `${Math.ceil(timeMs / 1000)}S` : `${text}m`;
}
