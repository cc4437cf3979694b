import { create } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  CanceledError,
  ConnectionError,
  type ErrorObject,
  NodeError,
  ProtocolError,
  TradewireError,
} from "./errors.js";
import { anyToObject } from "./json/any.js";
import { isJsonObject } from "./json/values.js";

/** The call that an error comes from. */
export interface CallContext {
  /** The transport's name in the configuration. */
  readonly transport: string;
  /** The full name of the method. */
  readonly method: string;
  /** Where the call went. */
  readonly url: string;
  /** The caller's signal. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Turn whatever a call threw into one of the library's errors, the same for every transport.
 *
 * An error of the library's own is given back as it is; in either case it learns which call it comes from.
 */
export function callError(reason: unknown, context: CallContext): TradewireError {
  const error = classify(reason, context);
  error.transport ??= context.transport;
  error.method ??= context.method;
  return error;
}

function classify(reason: unknown, { url, signal }: CallContext): TradewireError {
  if (signal?.aborted) {
    return new CanceledError({ cause: signal.reason });
  }
  if (reason instanceof TradewireError) {
    return reason;
  }
  const error = ConnectError.from(reason);
  if (error.cause instanceof TradewireError) {
    return error.cause;
  }
  if (error.metadata.has("grpc-status") || /^HTTP \d{3}$/.test(error.rawMessage)) {
    return new NodeError(errorObject(error), reason);
  }
  const cause = nodeCause(error);
  if (cause !== undefined) {
    return new ConnectionError(`${network(cause)} (${url})`, {
      code: Code.Unavailable,
      advice: "Check that the node is running, that the URL is right and of this transport, and the network between.",
      cause: reason,
    });
  }
  if (error.code === Code.DeadlineExceeded) {
    return new ConnectionError(`the time for the call was up (${url})`, {
      code: Code.DeadlineExceeded,
      advice: "Allow more time, or check why the node is slow.",
      cause: reason,
    });
  }
  if (error.code === Code.Canceled || error.code === Code.Aborted || error.code === Code.Unavailable) {
    return new ConnectionError(`the connection was lost: ${error.rawMessage} (${url})`, {
      code: Code.Unavailable,
      advice: "Try again; if it persists, check the node and the network between.",
      cause: reason,
    });
  }
  return new ProtocolError(`${error.rawMessage} (${url})`, {
    code: protocolCode(error.code),
    advice: "Check that the URL is the node's own and of this transport: something else may have answered.",
    cause: reason,
  });
}

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

/** The error object of a Connect error that the node answered. */
export function errorObject(error: ConnectError): ErrorObject {
  const details = error.details.map((detail) => {
    if ("desc" in detail) {
      return { "@type": `type.googleapis.com/${detail.desc.typeName}` };
    }
    const { type, value, debug } = detail;
    if (isJsonObject(debug) && typeof debug["@type"] === "string") {
      return { ...debug, "@type": debug["@type"] }; // It came as JSON.
    }
    return anyToObject(create(AnySchema, { typeUrl: `type.googleapis.com/${type}`, value }));
  });
  // In the details of gRPC's status, Connect takes any number for a code.
  return { code: error.code in Code ? error.code : Code.Unknown, message: error.rawMessage, details };
}

/** The error of Node's network modules, or undici's, underneath: the one that says most. */
function nodeCause(error: ConnectError): { code: string; message: string } | undefined {
  let found: { code: string; message: string } | undefined;
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 8; cause = cause.cause, depth += 1) {
    const { name, message } = cause;
    if (name === HTTP_PARSER_ERROR) {
      return { code: name, message }; // Of undici; its code is not always there.
    }
    if ("code" in cause && typeof cause.code === "string" && NETWORK_CODE.test(cause.code)) {
      found ??= { code: cause.code, message };
    }
  }
  return found;
}

const HTTP_PARSER_ERROR = "HTTPParserError";
const NETWORK_CODE = /^(E[A-Z]|UND_ERR_|ERR_HTTP2|ERR_SSL|ERR_TLS|CERT_|DEPTH_|SELF_|UNABLE_)/;

function network({ code, message }: { code: string; message: string }): string {
  switch (code) {
    case "ECONNREFUSED":
      return "the connection was refused";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host's name could not be resolved";
    case "ETIMEDOUT":
    case "UND_ERR_CONNECT_TIMEOUT":
      return "the connection could not be made in time";
    case "ECONNRESET":
    case "EPIPE":
    case "UND_ERR_DESTROYED":
    case "UND_ERR_SOCKET":
    case "ERR_HTTP2_STREAM_ERROR":
    case "ERR_HTTP2_SESSION_ERROR":
      return `the connection was lost: ${message}`;
    case "ERR_HTTP2_ERROR":
      return `the server does not speak HTTP/2: ${message}`;
    case HTTP_PARSER_ERROR:
      return `the server does not speak HTTP/1.1: ${message}`;
    default:
      return `${message} (${code})`;
  }
}
