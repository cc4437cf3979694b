import { appendHeaders, ConnectError, encodeBinaryHeader } from "@connectrpc/connect";
import { Metadata, type StatusObject, status as statusCode } from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../../../gen/client/google/rpc/status_pb.js";
import { BROKEN_COMPRESSION, UNEXPECTED_COMPRESSION } from "../../../base/errors/call-errors.js";
import { Code } from "../../../base/errors/code.js";
import { RequestError } from "../../../base/errors/index.js";
import { markConnecting } from "../../../base/errors/network-failure.js";
import { tryDecode } from "../../../base/input/decode.js";
import { addFacts, brokenAnswerError, CallError, deadlineError, unsentError } from "../call-failure.js";
import type { HeaderInit } from "../transport-types.js";

const DECOMPRESSION_FAILED = /Failed to decompress (?:gzip|deflate)-encoded message/;

/**
 * The messages of grpc-js for calls that failed on this side after the response had begun. Such a status has the same
 * format as one from trailers, and only the message distinguishes them; test/wire/transport/grpc-js/grpc-js-status.test.ts
 * checks these messages.
 */
const LOCAL_MESSAGE = new RegExp(
  `^(?:${[
    "Received RST_STREAM with code \\d+.*",
    "Received HTTP status code \\d+",
    "Received message larger than max \\(\\d+ vs \\d+\\)",
    "Received message that decompresses to a size larger than \\d+",
    DECOMPRESSION_FAILED.source,
    "Stream refused by server",
    "Connection dropped",
    "Call cancelled",
    "Bandwidth exhausted or memory limit exceeded",
    "Protocol not secure enough",
    "Deadline exceeded after .*",
    "Write error: .*",
    "Write failed with error .*",
    "(?:read|write) E[A-Z]+",
  ].join("|")})$`,
  "s",
);

/** The HTTP/2 error codes for which grpc-js has a message. */
const RESET_MESSAGES: readonly (readonly [message: string, http2Code: number])[] = [
  ["Stream refused by server", 7],
  ["Call cancelled", 8],
  ["Bandwidth exhausted or memory limit exceeded", 11],
  ["Protocol not secure enough", 12],
];

