import { Code, ConnectError } from "@connectrpc/connect";
import { type BrokenAnswer, EMPTY, SEVERAL } from "../errors/broken-answer.js";
import { resetByServer } from "../errors/network-failure.js";
import { codeOfHttpStatus } from "../http-rule/status.js";

/** What ended a call, as reported by the code that detected it. */
export type CallFailure =
  /** The server reset the HTTP/2 stream. */
  | { readonly kind: "stream reset"; readonly http2Code: number }
  /** The call's time was up. */
  | { readonly kind: "deadline exceeded" }
  /** An HTTP status other than that of a gRPC response. */
  | { readonly kind: "HTTP status"; readonly status: number }
  /** The response ended without `grpc-status`. */
  | { readonly kind: "missing status" }
  /** The response breaks the rules of the interface. */
  | { readonly kind: "broken answer"; readonly answer: BrokenAnswer }
  /** The request cannot be written as a message. */
  | { readonly kind: "unwritable request" };

/** The error of a call that failed, for Connect's interceptors. The failure says what it is, its message is for people. */
export class CallError extends ConnectError {
  readonly #failure: CallFailure;

  /**
   * @param failure what has ended the call
   * @param options the error underneath, the response's header, and another message than the failure's own
   */
  constructor(
    failure: CallFailure,
    options: { readonly cause?: unknown; readonly header?: Headers | undefined; readonly message?: string } = {},
  ) {
    const { message, code } = described(failure);
    super(options.message ?? message, code, options.header, undefined, options.cause);
    this.#failure = failure;
  }

  /** What has ended the call. */
  get failure(): CallFailure {
    return this.#failure;
  }

  /** Connect's own test, which this would inherit, takes every Connect error for one of these. */
  static override [Symbol.hasInstance](value: unknown): value is CallError {
    return typeof value === "object" && value !== null && #failure in value;
  }
}

/** The message of a failure, and gRPC's code of it. */
function described(failure: CallFailure): { readonly message: string; readonly code: Code } {
  switch (failure.kind) {
    case "stream reset": {
      const { summary, code = Code.Internal } = resetByServer(failure.http2Code);
      return { message: summary, code };
    }
    case "deadline exceeded":
      return { message: "the operation timed out", code: Code.DeadlineExceeded };
    case "HTTP status":
      return { message: `HTTP ${failure.status}`, code: codeOfHttpStatus(failure.status) };
    case "missing status":
      return { message: "the response ended without a status", code: Code.Internal };
    case "broken answer":
      return { message: failure.answer.summary, code: failure.answer.code };
    case "unwritable request":
      return { message: "the request cannot be written", code: Code.InvalidArgument };
  }
}

/**
 * Make the error of an answer that breaks the rules of the interface.
 *
 * @param answer its fault
 * @param cause the error that was thrown underneath, if any
 * @returns the error
 */
export function brokenAnswerError(answer: BrokenAnswer, cause?: unknown): CallError {
  return new CallError({ kind: "broken answer", answer }, { cause });
}

/**
 * Make the error of an answer without a message where its method has one.
 *
 * @returns the error
 */
export const noMessage = (): CallError => brokenAnswerError(EMPTY);

/**
 * Make the error of an answer with several messages where its method has one.
 *
 * @returns the error
 */
export const severalMessages = (): CallError => brokenAnswerError(SEVERAL);
