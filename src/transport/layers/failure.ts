import { Code, ConnectError } from "@connectrpc/connect";
import {
  type BrokenAnswer,
  brokenAnswer,
  COMPRESSED,
  CUT_SHORT,
  EMPTY,
  HEADERS_TOO_LARGE,
  notOfTheInterface,
  TOO_LARGE,
  UNFITTING,
} from "../../errors/broken-answer.js";
import {
  CanceledError,
  ConnectionError,
  type ErrorObject,
  NodeError,
  ProtocolError,
  TradewireError,
} from "../../errors/index.js";
import { connectionLost, errorCodes, type NetworkFailure, networkFailure } from "../../errors/network-failure.js";
import { errorObject } from "../../json/error-object.js";

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
}

/**
 * Turn whatever a transport threw into one of the library's errors, the same for every transport.
 *
 * An error of the library's own is given back as it is; in either case it learns which call it comes from.
 */
export function callError(reason: unknown, context: CallContext): TradewireError {
  const error = context.signal?.aborted === true ? abortedError(context.signal.reason) : classify(reason, context.url);
  error.transport ??= context.transport;
  error.method ??= context.method;
  return error;
}

/** The error of a call whose signal was aborted: for what reason, the signal tells. */
function abortedError(reason: unknown): TradewireError {
  const own = ownError(reason);
  if (own !== undefined) {
    return own;
  }
  const isTimeout = reason instanceof Error && reason.name === "TimeoutError";
  if (isTimeout || (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded)) {
    return timeUp(reason);
  }
  return new CanceledError({ cause: reason });
}

/** The library's own error that a reason is, or is caused by. */
export function ownError(reason: unknown): TradewireError | undefined {
  if (reason instanceof TradewireError) {
    return reason;
  }
  return reason instanceof ConnectError && reason.cause instanceof TradewireError ? reason.cause : undefined;
}

function classify(reason: unknown, url: string): TradewireError {
  const own = ownError(reason);
  if (own !== undefined) {
    return own;
  }
  const error = ConnectError.from(reason);
  // Only what came over the wire has a status; Connect names an HTTP status in the message alone.
  if (error.metadata.has("grpc-status") || /^HTTP \d{3}$/.test(error.rawMessage)) {
    return new NodeError(withRedirect(errorObject(error), error.metadata), reason);
  }
  if (errorCodes(reason).includes("HPE_HEADER_OVERFLOW")) {
    return brokenAnswer(HEADERS_TOO_LARGE, ` (${url})`, reason);
  }
  const failure = networkFailure(reason);
  if (failure !== undefined) {
    return connectionError(failure, url, reason);
  }
  const { rawMessage } = error;
  const broken = brokenBy(rawMessage);
  if (broken !== undefined) {
    return brokenAnswer(broken, ` (${url})`, reason);
  }
  if (error.code === Code.DeadlineExceeded) {
    return timeUp(reason);
  }
  if (error.code === Code.Canceled || error.code === Code.Aborted || /^http\/2 stream closed/.test(rawMessage)) {
    return connectionError(connectionLost(), url, reason);
  }
  return protocolError(protocolCode(error.code), rawMessage, url, error);
}

/** What is wrong with an answer, by the words of those who noticed: they give it no code of its own. */
function brokenBy(message: string): BrokenAnswer | undefined {
  const contentType = /^unsupported content type (.*)$/.exec(message)?.[1];
  if (contentType !== undefined) {
    return notOfTheInterface(contentType === "(none)" || contentType === "null" ? "" : contentType);
  }
  return BROKEN.find(([words]) => words.test(message))?.[1];
}

const BROKEN: readonly (readonly [words: RegExp, broken: BrokenAnswer])[] = [
  [/missing status|without a status|promised \d+ bytes|premature end/, CUT_SHORT],
  [/missing output message|has no message/, EMPTY],
  [/larger than/i, TOO_LARGE],
  [/compressed in a way|unsupported response encoding|how to (?:un|de)compress/, COMPRESSED],
  [/^parse binary|premature EOF|^(?:cannot|invalid|illegal|malformed) |\bJSON\b/, UNFITTING],
];

/** The code of what is wrong with an answer: not the caller's argument, and not unknown. */
function protocolCode(code: Code): Code {
  switch (code) {
    case Code.InvalidArgument:
      return Code.DataLoss; // Connect's for a stream that ends inside a message.
    case Code.Unknown:
      return Code.Internal; // Connect's for a content type that is not gRPC's.
    default:
      return code;
  }
}

function connectionError({ summary, connected, advice }: NetworkFailure, url: string, cause: unknown): ConnectionError {
  return new ConnectionError(`${summary} (${url})`, { code: Code.Unavailable, advice, connected, cause });
}

function protocolError(code: Code, summary: string, url: string, cause: ConnectError): ProtocolError {
  return new ProtocolError(`${summary} (${url})`, {
    code,
    advice: "Check that the URL is the node's own and of this transport: something else may have answered.",
    cause,
  });
}

function timeUp(cause: unknown): ConnectionError {
  return new ConnectionError("the time for the call was up", {
    code: Code.DeadlineExceeded,
    advice: "Allow more time (timeouts.callMs, timeouts.idleMs, or the call's own), or check why the node is slow.",
    connected: true,
    cause,
  });
}

/** An HTTP status in an error object's place says where it redirects to: nothing follows it. */
function withRedirect(object: ErrorObject, header: Headers): ErrorObject {
  const isStatus = /^HTTP \d{3}$/.test(object.message);
  return isStatus ? { ...object, message: `${object.message}${redirect(header)}` } : object;
}

/** Where a response redirects to, as a message says it. */
export function redirect(header: Headers): string {
  const location = header.get("location");
  return location === null ? "" : `, a redirect to ${JSON.stringify(location.slice(0, 200))}, which is not followed`;
}
