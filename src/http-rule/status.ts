import { Code } from "@connectrpc/connect";

/** gRPC's own table (grpc/grpc, doc/http-grpc-status-mapping.md). Every other status is UNKNOWN. */
const CODES: ReadonlyMap<number, Code> = new Map([
  [400, Code.Internal],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented], // A wrong path: what the node itself does not hold, it says in an error object.
  [429, Code.Unavailable],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
]);

/**
 * The codes of an API's own statuses, where google.rpc.Code (google/rpc/code.proto, "HTTP Mapping") names one code for a
 * status that says more than gRPC's table.
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

/**
 * Returns the code of an HTTP status that came without a gRPC status and without a JSON object.
 *
 * @param status the HTTP status
 * @returns the code by gRPC's table, the same over every transport
 */
export function codeOfHttpStatus(status: number): Code {
  return CODES.get(status) ?? Code.Unknown;
}

/**
 * Returns the code of an HTTP status that came with a JSON object which names no gRPC code: an API has answered, and not
 * something in front of it.
 *
 * @param status the HTTP status
 * @returns the code
 */
export function codeOfApiStatus(status: number): Code {
  return API_CODES.get(status) ?? codeOfHttpStatus(status);
}

/**
 * Map a gRPC code to the HTTP status of a gateway's answer, as grpc-gateway does.
 *
 * @param code the gRPC code of a failure
 * @returns the HTTP status
 */
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
