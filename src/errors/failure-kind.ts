import { Code } from "@connectrpc/connect";
import {
  BannedError,
  ConnectionError,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  SinkError,
  type TradewireError,
} from "./index.js";

/**
 * What a failure means for who copies history. `waits`: the node or the sink could not be asked, and all wait until it
 * can be. `again`: the same part may be tried again. `final`: the part is given up, others go on. `stops`: no part can
 * fare better, or it is a mistake of the program's.
 */
export type FailureKind = "waits" | "again" | "final" | "stops";

const NODE_KINDS: ReadonlyMap<Code, FailureKind> = new Map([
  [Code.Unavailable, "waits"],
  [Code.ResourceExhausted, "waits"], // The rate limit.
  [Code.InvalidArgument, "final"],
  [Code.NotFound, "final"],
  [Code.AlreadyExists, "final"],
  [Code.FailedPrecondition, "final"],
  [Code.OutOfRange, "final"],
  [Code.Unauthenticated, "stops"],
  [Code.PermissionDenied, "stops"],
  [Code.Unimplemented, "stops"],
]);

const SINK_KINDS: ReadonlyMap<Code, FailureKind> = new Map([
  [Code.Unavailable, "waits"],
  [Code.Aborted, "again"],
  [Code.ResourceExhausted, "stops"], // The disk is full.
  [Code.Unauthenticated, "stops"],
  [Code.PermissionDenied, "stops"],
]);

/** Codes of a broken answer that comes again however often one asks. */
const FINAL_ANSWERS: ReadonlySet<Code> = new Set([
  Code.FailedPrecondition,
  Code.InvalidArgument,
  Code.ResourceExhausted,
  Code.Unimplemented,
]);

/**
 * Tell what a failure means for who copies history.
 *
 * @param error what was thrown
 * @returns its kind
 */
export function failureKind(error: unknown): FailureKind {
  if (error instanceof BannedError) {
    return "waits";
  }
  if (error instanceof ConnectionError) {
    return error.connected ? "again" : "waits";
  }
  if (error instanceof NodeError) {
    return NODE_KINDS.get(error.code) ?? "again";
  }
  if (error instanceof ProtocolError) {
    return FINAL_ANSWERS.has(error.code) ? "final" : "again";
  }
  if (isOfSink(error)) {
    return SINK_KINDS.get(error.code) ?? "final";
  }
  return error instanceof RequestError ? "final" : "stops";
}

/**
 * Tell whether what concerns no unit, such as asking for the history, may be done later.
 *
 * @param error the failure
 * @returns whether the node or the sink could not be asked, or the call was spoilt on its way
 */
export function mayPass(error: TradewireError): boolean {
  const kind = failureKind(error);
  return kind === "waits" || (kind === "again" && (error instanceof ConnectionError || error instanceof NodeError));
}

/**
 * Tell whether a failure is the sink's, and not the node's.
 *
 * @param error what was thrown
 * @returns whether it is
 */
export function isOfSink(error: unknown): error is SinkError | FileError {
  return error instanceof SinkError || error instanceof FileError;
}
