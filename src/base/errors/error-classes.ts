import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "./code.js";
import type { ErrorCode } from "./error-codes.js";
import { type ErrorText, type ErrorTexts, MAX_MESSAGE, renderText, truncate, wordingOf } from "./error-text.js";

/** A JSON object that names its Protobuf type: `@type` is a type URL whose last segment is the type's full name. */
export interface TypedObject {
  readonly "@type": string;
  readonly [field: string]: JsonValue;
}

/** The error object of the interface. */
export interface ErrorObject {
  /** The gRPC status code. */
  readonly code: Code;
  /** The node's message; may be empty. */
  readonly message: string;
  /** The details: known types are decoded, others are as received. */
  readonly details: readonly TypedObject[];
}

/** The options that all error classes of this library share. */
export interface TradewireErrorOptions {
  /** The gRPC status code of the failure. */
  readonly code: Code;
  /** What the user can do, in one sentence: the second line of the message. Omit it if the first line says it. */
  readonly advice?: ErrorText | undefined;
  /** Facts that the first line adds in parentheses, such as the URL of the call. */
  readonly notes?: readonly string[] | undefined;
  /** The details of the node's error object: known types are decoded, others are as received. */
  readonly details?: readonly TypedObject[] | undefined;
  /** The error that caused this one. */
  readonly cause?: unknown;
  /** The stable code of the error; each class has a default. */
  readonly errorCode?: ErrorCode;
}

/**
 * The base class of all errors of this library.
 *
 * The first line of `message` says what went wrong, and the second what to do unless the first says it.
 */
export abstract class TradewireError extends Error {
  /** The gRPC status code, as in Connect's `Code`. */
  readonly code: Code;
  /** The first line of the message. */
  readonly summary: string;
  /** The second line of the message; empty if the first line says what to do. */
  readonly advice: string;
  /** The details of the node's error object; empty if there are none. */
  readonly details: readonly TypedObject[];
  /** The stable code of the error, such as `TW_BANNED`, which `npx tradewire explain TW_BANNED` explains. */
  readonly errorCode: ErrorCode;
  /** The transport that carried the call, if there was a call. */
  transport?: string;
  /** The full name of the called method, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
  method?: string;
  /** Private, because `console.log` prints all public properties of an error. */
  readonly #texts: ErrorTexts;

  constructor(headline: ErrorText, options: TradewireErrorOptions & { readonly errorCode: ErrorCode }) {
    const texts = { headline, notes: options.notes ?? [], advice: options.advice ?? "" };
    const { summary, advice } = wordingOf(texts);
    const message = [summary, advice].filter((line) => line !== "").join("\n");
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.summary = summary;
    this.advice = advice;
    this.errorCode = options.errorCode;
    this.details = options.details ?? [];
    this.#texts = texts;
  }

  /** The command that explains the error, for people. */
  get explanation(): string {
    return `For details, run: npx tradewire explain ${this.errorCode}`;
  }

