import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

/** The codes by their names in gRPC, such as `NOT_FOUND`. */
const NAMES: ReadonlyMap<string, Code> = new Map([
  ...Object.entries(Code).flatMap(([name, code]): [string, Code][] =>
    typeof code === "number" ? [[name.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase(), code]] : [],
  ),
  ["CANCELLED", Code.Canceled],
]);

/** The codes of the HTTP statuses that stand in the place of a code. */
const STATUSES: ReadonlyMap<number, Code> = new Map([
  [400, Code.InvalidArgument],
  [401, Code.Unauthenticated],
  [403, Code.PermissionDenied],
  [404, Code.NotFound],
  [409, Code.Aborted],
  [416, Code.OutOfRange],
  [429, Code.ResourceExhausted],
  [499, Code.Canceled],
  [500, Code.Internal],
  [501, Code.Unimplemented],
  [503, Code.Unavailable],
  [504, Code.DeadlineExceeded],
]);

/**
 * Read the code of an error object, in each of the forms that gateways give it: `code` as gRPC's number or as the name
 * of a code, `grpc_code` as the first grpc-gateway had it, or Google's own, where `status` is the name and `code` is the
 * HTTP status.
 *
 * @param object the error object
 * @returns the code; undefined where it has none that is known
 */
export function errorCode(object: JsonObject): Code | undefined {
  const { code, grpc_code: grpcCode, status } = object;
  return numbered(code) ?? numbered(grpcCode) ?? named(status) ?? named(code) ?? STATUSES.get(Number(code));
}

/**
 * Whether an error object is of Google's own form: the HTTP status as its code, and the name of the code as its status.
 *
 * @param object the error object
 * @returns true for that form
 */
export function isGoogleError({ code, status }: JsonObject): boolean {
  return typeof code === "number" && code >= 400 && named(status) !== undefined;
}

function numbered(code: unknown): Code | undefined {
  return typeof code === "number" && code in Code ? code : undefined;
}

function named(name: unknown): Code | undefined {
  return typeof name === "string" ? NAMES.get(name.toUpperCase()) : undefined;
}
