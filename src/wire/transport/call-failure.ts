import { createRegistry, type DescMessage, fromJson, type Registry } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import {
  EMPTY_RESPONSE,
  INVALID_RESPONSE,
  MULTIPLE_MESSAGES,
  messageTooLarge,
  type ResponseFault,
  TRUNCATED_RESPONSE,
  UNEXPECTED_COMPRESSION,
  unexpectedContentType,
} from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import { type HttpAnswer, TradewireError } from "../../base/errors/index.js";
import { streamReset } from "../../base/errors/network-failure.js";
import { isError } from "../../base/errors/node-errors.js";
import { codeOfHttpStatus } from "../http-rule/http-status.js";
import { knownTypes } from "../json/any.js";
import { isJsonObject } from "../json/json-values.js";

/** The failure that ended a call, as reported by the code that detected it. */
export type CallFailure =
  /** The server reset the HTTP/2 stream. */
  | { readonly kind: "stream reset"; readonly http2Code: number }
  /** The call's time was up. */
  | { readonly kind: "deadline exceeded" }
  /** The call's deadline or signal, whose reason this is, ended the call before anything of it was sent. */
  | { readonly kind: "not sent"; readonly reason: ConnectError }
  /** An HTTP status other than that of a gRPC response. */
  | { readonly kind: "HTTP status"; readonly status: number }
  /** The response ended without `grpc-status`. */
  | { readonly kind: "missing status" }
  /** The response breaks the rules of the interface. */
  | { readonly kind: "broken answer"; readonly answer: ResponseFault }
  /** The request cannot be written as a message. */
  | { readonly kind: "unwritable request" };

/** The Connect error of a failed call. Code reads `failure`; the message is for people. */
export class CallError extends ConnectError {
  readonly #failure: CallFailure;

  constructor(
    failure: CallFailure,
    options: { readonly cause?: unknown; readonly header?: Headers | undefined; readonly message?: string } = {},
  ) {
    const { message, code } = describe(failure);
    super(options.message ?? message, code, options.header, undefined, options.cause);
    this.#failure = failure;
  }

  /** The failure that ended the call. */
  get failure(): CallFailure {
    return this.#failure;
  }

  /** Replaces Connect's own test, which this class would inherit and which accepts every Connect error. */
  static override [Symbol.hasInstance](value: unknown): value is CallError {
    return typeof value === "object" && value !== null && #failure in value;
  }
}

function describe(failure: CallFailure): { readonly message: string; readonly code: Code } {
  switch (failure.kind) {
    case "stream reset": {
      const { summary, code = Code.Internal } = streamReset(failure.http2Code);
      return { message: summary, code };
    }
    case "deadline exceeded":
      return { message: "the operation timed out", code: Code.DeadlineExceeded };
    case "not sent":
      return { message: failure.reason.rawMessage, code: failure.reason.code };
    case "HTTP status":
      return { message: `HTTP ${failure.status}`, code: codeOfHttpStatus(failure.status) };
    case "missing status":
      return { message: "the response ended without a status", code: Code.Internal };
    case "broken answer":
      return { message: failure.answer.summary, code: failure.answer.code };
    case "unwritable request":
      return { message: "the request cannot be serialized", code: Code.InvalidArgument };
  }
}

/** Returns the error of a response that breaks the rules of the interface. */
export function brokenAnswerError(answer: ResponseFault, cause?: unknown): CallError {
  return new CallError({ kind: "broken answer", answer }, { cause });
}

/** Returns the error of a response without the message that its method requires. */
export const missingMessageError = (): CallError => brokenAnswerError(EMPTY_RESPONSE);

/** Returns the error of a response with more than the one message that its method allows. */
export const extraMessageError = (): CallError => brokenAnswerError(MULTIPLE_MESSAGES);

export function deadlineError(): CallError {
  return new CallError({ kind: "deadline exceeded" });
}

/** Returns the error of a call that its deadline or its signal ended before any part of it was sent. */
export function unsentError(reason: ConnectError): CallError {
  return new CallError({ kind: "not sent", reason }, { cause: reason });
}

/** Returns whether an error is that of {@link unsentError}. */
export function isUnsentError(reason: unknown): reason is CallError {
  return reason instanceof CallError && reason.failure.kind === "not sent";
}

/**
 * Runs a part of a call and converts its errors with {@link toConnectError}.
 *
 * @throws ConnectError if `run` fails
 */
export async function withConnectErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    throw toConnectError(reason);
  }
}

/** Converts any error to a Connect error, which Connect's interceptors expect. The original error becomes the cause. */
export function toConnectError(reason: unknown): ConnectError {
  if (reason instanceof ConnectError) {
    return reason;
  }
  const code = reason instanceof TradewireError ? reason.code : Code.Unavailable;
  const message = isError(reason) ? reason.message : String(reason);
  return new ConnectError(message, code, undefined, undefined, reason);
}

type Details = ConnectError["details"];

/**
 * Sets the details of an error. A detail that arrived as JSON, in `debug`, may have a type that only the caller of
 * `findDetails` knows, while Connect decodes nothing but its bytes.
 */
export function setDetails(error: ConnectError, details: Details): ConnectError {
  error.details = details;
  const value = (wanted: DescMessage | Registry) => {
    const types = createRegistry(wanted, knownTypes);
    const found = new ConnectError("");
    found.details = error.details.flatMap((detail) => withBytes(detail, types));
    return found.findDetails(createRegistry(wanted));
  };
  return Object.defineProperty(error, "findDetails", { value });
}

