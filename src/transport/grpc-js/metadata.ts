import { encodeBinaryHeader } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import { RequestError } from "../../errors/index.js";

/** Headers of an HTTP/1 connection. HTTP/2 refuses requests that have them. */
const OF_A_CONNECTION = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Turn headers into gRPC metadata. The values of `-bin` keys, base64 in headers, become bytes.
 *
 * @param headers the request's headers; those of an HTTP/1 connection are left out
 * @returns the metadata
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

/**
 * Turn gRPC metadata into headers.
 *
 * @param metadata the metadata
 * @returns the headers, with bytes as base64
 */
export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [key, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      headers.append(key, typeof value === "string" ? value : encodeBinaryHeader(value));
    }
  }
  return headers;
}
