import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from "node:http2";
import { ConnectError, decodeBinaryHeader } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { StatusSchema } from "../../../../gen/client/google/rpc/status_pb.js";
import {
  BROKEN_COMPRESSION,
  messageTooLarge,
  TRUNCATED_RESPONSE,
  UNEXPECTED_COMPRESSION,
  unexpectedContentType,
} from "../../../base/errors/call-errors.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import { isBytes } from "../../../base/input/assert.js";
import type { GrpcConfig } from "../../config/client-config.js";
import { decodeMessage } from "../../json/envelope.js";
import { addFacts, brokenAnswerError, CallError, toConnectError } from "../call-failure.js";
import { foreignTypeOf } from "../grpc-headers.js";
import { limitInterimResponses } from "../http2-liveness.js";
import { createChangeSignal, type MessageCall } from "../message-call.js";
import { createFrameReader, FRAME_HEADER_SIZE, type Frame, writeFrame } from "./frames.js";

/** The size of the frames that are buffered before they are read, in bytes. Beyond it, the stream is paused. */
const HIGH_WATER_MARK = 64 * 1024;

/** The maximum number of times that a call is opened if each connection closes before anything of the call is sent. */
const MAX_ATTEMPTS = 5;

/** Options of a gRPC call. */
export interface GrpcCallOptions {
  /** Opens the stream, unless `isWanted` returns `false` by then. */
  open(headers: OutgoingHttpHeaders, isWanted: () => boolean): Promise<ClientHttp2Stream>;
  readonly headers: OutgoingHttpHeaders;
  /** The maximum size of a message, in bytes: both as it travels and decompressed. */
  readonly maxMessageBytes: number;
  /** The compression of the requests. */
  readonly compression: GrpcConfig["compression"];
  /** Called whenever bytes arrive. */
  onReceive(stream: ClientHttp2Stream): void;
  /** Called once, when the call has ended and its end was read. */
  onEnd(): void;
}

/** The state of a call. `attempt` counts how often it was opened, from 1. */
type CallState =
  /** A stream is being opened; `opened` resolves when the state has changed. */
  | { readonly kind: "opening"; readonly attempt: number; readonly opened: Promise<void> }
  | { readonly kind: "open"; readonly attempt: number; readonly stream: ClientHttp2Stream }
  /** The call has ended; messages that arrived before may still be read. */
  | {
      readonly kind: "ended";
      readonly error: ConnectError | undefined;
      readonly stream: ClientHttp2Stream | undefined;
      /** Whether the reader has seen the end, after which nothing may change. */
      readonly isRead: boolean;
    };

interface Response {
  header: Headers | undefined;
  readonly trailer: Headers;
  /** Whether a body or a trailer has arrived, so that the header does not hold the status. */
  isContinued: boolean;
  /** Whether bytes of a body have arrived. */
  hasBody: boolean;
  /** Whether the server has ended the response, in a header or a trailer. A reset after it loses nothing. */
  isComplete: boolean;
}

