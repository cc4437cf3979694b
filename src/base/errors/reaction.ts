import { Code } from "./code.js";
import {
  BannedError,
  CanceledError,
  ConnectionError,
  FileError,
  NodeError,
  ProtocolError,
  RequestError,
  SinkError,
} from "./index.js";

/**
 * The consequence of a failure for a unit of work. `wait`: the node or the sink is unreachable, so every unit waits.
 * `retry`: the same unit may succeed after a backoff. `fail`: this unit fails, and others continue. `stop`: no unit can
 * succeed, or the program has a bug.
 */
type UnitReaction = "wait" | "retry" | "fail" | "stop";

/** What to do about a failure. */
export interface Reaction {
  /** Whether a call that may be repeated, or that was never sent, is made again over the same transport. */
  readonly retry: boolean;
  /** Whether a call that may be repeated, or that was never sent, falls back to another transport. */
  readonly fallBack: boolean;
  /** Whether a stream is opened again. */
  readonly resume: boolean;
  /** Whether work without a unit, such as listing segments, is repeated until its deadline. */
  readonly repeat: boolean;
  readonly unit: UnitReaction;
}

const reaction = (unit: UnitReaction, ...does: readonly ("retry" | "fallBack" | "resume" | "repeat")[]): Reaction => ({
  unit,
  retry: does.includes("retry"),
  fallBack: does.includes("fallBack"),
  resume: does.includes("resume"),
  repeat: does.includes("repeat"),
});

/** The reaction to each kind of failure. This is the only place that decides what is retried. */
const REACTIONS = {
  /** The request is invalid and was not sent. */
  "invalid request": reaction("fail"),
  /** The caller's signal was aborted. */
  canceled: reaction("stop"),
  /** The client, or the transport, was closed. */
  closed: reaction("stop"),

  /** No connection was made, so nothing was sent. */
  unreachable: reaction("wait", "retry", "fallBack", "resume", "repeat"),
  /** A proxy asks for credentials, or does not allow the connection. Nothing was sent. */
  "proxy: refused": reaction("stop", "fallBack"),
  /** An established connection or stream was lost. */
  "connection lost": reaction("retry", "retry", "fallBack", "resume", "repeat"),
  /** The call's deadline passed before the call was sent. */
  "deadline before sending": reaction("wait", "fallBack", "resume", "repeat"),
  /** The call's deadline passed after the call was sent. */
  "deadline exceeded": reaction("retry", "fallBack", "resume", "repeat"),

  /** The node has banned this address temporarily. */
  banned: reaction("wait", "repeat"),
  "node: unavailable": reaction("wait", "retry", "fallBack", "resume", "repeat"),
  /** The rate limit. */
  "node: resource exhausted": reaction("wait", "retry", "resume", "repeat"),
  "node: invalid argument": reaction("fail"),
  "node: not found": reaction("fail"),
  /** Already exists, failed precondition, out of range. They depend on the node's state, which may change during a stream. */
  "node: state": reaction("fail", "resume"),
  "node: credentials": reaction("stop"),
  "node: unimplemented": reaction("stop", "fallBack"),
  "node: failed": reaction("retry", "resume", "repeat"),

  /** The response was truncated. A lost connection can look like that. */
  "answer: truncated": reaction("retry", "retry", "fallBack", "resume"),
  /** The content of the response is corrupt. */
  "answer: damaged": reaction("retry", "fallBack", "resume"),
  "answer: broken": reaction("retry", "fallBack"),
  /** The response is not of the node's interface, or of another version of it. */
  "answer: foreign": reaction("fail", "fallBack"),
  /** The response exceeds a limit, belongs to another history, or has an impossible value. */
  "answer: refused": reaction("fail"),

  "sink: unreachable": reaction("wait", "repeat"),
  "sink: conflict": reaction("retry"),
  /** The sink is full, or refuses access. */
  "sink: unusable": reaction("stop"),
  "sink: failed": reaction("fail"),

  /** Anything else, such as a bug in the program. */
  other: reaction("stop"),
} as const satisfies Readonly<Record<string, Reaction>>;

export type FailureKind = keyof typeof REACTIONS;

const NODE_KINDS: Readonly<Partial<Record<Code, FailureKind>>> = {
  [Code.Unavailable]: "node: unavailable",
  [Code.ResourceExhausted]: "node: resource exhausted",
  [Code.InvalidArgument]: "node: invalid argument",
  [Code.NotFound]: "node: not found",
  [Code.AlreadyExists]: "node: state",
  [Code.FailedPrecondition]: "node: state",
  [Code.OutOfRange]: "node: state",
  [Code.Unauthenticated]: "node: credentials",
  [Code.PermissionDenied]: "node: credentials",
  [Code.Unimplemented]: "node: unimplemented",
};

const ANSWER_KINDS: Readonly<Partial<Record<Code, FailureKind>>> = {
  [Code.DataLoss]: "answer: damaged",
  [Code.Unimplemented]: "answer: foreign",
  [Code.FailedPrecondition]: "answer: refused",
  [Code.InvalidArgument]: "answer: refused",
  [Code.ResourceExhausted]: "answer: refused",
};

const SINK_KINDS: Readonly<Partial<Record<Code, FailureKind>>> = {
  [Code.Unavailable]: "sink: unreachable",
  [Code.Aborted]: "sink: conflict",
  [Code.ResourceExhausted]: "sink: unusable",
  [Code.Unauthenticated]: "sink: unusable",
  [Code.PermissionDenied]: "sink: unusable",
};

export function failureKind(error: unknown): FailureKind {
  if (error instanceof ConnectionError) {
    return connectionKind(error);
  }
  if (error instanceof NodeError) {
    return NODE_KINDS[error.code] ?? "node: failed";
  }
  if (error instanceof ProtocolError) {
    return error.isTruncated ? "answer: truncated" : (ANSWER_KINDS[error.code] ?? "answer: broken");
  }
  if (isSinkFailure(error)) {
    return SINK_KINDS[error.code] ?? "sink: failed";
  }
  if (error instanceof BannedError) {
    return "banned";
  }
  if (error instanceof RequestError) {
    return "invalid request";
  }
  return error instanceof CanceledError ? "canceled" : "other";
}

function connectionKind({ code, connected, isClosed }: ConnectionError): FailureKind {
  if (isClosed) {
    return "closed";
  }
  if (code === Code.DeadlineExceeded) {
    return connected ? "deadline exceeded" : "deadline before sending";
  }
  if (code === Code.Unauthenticated || code === Code.PermissionDenied) {
    return connected ? "connection lost" : "proxy: refused";
  }
  return connected ? "connection lost" : "unreachable";
}

export function reactionTo(error: unknown): Reaction {
  return REACTIONS[failureKind(error)];
}

/**
 * Returns whether it is certain that no part of a call has reached the node, so that even a call that changes state may be
 * retried.
 */
export function wasNeverSent(error: unknown): boolean {
  return error instanceof BannedError ? !error.mayHaveBeenSent : error instanceof ConnectionError && !error.connected;
}

export function isTransient(error: unknown): boolean {
  const { unit } = reactionTo(error);
  return unit === "wait" || unit === "retry";
}

export function isSinkFailure(error: unknown): error is SinkError | FileError {
  return error instanceof SinkError || error instanceof FileError;
}