function withBytes(detail: Details[number], registry: Registry): Details {
  if (!("debug" in detail) || !isJsonObject(detail.debug) || detail.debug["@type"] === undefined) {
    return [detail];
  }
  try {
    const { value } = fromJson(AnySchema, detail.debug, { registry, ignoreUnknownFields: true });
    return [{ ...detail, value }];
  } catch {
    return []; // Its type is not wanted, or the JSON does not fit it.
  }
}

/** Facts about the response behind an error, for which a Connect error has no field. */
export interface ResponseFacts {
  /** The HTTP response that the error was made from. */
  readonly http?: HttpAnswer;
  /**
   * Whether the node itself refused the call: with a gRPC status and no message before it, or over REST with an error
   * object that has a gRPC code. Any other error may come from a proxy, or from after the node has executed the call.
   */
  readonly isNodeStatus?: boolean;
}

const factsByError = new WeakMap<object, ResponseFacts>();

/** Attaches facts to an error. Existing facts of the error stay, unless `facts` replaces them. */
export function addFacts<E extends Error>(error: E, facts: ResponseFacts): E {
  factsByError.set(error, { ...factsByError.get(error), ...facts });
  return error;
}

/** Returns the facts that {@link addFacts} has attached to an error. */
export function factsOf(reason: unknown): ResponseFacts {
  return (typeof reason === "object" && reason !== null ? factsByError.get(reason) : undefined) ?? NO_FACTS;
}

const NO_FACTS: ResponseFacts = {};

/** The maximum length of a redirect's target in an error message, in characters. */
const MAX_LOCATION = 200;

export function httpText({ status, location }: HttpAnswer): string {
  const redirect =
    location === null
      ? ""
      : `, a redirect to ${JSON.stringify(location.slice(0, MAX_LOCATION))}, which is not followed`;
  return `HTTP ${status}${redirect}`;
}

/**
 * Finds the failure behind an error of another library. Connect's transports, and the parts of Connect that this library
 * uses, describe a failure only in their message. This is the only place that parses those messages.
 */
export function foreignFailure(error: ConnectError): CallFailure | undefined {
  const { rawMessage: message } = error;
  const status = /^HTTP (\d{3})$/.exec(message)?.[1];
  if (status !== undefined) {
    return { kind: "HTTP status", status: Number(status) };
  }
  const http2Code = foreignResetCode(message);
  if (http2Code !== undefined) {
    return { kind: "stream reset", http2Code };
  }
  if (/^(?:serialize binary: |cannot encode )/.test(message)) {
    return { kind: "unwritable request" };
  }
  if (/missing status/.test(message)) {
    return { kind: "missing status" };
  }
  const answer = foreignBrokenAnswer(message);
  return answer && { kind: "broken answer", answer };
}

/** The names of HTTP/2's error codes; the index is the code (RFC 9113, 7). */
const RESET_NAMES = [
  ...["NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED"],
  ...["FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM"],
  ...["INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"],
];

/** Returns the HTTP/2 error code of a stream that the server has reset, from the messages of Node and Connect. */
function foreignResetCode(message: string): number | undefined {
  const [, name, hex] =
    /^(?:Stream closed with error code NGHTTP2_(\w+)|http\/2 stream closed with error code \w+ \(0x([0-9a-f]+)\))/.exec(
      message,
    ) ?? [];
  if (name !== undefined) {
    const code = RESET_NAMES.indexOf(name);
    return code < 0 ? undefined : code;
  }
  return hex === undefined ? undefined : Number.parseInt(hex, 16);
}

function foreignBrokenAnswer(message: string): ResponseFault | undefined {
  const contentType = /^unsupported content type (.*)/.exec(message)?.[1];
  if (contentType !== undefined) {
    return unexpectedContentType(contentType === "null" ? "" : contentType);
  }
  if (/larger than/i.test(message)) {
    // The last number is the limit; the size, if the message has one, precedes it.
    const [limit, size] = (message.match(/\d+/g) ?? []).map(Number).reverse();
    return messageTooLarge("limits.maxMessageBytes", limit, size);
  }
  return FOREIGN_BROKEN_ANSWERS.find(([pattern]) => pattern.test(message))?.[1];
}

const FOREIGN_BROKEN_ANSWERS: readonly (readonly [pattern: RegExp, answer: ResponseFault])[] = [
  [/promised \d+ bytes|premature end|incomplete envelope/, TRUNCATED_RESPONSE],
  [/missing output message/, EMPTY_RESPONSE],
  [/extra output message/, MULTIPLE_MESSAGES],
  [/unsupported response encoding|how to (?:un|de)compress/, UNEXPECTED_COMPRESSION],
  [/^parse binary|premature EOF|^(?:cannot|invalid|illegal|malformed) |\bJSON\b/, INVALID_RESPONSE],
];

/**
 * Returns the code for a failure that {@link foreignFailure} does not know. Connect's code may blame the caller's argument,
 * or say that the cause is unknown, although the response is at fault.
 */
export function codeOfForeign(code: Code): Code {
  switch (code) {
    case Code.InvalidArgument:
      return Code.DataLoss; // Connect gives this code to a stream that ends inside a message.
    case Code.Unknown:
      return Code.Internal; // Connect gives this code to a content type that is not gRPC's.
    default:
      return code;
  }
}
