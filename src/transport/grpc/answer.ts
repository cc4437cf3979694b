import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { Code, ConnectError, decodeBinaryHeader } from "@connectrpc/connect";
import { findTrailerError, validateResponseWithCompression } from "@connectrpc/connect/protocol-grpc";
import { StatusSchema } from "../../../gen/client/google/rpc/status_pb.js";

/** The header that holds a call's status. */
const STATUS = "grpc-status";

/** What has come of an answer. */
export interface Answer {
  /** The header, once it has come. */
  header: Headers | undefined;
  readonly trailer: Headers;
  /** Whether any byte of the body has come. */
  hasBody: boolean;
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
 * Tell whether an answer holds the status of its call: in its trailer, or in its header where nothing follows that. A
 * status in front of a body says nothing of it.
 *
 * @param answer what has come
 * @returns whether it does
 */
export function hasStatus(answer: Answer): boolean {
  return statusOf(answer).has(STATUS);
}

/**
 * Find what an answer says of its call's success.
 *
 * @param answer what has come, to its end
 * @returns the error; undefined where the call has succeeded
 */
export function failureIn(answer: Answer): ConnectError | undefined {
  const { header = new Headers(), trailer } = answer;
  const status = statusOf(answer);
  if (!status.has(STATUS)) {
    return new ConnectError("the response ended without a status", Code.Internal);
  }
  const error = findTrailerError(status);
  if (status === trailer) {
    for (const [name, value] of header) {
      error?.metadata.append(name, value);
    }
  }
  return error;
}

function statusOf({ header, trailer, hasBody }: Answer): Headers {
  return header === undefined || hasBody || trailer.has(STATUS) ? trailer : header;
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

/** Drop details, and escape a message, that cannot be read: the error that they belong to would be lost. */
function mendStatus(fields: IncomingHttpHeaders): void {
  const { "grpc-status-details-bin": details, "grpc-message": message } = fields;
  try {
    decodeURIComponent(String(message));
  } catch {
    fields["grpc-message"] = encodeURIComponent(String(message));
  }
  try {
    if (typeof details === "string") {
      decodeBinaryHeader(details, StatusSchema);
    }
  } catch {
    delete fields["grpc-status-details-bin"];
  }
}

/** gRPC's codes for the codes of HTTP/2 that a stream is reset with. */
const RESETS: Readonly<Record<number, Code>> = {
  7: Code.Unavailable, // REFUSED_STREAM
  8: Code.Canceled, // CANCEL
  11: Code.ResourceExhausted, // ENHANCE_YOUR_CALM
  12: Code.PermissionDenied, // INADEQUATE_SECURITY
};

/**
 * Make the error of a stream that was reset.
 *
 * @param http2Code HTTP/2's code of the reset
 * @param cause Node's error, if it made one
 * @returns the error
 */
export function resetError(http2Code: number, cause?: Error): ConnectError {
  const code = RESETS[http2Code] ?? Code.Internal;
  return new ConnectError(`Received RST_STREAM with code ${http2Code}`, code, undefined, undefined, cause);
}
