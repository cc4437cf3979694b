import type { Registry } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues, type Transport } from "@connectrpc/connect";
import {
  type CallErrorMapper,
  HEADERS_TOO_LARGE,
  MISSING_STATUS,
  mapStreamErrors,
  responseError,
  serializationError,
  type ThrowCallError,
  TRUNCATED_RESPONSE,
} from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import {
  CanceledError,
  ConnectionError,
  NodeError,
  ProtocolError,
  RequestError,
  serverOf,
  TradewireError,
} from "../../base/errors/index.js";
import { connectionLost, type NetworkFailure, networkFailure, streamReset } from "../../base/errors/network-failure.js";
import { causesOf, errorCodes, isError } from "../../base/errors/node-errors.js";
import { isForbiddenHeader } from "../config/config-schema.js";
import { exposedHost } from "../config/loopback.js";
import { codeOfHttpStatus } from "../http-rule/http-status.js";
import { toErrorObject } from "../json/error-object.js";
import { remainingMs, type SentTo, setSentTo } from "./call-context.js";
import {
  CallError,
  type CallFailure,
  codeOfForeign,
  factsOf,
  foreignFailure,
  httpText,
  isUnsentError,
  setDetails,
} from "./call-failure.js";
import { type AnyCall, layered } from "./layered.js";
import { emptyMessageLimit, requireSingleResponse } from "./message-streams.js";
import { hasSingleResponse, isReadOnly, methodName } from "./method.js";
import type { AnyTransport, ClosableTransport, Endpoint, HeaderInit } from "./transport-types.js";

/** The call that failed. */
export interface CallContext {
  /** The transport's name in the configuration. */
  readonly transport: string;
  /** The full name of the method. */
  readonly method: string;
  /** The URL that the call was sent to. */
  readonly url: string;
  /** The signal that ends the call. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the method responds with exactly one message; by default not. */
  readonly hasSingleResponse?: boolean | undefined;
  /** The remaining time of the call, in milliseconds; `undefined` without a limit. */
  readonly leftMs?: number | undefined;
  /** The types that the details of its error may have; by default those of the network. */
  readonly registry?: Registry | undefined;
}

/**
 * Returns a transport whose failures are Connect errors, for interceptors, with one of the library's errors as the cause.
 * The same failure has the same error over every transport. This is where a failure is classified; the layers above find
 * its error with `callError`. Requests carry the endpoint's headers.
 *
 * @param transport the transport that makes the calls
 * @param endpoint the transport's name and URL, for errors, and its headers; a call's own headers override them
 * @returns the transport; closing it closes `transport`
 */
export function withOurErrors(transport: AnyTransport, endpoint: Endpoint): ClosableTransport {
  const sentTo: SentTo = { transport: endpoint.name, url: endpoint.url };
  const failing: CallErrorMapper = (method, signal, contextValues) => (reason) => {
    const context: CallContext = {
      transport: endpoint.name,
      url: endpoint.url,
      method: methodName(method),
      signal,
      leftMs: contextValues && remainingMs(contextValues),
      hasSingleResponse: hasSingleResponse(method),
      registry: endpoint.registry,
    };
    const failure = callError(reason, context);
    const cause = isReadOnly(method) ? failure : outcomeUnknown(failure, context);
    const { metadata, details } = ConnectError.from(reason);
    const message = cause instanceof NodeError ? cause.object.message : cause.summary;
    throw setDetails(new ConnectError(message, cause.code, metadata, undefined, cause), details);
  };
  const exposed = endpoint.allowInsecureHeaders === true ? undefined : exposedHost(endpoint);
  return withFailures(transport, failing, (header, contextValues) => {
    const headers = withHeaders(endpoint.headers, exposed, header);
    contextValues && setSentTo(contextValues, sentTo);
    return headers;
  });
}

/** Returns a transport whose failures are the library's errors themselves, for callers. */
export function throwingOurErrors(transport: Transport, failing: CallErrorMapper): Transport {
  return withFailures(transport, failing);
}

function withFailures(
  transport: AnyTransport,
  failing: CallErrorMapper,
  headersOf?: (header: HeaderInit, contextValues: ContextValues | undefined) => HeaderInit,
): ClosableTransport {
  const withHeadersOf = <C extends AnyCall>(call: C): C =>
    headersOf === undefined ? call : { ...call, header: headersOf(call.header, call.contextValues) };
  return layered(transport, {
    unary(call, next) {
      const fail = (reason: unknown) => failing(call.method, call.signal, call.contextValues)(reason);
      try {
        return next(withHeadersOf(call)).catch(fail);
      } catch (reason) {
        return Promise.reject(reason).catch(fail);
      }
    },

    async stream(call, next) {
      const { method } = call;
      const fail = failing(method, call.signal, call.contextValues);
      const sent = orFail(() => withHeadersOf(call), fail);
      const response = await next(sent).catch(fail);
      // The responses of an endpoint are checked where they arrive only.
      const message =
        headersOf === undefined
          ? mapStreamErrors(response.message, fail)
          : mapStreamErrors(requireSingleResponse(method, response.message), fail, emptyMessageLimit(method.output));
      return { ...response, message };
    },
  });
}

