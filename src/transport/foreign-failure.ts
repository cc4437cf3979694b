import { Code, type ConnectError } from "@connectrpc/connect";
import {
  type BrokenAnswer,
  COMPRESSED,
  CUT_SHORT,
  EMPTY,
  notOfTheInterface,
  SEVERAL,
  tooLarge,
  UNFITTING,
} from "../errors/broken-answer.js";
import type { CallFailure } from "./call-failure.js";

/**
 * Find what has ended a call of another library: Connect's transports, and its parts that this library uses, say it in
 * their messages alone. This is the only place that reads those.
 *
 * @param error the error that the library has thrown
 * @returns the failure; undefined where the message is none of those that are known
 */
export function foreignFailure(error: ConnectError): CallFailure | undefined {
  const { rawMessage: message } = error;
  const status = /^HTTP (\d{3})$/.exec(message)?.[1];
  if (status !== undefined) {
    return { kind: "HTTP status", status: Number(status) };
  }
  const http2Code = resetCode(message);
  if (http2Code !== undefined) {
    return { kind: "stream reset", http2Code };
  }
  if (/^(?:serialize binary: |cannot encode )/.test(message)) {
    return { kind: "unwritable request" };
  }
  if (/missing status/.test(message)) {
    return { kind: "missing status" };
  }
  const answer = brokenBy(message);
  return answer && { kind: "broken answer", answer };
}

/** HTTP/2's names of the codes that a stream is reset with, by their number (RFC 9113, 7). */
const RESET_NAMES = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
];

/** The code of a stream that the server has reset, in the words of Node and of Connect. */
function resetCode(message: string): number | undefined {
  const [, name, hex] =
    /^(?:Stream closed with error code NGHTTP2_(\w+)|http\/2 stream closed with error code \w+ \(0x([0-9a-f]+)\))/.exec(
      message,
    ) ?? [];
  if (name !== undefined) {
    const code = RESET_NAMES.indexOf(name);
    return code < 0 ? undefined : code;
  }
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

function brokenBy(message: string): BrokenAnswer | undefined {
  const contentType = /^unsupported content type (.*)/.exec(message)?.[1];
  if (contentType !== undefined) {
    return notOfTheInterface(contentType === "null" ? "" : contentType);
  }
  if (/larger than/i.test(message)) {
    // The last number is the limit; the size, if the message has one, precedes it.
    const [limit, size] = (message.match(/\d+/g) ?? []).map(Number).reverse();
    return tooLarge("limits.maxMessageBytes", limit, size);
  }
  return BROKEN.find(([words]) => words.test(message))?.[1];
}

const BROKEN: readonly (readonly [words: RegExp, answer: BrokenAnswer])[] = [
  [/promised \d+ bytes|premature end|incomplete envelope/, CUT_SHORT],
  [/missing output message/, EMPTY],
  [/extra output message/, SEVERAL],
  [/unsupported response encoding|how to (?:un|de)compress/, COMPRESSED],
  [/^parse binary|premature EOF|^(?:cannot|invalid|illegal|malformed) |\bJSON\b/, UNFITTING],
];

/**
 * Choose the code for a fault of an answer that is not known: neither the caller's argument nor unknown.
 *
 * @param code Connect's code
 * @returns the code
 */
export function codeOfForeign(code: Code): Code {
  switch (code) {
    case Code.InvalidArgument:
      return Code.DataLoss; // Connect gives this code to a stream that ends inside a message.
    case Code.Unknown:
      return Code.Internal; // Connect gives this code to a content type that is not gRPC's.
    default:
      return code;
  }
}
