import { Code, ConnectError } from "@connectrpc/connect";
import { brokenAnswer, CUT_SHORT, HEADERS_TOO_LARGE, WITHOUT_STATUS } from "../../errors/broken-answer.js";
import { CanceledError, ConnectionError, NodeError, ProtocolError, TradewireError } from "../../errors/index.js";
import { isError } from "../../errors/is-error.js";
import {
  connectionLost,
  errorCodes,
  type NetworkFailure,
  networkFailure,
  resetByServer,
} from "../../errors/network-failure.js";
import { unwritable } from "../../errors/unwritable.js";
import { codeOfHttpStatus } from "../../http-rule/status.js";
import { errorObject } from "../../json/error-object.js";
import { CallError, type CallFailure } from "../call-failure.js";
import { codeOfForeign, foreignFailure } from "../foreign-failure.js";
import { httpOf, httpText } from "../http-answer.js";
import { isOwnStatus } from "../own-status.js";

/** The call that an error comes from. */
export interface CallContext {
  /** The transport's name in the configuration. */
  readonly transport: string;
  /** The full name of the method. */
  readonly method: string;
  /** Where the call went. */
  readonly url: string;
  /** The signal that ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the method has one message as its answer; by default not. */
  readonly hasOneAnswer?: boolean | undefined;
  /** What is left of the call's time, in milliseconds; without a limit, undefined. */
  readonly leftMs?: number | undefined;
}

/**
 * Turn any error of a transport into one of the library's errors: the same for the same failure, over every transport.
 *
 * @param reason the error that was thrown; the library's own, or one that is its cause, is kept
 * @param context the call that the error comes from; an aborted signal decides which error it is
 * @returns the error, with `transport` and `method` filled in where they were not
 */
export function callError(reason: unknown, context: CallContext): TradewireError {
  const isAborted = context.signal?.aborted === true && !isEndUnsent(reason);
  const error = isAborted ? abortedError(context.signal?.reason) : classify(reason, context);
  error.transport ??= context.transport;
  error.method ??= context.method;
  return error;
}

/**
 * Make the error of a call whose signal was aborted before anything of it was sent.
 *
 * @param reason the signal's reason
 * @returns a Connect error, for which {@link isEndUnsent} holds
 */
export function endUnsent(reason: unknown): ConnectError {
  const cause = isTimeout(reason) ? timeUp(reason, false) : new CanceledError({ cause: reason, mayHaveLeft: false });
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}

/**
 * Tell whether an error says that a call ended by its signal or its deadline, and that nothing of it was sent. The
 * signal's reason says less then.
 *
 * @param reason the error that was thrown
 * @returns whether it does
 */
export function isEndUnsent(reason: unknown): boolean {
  const own = ownError(reason);
  return own instanceof ConnectionError
    ? own.code === Code.DeadlineExceeded && !own.connected
    : own instanceof CanceledError && !own.mayHaveLeft;
}

/** The error of a call whose signal was aborted, by the signal's reason. */
function abortedError(reason: unknown): TradewireError {
  return ownError(reason) ?? (isTimeout(reason) ? timeUp(reason) : new CanceledError({ cause: reason }));
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof ConnectError
    ? reason.code === Code.DeadlineExceeded
    : isError(reason) && reason.name === "TimeoutError";
}

/**
 * Find the library's own error in an error.
 *
 * @param reason the error that was thrown
 * @returns `reason` itself, or the cause of a Connect error; undefined where neither is the library's
 */
function ownError(reason: unknown): TradewireError | undefined {
  if (reason instanceof TradewireError) {
    return reason;
  }
  return reason instanceof ConnectError && reason.cause instanceof TradewireError ? reason.cause : undefined;
}

function classify(reason: unknown, context: CallContext): TradewireError {
  const own = ownError(reason);
  if (own !== undefined) {
    return own;
  }
  const error = ConnectError.from(reason);
  if (error.metadata.has("grpc-status")) {
    return new NodeError(errorObject(error), { cause: reason, isRefusal: isOwnStatus(reason), http: httpOf(reason) });
  }
  if (errorCodes(reason).includes("HPE_HEADER_OVERFLOW")) {
    return brokenAnswer(HEADERS_TOO_LARGE, "", reason, [context.url]);
  }
  if (error instanceof CallError) {
    return publicError(error.failure, error, context);
  }
  const foreign = foreignFailure(error);
  if (foreign?.kind === "HTTP status" || foreign?.kind === "stream reset") {
    return publicError(foreign, error, context);
  }
  const failure = networkFailure(reason, context.url);
  if (failure !== undefined) {
    return connectionError(failure, context.url, reason);
  }
  return foreign === undefined ? unknownError(error, context.url) : publicError(foreign, error, context);
}

/** HTTP/2's code of a stream that is no longer wanted (RFC 9113, 7). `node:http2` is not loaded for it. */
const CANCEL = 8;

/** The library's error for what has ended a call. */
function publicError(failure: CallFailure, error: ConnectError, context: CallContext): TradewireError {
  const { url, leftMs = 1, hasOneAnswer = false } = context;
  switch (failure.kind) {
    case "HTTP status": {
      const { status } = failure;
      const http = { status, location: error.metadata.get("location") };
      return new NodeError(
        { code: codeOfHttpStatus(status), message: httpText(http), details: [] },
        { cause: error, http },
      );
    }
    case "stream reset":
      // With CANCEL, the server, which has the same limit of time, was first.
      return failure.http2Code === CANCEL && leftMs <= 0
        ? timeUp(error)
        : connectionError(resetByServer(failure.http2Code), url, error);
    case "deadline exceeded":
      return timeUp(error);
    case "missing status":
      return brokenAnswer(hasOneAnswer ? WITHOUT_STATUS : CUT_SHORT, "", error, [url]);
    case "broken answer":
      return brokenAnswer(failure.answer, "", error, [url]);
    case "unwritable request":
      return unwritable(error);
  }
}

/** The library's error for one of another library, by its code. */
function unknownError(error: ConnectError, url: string): TradewireError {
  switch (error.code) {
    case Code.DeadlineExceeded:
      return timeUp(error);
    case Code.Canceled:
    case Code.Aborted:
      return connectionError(connectionLost(), url, error);
    default:
      return protocolError(codeOfForeign(error.code), error.rawMessage, url, error);
  }
}

function connectionError(failure: NetworkFailure, url: string, cause: unknown): ConnectionError {
  const { summary, connected, advice, code = Code.Unavailable } = failure;
  return new ConnectionError(summary, { code, advice, connected, cause, notes: [url] });
}

function protocolError(code: Code, summary: string, url: string, cause: ConnectError): ProtocolError {
  return new ProtocolError(summary, {
    code,
    notes: [url],
    advice: "Check that the URL is the node's own and of this transport: something else may have answered.",
    cause,
  });
}

function timeUp(cause: unknown, connected = true): ConnectionError {
  return new ConnectionError(`the time for the call was up${connected ? "" : " before it was its turn to be sent"}`, {
    code: Code.DeadlineExceeded,
    advice: connected
      ? "Allow more time (timeouts.callMs, timeouts.idleMs, or the call's own), or check why the node is slow."
      : "Nothing was sent. Allow more time (timeouts.callMs, or the call's own), or make fewer calls at once.",
    connected,
    cause,
  });
}
