import type { OutgoingHttpHeaders } from "node:http2";
import type { GrpcConfig } from "../../config/config-schema.js";
import { knownTypes } from "../../json/any.js";
import { isHttpBody } from "../../json/message-json.js";
import { acceptsPartsKey, beforeSendKey, receiveListener } from "../call-context.js";
import { formatTimeout } from "../grpc-headers.js";
import { createMessageTransport, jsonCodec, protoCodec } from "../message-call.js";
import { type ClosableTransport, type TransportSettings, USER_AGENT } from "../transport-types.js";
import { GZIP, startGrpcCall } from "./grpc-call.js";
import { createSessions } from "./http2-sessions.js";

/**
 * The maximum number of downloads whose messages are read whole, which takes less time than in parts. The messages of more of them
 * would outlive the collections of young garbage, and then cause others that take half of the time.
 */
const MAX_WHOLE = 2;

/**
 * Creates a Connect transport over gRPC on HTTP/2, without the layers around it.
 *
 * Node's default flow-control windows are 64 KiB, with which a stream would mostly wait for window updates; `windowBytes`
 * sets the windows of the streams and of the connection.
 *
 * @throws `FileError` if a file of `config.tls` cannot be read
 */
export function createRawGrpcTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const { maxMessageBytes, registry = knownTypes } = options;
  const sessions = createSessions(config, options);
  const { host, pathname } = new URL(config.url);
  const contentType = `application/grpc+${config.codec}`;
  const prefix = pathname.replace(/\/$/, "");
  let downloads = 0;

  return createMessageTransport({
    codec: config.codec === "json" ? jsonCodec(registry) : protoCodec,
    open(method, { header, timeoutMs, contextValues, onEnd }) {
      const onBytes = receiveListener(contextValues);
      // Compression makes an archive no smaller, and a server may compress what it sends like what it receives.
      const isDownload = isHttpBody(method.output);
      const compression = isDownload ? "none" : config.compression;
      const headers: OutgoingHttpHeaders = {
        "user-agent": USER_AGENT,
        ...(header && Object.fromEntries(new Headers(header))),
        ":method": "POST",
        ":authority": host, // Node's own lacks the brackets of an IPv6 address (RFC 3986, 3.2.2).
        ":path": `${prefix}/${method.parent.typeName}/${method.name}`,
        "content-type": contentType,
        te: "trailers", // gRPC requires it, to detect proxies that drop trailers.
      };
      if (!isDownload) {
        headers["grpc-accept-encoding"] = GZIP;
      }
      if (compression === GZIP) {
        headers["grpc-encoding"] = GZIP;
      }
      if (timeoutMs !== undefined) {
        headers["grpc-timeout"] = formatTimeout(timeoutMs);
      }
      const acceptsParts = isDownload && config.codec === "proto" && contextValues.get(acceptsPartsKey);
      downloads += isDownload ? 1 : 0;
      return startGrpcCall({
        open: sessions.request,
        headers,
        beforeSend: contextValues.get(beforeSendKey),
        maxMessageBytes,
        inParts: () => acceptsParts && downloads > MAX_WHOLE,
        compression,
        onReceive(stream) {
          sessions.notifyResponseByteRead(stream);
          onBytes();
        },
        onEnd() {
          downloads -= isDownload ? 1 : 0;
          onEnd();
        },
      });
    },
    check: () => sessions.check(),
    close: () => sessions.close(),
  });
}
