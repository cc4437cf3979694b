import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

/** An object of a type that it names itself: `@type` is a type URL, whose last segment is the type's full name. */
export interface TypedObject {
  readonly "@type": string;
  readonly [field: string]: JsonValue;
}

/** The error object of the interface (specification, 7). */
export interface ErrorObject {
  /** The gRPC status code. */
  readonly code: Code;
  /** What went wrong, in the node's words; may be empty. */
  readonly message: string;
  /** Further facts: known types by their fields, unknown ones as they came. */
  readonly details: readonly TypedObject[];
}

/** What every error of this library is made of. */
export interface TradewireErrorOptions {
  /** The gRPC status code that the failure stands for. */
  readonly code: Code;
  /** What the reader can do about it: one sentence, the message's second line. */
  readonly advice: string;
  /** The details of the node's error object, known types by their fields, unknown ones as they came. */
  readonly details?: readonly TypedObject[] | undefined;
  /** What threw underneath. */
  readonly cause?: unknown;
}

/**
 * The errors that this library throws.
 *
 * The first line of `message` says what went wrong, the second what to do.
 */
export abstract class TradewireError extends Error {
  /** The gRPC status code, as in Connect's `Code`. */
  readonly code: Code;
  /** The first line of the message. */
  readonly summary: string;
  /** The second line of the message. */
  readonly advice: string;
  /** The details of the node's error object; empty where there are none. */
  readonly details: readonly TypedObject[];
  /** The name of the transport that the call went over, where there was a call. */
  transport?: string;
  /** The full name of the method that was called, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
  method?: string;

  constructor(summary: string, options: TradewireErrorOptions) {
    super(`${summary}\n${options.advice}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.summary = summary;
    this.advice = options.advice;
    this.details = options.details ?? [];
  }

  /** The error as a plain object, for machines. The cause is left out: it may hold more than a log should. */
  toJSON(): {
    name: string;
    code: string;
    message: string;
    advice: string;
    details: readonly TypedObject[];
    transport?: string;
    method?: string;
  } {
    return {
      name: this.name,
      code: codeName(this.code),
      message: this.summary,
      advice: this.advice,
      details: this.details,
      ...(this.transport === undefined ? {} : { transport: this.transport }),
      ...(this.method === undefined ? {} : { method: this.method }),
    };
  }
}

/** What was asked for cannot be right, so it was not sent. */
export class RequestError extends TradewireError {
  constructor(summary: string, options: Omit<TradewireErrorOptions, "code">) {
    super(summary, { code: Code.InvalidArgument, ...options });
  }
}

/** A command has fields that are wrong, so it was not signed. */
export class CommandError extends RequestError {
  /** Each field by its path in Protobuf's JSON, and what is wrong with it. */
  readonly problems: readonly { readonly path: string; readonly message: string }[];

  constructor(problems: CommandError["problems"]) {
    super(problems.map(({ path, message }) => `${path} ${message}`).join("; "), {
      advice: "Correct the command; nothing was signed or sent.",
    });
    this.problems = problems;
  }
}

/** The node, or something in front of it, answered with an error. */
export class NodeError extends TradewireError {
  /** The error object as the node gave it. */
  readonly object: ErrorObject;

  constructor(object: ErrorObject, cause?: unknown) {
    const message = object.message.replace(/\p{Cc}+/gu, " "); // The summary is one line.
    const said = message === "" ? ", without a message" : `: ${message}`;
    super(`the node answered ${codeName(object.code)}${said}`, {
      code: object.code,
      advice: adviceFor(object.code),
      details: object.details,
      cause,
    });
    this.object = object;
  }
}

/** The node could not be reached, or the connection was lost, or the time was up. */
export class ConnectionError extends TradewireError {
  /** Whether there was a connection. Where there was none, nothing of the call has left. */
  readonly connected: boolean;

  constructor(summary: string, options: TradewireErrorOptions & { readonly connected?: boolean }) {
    super(summary, options);
    this.connected = options.connected ?? true;
  }
}