/** Starts a gRPC call over HTTP/2. Messages that arrived before a failure are delivered first. */
export function startGrpcCall(options: GrpcCallOptions): MessageCall {
  const { open, headers, maxMessageBytes, compression, onReceive, onEnd } = options;
  const response: Response = {
    header: undefined,
    trailer: new Headers(),
    isContinued: false,
    hasBody: false,
    isComplete: false,
  };
  const buffer = createFrameBuffer();
  const change = createChangeSignal();
  const frames = createFrameReader(maxMessageBytes, (frame) => {
    buffer.push(frame);
    if (change.isAwaited()) {
      change.notify();
    } else if (buffer.isFull()) {
      streamOf(state)?.pause();
    }
  });
  let state = opening(1);

  function opening(attempt: number): CallState {
    const opened = open(headers, () => state.kind !== "ended").then(onOpen, (reason) => end(toConnectError(reason)));
    return { kind: "opening", attempt, opened };
  }

  function onOpen(stream: ClientHttp2Stream): void {
    if (state.kind !== "opening") {
      stream.close(constants.NGHTTP2_CANCEL); // The call ended at the moment at which the stream was opened.
      return;
    }
    const { attempt } = state;
    state = { kind: "open", attempt, stream };
    whenNeverSent(stream, () => {
      if (state.kind === "open" && attempt < MAX_ATTEMPTS) {
        state = opening(attempt + 1);
      }
    });
    listen(stream, {
      onReceive: () => onReceive(stream),
      onHeader,
      onData,
      onTrailer(fields) {
        addFields(response.trailer, fields);
        response.isContinued = true;
        response.isComplete = true;
      },
      onEnd() {
        // A stream that was reset, or whose connection was lost, ends like any other. The reason is known when it closes.
        const isConnected = stream.session?.destroyed === false;
        if (response.isComplete || (response.header !== undefined && !isReset(stream) && isConnected)) {
          endWithStatus();
        }
      },
      onClose(reason) {
        if (!response.isComplete && (reason !== undefined || isReset(stream))) {
          end(streamError(stream, reason));
        }
        endWithStatus();
      },
      isCurrent: () => streamOf(state) === stream,
    });
  }

  function onHeader(fields: ResponseFields, isLast: boolean): void {
    try {
      response.header = readHeader(fields);
    } catch (reason) {
      end(ConnectError.from(reason));
    }
    if (isLast) {
      response.isComplete = true;
      endWithStatus();
    }
    change.notify();
  }

  function onData(bytes: Uint8Array): void {
    response.isContinued = true;
    response.hasBody ||= bytes.length > 0;
    if (state.kind === "ended") {
      return;
    }
    try {
      frames.push(bytes);
    } catch (reason) {
      end(ConnectError.from(reason));
    }
  }

  /** Ends the call with the status that the response holds, or lacks. */
  function endWithStatus(): void {
    if (state.kind !== "ended") {
      const error = errorIn(response);
      end(error === undefined && frames.isInside ? brokenAnswerError(TRUNCATED_RESPONSE) : error);
    }
  }

  function end(error?: ConnectError): void {
    if (state.kind === "ended") {
      return;
    }
    const stream = streamOf(state);
    state = { kind: "ended", error, stream, isRead: false };
    if (error !== undefined || stream?.writableFinished === false) {
      stream?.close(constants.NGHTTP2_CANCEL);
    }
    change.notify();
  }

  /** Returns the call's end to its reader: the error, or `undefined` if it succeeded or continues. */
  function readEnd(): ConnectError | undefined {
    if (state.kind !== "ended") {
      return undefined;
    }
    if (!state.isRead) {
      state = { ...state, isRead: true };
      onEnd();
    }
    return state.error;
  }

  /** Writes to the stream, and again if the stream was never sent. Resolves to whether the call continues. */
  async function send(write: (stream: ClientHttp2Stream, done: () => void) => void): Promise<boolean> {
    for (;;) {
      if (state.kind === "opening") {
        await state.opened;
      }
      const stream = writableOf(state);
      if (stream === undefined) {
        return false;
      }
      await new Promise<void>((resolve) => write(stream, resolve));
      if (streamOf(state) === stream) {
        return state.kind !== "ended";
      }
    }
  }

  function frameOf(message: Uint8Array): Uint8Array {
    return writeFrame(compression === GZIP ? compress(message) : { isCompressed: false, bytes: message });
  }

  return {
    trailer: response.trailer,

    async header() {
      while (response.header === undefined && state.kind !== "ended") {
        await change.wait();
      }
      if (state.kind === "ended" && state.error !== undefined) {
        const { error } = state;
        readEnd();
        throw error;
      }
      return response.header ?? new Headers();
    },

    async read() {
      for (;;) {
        const frame = buffer.shift();
        if (frame !== undefined) {
          const stream = streamOf(state);
          if (!buffer.isFull() && stream?.isPaused() === true) {
            stream.resume();
          }
          // Only what is read is decompressed, so the buffer holds no more than what has arrived.
          return decompress(frame, response.header?.get("grpc-encoding") ?? null, maxMessageBytes);
        }
        if (state.kind === "ended") {
          const error = readEnd();
          if (error !== undefined) {
            throw error;
          }
          return undefined;
        }
        await change.wait();
      }
    },

    write: (message) => send((stream, done) => stream.write(frameOf(message), done)),

    end(message) {
      void send((stream, done) => stream.end(message === undefined ? undefined : frameOf(message), done));
    },

    // What ends while it is opened is never sent, or reset before its message.
    mayHaveBeenSent: () => state.kind !== "opening",

    fail(error) {
      end(error);
      if (state.kind !== "ended" || state.isRead) {
        return;
      }
      state = { ...state, error };
      buffer.clear();
      state.stream?.close(constants.NGHTTP2_CANCEL); // Otherwise the unread rest of a response would hold it and its connection forever.
      readEnd();
      change.notify();
    },
  };
}

