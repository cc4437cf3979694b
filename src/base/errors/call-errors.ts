import type { DescMethod } from "@bufbuild/protobuf";
import type { ContextValues } from "@connectrpc/connect";
import { Code } from "./code.js";
import { ProtocolError, RequestError, type Server } from "./error-classes.js";
import { type ErrorText, quoted, truncate } from "./error-text.js";
import { MAX_HEADER_BYTES, MAX_HEADER_FIELDS } from "./network-failure.js";
import { isError } from "./node-errors.js";

/** A fault of a response. All transports describe the same fault with the same text. */
export interface ResponseFault {
  readonly summary: string;
  readonly code: Code;
  readonly advice: ErrorText;
  /** Whether the response ended early. */
  readonly isTruncated?: boolean;
}

const CHECK_URL = "Check that the URL is correct, and belongs to this transport: another server may have answered.";

/** Returns the fault of a response whose content type is not one of the interface: it does not come from a node. */
export function unexpectedContentType(contentType: string): ResponseFault {
  const found = contentType === "" ? "no content type" : `content type ${truncate(contentType, MAX_CONTENT_TYPE)}`;
  return { summary: `unexpected response with ${found}`, code: Code.Unknown, advice: CHECK_URL };
}

/** The maximum length of a content type in an error, in characters. */
const MAX_CONTENT_TYPE = 200;

export const TRUNCATED_RESPONSE: ResponseFault = {
  summary: "the response was truncated",
  code: Code.DataLoss,
  advice: "Try again. If it persists, the server or a proxy in front of it truncates responses.",
  isTruncated: true,
};

/** A response with a message, but without a status. The message may be complete. */
export const MISSING_STATUS: ResponseFault = { ...TRUNCATED_RESPONSE, code: Code.Internal };

/** The code is gRPC's code for a successful unary call without a message. */
export const EMPTY_RESPONSE: ResponseFault = {
  summary: "the response is empty",
  code: Code.Unimplemented,
  advice: "Try again. If it persists, check that the URL is correct and that no proxy changes responses.",
};

/** Returns the fault of a response that neither accepts nor refuses a transaction. */
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
      ? "the response neither accepts nor refuses the transaction"
      : `the response refuses the transaction with the unknown code ${code}`;
  return {
    summary: `${what}${said === "" ? "" : `: ${quoted(said)}`}`,
    code: Code.Unknown,
    advice:
      "Check that the URL belongs to the node: another server may have answered, or the node has another version.",
  };
}

export const MULTIPLE_MESSAGES: ResponseFault = {
  summary: "the response has more than one message",
  code: Code.Unimplemented,
  advice: "The server may have another version, in which this method returns a stream.",
};

export function messageTooLarge(
  option: "limits.maxMessageBytes" | "limits.maxJsonBytes",
  limit: number | undefined,
  size?: number,
): ResponseFault {
  const max = limit === undefined ? "the limit" : `the limit of ${limit} bytes`;
  const has = size === undefined ? `exceeds ${max}` : `has ${size} bytes, which exceeds ${max}`;
  return {
    summary: "a message is larger than the limit",
    code: Code.ResourceExhausted,
    advice: (nameOf) => `The message ${has}. If this size is expected, raise ${nameOf(option)}.`,
  };
}

export const TOO_MANY_ELEMENTS: ResponseFault = {
  summary: "a message has more than a million small elements",
  code: Code.ResourceExhausted,
  advice: "Request smaller pages, or check the server: no known response has so many small elements.",
};

export const HEADERS_TOO_LARGE: ResponseFault = {
  summary: `the response has more headers than this client accepts: ${MAX_HEADER_FIELDS}, of ${MAX_HEADER_BYTES} bytes together`,
  code: Code.ResourceExhausted,
  advice: "Check the server and any proxy in front of it: no response needs headers of this size.",
};

export const INVALID_RESPONSE: ResponseFault = {
  summary: "the response does not match its definition",
  code: Code.Internal,
  advice: "The server may have another version. The error's cause has the details.",
};

/** The length of the end of an error of protobuf-es that names an unknown type. */
const MAX_TYPE_NAME = 300;

