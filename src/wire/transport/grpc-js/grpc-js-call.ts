import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import type { ConnectError } from "@connectrpc/connect";
import { type Channel, type Metadata, type StatusObject, status as statusCode } from "@grpc/grpc-js";
import { TRUNCATED_RESPONSE, unexpectedContentType } from "../../../base/errors/call-errors.js";
import { brokenAnswerError, CallError } from "../call-failure.js";
import { foreignTypeOf } from "../grpc-headers.js";
import { ChangeSignal, type MessageCall } from "../message-call.js";
import { statusError, toHeaders } from "./grpc-js-status.js";

type RawCall = ReturnType<Channel["createCall"]>;

type CallState =
  /** No header has arrived. */
  | { readonly kind: "waiting" }
  | { readonly kind: "responding"; readonly header: Headers }
  /** The header is not gRPC's. The call continues, since its end may have an HTTP status. */
  | { readonly kind: "foreign"; readonly header: Headers }
  | { readonly kind: "succeeded"; readonly header: Headers }
  | { readonly kind: "failed"; readonly error: ConnectError };

type Outcome = Extract<CallState, { readonly kind: "succeeded" | "failed" }>;

/** Starts a call of a channel. grpc-js reads a message only when the previous one has been taken. */
export function startGrpcJsCall(
  raw: RawCall,
  metadata: Metadata,
  onEnd: (error?: ConnectError) => void,
  onReceive: () => void,
  explain: (error: ConnectError) => ConnectError = (error) => error,
): Omit<MessageCall, "mayHaveBeenSent"> {
  const change = new ChangeSignal();
  const trailer = new Headers();
  let state: CallState = { kind: "waiting" };
  /** The message that has arrived and that nobody has read. */
  let unread: Uint8Array | undefined;
  let hasMessage = false;

  const hasEnded = () => state.kind === "succeeded" || state.kind === "failed";

  function end(outcome: Outcome): void {
    state = outcome;
    onEnd(outcome.kind === "failed" ? outcome.error : undefined);
    change.notify();
  }

  function endWithStatus(status: StatusObject): void {
    for (const [key, value] of toHeaders(status.metadata)) {
      trailer.append(key, value);
      onReceive();
    }
    const header = "header" in state ? state.header : undefined;
    const wasStarted = findInternal(raw, "http2Stream") !== undefined;
    const outcome = outcomeOf(status, { header, trailer, hasMessage, isTruncated: endsInsideMessage(raw), wasStarted });
    end(outcome.kind === "failed" ? { ...outcome, error: explain(outcome.error) } : outcome);
  }

  raw.start(metadata, {
    onReceiveMetadata(received) {
      onReceive();
      if (!hasEnded()) {
        const header = toHeaders(received);
        state = {
          kind: foreignTypeOf(contentTypeOf(header), FORMATS) === undefined ? "responding" : "foreign",
          header,
        };
        change.notify();
      }
    },
    onReceiveMessage(bytes: Buffer) {
      onReceive();
      hasMessage = true;
      if (state.kind === "foreign") {
        raw.startRead(); // The end of the call may have an HTTP status.
      } else if (!hasEnded()) {
        unread = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        change.notify();
      }
    },
    onReceiveStatus(status) {
      if (!hasEnded()) {
        endWithStatus(status);
      }
    },
  });
  raw.startRead(); // Until the first read, grpc-js would buffer all messages that arrive.

  const failure = () => (state.kind === "failed" ? state.error : undefined);
  return {
    trailer,

    header: () => (state.kind === "responding" || state.kind === "succeeded" ? state.header : undefined),

    take() {
      const message = unread;
      if (message !== undefined) {
        unread = undefined;
        raw.startRead();
        return message;
      }
      const error = failure();
      if (error !== undefined) {
        throw error;
      }
      return undefined;
    },

    left: () => 0,
    isTaken: () => hasEnded() && unread === undefined,
    failure,
    changed: () => change.wait(),
    settled: () => change.wait(),

    async write(bytes) {
      let isSent = false;
      if (!hasEnded()) {
        const callback = () => {
          isSent = true;
          change.notify();
        };
        raw.sendMessageWithContext({ callback }, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
      while (!isSent && !hasEnded()) {
        await change.wait();
      }
      return !hasEnded();
    },

    end(bytes) {
      if (!hasEnded() && bytes !== undefined) {
        raw.sendMessageWithContext({}, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
      }
      if (!hasEnded()) {
        raw.halfClose();
      }
    },

    fail(error) {
      if (!hasEnded()) {
        unread = undefined;
        end({ kind: "failed", error });
        raw.cancelWithStatus(statusCode.CANCELLED, error.rawMessage);
      }
    },
  };
}

interface Response {
  readonly header: Headers | undefined;
  readonly trailer: Headers;
  readonly hasMessage: boolean;
  /** Whether it ends inside a message. */
  readonly isTruncated: boolean;
  /** Whether the call had an HTTP/2 stream, so that the request may have been sent. */
  readonly wasStarted: boolean;
}

/** Returns how a call has ended, by the status that grpc-js reports and what has arrived of the response. */
function outcomeOf(status: StatusObject, { header, trailer, hasMessage, isTruncated, wasStarted }: Response): Outcome {
  // Without a header, the response may consist of headers alone, which grpc-js reports as the trailer.
  const foreignType =
    header !== undefined || trailer.has("content-type")
      ? foreignTypeOf(contentTypeOf(header ?? trailer), FORMATS)
      : undefined;
  if (status.code !== statusCode.OK) {
    const error = statusError(status, header, { hasMessage: hasMessage || isTruncated, wasStarted });
    const isHttpStatus = error instanceof CallError && error.failure.kind === "HTTP status";
    return { kind: "failed", error: foreignType === undefined || isHttpStatus ? error : foreignError(foreignType) };
  }
  if (isTruncated) {
    return { kind: "failed", error: brokenAnswerError(TRUNCATED_RESPONSE) };
  }
  return foreignType === undefined
    ? { kind: "succeeded", header: header ?? new Headers(trailer) }
    : { kind: "failed", error: foreignError(foreignType) };
}

const contentTypeOf = (header: Headers) => header.get("content-type") ?? "";

/** The formats of messages that the transport decodes. */
const FORMATS = ["proto"] as const;

const foreignError = (contentType: string): CallError => brokenAnswerError(unexpectedContentType(contentType));

/** The state of grpc-js's decoder between two frames. */
const BETWEEN_FRAMES = 0;

/** The maximum depth of a call's decoder: a call is wrapped for name resolution, retries and load balancing. */
const MAX_DEPTH = 8;

/**
 * Returns whether the bytes of a call have ended inside a message. grpc-js treats that as the end of the stream and hides
 * its decoder, so this searches for the decoder.
 */
function endsInsideMessage(call: RawCall): boolean {
  const readState = property(findInternal(call, "decoder"), "readState");
  return typeof readState === "number" && readState !== BETWEEN_FRAMES;
}

/** Finds the HTTP/2 session of a call. */
export function sessionOf(call: RawCall): ClientHttp2Session | undefined {
  const session = property(findInternal(call, "http2Stream"), "session");
  return isSession(session) ? session : undefined;
}

/** Finds the HTTP/2 stream of a call. */
export function streamOf(call: RawCall): ClientHttp2Stream | undefined {
  const stream = findInternal(call, "http2Stream");
  return isStream(stream) ? stream : undefined;
}

function isStream(value: unknown): value is ClientHttp2Stream {
  return typeof property(value, "on") === "function" && isSession(property(value, "session"));
}

function isSession(value: unknown): value is ClientHttp2Session {
  return typeof property(value, "ping") === "function" && typeof property(value, "destroy") === "function";
}

/** Finds a property of the innermost call, which others wrap. */
function findInternal(call: RawCall, name: string): unknown {
  let inner: unknown = call;
  for (let depth = 0; depth < MAX_DEPTH; depth += 1) {
    const found = property(inner, name);
    if (found !== undefined) {
      return found;
    }
    const attempts = property(inner, "underlyingCalls");
    inner = Array.isArray(attempts) ? property(attempts.at(-1), "call") : property(inner, "child");
  }
  return undefined;
}

function property(of: unknown, name: string): unknown {
  return typeof of === "object" && of !== null ? Reflect.get(of, name) : undefined;
}