/** The codes of Node's errors by their message, which is all that grpc-js retains. */
const NODE_CODES: readonly (readonly [message: RegExp, code: string])[] = [
  [/^Name resolution failed/, "ENOTFOUND"],
  [/^Received RST_STREAM/, "ERR_HTTP2_STREAM_ERROR"],
  [
    /^Failed to start HTTP\/2 stream|^Connection dropped|Socket closed|socket disconnected|Failed to connect|^Connection closed/,
    "ECONNRESET",
  ],
  [/Protocol error/, "ERR_HTTP2_ERROR"],
  [/does not match certificate's altnames/, "ERR_TLS_CERT_ALTNAME_INVALID"],
  [/self-signed certificate in certificate chain/, "SELF_SIGNED_CERT_IN_CHAIN"],
  [/self-signed certificate/, "DEPTH_ZERO_SELF_SIGNED_CERT"],
  [/unable to verify the first certificate/, "UNABLE_TO_VERIFY_LEAF_SIGNATURE"],
  [/unable to get (?:local )?issuer certificate/, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
  [/certificate has expired/, "CERT_HAS_EXPIRED"],
];

/**
 * Returns the error of a call that grpc-js ended with a status other than OK.
 *
 * As with Connect's transports, the error of a status that the node sent has `grpc-status` in its metadata; the error of a local
 * failure does not. Trailers that are not empty came from the node. If the trailers are empty, only the text is left, which a
 * node can imitate: so only a call without an HTTP/2 stream counts as one for which no connection was made.
 */
export function statusError(
  status: StatusObject,
  header: Headers | undefined,
  { hasMessage = false, wasStarted = false }: { readonly hasMessage?: boolean; readonly wasStarted?: boolean } = {},
): ConnectError {
  if (typeof status.details !== "string") {
    // grpc-js has no text for a message that it cannot decompress.
    return brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
  const trailer = toHeaders(status.metadata);
  const http = /^Received HTTP status code (\d+)$/.exec(status.details)?.[1];
  if (http !== undefined) {
    return http === "200" ? withoutStatus() : new CallError({ kind: "HTTP status", status: Number(http) }, { header });
  }
  if ([...trailer].length === 0 && (header === undefined || LOCAL_MESSAGE.test(status.details))) {
    return localError(status, wasStarted);
  }
  const error = nodeError(status, trailer, header);
  return hasMessage ? error : addFacts(error, { isNodeStatus: true });
}

function codeOf({ code }: StatusObject): Code | undefined {
  const number: number = code;
  return isCode(number) ? number : undefined;
}

function isCode(number: number): number is Code {
  return number in Code;
}

function nodeError(status: StatusObject, trailer: Headers, header = new Headers()): ConnectError {
  const metadata = appendHeaders(trailer, header);
  metadata.set("grpc-status", String(status.code));
  const code = codeOf(status) ?? Code.Unknown;
  const richStatus = statusWithDetails(status);
  const error = new ConnectError(richStatus?.message ?? decodeReserved(status.details), code, metadata);
  error.details = (richStatus?.details ?? []).map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  return error;
}

function statusWithDetails({ metadata }: StatusObject): Status | undefined {
  const [bytes] = metadata.get("grpc-status-details-bin");
  return Buffer.isBuffer(bytes) ? tryDecode(StatusSchema, bytes) : undefined;
}

/** Unescapes `; / ? : @ & = + $ , #` in a message. Some servers escape them, and grpc-js does not unescape them. */
function decodeReserved(message: string): string {
  return message.replace(/%(?:2[346BCF]|3[ABDF]|40)/gi, decodeURIComponent);
}

function localError(status: StatusObject, wasStarted: boolean): ConnectError {
  const { details } = status;
  if (/^Received RST_STREAM with code 0\b/.test(details)) {
    return withoutStatus();
  }
  if (DECOMPRESSION_FAILED.test(details)) {
    return brokenAnswerError(BROKEN_COMPRESSION);
  }
  if (status.code === statusCode.DEADLINE_EXCEEDED && !wasStarted) {
    return unsentError(deadlineError()); // Its timer may be ahead of the call's own.
  }
  const last = /^.*Last error: (?:Error: )?(.*?)(?: \(\d{4}-[-\d:.TZ]+\))?(?:\. Resolution note:.*)?$/s.exec(
    details,
  )?.[1];
  const http2Code = resetCode(details);
  if (http2Code !== undefined) {
    const cause = Object.assign(new Error(details), { code: "ERR_HTTP2_STREAM_ERROR" });
    return new CallError({ kind: "stream reset", http2Code }, { cause });
  }
  // grpc-js has no message for a proxy that refuses the connection.
  const message = last === "undefined" ? "no connection through the proxy" : (last ?? details);
  const nodeCode = nodeCodeOf(message);
  const reason = Object.assign(new Error(message), nodeCode !== undefined && { code: nodeCode });
  const isConnecting =
    !wasStarted &&
    (last !== undefined ||
      /^(?:Name resolution failed|No connection established|Failed to start HTTP\/2 stream)/.test(details));
  const cause = isConnecting ? markConnecting(reason) : nodeCode === undefined ? undefined : reason;
  return new ConnectError(message, codeOf(status), undefined, undefined, cause);
}

/** Returns the HTTP/2 error code of a stream that the server has reset, rather than grpc-js. */
function resetCode(details: string): number | undefined {
  const digits = /^Received RST_STREAM with code (\d+)(?!\d| triggered)/.exec(details)?.[1];
  return digits === undefined ? RESET_MESSAGES.find(([text]) => text === details)?.[1] : Number(digits);
}

function nodeCodeOf(message: string): string | undefined {
  const system = /\b(?:connect|read|write) (E[A-Z]+)\b/.exec(message)?.[1];
  const openssl = /:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  return (
    system ??
    (openssl && `ERR_SSL_${openssl.toUpperCase().replaceAll(" ", "_")}`) ??
    NODE_CODES.find(([text]) => text.test(message))?.[1]
  );
}

function withoutStatus(): CallError {
  return new CallError({ kind: "missing status" });
}

/** Headers of an HTTP/1 connection. HTTP/2 rejects requests with them. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "host",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Converts headers to gRPC metadata. The values of `-bin` keys, base64 in headers, become bytes.
 *
 * @throws {@link RequestError} if a value has characters other than printable ASCII
 */
export function toMetadata(headers: HeaderInit): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of headers === undefined ? [] : new Headers(headers)) {
    if (CONNECTION_HEADERS.has(key)) {
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
        advice: "Use printable ASCII, or a name that ends in -bin with a base64 value.",
        cause,
      });
    }
  }
  return metadata;
}

export function toHeaders(metadata: Metadata): Headers {
  const headers = new Headers();
  for (const [key, values] of Object.entries(metadata.toJSON())) {
    for (const value of values) {
      headers.append(key, typeof value === "string" ? value : encodeBinaryHeader(value));
    }
  }
  return headers;
}