  /** The summary without its notes. */
  get headline(): string {
    return renderText(this.#texts.headline);
  }

  /** The facts in parentheses, such as the URL of the call and the failures over other transports. */
  get notes(): readonly string[] {
    return this.#texts.notes;
  }

  /**
   * The texts before the names of options are filled in, for a command and for errors that repeat them.
   *
   * @internal
   */
  get texts(): ErrorTexts {
    return this.#texts;
  }

  /**
   * Returns the error as a plain object, for logs and other programs. The cause is omitted, because it may contain data
   * that does not belong in a log.
   *
   * @returns the error's fields; `code` is the code's name, such as `INVALID_ARGUMENT`
   */
  toJSON(): {
    name: string;
    code: string;
    message: string;
    advice: string;
    errorCode: ErrorCode;
    details: readonly TypedObject[];
    transport?: string;
    method?: string;
  } {
    return {
      name: this.name,
      code: codeName(this.code),
      message: this.summary,
      advice: this.advice,
      errorCode: this.errorCode,
      details: this.details,
      ...(this.transport === undefined ? {} : { transport: this.transport }),
      ...(this.method === undefined ? {} : { method: this.method }),
    };
  }
}

/** Returns the name of a gRPC status code as gRPC spells it. */
export function codeName(code: Code): string {
  // Connect spells this code differently from google/rpc/code.proto.
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

type Codes = Readonly<Partial<Record<Code, ErrorCode>>>;

/** The code of a {@link NodeError} by its gRPC status code; the others are `TW_NODE_FAILED`. */
const NODE_CODES: Codes = {
  [Code.InvalidArgument]: "TW_NODE_REFUSED",
  [Code.OutOfRange]: "TW_NODE_REFUSED",
  [Code.FailedPrecondition]: "TW_NODE_REFUSED",
  [Code.AlreadyExists]: "TW_NODE_REFUSED",
  [Code.NotFound]: "TW_NODE_NOT_FOUND",
  [Code.Unauthenticated]: "TW_NODE_CREDENTIALS",
  [Code.PermissionDenied]: "TW_NODE_CREDENTIALS",
  [Code.Unimplemented]: "TW_NODE_UNIMPLEMENTED",
  [Code.ResourceExhausted]: "TW_NODE_RATE_LIMITED",
  [Code.Unavailable]: "TW_NODE_UNAVAILABLE",
  [Code.Aborted]: "TW_NODE_UNAVAILABLE",
  [Code.DeadlineExceeded]: "TW_NODE_UNAVAILABLE",
};

const PROTOCOL_CODES: Codes = {
  [Code.Internal]: "TW_INVALID_RESPONSE",
  [Code.Unimplemented]: "TW_INVALID_RESPONSE",
  [Code.ResourceExhausted]: "TW_TOO_LARGE",
  [Code.FailedPrecondition]: "TW_HISTORY_CHANGED",
};

const FILE_CODES: Codes = {
  [Code.AlreadyExists]: "TW_FILE_EXISTS",
  [Code.NotFound]: "TW_FILE_NOT_FOUND",
  [Code.PermissionDenied]: "TW_FILE_PERMISSION",
  [Code.ResourceExhausted]: "TW_DISK_FULL",
};

const SINK_CODES: Codes = {
  [Code.Unavailable]: "TW_SINK_UNREACHABLE",
  [Code.Aborted]: "TW_SINK_CONFLICT",
  [Code.Unauthenticated]: "TW_SINK_CREDENTIALS",
  [Code.PermissionDenied]: "TW_SINK_CREDENTIALS",
  [Code.ResourceExhausted]: "TW_SINK_FULL",
};

/** The options of a {@link RequestError}. */
export interface RequestErrorOptions extends Omit<TradewireErrorOptions, "code"> {
  /** The name of the invalid option, which the headline continues: `must be positive`. A command shows its flag instead. */
  readonly option?: string | undefined;
}

/** The request is invalid, so it was not sent. */
export class RequestError extends TradewireError {
  /** Private, because `console.log` prints all public properties of an error. */
  readonly #option: string | undefined;

  constructor(headline: ErrorText, options: RequestErrorOptions = {}) {
    const { option, ...shared } = options;
    const named: ErrorText =
      option === undefined ? headline : (nameOf) => `${nameOf(option)} ${renderText(headline, nameOf)}`;
    super(named, { code: Code.InvalidArgument, errorCode: "TW_INVALID_ARGUMENT", ...shared });
    this.#option = option;
  }

  /** The name of the invalid option or field, such as `pollMs`, if the error is about one. */
  get option(): string | undefined {
    return this.#option;
  }
}

/** The details of a {@link PolicyError}. */
export interface PolicyErrorOptions {
  /** The rule of the policy, such as `maxSize`. */
  readonly rule: string;
  /** The limit of the rule, as the policy writes it; empty if the rule has none. */
  readonly limit: string;
  /** The resulting value, in the same form as the limit. */
  readonly value: string;
  /** The name of the command, such as `orderSubmission`, if it is known. */
  readonly command?: string | undefined;
  /** What is wrong. */
  readonly headline: string;
  /** What to do. */
  readonly advice: string;
}

/** A policy does not allow a command, so it was not signed. */
export class PolicyError extends RequestError {
  /** The rule of the policy, such as `maxSize`. */
  readonly rule: string;
  /** The limit of the rule, as the policy writes it; empty if the rule has none. */
  readonly limit: string;
  /** The resulting value, in the same form as the limit. */
  readonly value: string;
  /** The name of the command, such as `orderSubmission`; `undefined` if it is not known. */
  readonly command: string | undefined;

  /**
   * @param options the rule, its limit, the value, the command, and the texts
   */
  constructor({ rule, limit, value, command, headline, advice }: PolicyErrorOptions) {
    super(headline, { advice, errorCode: "TW_POLICY" });
    this.rule = rule;
    this.limit = limit;
    this.value = value;
    this.command = command;
  }

  override toJSON() {
    const { rule, limit, value, command } = this;
    return { ...super.toJSON(), rule, limit, value, ...(command !== undefined && { command }) };
  }
}

/** What answers calls: a node of the network, or a server of another API. */
export type Server = "node" | "server";

/** Returns what answers a method, by its full name. */
export function serverOf(method: string): Server {
  return /^(?:datanode|vega)\./.test(method) ? "node" : "server";
}

/** The options of a {@link NodeError}, besides its error object. */
export interface NodeErrorOptions extends Pick<TradewireErrorOptions, "cause" | "notes"> {
  /** See {@link NodeError.isRefusal}; false by default. */
  readonly isRefusal?: boolean | undefined;
  /** See {@link NodeError.http}. */
  readonly http?: HttpAnswer | undefined;
  /** What answered, in the texts; by default a node. */
  readonly server?: Server | undefined;
}

/** A failed HTTP response without an error object. Usually a proxy in front of the node has sent it. */
export interface HttpAnswer {
  readonly status: number;
  /** The target of a redirect; null if the response has no `location`. */
  readonly location: string | null;
}

/** The node, or a proxy in front of it, answered with an error. */
export class NodeError extends TradewireError {
  /** The error object as the node sent it. */
  readonly object: ErrorObject;
  /**
   * Whether the node itself refused the call: over gRPC with a status and no message before it, over REST with an error
   * object that has a gRPC code. Otherwise a proxy may have answered, or the node may have failed after it had done what
   * the call asks for.
   */
  readonly isRefusal: boolean;
  /** The HTTP response, if it had no error object. */
  readonly http: HttpAnswer | undefined;

  /**
   * @param object the error object as the node sent it
   * @param options the cause, notes for the summary, and facts about the response
   */
  constructor(object: ErrorObject, { cause, notes, isRefusal = false, http, server = "node" }: NodeErrorOptions = {}) {
    const message = truncate(messageWithReasons(object), MAX_MESSAGE).replace(/\p{Cc}+/gu, " "); // The summary is one line.
    const said = message === "" ? ", without a message" : `: ${message}`;
    super(`the ${server} answered ${codeName(object.code)}${said}`, {
      code: object.code,
      advice: adviceFor(object, http, server),
      notes,
      details: object.details,
      cause,
      errorCode: NODE_CODES[object.code] ?? "TW_NODE_FAILED",
    });
    this.object = object;
    this.isRefusal = isRefusal;
    this.http = http;
  }
}

/**
 * Returns the node's message followed by the reasons from its details. The messages of deployed nodes only say
 * `InvalidArgument error` or similar, and a `vega.ErrorDetail` has the reason.
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

/** The node is unreachable, the connection was lost, or the deadline passed. */
export class ConnectionError extends TradewireError {
  /** Whether there was a connection. Without one, no part of the call was sent. */
  readonly connected: boolean;
  /** Whether the call failed because the client or its transport was closed. */
  readonly isClosed: boolean;

  constructor(
    headline: ErrorText,
    options: TradewireErrorOptions & { readonly connected?: boolean; readonly isClosed?: boolean },
  ) {
    const { code, connected = true, isClosed = false } = options;
    super(headline, {
      errorCode: isClosed ? "TW_CLIENT_CLOSED" : connectionCode(code, connected),
      ...options,
    });
    this.connected = connected;
    this.isClosed = isClosed;
  }
}

/** A chunk, an archive, a CSV file or a response violates the interface. */
export class ProtocolError extends TradewireError {
  /** Whether the response was truncated, so that the same call may succeed. */
  readonly isTruncated: boolean;

  constructor(
    headline: ErrorText,
    options: Omit<TradewireErrorOptions, "code"> & { readonly code?: Code; readonly isTruncated?: boolean },
  ) {
    const { code = Code.DataLoss, isTruncated = false } = options;
    super(headline, { code, errorCode: PROTOCOL_CODES[code] ?? "TW_PROTOCOL", ...options });
    this.isTruncated = isTruncated;
  }
}

/** A file or folder of this machine could not be read or written. */
export class FileError extends TradewireError {
  constructor(headline: ErrorText, options: TradewireErrorOptions) {
    super(headline, { errorCode: FILE_CODES[options.code] ?? "TW_FILE_FAILED", ...options });
  }
}

/** The caller gave up: its signal was aborted. */
export class CanceledError extends TradewireError {
  /** Whether a part of the call may have been sent. It is false only if certainly nothing was. */
  readonly mayHaveBeenSent: boolean;

  /**
   * @param options what was canceled, by default the call; the cause; and whether a part of it may have been sent
   */
  constructor(options: { readonly what?: string; readonly cause?: unknown; readonly mayHaveBeenSent?: boolean } = {}) {
    const { what = "the call" } = options;
    super(`${what} was canceled`, {
      code: Code.Canceled,
      advice: `The signal of ${what} was aborted.`,
      cause: options.cause,
      errorCode: "TW_CANCELED",
    });
    this.mayHaveBeenSent = options.mayHaveBeenSent ?? true;
  }
}

function connectionCode(code: Code, connected: boolean): ErrorCode {
  if (code === Code.DeadlineExceeded) {
    return "TW_TIMEOUT";
  }
  return connected ? "TW_CONNECTION_LOST" : "TW_UNREACHABLE";
}

const CHECK_PATH = "Check the URL and its path: the server does not offer the interface there.";

const FOLLOW =
  "If the redirect leads to the server, use its target as the URL. If it leads to a login page, set the required credentials.";

function adviceFor({ code, message }: ErrorObject, http: HttpAnswer | undefined, server: Server): string {
  // grpc-gateway answers "Not Found" for paths that it does not know.
  if (code === Code.NotFound && (http?.status === 404 || message === "Not Found")) {
    return CHECK_PATH;
  }
  const isRedirect = http !== undefined && http.status >= 300 && http.status < 400 && http.location !== null;
  return isRedirect ? FOLLOW : adviceForCode(code, server);
}

function adviceForCode(code: Code, server: Server): string {
  switch (code) {
    case Code.InvalidArgument:
    case Code.OutOfRange:
      return `Correct the request: the ${server}'s message and the details say what is invalid.`;
    case Code.FailedPrecondition:
      return `Correct the request, or first change what it depends on: the ${server}'s message and the details say what.`;
    case Code.AlreadyExists:
      return "Use the existing record, or another name or identifier.";
    case Code.NotFound:
      return "Check the name or identifier.";
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return `Set the required credentials in grpc.headers and rest.headers. A proxy in front of the ${server} may also require them.`;
    case Code.Unimplemented:
      return `Check the URL and the ${server}'s version: the ${server} does not offer this method.`;
    case Code.ResourceExhausted:
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return `Try again later: the ${server} cannot serve the call now.`;
    case Code.Aborted:
      return "Read the current state, then try again: another call may have changed it at the same time.";
    default:
      return `The ${server} failed. Try again or use another ${server}, and report the error to the operator of the ${server}.`;
  }
}

/**
 * The node has banned this address temporarily, because it kept calling after the node had refused calls.
 */
export class BannedError extends TradewireError {
  /** The end of the ban, by this machine's clock. */
  readonly until: Date;
  /**
   * Whether the node certainly did not execute the call: the call was not sent, or the node itself refused it. Otherwise
   * a proxy in front of the node may have answered.
   */
  readonly isRefusal: boolean;
  /** Whether a part of the call may have been sent: the response to it announced the ban. Otherwise nothing was sent. */
  readonly mayHaveBeenSent: boolean;

  /**
   * @param until the end of the ban
   * @param cause the response that announced the ban
   * @param refusedBy who refused the call: this client, since it knew of the ban; the node; or something in front of it
   */
  constructor(until: Date, cause?: unknown, refusedBy: "client" | "node" | "unknown" = "client") {
    super(`the node has banned this address for too many calls, until ${until.toISOString()}`, {
      code: Code.PermissionDenied,
      advice:
        "Wait until then: earlier calls are not sent. If other programs share the address, set limits.callsPerSecond.",
      cause,
      errorCode: "TW_BANNED",
    });
    this.until = until;
    this.isRefusal = refusedBy !== "unknown";
    this.mayHaveBeenSent = refusedBy !== "client";
  }

  override toJSON() {
    return { ...super.toJSON(), until: this.until.toISOString() };
  }
}

/**
 * A sink of a sync could not be opened, read or written. The code says whether a retry helps: `UNAVAILABLE` if the sink is
 * unreachable now, `ABORTED` if the same unit may be retried immediately, and another code if a retry does not help.
 */
export class SinkError extends TradewireError {
  constructor(summary: ErrorText, options: TradewireErrorOptions) {
    super(summary, { errorCode: SINK_CODES[options.code] ?? "TW_SINK_FAILED", ...options });
  }
}

/** A stream ended because its messages were read too slowly. Nodes drop consumers that do not keep up. */
export class SlowConsumerError extends TradewireError {
  /**
   * @param of the name of the stream, such as `the stream of events`, and a description of what is missing
   * @param cause the error that ended the stream
   */
  constructor(of: { readonly stream: string; missing(): string }, cause: TradewireError) {
    super(`${of.stream} ended because it was read too slowly: ${cause.summary}; ${of.missing()}`, {
      code: Code.ResourceExhausted,
      advice: "Do less work in the reading loop, move the work to another thread or process, or request less.",
      cause,
      errorCode: "TW_SLOW_CONSUMER",
    });
  }
}