function orFail<T>(run: () => T, fail: ThrowCallError): T {
  try {
    return run();
  } catch (reason) {
    return fail(reason);
  }
}

/**
 * Returns the failure of a call that is not read-only. Once there was a connection, the call may have arrived, so its
 * outcome is unknown.
 */
function outcomeUnknown(failure: TradewireError, context: CallContext): TradewireError {
  if (!(failure instanceof ConnectionError && failure.connected)) {
    return failure;
  }
  const { code, errorCode } = failure;
  const advice = "Check the effects of the call before you repeat it.";
  const summary = `${failure.summary}; it is unknown whether the ${serverOf(context.method)} executed the call`;
  const error = new ConnectionError(summary, { code, errorCode, advice, cause: failure, isClosed: failure.isClosed });
  return Object.assign(error, { transport: context.transport, method: context.method });
}

/** Merges a call's headers into those of every call. If they must not go over plain HTTP, `exposed` is the host. */
function withHeaders(everyCall: Endpoint["headers"], exposed: string | undefined, header: HeaderInit): HeaderInit {
  if (header === undefined) {
    return everyCall;
  }
  const all = new Headers(everyCall);
  const ofCall = header instanceof Headers ? header : new Headers(header);
  ofCall.forEach((value, name) => {
    if (isForbiddenHeader(name)) {
      throw new RequestError(`the header ${name} must not be set: only the connection sets it`, {
        advice: "Remove it. Nothing was sent.",
      });
    }
    if (exposed !== undefined) {
      throw new RequestError(`the header ${name} would be sent over plain HTTP to ${exposed}`, {
        errorCode: "TW_INSECURE_HEADER",
        advice: "Use https, or set allowInsecureHeaders. Nothing was sent.",
      });
    }
    all.set(name, value);
  });
  return all;
}

/**
 * Returns the library's error for a failed call: the same error for the same failure over every transport. A failure that
 * was classified already keeps its error.
 */
export function callError(reason: unknown, context: CallContext): TradewireError {
  const isAborted = context.signal?.aborted === true && !isEndUnsent(reason);
  const error = isAborted ? abortError(context.signal?.reason) : (libraryErrorIn(reason) ?? classify(reason, context));
  error.transport ??= context.transport;
  error.method ??= context.method;
  return error;
}

/** The errors of calls that ended in a wait of this client, such as for its own rate limit. */
const endsOfOwnWaits = new WeakSet<Error>();

/** Returns the error of a call whose signal was aborted before anything was sent. */
export function endUnsent(reason: unknown, awaited = "it could be sent", isOwnWait = true): ConnectError {
  const cause = endBeforeSending(reason, awaited);
  if (isOwnWait) {
    endsOfOwnWaits.add(cause);
  }
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}

/** Returns the error of a call that ended for a reason, a deadline's or a signal's, before anything was sent. */
function endBeforeSending(reason: unknown, awaited: string): TradewireError {
  return isTimeout(reason)
    ? deadlineExceeded(reason, awaited)
    : new CanceledError({ cause: reason, mayHaveBeenSent: false });
}

/**
 * Returns whether a call, or the check of its node, ended while this client waited, so that nothing is known about the node.
 */
export function endedInOwnWait(error: TradewireError): boolean {
  return causesOf(error).some((cause) => endsOfOwnWaits.has(cause));
}

/**
 * Returns whether an error says that a call was aborted, or exceeded its deadline, before anything was sent. The signal's reason
 * is less specific in this case.
 */
export function isEndUnsent(reason: unknown): boolean {
  if (isUnsentError(reason)) {
    return true;
  }
  const error = libraryErrorIn(reason);
  return error instanceof ConnectionError
    ? error.code === Code.DeadlineExceeded && !error.connected
    : error instanceof CanceledError && !error.mayHaveBeenSent;
}

export function libraryErrorIn(reason: unknown): TradewireError | undefined {
  if (reason instanceof TradewireError) {
    return reason;
  }
  return reason instanceof ConnectError && reason.cause instanceof TradewireError ? reason.cause : undefined;
}

/** Returns the error of a call whose signal was aborted, by the signal's reason. */
function abortError(reason: unknown): TradewireError {
  return (
    libraryErrorIn(reason) ?? (isTimeout(reason) ? deadlineExceeded(reason) : new CanceledError({ cause: reason }))
  );
}

function isTimeout(reason: unknown): boolean {
  return reason instanceof ConnectError
    ? reason.code === Code.DeadlineExceeded
    : isError(reason) && reason.name === "TimeoutError";
}

