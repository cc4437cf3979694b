import { Code } from "@connectrpc/connect";

/** The codes of HTTP statuses that did not come from gRPC: gRPC's own table, and what a client can do about the others. */
const CODES: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented], // A wrong path: what the node itself does not hold, it says in an error object.
  [405, Code.Unimplemented],
  [408, Code.Unavailable],
  [409, Code.Aborted],
  [413, Code.InvalidArgument],
  [422, Code.InvalidArgument],
  [429, Code.ResourceExhausted],
  [502, Code.Unavailable],
  [503, Code.Unavailable],
  [504, Code.Unavailable],
]);

/**
 * Find the code of an HTTP status that came without a gRPC status or an error object.
 *
 * @param status the HTTP status
 * @returns the code, the same over every transport
 */
export function codeOfHttpStatus(status: number): Code {
  return CODES.get(status) ?? Code.Unknown;
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
