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
