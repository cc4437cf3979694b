import type { JsonValue } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { ErrorSection } from "./sections.js";

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

/** The parts that every error of this library has. */
export interface TradewireErrorOptions {
  /** The gRPC status code that the failure stands for. */
  readonly code: Code;
  /** What the user can do about it: one sentence, the message's second line. */
  readonly advice: string;
  /** What the first line says in parentheses, such as the URL of the call. */
  readonly notes?: readonly string[] | undefined;
  /** The details of the node's error object, known types by their fields, unknown ones as they came. */
  readonly details?: readonly TypedObject[] | undefined;
  /** The error that was thrown underneath. */
  readonly cause?: unknown;
  /** The section of docs/errors.md that tells more; by default that of the class. */
  readonly section?: ErrorSection;
}

/**
 * An error of this library.
 *
 * The first line of `message` says what went wrong, the second what to do, the third where more is told.
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
  /** Where the package tells more of such errors: a page in it, and a section, such as `docs/errors.md#bannederror`. */
  readonly docs: string;
  /** The name of the transport that the call went over, where there was a call. */
  transport?: string;
  /** The full name of the method that was called, such as `datanode.api.v2.TradingDataService/ExportNetworkHistory`. */
  method?: string;
  /** The summary's two parts. As properties of their own they would be printed with each error. */
  readonly #summary: { readonly headline: string; readonly notes: readonly string[] };

  constructor(headline: string, options: TradewireErrorOptions) {
    const notes = options.notes ?? [];
    const summary = notes.length === 0 ? headline : `${headline} (${notes.join("; ")})`;
    const docs = `docs/errors.md#${options.section ?? "tradewireerror"}`;
    const message = `${summary}\n${options.advice}\nSee ${docs} of tradewire.`;
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
    this.summary = summary;
    this.advice = options.advice;
    this.docs = docs;
    this.details = options.details ?? [];
    this.#summary = { headline, notes };
  }

  /** The summary without what it says in parentheses. */
  get headline(): string {
    return this.#summary.headline;
  }

  /** What the summary says in parentheses, such as the URL of the call, and what failed over other transports before. */
  get notes(): readonly string[] {
    return this.#summary.notes;
  }

  /**
   * Make a plain object of the error, for machines. The cause is left out: it may hold more than a log should.
   *
   * @returns the error's fields; `code` is the code's name, such as `INVALID_ARGUMENT`
   */
  toJSON(): {
    name: string;
    code: string;
    message: string;
    advice: string;
    docs: string;
    details: readonly TypedObject[];
    transport?: string;
    method?: string;
  } {
    return {
      name: this.name,
      code: codeName(this.code),
      message: this.summary,
      advice: this.advice,
      docs: this.docs,
      details: this.details,
      ...(this.transport === undefined ? {} : { transport: this.transport }),
      ...(this.method === undefined ? {} : { method: this.method }),
    };
  }
}

/**
 * Name a gRPC status code as gRPC writes it.
 *
 * @param code the code, as in Connect's `Code`
 * @returns the name, such as `INVALID_ARGUMENT`
 */
export function codeName(code: Code): string {
  // Connect spells this one in another way than google/rpc/code.proto.
  return code === Code.Canceled ? "CANCELLED" : Code[code].replace(/(?<=[a-z])(?=[A-Z])/g, "_").toUpperCase();
}
