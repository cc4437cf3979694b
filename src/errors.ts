import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

/** A detail of an error object: a JSON object whose `@type` is a type URL (specification, 7). */
export interface ErrorDetail {
  readonly "@type": string;
  readonly [field: string]: JsonValue;
}

/** What every error of this library is made of. */
export interface TradewireErrorOptions {
  /** The gRPC status code that the failure stands for. */
  readonly code: Code;
  /** What the reader can do about it: one sentence, the message's second line. */
  readonly advice: string;
  /** The details of the node's error object, known types by their fields, unknown ones as they came. */
  readonly details?: readonly ErrorDetail[] | undefined;
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
  readonly details: readonly ErrorDetail[];
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
    details: readonly ErrorDetail[];
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

/** The node, or something in front of it, answered with an error. */
export class NodeError extends TradewireError {}

/** The node could not be reached, or the connection was lost, or the time was up. */
export class ConnectionError extends TradewireError {}

/** What arrived breaks the rules of the interface: a chunk, an archive, a CSV file, a response. */
export class ProtocolError extends TradewireError {
  constructor(summary: string, options: Omit<TradewireErrorOptions, "code"> & { readonly code?: Code }) {
    super(summary, { code: Code.DataLoss, ...options });
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
