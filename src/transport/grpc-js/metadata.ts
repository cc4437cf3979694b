import { encodeBinaryHeader } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import { RequestError } from "../../errors/index.js";

/** Headers of one HTTP/1 connection: HTTP/2 knows none, and refuses a request that has one. */
const OF_A_CONNECTION = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Headers as gRPC metadata: the values of `-bin` keys, base64 in headers, are bytes.
 *
 * @throws {@link RequestError} where a value holds more than printable ASCII
 */
export function toMetadata(headers: Headers): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of headers) {
    if (OF_A_CONNECTION.has(key)) {
      continue;
    }
    if (key.endsWith("-bin")) {
      for (const base64 of value.split(",")) {
        metadata.add(key, Buffer.from(base64, "base64"));
      }
      continue;
    }
    try {
      metadata.add(key, value);
    } catch (cause) {
      throw new RequestError(`the header ${key} cannot be sent as gRPC metadata`, {
        advice: "Use printable ASCII, or a name that ends in -bin and a value in base64.",
        cause,
      });
    }
  }
  return metadata;
}

/** gRPC metadata as headers: bytes are base64. */
export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [key, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      headers.append(key, typeof value === "string" ? value : encodeBinaryHeader(value));
    }
  }
  return headers;
}
