import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { type ConnectError, decodeBinaryHeader } from "@connectrpc/connect";
import { findTrailerError, validateResponseWithCompression } from "@connectrpc/connect/protocol-grpc";
import { StatusSchema } from "../../../gen/client/google/rpc/status_pb.js";
import { decodeMessage } from "../../json/error-object.js";
import { CallError } from "../call-failure.js";
import { markOwnStatus } from "../own-status.js";

/** The headers that hold a call's status. */
const STATUS = "grpc-status";
const MESSAGE = "grpc-message";
const DETAILS = "grpc-status-details-bin";
const SUCCESS = "0";

/** What has come of an answer. */
export interface Answer {
  /** The header, once it has come. */
  header: Headers | undefined;
  readonly trailer: Headers;
  /** Whether a body or a trailer has come. */
  isFollowed: boolean;
  /** Whether bytes of a body have come. */
  hasBody: boolean;
  /** Whether the answer's own end has come, in a header or a trailer: a stream that is reset behind it lacks nothing. */
  isWhole: boolean;
}

/**
 * Read the header of an answer.
 *
 * @param fields the header, as Node gives it
 * @returns the header
 * @throws ConnectError where it is not that of gRPC without compression
 */
export function readHeader(fields: IncomingHttpHeaders & IncomingHttpStatusHeader): Headers {
  const header = new Headers();
  addFields(header, fields);
  validateResponseWithCompression([], fields[":status"] ?? 0, header);
  return header;
}

/**
 * Find what an answer says of its call's success: in its trailer, or in its header where nothing follows that. A status in
 * front of a body says nothing of it.
 *
 * @param answer what has come, to its end
 * @returns the error; undefined where the call has succeeded
 */
export function failureIn(answer: Answer): ConnectError | undefined {
  const { header = new Headers(), trailer, isFollowed } = answer;
  const status = isFollowed ? trailer : header;
  if (!status.has(STATUS)) {
    return new CallError({ kind: "missing status" });
  }
  const error = findTrailerError(status);
  if (status === trailer) {
    for (const [name, value] of header) {
      error?.metadata.append(name, value);
    }
  }
  return error === undefined || answer.hasBody ? error : markOwnStatus(error);
}

/**
 * Add the fields of a header or a trailer to headers, with a status that can be read.
 *
 * @param headers the headers
 * @param fields the fields, as Node gives them
 */
export function addFields(headers: Headers, fields: IncomingHttpHeaders): void {
  mendStatus(fields);
  for (const [name, value] of Object.entries(fields)) {
    if (!name.startsWith(":") && value !== undefined) {
      for (const each of [value].flat()) {
        headers.append(name, each);
      }
    }
  }
}

/**
 * Escape a message, and drop details, that cannot be read: the error that they belong to would be lost. So are details
 * that contradict the status, unless they tell of the only failure.
 */
function mendStatus(fields: IncomingHttpHeaders): void {
  const { [STATUS]: status, [DETAILS]: details, [MESSAGE]: message } = fields;
  if (typeof message === "string") {
    fields[MESSAGE] = encodeURIComponent(decodeMessage(message));
  }
  try {
    const code = typeof details === "string" ? decodeBinaryHeader(details, StatusSchema).code : status;
    if (status !== SUCCESS && String(code) !== status) {
      delete fields[DETAILS];
    }
  } catch {
    delete fields[DETAILS];
  }
}
