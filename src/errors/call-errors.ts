import type { DescMethod } from "@bufbuild/protobuf";
import { Code, type ContextValues } from "@connectrpc/connect";
import { ProtocolError, RequestError } from "./error-classes.js";
import { type ErrorText, quoted } from "./error-text.js";
import { isError } from "./node-errors.js";

/** A fault of a response. All transports report the same fault in the same words. */
export interface ResponseFault {
  readonly summary: string;
  readonly code: Code;
  readonly advice: ErrorText;
  /** Whether the response ended early. */
  readonly isTruncated?: boolean;
}

const CHECK_URL = "Check that the URL is the node's own and of this transport: something else may have answered.";

/**
 * Returns the fault of a response whose content type is not one of the interface: it does not come from a node.
 *
 * @param contentType the response's `content-type`; empty if it has none
 * @returns the fault
 */
export function unexpectedContentType(contentType: string): ResponseFault {
  const found = contentType === "" ? "of no content type" : contentType.split(";", 1)[0]?.trim().toLowerCase();
  return { summary: `the response is ${found}, not of the node's interface`, code: Code.Unknown, advice: CHECK_URL };
}

export const TRUNCATED_RESPONSE: ResponseFault = {
  summary: "the response was truncated",
  code: Code.DataLoss,
  advice: "Try again; if it persists, the node or something in front of it cuts answers short.",
  isTruncated: true,
};

/** A response with a message, but without a status. The message may be complete. */
export const MISSING_STATUS: ResponseFault = { ...TRUNCATED_RESPONSE, code: Code.Internal };

/** The code is gRPC's code for a successful unary call without a message. */
export const EMPTY_RESPONSE: ResponseFault = {
  summary: "the response is empty",
  code: Code.Unimplemented,
  advice:
    "Try again; if it persists, check that the URL is the node's own and that nothing in front of it changes answers.",
};

/**
 * Returns the fault of a response that neither accepts nor refuses a transaction.
 *
 * @param result the response's code, data and log
 * @returns the fault
 */
export function inconclusiveSubmission({
  code,
  data,
  log,
}: {
  readonly code: number;
  readonly data: string;
  readonly log: string;
}): ResponseFault {
  const said = [data, log].filter((text) => text !== "").join("; ");
  const what =
    code === 0
      ? "the response says neither that the node took the transaction nor a known code of a refusal"
      : `the response says that the transaction failed with code ${code}, which is no known refusal`;
  return {
    summary: `${what}${said === "" ? "" : `: ${quoted(said)}`}`,
    code: Code.Unknown,
    advice:
      "Check that the URL is the node's own: something else may have answered, or the node is of another version.",
  };
}

export const MULTIPLE_MESSAGES: ResponseFault = {
  summary: "the response has more than one message",
  code: Code.Unimplemented,
  advice: "The node may be of another version, in which this method streams.",
};

/**
 * Returns the fault of a message that is larger than the limit.
 *
 * @param option the name of the limit in the configuration
 * @param limit the limit in bytes, if known
 * @param size the size of the message in bytes, if known
 * @returns the fault
 */
export function messageTooLarge(
  option: "limits.maxMessageBytes" | "limits.maxJsonBytes",
  limit: number | undefined,
  size?: number,
): ResponseFault {
  const max = limit === undefined ? "the limit" : `the limit of ${limit} bytes`;
  const has = size === undefined ? `more than ${max}` : `${size} bytes, more than ${max}`;
  return {
    summary: "a message is larger than the limit",
    code: Code.ResourceExhausted,
    advice: (nameOf) => `It has ${has}. Raise ${nameOf(option)} if the node is right to send that much.`,
  };
}

export const TOO_MANY_ELEMENTS: ResponseFault = {
  summary: "a message has more elements than an answer may have, more than a million that are small",
  code: Code.ResourceExhausted,
  advice: "Ask for smaller pages, or check the node: no known answer has so many small elements.",
};

export const HEADERS_TOO_LARGE: ResponseFault = {
  summary: "the headers of the response are larger than the limit",
  code: Code.ResourceExhausted,
  advice: "Check the node and any proxy in front of it: no response needs that much.",
};

export const INVALID_RESPONSE: ResponseFault = {
  summary: "the response does not fit its definitions",
  code: Code.Internal,
  advice: "The node may be of another version; the error's cause says what does not fit.",
};