/** What arrived breaks the rules of the interface: a chunk, an archive, a CSV file, a response. */
export class ProtocolError extends TradewireError {
  constructor(summary: string, options: Omit<TradewireErrorOptions, "code"> & { readonly code?: Code }) {
    super(summary, { code: Code.DataLoss, ...options });
  }
}

/** What a node answers to a submitted transaction (specification, 2.6). */
export interface SubmissionResult {
  /** Whether it was found valid and placed in the mempool. */
  readonly success: boolean;
  /** Names the transaction in a node's event stream. */
  readonly txHash: string;
  /** Category of the failure; 0 where there is none. */
  readonly code: number;
  /** More about why it failed, as it came; often JSON. */
  readonly data: string;
  /** What the consensus layer has to say about it. */
  readonly log: string;
  /** Unused. */
  readonly height: bigint;
}

/** The network refused a transaction (specification, 7). */
export class TransactionError extends TradewireError {
  /** The node's answer. */
  readonly result: SubmissionResult;
  /** `result.data`, decoded where it is JSON. */
  readonly data: JsonValue;

  constructor(result: SubmissionResult) {
    const data = decodeData(result.data);
    const said = [typeof data === "string" ? data : JSON.stringify(data), result.log].filter((text) => text !== "");
    const why = said.join("; ").replace(/\p{Cc}+/gu, " "); // The summary is one line.
    super(`the network refused the transaction (code ${result.code})${why === "" ? "" : `: ${why}`}`, {
      code: Code.FailedPrecondition,
      advice: "Nothing of it will be carried out. Correct what the reason names, and make a new transaction.",
    });
    this.result = result;
    this.data = data;
  }

  override toJSON() {
    return { ...super.toJSON(), result: this.result, data: this.data };
  }
}

/** What tells a transaction from all others. */
export interface TransactionIdentity {
  /** `tx.pow.tid`: the network takes it once. */
  readonly tid: string;
  /** The sender. */
  readonly publicKey: string;
  /** `tx.signature.value`. */
  readonly signature: string;
}

/** A transaction was sent, and whether it was taken is not known: no answer came, or none that says so. */
export class OutcomeUnknownError extends TradewireError {
  readonly transaction: TransactionIdentity;

  constructor(transaction: TransactionIdentity, cause: TradewireError) {
    super(`${cause.summary}; whether transaction ${transaction.tid} was taken is not known`, {
      code: cause.code,
      advice:
        "Look for its effects under its public key before you make another; the same transaction may be sent again, for the network takes a tid once.",
      details: cause.details,
      cause,
    });
    this.transaction = transaction;
  }

  override toJSON() {
    return { ...super.toJSON(), transaction: this.transaction };
  }
}

/** A file or folder of this machine could not be read or written. */
export class FileError extends TradewireError {}

/** The caller gave up: its signal was aborted. */
export class CanceledError extends TradewireError {
  constructor(options: { readonly cause?: unknown } = {}) {
    super("the call was canceled", {
      code: Code.Canceled,
      advice: "Nothing is wrong: the signal given to the call was aborted.",
      cause: options.cause,
    });
  }
}

/** The name of a gRPC status code as gRPC writes it, such as `INVALID_ARGUMENT`. */
export function codeName(code: Code): string {
  return Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}

function adviceFor(code: Code): string {
  switch (code) {
    case Code.InvalidArgument:
    case Code.OutOfRange:
    case Code.FailedPrecondition:
      return "Correct the request; the message and the details say what the node refuses.";
    case Code.NotFound:
      return "Check the name or identifier; the node does not hold it.";
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return "Check the credentials that the node, or what stands in front of it, asks for.";
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

/** A result's data: decoded where it is an object or a list in JSON, else the text. */
function decodeData(data: string): JsonValue {
  if (!/^\s*[[{]/.test(data)) {
    return data;
  }
  try {
    const value: JsonValue = JSON.parse(data);
    return value;
  } catch {
    return data;
  }
}