function classify(reason: unknown, context: CallContext): TradewireError {
  const error = ConnectError.from(reason);
  const { leftMs = 1 } = context;
  if (isStatus(error)) {
    if (error.code === Code.DeadlineExceeded && leftMs <= 0) {
      return deadlineExceeded(error); // The server has the same deadline, and was first while this process was busy.
    }
    const { isNodeStatus = false, http } = factsOf(reason);
    return new NodeError(toErrorObject(error, context.registry), {
      cause: reason,
      isRefusal: isNodeStatus,
      http,
      server: serverOf(context.method),
    });
  }
  if (errorCodes(reason).includes("HPE_HEADER_OVERFLOW")) {
    return responseError(HEADERS_TOO_LARGE, { cause: reason, notes: [context.url] });
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

/** The codes that Connect gives to no fault of its own. */
const STATUS_CODES: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.AlreadyExists,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.FailedPrecondition,
  Code.OutOfRange,
]);

/** Returns whether an error is the server's status: gRPC's, or that of the Connect protocol or of a transport in memory. */
function isStatus(error: ConnectError): boolean {
  const { metadata, rawMessage } = error;
  if (metadata.has("grpc-status")) {
    return true;
  }
  if (
    error instanceof CallError ||
    /^(?:HTTP \d{3}$|unsupported (?:content type|response encoding) )/.test(rawMessage)
  ) {
    return false; // Connect adds the header of the response to these faults.
  }
  // Connect adds it to a server's error, too.
  const isOfConnect = /^application\/(?:connect\+|json)/.test(metadata.get("content-type") ?? "");
  return isOfConnect || (STATUS_CODES.has(error.code) && foreignFailure(error) === undefined);
}

/** HTTP/2's error code for a stream that is no longer needed (RFC 9113, 7). It is not worth loading `node:http2`. */
const CANCEL = 8;

function publicError(failure: CallFailure, error: ConnectError, context: CallContext): TradewireError {
  const { url, leftMs = 1 } = context;
  switch (failure.kind) {
    case "HTTP status": {
      const { status } = failure;
      const http = { status, location: error.metadata.get("location") };
      return new NodeError(
        { code: codeOfHttpStatus(status), message: httpText(http), details: [] },
        { cause: error, http, server: serverOf(context.method) },
      );
    }
    case "stream reset":
      // With CANCEL after the deadline, the server, which has the same deadline, was first.
      return failure.http2Code === CANCEL && leftMs <= 0
        ? deadlineExceeded(error)
        : connectionError(streamReset(failure.http2Code, context.transport), url, error);
    case "deadline exceeded":
      return deadlineExceeded(error);
    case "not sent": {
      // Connect's error of a signal does not have the signal's reason: a limit of the library has an error of its own.
      const reason: unknown = context.signal?.aborted === true ? context.signal.reason : failure.reason;
      return libraryErrorIn(reason) ?? endBeforeSending(reason, "there was a connection");
    }
    case "missing status":
      return responseError(context.hasSingleResponse === true ? MISSING_STATUS : TRUNCATED_RESPONSE, {
        cause: error,
        notes: [url],
      });
    case "broken answer":
      return responseError(failure.answer, { cause: error, notes: [url] });
    case "unwritable request":
      return serializationError(error);
  }
}

/** Returns the library's error for an unknown error of another library, by its code. */
function unknownError(error: ConnectError, url: string): TradewireError {
  switch (error.code) {
    case Code.DeadlineExceeded:
      return deadlineExceeded(error);
    case Code.Canceled:
    case Code.Aborted:
      return connectionError(connectionLost(), url, error);
    default:
      return new ProtocolError(error.rawMessage, {
        code: codeOfForeign(error.code),
        notes: [url],
        advice: "Check that the URL is correct, and belongs to this transport: another server may have answered.",
        cause: error,
      });
  }
}

function connectionError(failure: NetworkFailure, url: string, cause: unknown): ConnectionError {
  const { summary, code = Code.Unavailable, ...options } = failure;
  return new ConnectionError(summary, { ...options, code, cause, notes: [url] });
}

/** Returns the error of a call whose time was up: after it was sent, or while it waited for something before that. */
function deadlineExceeded(cause: unknown, awaited?: string): ConnectionError {
  const wasSent = awaited === undefined;
  return new ConnectionError(`the deadline of the call passed${wasSent ? "" : ` before ${awaited}`}`, {
    code: Code.DeadlineExceeded,
    advice: wasSent
      ? (nameOf) =>
          `Allow more time (${nameOf("timeouts.callMs")}, ${nameOf("timeouts.idleMs")}, or the call's own), or check why the server is slow.`
      : (nameOf) =>
          `Nothing was sent. Allow more time (${nameOf("timeouts.callMs")}, or the call's own), make fewer concurrent calls, or check why the server is slow.`,
    connected: wasSent,
    cause,
  });
}
