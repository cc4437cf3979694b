import { Code } from "@connectrpc/connect";
import { cut, MAX_MESSAGE } from "./quoted.js";
import { type ErrorSection, FILE_SECTIONS, NODE_SECTIONS, PROTOCOL_SECTIONS } from "./sections.js";
import { codeName, type ErrorObject, TradewireError, type TradewireErrorOptions } from "./tradewire-error.js";

/** The request cannot be right, so it was not sent. */
export class RequestError extends TradewireError {
  constructor(headline: string, options: Omit<TradewireErrorOptions, "code">) {
    super(headline, { code: Code.InvalidArgument, section: "requesterror", ...options });
  }
}

/** What is known of the answer of a {@link NodeError} besides its error object. */
export interface NodeErrorOptions extends Pick<TradewireErrorOptions, "cause" | "notes"> {
  /** See {@link NodeError.isRefusal}; false by default. */
  readonly isRefusal?: boolean | undefined;
  /** See {@link NodeError.http}. */
  readonly http?: HttpAnswer | undefined;
}

/** A failing HTTP response that has no error object: something in front of the node answered, as a rule. */
export interface HttpAnswer {
  readonly status: number;
  /** Where it redirects to; null where it has no `location`. */
  readonly location: string | null;
}

/** The node, or something in front of it, answered with an error. */
export class NodeError extends TradewireError {
  /** The error object as the node gave it. */
  readonly object: ErrorObject;
  /**
   * Whether the node itself refused the call: with gRPC's status and no message before it, or over REST with an error
   * object that has gRPC's code. Otherwise something in front of the node may have answered, or the node has failed after
   * it did what the call asks for.
   */
  readonly isRefusal: boolean;
  /** The HTTP response, where it had no error object. */
  readonly http: HttpAnswer | undefined;

  /**
   * @param object the error object as the node gave it
   * @param options the error that was thrown underneath, and what else is known of the answer
   */
  constructor(object: ErrorObject, { cause, notes, isRefusal = false, http }: NodeErrorOptions = {}) {
    const message = cut(messageWithReasons(object), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    const said = message === "" ? ", without a message" : `: ${message}`;
    super(`the node answered ${codeName(object.code)}${said}`, {
      code: object.code,
      advice: adviceFor(object, http),
      notes,
      details: object.details,
      cause,
      section: NODE_SECTIONS[object.code] ?? "nodeerror",
    });
    this.object = object;
    this.isRefusal = isRefusal;
    this.http = http;
  }
}

/**
 * The node's message, and the reasons in its details: deployed nodes answer `InvalidArgument error` and the like, and say
 * why in a `vega.ErrorDetail`.
 */
function messageWithReasons({ message, details }: ErrorObject): string {
  const reasons = details.flatMap((detail) => {
    const { message: reason, inner } = detail;
    const texts = detail["@type"].endsWith("/vega.ErrorDetail") ? [reason, inner] : [];
    return texts.filter((text) => typeof text === "string" && text !== "" && !message.includes(text));
  });
  const [first, ...others] = [...new Set([message, ...reasons])].filter((text) => text !== "");
  return first === undefined ? "" : `${first}${others.map((text) => `: ${text}`).join("")}`;
}

/** The node could not be reached, or the connection was lost, or the time was up. */
export class ConnectionError extends TradewireError {
  /** Whether there was a connection. Without one, nothing of the call was sent. */
  readonly connected: boolean;
  /** Whether the failure is that the client, or the transport, was closed. */
  readonly isClosed: boolean;

  constructor(
    headline: string,
    options: TradewireErrorOptions & { readonly connected?: boolean; readonly isClosed?: boolean },
  ) {
    const { code, connected = true, isClosed = false } = options;
    super(headline, {
      section: isClosed ? "connectionerror-closed" : connectionSection(code, connected),
      ...options,
    });
    this.connected = connected;
    this.isClosed = isClosed;
  }
}

/** A chunk, an archive, a CSV file or a response breaks the rules of the interface. */
export class ProtocolError extends TradewireError {
  /** Whether the response ended early, so that the same call may succeed. */
  readonly isCutShort: boolean;

  constructor(
    headline: string,
    options: Omit<TradewireErrorOptions, "code"> & { readonly code?: Code; readonly isCutShort?: boolean },
  ) {
    const { code = Code.DataLoss, isCutShort = false } = options;
    super(headline, { code, section: PROTOCOL_SECTIONS[code] ?? "protocolerror", ...options });
    this.isCutShort = isCutShort;
  }
}

/** A file or folder of this machine could not be read or written. */
export class FileError extends TradewireError {
  constructor(headline: string, options: TradewireErrorOptions) {
    super(headline, { section: FILE_SECTIONS[options.code] ?? "fileerror", ...options });
  }
}

/** The caller gave up: its signal was aborted. */
export class CanceledError extends TradewireError {
  /** Whether something of the call may have been sent. It is false only where it is certain that nothing was. */
  readonly mayHaveLeft: boolean;

  /**
   * @param options what was canceled, by default the call; why; and whether something of it may have been sent
   */
  constructor(options: { readonly what?: string; readonly cause?: unknown; readonly mayHaveLeft?: boolean } = {}) {
    const { what = "the call" } = options;
    super(`${what} was canceled`, {
      code: Code.Canceled,
      advice: `Nothing is wrong: the signal given to ${what} was aborted.`,
      cause: options.cause,
      section: "cancelederror",
    });
    this.mayHaveLeft = options.mayHaveLeft ?? true;
  }
}

function connectionSection(code: Code, connected: boolean): ErrorSection {
  if (code === Code.DeadlineExceeded) {
    return "connectionerror-time-was-up";
  }
  return connected ? "connectionerror-lost" : "connectionerror-not-reached";
}

const CHECK_PATH = "Check the URL, also its path: nothing of the node's interface is there.";

const FOLLOW = "Give the URL that it leads to, if that is the node's; a redirect to a login page asks for credentials.";

function adviceFor({ code, message }: ErrorObject, http: HttpAnswer | undefined): string {
  // "Not Found" is the answer of grpc-gateway to paths that it does not know.
  if (code === Code.NotFound && (http?.status === 404 || message === "Not Found")) {
    return CHECK_PATH;
  }
  const isRedirect = http !== undefined && http.status >= 300 && http.status < 400 && http.location !== null;
  return isRedirect ? FOLLOW : adviceForCode(code);
}

function adviceForCode(code: Code): string {
  switch (code) {
    case Code.InvalidArgument:
    case Code.OutOfRange:
    case Code.FailedPrecondition:
      return "Correct the request; the message and the details say what the node refuses.";
    case Code.NotFound:
      return "Check the name or identifier; the node does not hold it.";
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return "Give the credentials that the node, or what stands in front of it, asks for, as grpc.headers and rest.headers.";
    case Code.Unimplemented:
      return "Check the URL and the node's version: this method is not offered there.";
    case Code.ResourceExhausted:
    case Code.Unavailable:
    case Code.Aborted:
    case Code.DeadlineExceeded:
      return "Try again later; the node could not serve this now.";
    default:
      return "The failure is on the node's side; try again, then another node, and tell who runs it.";
  }
}