/** Returns the fault of a response that does not match its definition, by the error of protobuf-es. */
export function invalidResponse(cause: unknown): ResponseFault {
  // The message may quote a value of any size, so only its end is searched.
  const end = isError(cause) ? cause.message.slice(-MAX_TYPE_NAME) : "";
  const type = /[/ "]([\w.]+)"? is not in the type registry$/.exec(end)?.[1];
  return type === undefined
    ? INVALID_RESPONSE
    : {
        ...INVALID_RESPONSE,
        summary: `the response has an Any of the type ${type}, which is not registered`,
        advice: (nameOf) => `Set ${nameOf("registry")} to definitions of the types that an Any may contain.`,
      };
}

export const UNEXPECTED_COMPRESSION: ResponseFault = {
  summary: "the response uses a compression that was not requested",
  code: Code.Internal,
  advice: "Configure the proxy in front of the server to leave responses unchanged.",
};

export const BROKEN_COMPRESSION: ResponseFault = {
  summary: "the compressed data of the response is corrupt",
  code: Code.DataLoss,
  advice: "Try again. If it persists, configure the proxy in front of the server to leave responses unchanged.",
};

export const REQUESTS_STREAM_ALONE: ResponseFault = {
  summary: "client-streaming methods are not available over REST",
  code: Code.Unimplemented,
  advice: "Call the method over gRPC: set grpc.url, and use the transport grpc.",
};

const NO_WEBSOCKET = "the response does not open a WebSocket";

/** Returns the fault of a response of a node, or another server, that does not open a WebSocket. */
export const noWebSocket = (server: Server): ResponseFault => ({
  summary: NO_WEBSOCKET,
  code: Code.Unimplemented,
  advice:
    "Over REST, bidirectional streams need grpc-gateway's WebSocket proxy" +
    (server === "node"
      ? ", which data nodes have and core nodes do not. Use the data node's URL, or gRPC."
      : ". Use a URL that has it, or gRPC."),
});

export const INVALID_HANDSHAKE: ResponseFault = {
  summary: NO_WEBSOCKET,
  code: Code.Internal,
  advice: CHECK_URL,
};

export const INVALID_FRAME: ResponseFault = {
  summary: "the server violated the WebSocket protocol",
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

export function responseError(
  { summary, ...fault }: ResponseFault,
  { suffix = "", cause, notes }: ResponseErrorOptions = {},
): ProtocolError {
  return new ProtocolError(`${summary}${suffix}`, { ...fault, cause, notes, errorCode: "TW_INVALID_RESPONSE" });
}

/**
 * Returns the error of a request that cannot be serialized: a required field is missing, a value does not fit its field,
 * or an `Any` in it has no JSON.
 */
export function serializationError(cause: unknown): RequestError {
  const reason = (isError(cause) ? cause.message : String(cause))
    .replace(/^(?:\[\w+\] )?(?:serialize binary: )?/, "") // Connect's prefix.
    .replace(/ to (?:JSON|binary): /, ": "); // The same text over all transports.
  return new RequestError(`the request cannot be serialized: ${reason}`, {
    advice: "Correct the value. For an Any in JSON, set registry to the types that it may contain. Nothing was sent.",
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
 * consumer that returns early does not wait for the value that it requested last. An error that `check` throws for a value ends
 * the iterable, and is mapped too.
 */
export function mapStreamErrors<T>(
  values: AsyncIterable<T>,
  fail: ThrowCallError,
  check?: (value: T) => void,
): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = values[Symbol.asyncIterator]();
      let isDone = false;
      const failed = (reason: unknown): never => {
        isDone = true;
        return fail(reason);
      };
      const checked = (result: IteratorResult<T, unknown>) => {
        try {
          if (result.done !== true) {
            check?.(result.value);
          }
        } catch (reason) {
          iterator.return?.().catch(() => undefined);
          return failed(reason);
        }
        return result;
      };
      return {
        next: () =>
          isDone ? Promise.resolve(DONE) : iterator.next().then(check === undefined ? undefined : checked, failed),
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
