import { ConnectError } from "@connectrpc/connect";
import { Code } from "../../base/errors/code.js";
import type { ErrorCode } from "../../base/errors/error-codes.js";
import {
  BannedError,
  ConnectionError,
  FileError,
  NodeError,
  OutcomeUnknownError,
  PolicyError,
  ProtocolError,
  RequestError,
  SinkError,
  SlowConsumerError,
  TradewireError,
} from "../../base/errors/index.js";

/** gRPC's table (grpc/grpc, doc/http-grpc-status-mapping.md). Every other status is UNKNOWN. */
const CODES: ReadonlyMap<number, Code> = new Map([
  [400, Code.Internal],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented], // A wrong path. For a missing resource, the node sends an error object.
  [429, Code.Unavailable],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
]);

/**
 * The codes of statuses that an API itself sent, if google.rpc.Code (google/rpc/code.proto, "HTTP Mapping") has one code for
 * the status that is more specific than gRPC's table.
 */
const API_CODES: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [404, Code.NotFound],
  [409, Code.Aborted],
  [422, Code.InvalidArgument], // Not in code.proto: RFC 9110 has it for content that cannot be processed.
  [429, Code.ResourceExhausted],
  [499, Code.Canceled],
  [501, Code.Unimplemented],
]);

/** Returns the code of an HTTP status without a gRPC status and without a JSON object. */
export function codeOfHttpStatus(status: number): Code {
  return CODES.get(status) ?? Code.Unknown;
}

/**
 * Returns the code of an HTTP status with a JSON object that has no gRPC code: an API answered, not a proxy in front of it.
 */
export function codeOfApiStatus(status: number): Code {
  return API_CODES.get(status) ?? codeOfHttpStatus(status);
}

/**
 * Returns the HTTP status with which a service answers its own client after a failure of this library.
 *
 * The status says whose fault the failure is: 4xx that of the client's request, 5xx that of the service or of what it
 * calls. What the node refuses because of the service, such as its credentials or its rate of calls, is not the client's fault.
 *
 * @param error what was thrown; for another error than those of this library, the status is 500. Or a gRPC code, whose status
 *   is that of google.rpc.Code
 * @returns the status: 400, 403, 404, 409, 499, 500, 501, 502, 503 or 504; for a code also 401 and 429
 *
 * @example
 * const failed = (error: Error) => Response.json({ error: error.message }, { status: httpStatusOf(error) });
 * const response = await client.status().then((nodes) => Response.json(nodes), failed);
 */
export function httpStatusOf(error: unknown): number {
  if (typeof error === "number") {
    return httpStatusFromCode(error);
  }
  if (error instanceof ConnectError && error.cause instanceof TradewireError) {
    return httpStatusOf(error.cause);
  }
  if (error instanceof PolicyError) {
    return 403;
  }
  if (error instanceof OutcomeUnknownError || error instanceof ProtocolError) {
    return 502;
  }
  if (error instanceof BannedError || error instanceof SlowConsumerError) {
    return 503;
  }
  if (error instanceof ConnectionError) {
    return error.code === Code.DeadlineExceeded ? 504 : 503;
  }
  if (error instanceof NodeError) {
    return NODE_STATUSES.get(error.code) ?? httpStatusFromCode(error.code);
  }
  if (error instanceof RequestError) {
    return REQUEST_STATUSES[error.errorCode] ?? 400;
  }
  if (error instanceof FileError || error instanceof SinkError) {
    return error.code === Code.Unavailable ? 503 : 500;
  }
  return error instanceof TradewireError || error instanceof ConnectError ? httpStatusFromCode(error.code) : 500;
}

/** The statuses for invalid requests that are not the client's, or name what does not exist. */
const REQUEST_STATUSES: Readonly<Partial<Record<ErrorCode, number>>> = {
  TW_NOT_LISTED: 404,
  TW_CONFIGURATION: 500,
  TW_MISSING_PACKAGE: 500,
  TW_CHAIN_MISMATCH: 500,
  TW_INSECURE_HEADER: 500,
  TW_NOT_OVER_REST: 500,
  TW_NO_KEY: 500,
};

/** The statuses for codes of a node's answer that do not concern the service's client, or say that the node failed. */
const NODE_STATUSES: ReadonlyMap<Code, number> = new Map([
  [Code.Unauthenticated, 502],
  [Code.PermissionDenied, 502],
  [Code.ResourceExhausted, 503],
  [Code.Aborted, 503],
  [Code.Canceled, 502],
  [Code.Unknown, 502],
  [Code.Internal, 502],
  [Code.DataLoss, 502],
]);

export function httpStatusFromCode(code: Code): number {
  switch (code) {
    case Code.Canceled:
      return 499;
    case Code.InvalidArgument:
    case Code.FailedPrecondition:
    case Code.OutOfRange:
      return 400;
    case Code.Unauthenticated:
      return 401;
    case Code.PermissionDenied:
      return 403;
    case Code.NotFound:
      return 404;
    case Code.AlreadyExists:
    case Code.Aborted:
      return 409;
    case Code.ResourceExhausted:
      return 429;
    case Code.Unimplemented:
      return 501;
    case Code.Unavailable:
      return 503;
    case Code.DeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}