export const UNEXPECTED_COMPRESSION: ResponseFault = {
  summary: "the response is compressed in a way that was not asked for",
  code: Code.Internal,
  advice: "Have the server in front of the node leave responses as they are.",
};

export const BROKEN_COMPRESSION: ResponseFault = {
  summary: "the compressed data of the response is corrupt",
  code: Code.DataLoss,
  advice: "Try again; if it persists, have the server in front of the node leave responses as they are.",
};

export const REQUESTS_STREAM_ALONE: ResponseFault = {
  summary: "the method streams its requests alone, which no gateway offers over HTTP",
  code: Code.Unimplemented,
  advice: "Call it over gRPC: give grpc.url, and grpc as the transport.",
};

export const NO_WEBSOCKET: ResponseFault = {
  summary: "the answer opens no WebSocket",
  code: Code.Unimplemented,
  advice:
    "Over REST, a method whose requests stream needs grpc-gateway's WebSocket proxy in front of the gateway: data nodes have it, core " +
    "nodes do not. Give the data node's URL, or use gRPC, which needs none.",
};

export const INVALID_HANDSHAKE: ResponseFault = {
  summary: NO_WEBSOCKET.summary,
  code: Code.Internal,
  advice: CHECK_URL,
};

export const INVALID_FRAME: ResponseFault = {
  summary: "the WebSocket's frames break its rules",
  code: Code.Internal,
  advice: CHECK_URL,
};

/** The parts of the error of a response that its fault does not have. */
export interface ResponseErrorOptions {
  /** Text that follows the summary of the fault, such as `: HTTP 200`. */
  readonly suffix?: string | undefined;
  readonly cause?: unknown;
  /** Facts that the summary adds in parentheses, such as the URL. */
  readonly notes?: readonly string[] | undefined;
}

/**
 * Returns the error of an invalid response.
 *
 * @param fault the fault; the summary of the error starts with its summary
 * @param options text and facts for the summary, and the cause
 * @returns the error
 */
export function responseError(
  { summary, ...fault }: ResponseFault,
  { suffix = "", cause, notes }: ResponseErrorOptions = {},
): ProtocolError {
  return new ProtocolError(`${summary}${suffix}`, { ...fault, cause, notes, errorCode: "TW_INVALID_RESPONSE" });
}

/**
 * Returns the error of a request that cannot be serialized: a required field is missing, a value does not fit its field,
 * or an `Any` in it has no JSON.
 *
 * @param cause the error that serialization threw
 * @returns the error
 */
export function serializationError(cause: unknown): RequestError {
  const reason = (isError(cause) ? cause.message : String(cause))
    .replace(/^(?:\[\w+\] )?(?:serialize binary: )?/, "") // Connect's prefix.
    .replace(/ to (?:JSON|binary): /, ": "); // The same text over all transports.
  return new RequestError(`the request cannot be written: ${reason}`, {
    advice: "Correct the value; for an Any in JSON, give the types that it may hold as registry. Nothing was sent.",
    cause,
  });
}

/** Throws the public error for the failure of a call. */
export type ThrowCallError = (reason: unknown) => never;

/** Returns a function that throws the failure of one call as an error of this library, which names the call. */
export type CallErrorMapper = (
  method: DescMethod,
  signal: AbortSignal | undefined,
  contextValues?: ContextValues,
) => ThrowCallError;

/**
 * Returns the values of an iterable, with its errors mapped. Unlike a generator, it costs one promise per value, and a
 * consumer that returns early does not wait for the value that it requested last.
 *
 * @param values the source; each iteration of the result iterates it again
 * @param fail throws the public error for an error of the source
 * @returns the same values; after an error the iteration has ended
 */
export function mapStreamErrors<T>(values: AsyncIterable<T>, fail: ThrowCallError): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = values[Symbol.asyncIterator]();
      let isDone = false;
      const failed = (reason: unknown): never => {
        isDone = true;
        return fail(reason);
      };
      return {
        next: () => (isDone ? Promise.resolve(DONE) : iterator.next().catch(failed)),
        async return() {
          isDone = true;
          await iterator.return?.().catch(fail);
          return DONE;
        },
      };
    },
  };
}

const DONE = { done: true, value: undefined } as const;
