import type { IncomingHttpHeaders } from "node:http";
import type { TlsOptions } from "node:tls";
import type { ClientConfig, Code, TradewireError, TypedObject } from "tradewire";
import type { NodeAnswer } from "./answers.js";
import type { Operation } from "./operations.js";
import type { NodeEndpoints, Way } from "./transports.js";

/** A failure, as a caller sees it, whatever the transport. */
export interface Failure {
  readonly name: string;
  readonly code: Code;
  /** The first line of the message, without a URL in parentheses and without a page quoted after `HTTP nnn`. */
  readonly summary: string;
  readonly details: readonly TypedObject[];
}

/** What every transport has to make of a case: the operation's own result, or a failure. */
export type Expected = "success" | Failure;

/** What is around a case, besides a node that answers over plain connections. */
export interface Surroundings extends Partial<AsyncDisposable> {
  /** How the node's servers secure themselves. */
  readonly tls?: TlsOptions;
  /** Where the node is looked for, and how it is spoken to, in place of its own endpoints. */
  endpoints?(own: NodeEndpoints): NodeEndpoints;
  /** Called once all operations have ended, with the headers of all requests that came. */
  check?(requests: readonly IncomingHttpHeaders[]): void;
}

/** A situation, and what comes of it over every transport. */
export interface Case {
  readonly name: string;
  /** What the node answers; without it nothing but the case's own surroundings does. */
  readonly answer?: NodeAnswer;
  readonly expected: Expected | ((operation: Operation) => Expected);
  /** The ways over which it is possible, where not over all, and why. */
  readonly over?: { readonly ways: readonly Way[]; readonly because: string };
  /** The operations that it concerns, where not all. */
  readonly of?: (operation: Operation) => boolean;
  readonly config?: Pick<ClientConfig, "timeouts" | "limits" | "retry">;
  /** When the caller gives up. */
  readonly abort?: "before" | "at the first part" | { readonly afterMs: number };
  /** The waits before calls that are tried again, in milliseconds. */
  readonly delays?: readonly number[];
  readonly surround?: () => Surroundings | Promise<Surroundings>;
}

/** A failure with the name of one of the library's error classes. */
export function failure(
  type: abstract new (...args: never) => TradewireError,
  code: Code,
  summary: string,
  details: readonly TypedObject[] = [],
): Failure {
  return { name: type.name, code, summary, details };
}
