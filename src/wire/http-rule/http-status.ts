import { Code } from "@connectrpc/connect";

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
