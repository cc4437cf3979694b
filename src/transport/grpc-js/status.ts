import { fromBinary } from "@bufbuild/protobuf";
import { appendHeaders, Code, ConnectError } from "@connectrpc/connect";
import type { StatusObject } from "@grpc/grpc-js";
import { type Status, StatusSchema } from "../../../gen/client/google/rpc/status_pb.js";
import { COMPRESSED } from "../../errors/broken-answer.js";
import { whileConnecting } from "../../errors/network-failure.js";
import { brokenAnswerError, CallError } from "../call-failure.js";
import { markOwnStatus } from "../own-status.js";
import { toHeaders } from "./metadata.js";

/**
 * The messages of grpc-js for calls that failed on this side after the response had begun. Such a status has the same
 * form as one from trailers, so only the text tells them apart; test/transport/grpc-js.test.ts checks these texts.
 */
const LOCAL = new RegExp(
  `^(?:${[
    "Received RST_STREAM with code \\d+.*",
    "Received HTTP status code \\d+",
    "Received message larger than max \\(\\d+ vs \\d+\\)",
    "Received message that decompresses to a size larger than \\d+",
    "Failed to decompress (?:gzip|deflate)-encoded message",
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

/** HTTP/2's error codes for which grpc-js has words. */
const RESETS: readonly (readonly [words: string, http2Code: number])[] = [
  ["Stream refused by server", 7],
  ["Call cancelled", 8],
  ["Bandwidth exhausted or memory limit exceeded", 11],
  ["Protocol not secure enough", 12],
];

/** The codes of Node's errors, by the message, which is all that grpc-js keeps. */
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
 * Make the error of a call that grpc-js ended with a status other than OK.
 *
 * The error of the node's own status has `grpc-status` in its metadata, as with Connect's transports; the error of a
 * failure on this side has not. Trailers that are not empty came from the node. With empty trailers and no header
 * nothing came from it, since a response of trailers only has at least a content type. With a header, {@link LOCAL}
 * tells.
 *
 * @param status the status that grpc-js ended the call with
 * @param header the response's header, if it came
 * @param hasMessage whether a message, or a part of one, has come
 * @returns the error; the cause of a failure of the network has the code of Node's error
 */
export function statusError(status: StatusObject, header: Headers | undefined, hasMessage = false): ConnectError {
  if (typeof status.details !== "string") {
    // For a message that it cannot decompress, grpc-js gives no text.
    return brokenAnswerError(COMPRESSED);
  }
  const trailer = toHeaders(status.metadata);
  const http = /^Received HTTP status code (\d+)$/.exec(status.details)?.[1];
  if (http !== undefined) {
    return http === "200" ? withoutStatus() : new CallError({ kind: "HTTP status", status: Number(http) }, { header });
  }
  if ([...trailer].length === 0 && (header === undefined || LOCAL.test(status.details))) {
    return localError(status);
  }
  const error = nodeError(status, trailer, header);
  return hasMessage ? error : markOwnStatus(error);
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
  const whole = statusWithDetails(status);
  const error = new ConnectError(whole?.message ?? decodeReserved(status.details), code, metadata);
  error.details = (whole?.details ?? []).map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  return error;
}

function statusWithDetails({ metadata }: StatusObject): Status | undefined {
  const [bytes] = metadata.get("grpc-status-details-bin");
  if (!Buffer.isBuffer(bytes)) {
    return undefined;
  }
  try {
    return fromBinary(StatusSchema, bytes);
  } catch {
    return undefined; // The status is usable without its details.
  }
}

/** Undo the escapes of `; / ? : @ & = + $ , #` in a message: some servers make them, and grpc-js leaves them. */
function decodeReserved(message: string): string {
  return message.replace(/%(?:2[346BCF]|3[ABDF]|40)/gi, decodeURIComponent);
}

function localError(status: StatusObject): ConnectError {
  const { details } = status;
  if (/^Received RST_STREAM with code 0\b/.test(details)) {
    return withoutStatus();
  }
  const last = /.*Last error: (?:Error: )?(.*?)(?: \(\d{4}-[-\d:.TZ]+\))?(?:\. Resolution note:.*)?$/s.exec(
    details,
  )?.[1];
  const http2Code = resetCode(details);
  if (http2Code !== undefined) {
    const cause = Object.assign(new Error(details), { code: "ERR_HTTP2_STREAM_ERROR" });
    return new CallError({ kind: "stream reset", http2Code }, { cause });
  }
  const message = last === "undefined" ? "no connection through the proxy" : (last ?? details); // grpc-js has no text.
  const nodeCode = nodeCodeOf(message);
  const coded = nodeCode === undefined ? undefined : Object.assign(new Error(message), { code: nodeCode });
  const isOfConnecting =
    last !== undefined ||
    /^(?:Name resolution failed|No connection established|Failed to start HTTP\/2 stream)/.test(details);
  const cause = coded !== undefined && isOfConnecting ? whileConnecting(coded) : coded;
  return new ConnectError(message, codeOf(status), undefined, undefined, cause);
}

/** The code of a stream that the server has reset, and not grpc-js for a failure of its own. */
function resetCode(details: string): number | undefined {
  const digits = /^Received RST_STREAM with code (\d+)(?!\d| triggered)/.exec(details)?.[1];
  return digits === undefined ? RESETS.find(([text]) => text === details)?.[1] : Number(digits);
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