/** Returns the stream of a call; `undefined` while it is being opened, or if none was. */
function streamOf(state: CallState): ClientHttp2Stream | undefined {
  return state.kind === "opening" ? undefined : state.stream;
}

/** Returns the stream of a call if requests may be written to it. */
function writableOf(state: CallState): ClientHttp2Stream | undefined {
  return state.kind === "open" && state.stream.writable ? state.stream : undefined;
}

/** Returns a buffer of messages that have arrived and that nobody has read. */
function createFrameBuffer() {
  let frames: Frame[] = [];
  let taken = 0;
  let bytes = 0;
  return {
    push(frame: Frame): void {
      frames.push(frame);
      bytes += FRAME_HEADER_SIZE + frame.bytes.length; // An empty message takes space too.
    },
    shift(): Frame | undefined {
      const frame = frames[taken];
      if (frame === undefined) {
        return undefined;
      }
      taken += 1;
      bytes -= FRAME_HEADER_SIZE + frame.bytes.length;
      if (taken === frames.length) {
        frames = [];
        taken = 0;
      }
      return frame;
    },
    isFull: () => bytes >= HIGH_WATER_MARK,
    clear(): void {
      frames = [];
      taken = 0;
      bytes = 0;
    },
  };
}

type ResponseFields = IncomingHttpHeaders & IncomingHttpStatusHeader;

interface StreamListener {
  /** Called before each of the others, whenever bytes arrive. */
  onReceive(): void;
  onHeader(fields: ResponseFields, isLast: boolean): void;
  onData(bytes: Uint8Array): void;
  onTrailer(fields: IncomingHttpHeaders): void;
  /** Called when all data was read, also if the stream was reset. */
  onEnd(): void;
  /** Called when the stream has closed, with its error if there was one. It may be called twice. */
  onClose(reason?: Error): void;
  /** Returns whether the call still uses this stream. Otherwise its close is ignored. */
  isCurrent(): boolean;
}

