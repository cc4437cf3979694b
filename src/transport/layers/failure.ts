import { Code, ConnectError } from "@connectrpc/connect";
import {
  type BrokenAnswer,
  brokenAnswer,
  COMPRESSED,
  CUT_SHORT,
  EMPTY,
  HEADERS_TOO_LARGE,
  notOfTheInterface,
  SEVERAL,
  tooLarge,
  UNFITTING,
  WITHOUT_STATUS,
} from "../../errors/broken-answer.js";
import {
  CanceledError,
  ConnectionError,
  type ErrorObject,
  NodeError,
  ProtocolError,
  TradewireError,
} from "../../errors/index.js";
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

function classify(reason: unknown, { url, leftMs = 1, hasOneAnswer = false }: CallContext): TradewireError {
  const own = ownError(reason);
  if (own !== undefined) {
    return own;
  }
  const error = ConnectError.from(reason);
  // Only an answer of the server has a status; Connect names an HTTP status in the message alone.
  const http = /^HTTP (\d{3})$/.exec(error.rawMessage)?.[1];
  if (http !== undefined || error.metadata.has("grpc-status")) {
    const object = withRedirect(errorObject(error), error.metadata);
    return http === undefined
      ? new NodeError(object, reason, "", isOwnStatus(reason))
      : new NodeError({ ...object, code: codeOfHttpStatus(Number(http)) }, reason);
  }
  if (errorCodes(reason).includes("HPE_HEADER_OVERFLOW")) {
    return brokenAnswer(HEADERS_TOO_LARGE, ` (${url})`, reason);
  }
  const reset = resetCode(error);
  if (reset === RESET_NAMES.indexOf("CANCEL") && leftMs <= 0) {
    return timeUp(reason); // The server, which has the same limit, was first.
  }
  const failure = reset === undefined ? networkFailure(reason, url) : resetByServer(reset);
  if (failure !== undefined) {
    return connectionError(failure, url, reason);
  }
  const { rawMessage } = error;
  if (/^(?:serialize binary: |cannot encode )/.test(rawMessage)) {
    return unwritable(reason);
  }
  const broken = brokenBy(rawMessage, hasOneAnswer);
  if (broken !== undefined) {
    return brokenAnswer(broken, ` (${url})`, reason);
  }
  if (error.code === Code.DeadlineExceeded) {
    return timeUp(reason);
  }
  if (error.code === Code.Canceled || error.code === Code.Aborted) {
    return connectionError(connectionLost(), url, reason);
  }
  return protocolError(protocolCode(error.code), rawMessage, url, error);
}

/** HTTP/2's names of the codes that a stream is reset with, by their number. */
const RESET_NAMES = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
];

/** HTTP/2's code of a stream that the server has reset; the libraries tell it in their messages alone. */
function resetCode({ rawMessage }: ConnectError): number | undefined {
  const [, name, hex, decimal] =
    /^(?:Stream closed with error code NGHTTP2_(\w+)|http\/2 stream closed with error code \w+ \(0x([0-9a-f]+)\)|Received RST_STREAM with code (\d+)(?! triggered))/.exec(
      rawMessage,
    ) ?? [];
  if (name !== undefined) {
    const code = RESET_NAMES.indexOf(name);
    return code < 0 ? undefined : code;
  }
  const [digits, radix] = hex === undefined ? [decimal, 10] : [hex, 16];
  return digits === undefined ? undefined : Number.parseInt(digits, radix);
}

/** Find the fault of an answer by the message: Connect and grpc-js give it no code of its own. */
function brokenBy(message: string, hasOneAnswer: boolean): BrokenAnswer | undefined {
  const contentType = /^unsupported content type (.*)/.exec(message)?.[1];
  if (contentType !== undefined) {
    return notOfTheInterface(contentType === "(none)" || contentType === "null" ? "" : contentType);
  }
  if (/missing status|without a status/.test(message)) {
    return hasOneAnswer ? WITHOUT_STATUS : CUT_SHORT;
  }
  if (/larger than/i.test(message)) {
    // In the words of `grpc` and of grpc-js, the size comes first, where it is told, and then the limit.
    const [limit, size] = (message.match(/\d+/g) ?? []).map(Number).reverse();
    return tooLarge("limits.maxMessageBytes", limit, size);
  }
  return BROKEN.find(([words]) => words.test(message))?.[1];
}

const BROKEN: readonly (readonly [words: RegExp, broken: BrokenAnswer])[] = [
  [/promised \d+ bytes|premature end|incomplete envelope/, CUT_SHORT],
  [/missing output message|has no message/, EMPTY],
  [/extra output message|more than one message/, SEVERAL],
  [/compressed in a way|unsupported response encoding|how to (?:un|de)compress/, COMPRESSED],
  [/^parse binary|^a message is no |premature EOF|^(?:cannot|invalid|illegal|malformed) |\bJSON\b/, UNFITTING],
];

/** The code for the fault of an answer: neither the caller's argument nor unknown. */
function protocolCode(code: Code): Code {
  switch (code) {
    case Code.InvalidArgument:
      return Code.DataLoss; // Connect gives this code to a stream that ends inside a message.
    case Code.Unknown:
      return Code.Internal; // Connect gives this code to a content type that is not gRPC's.
    default:
      return code;
  }
}

function connectionError(failure: NetworkFailure, url: string, cause: unknown): ConnectionError {
  const { summary, connected, advice, code = Code.Unavailable } = failure;
  return new ConnectionError(`${summary} (${url})`, { code, advice, connected, cause });
}

function protocolError(code: Code, summary: string, url: string, cause: ConnectError): ProtocolError {
  return new ProtocolError(`${summary} (${url})`, {
    code,
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

/** Where the message is an HTTP status, add the target of its redirect, which no transport follows. */
function withRedirect(object: ErrorObject, header: Headers): ErrorObject {
  const isStatus = /^HTTP \d{3}$/.test(object.message);
  return isStatus ? { ...object, message: `${object.message}${redirect(header)}` } : object;
}

/**
 * Describe the redirect of a response, for a message.
 *
 * @param header the response's header
 * @returns the text, to put behind the status; empty where there is no redirect
 */
export function redirect(header: Headers): string {
  const location = header.get("location");
  return location === null ? "" : `, a redirect to ${JSON.stringify(location.slice(0, 200))}, which is not followed`;
}