function listen(stream: ClientHttp2Stream, listener: StreamListener): void {
  limitInterimResponses(stream);
  stream.once("response", (fields, flags) => {
    listener.onReceive();
    listener.onHeader(fields, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
  });
  stream.once("trailers", (fields) => {
    listener.onReceive();
    listener.onTrailer(fields);
  });
  const onData = (bytes: Uint8Array) => {
    listener.onReceive();
    listener.onData(bytes);
  };
  stream.on("data", onData);
  stream.once("end", () => listener.onEnd());
  const onClose = (reason?: Error) => {
    if (!listener.isCurrent()) {
      return;
    }
    // Node emits nothing of what it still holds of a lost stream, so that is read here.
    stream.off("data", onData);
    for (let bytes: unknown = stream.read(); isBytes(bytes); bytes = stream.read()) {
      listener.onData(bytes);
    }
    listener.onClose(reason);
  };
  stream.on("error", onClose);
  stream.once("close", () => onClose());
}

/** The type of the frame that opens a stream. */
const HEADERS_FRAME = 1;

/**
 * Calls a function if a stream is never sent: the server's GOAWAY was read before the stream's first frame was sent.
 */
function whenNeverSent(stream: ClientHttp2Stream, onNeverSent: () => void): void {
  const { session } = stream;
  stream.once("frameError", (type) => {
    // A header that is too large cannot be sent either, but then the session has not ended.
    if (type === HEADERS_FRAME && session?.closed === true) {
      onNeverSent();
    }
  });
}

function isReset({ rstCode }: ClientHttp2Stream): boolean {
  return rstCode !== undefined && rstCode !== constants.NGHTTP2_NO_ERROR;
}

function streamError(stream: ClientHttp2Stream, reason?: Error & { readonly code?: unknown }): ConnectError {
  const isOfReset = isReset(stream) && (reason === undefined || reason.code === "ERR_HTTP2_STREAM_ERROR");
  return isOfReset
    ? new CallError({ kind: "stream reset", http2Code: stream.rstCode }, { cause: reason })
    : toConnectError(reason);
}

/** The headers that hold a call's status. */
const STATUS = "grpc-status";
const MESSAGE = "grpc-message";
const DETAILS = "grpc-status-details-bin";
const SUCCESS = "0";

const HTTP_OK = 200;

/** The formats of messages that a server may name. */
const FORMATS = ["proto", "json"] as const;

/** Reads a response's header. Throws a ConnectError unless it is that of gRPC, without compression or with a known one. */
function readHeader(fields: ResponseFields): Headers {
  const header = new Headers();
  addFields(header, fields);
  const status = fields[":status"] ?? 0;
  if (status !== HTTP_OK) {
    throw new CallError({ kind: "HTTP status", status }, { header });
  }
  const foreignType = foreignTypeOf(header, FORMATS);
  if (foreignType !== undefined) {
    throw brokenAnswerError(unexpectedContentType(foreignType));
  }
  assertKnownCompression(header.get("grpc-encoding"));
  return header;
}

/**
 * Returns the error in a response that has ended; `undefined` if the call has succeeded. The status is in the trailer, or
 * in the header if nothing follows it. A status in a header that precedes a body says nothing about the call.
 */
function errorIn({ header = new Headers(), trailer, isContinued, hasBody }: Response): ConnectError | undefined {
  const status = isContinued ? trailer : header;
  if (!status.has(STATUS)) {
    return new CallError({ kind: "missing status" });
  }
  const error = findTrailerError(status);
  if (status === trailer) {
    for (const [name, value] of header) {
      error?.metadata.append(name, value);
    }
  }
  return error === undefined || hasBody ? error : addFacts(error, { isNodeStatus: true });
}

function addFields(headers: Headers, fields: IncomingHttpHeaders): void {
  repairStatus(fields);
  for (const [name, value] of Object.entries(fields)) {
    if (!name.startsWith(":") && value !== undefined) {
      for (const each of [value].flat()) {
        headers.append(name, each);
      }
    }
  }
}

/**
 * Escapes an unreadable message, and removes unreadable details: otherwise the error that they belong to would be lost.
 * Details that contradict the status are removed too, unless the status is a success, which leaves them as the only failure.
 */
function repairStatus(fields: IncomingHttpHeaders): void {
  const { [STATUS]: status, [DETAILS]: details, [MESSAGE]: message } = fields;
  if (typeof message === "string") {
    fields[MESSAGE] = encodeURIComponent(decodeMessage(message));
  }
  try {
    const code = typeof details === "string" ? decodeBinaryHeader(details, StatusSchema).code : status;
    if (status !== SUCCESS && String(code) !== status) {
      delete fields[DETAILS];
    }
  } catch {
    delete fields[DETAILS];
  }
}

/** The compression that messages may have in both directions, by gRPC's name. */
export const GZIP = "gzip";

/** The size of the parts that a message is decompressed in, in bytes. */
const MAX_PART_BYTES = 256 * 1024;
const MIN_PART_BYTES = 1024;

/** Loads zlib with the first message that needs it: most calls have none. */
const zlib = () => process.getBuiltinModule("node:zlib");

/**
 * Checks the compression of a response.
 *
 * @throws `CallError` if it is neither `gzip` nor `identity`
 */
function assertKnownCompression(encoding: string | null): void {
  if (encoding !== null && encoding !== GZIP && encoding !== "identity") {
    throw brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
}

function compress(message: Uint8Array): Frame {
  return { isCompressed: true, bytes: zlib().gzipSync(message) };
}

/**
 * Decompresses a message if it is compressed. It stops at the limit, however far the rest would expand.
 *
 * @throws `CallError` if the message is larger than the limit, if its data is corrupt, or if `encoding` is not `gzip`
 */
function decompress({ isCompressed, bytes }: Frame, encoding: string | null, maxMessageBytes: number): Uint8Array {
  if (!isCompressed) {
    return bytes;
  }
  if (encoding !== GZIP) {
    throw brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
  const chunkSize = Math.min(Math.max(4 * bytes.length, MIN_PART_BYTES), MAX_PART_BYTES);
  try {
    return zlib().gunzipSync(bytes, { chunkSize, maxOutputLength: maxMessageBytes });
  } catch (reason) {
    throw hasErrorCode(reason, "ERR_BUFFER_TOO_LARGE")
      ? brokenAnswerError(messageTooLarge("limits.maxMessageBytes", maxMessageBytes))
      : brokenAnswerError(BROKEN_COMPRESSION, reason);
  }
}
