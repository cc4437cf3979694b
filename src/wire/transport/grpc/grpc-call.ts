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
import { decodeMessage } from "../../json/error-object.js";
import { addFacts, brokenAnswerError, CallError, toConnectError } from "../call-failure.js";
import { foreignTypeOf } from "../grpc-headers.js";
import { limitInterimResponses } from "../http2-liveness.js";
import { ChangeSignal, type MessageCall } from "../message-call.js";
import { FRAME_HEADER_SIZE, type Frame, FrameReader, type ReceivedFrame, writeFrame } from "./frames.js";
import type { StreamOwner } from "./http2-sessions.js";

/** The size of the frames that are buffered before they are read, in bytes. Beyond it, the stream is paused. */
const HIGH_WATER_MARK = 64 * 1024;

/** The maximum number of times that a call is opened if each connection closes before anything of the call is sent. */
const MAX_ATTEMPTS = 5;

/** Options of a gRPC call. */
export interface GrpcCallOptions {
  /** Opens the stream: at once if a connection is ready. */
  open(headers: OutgoingHttpHeaders, owner: StreamOwner): ClientHttp2Stream | Promise<ClientHttp2Stream>;
  readonly headers: OutgoingHttpHeaders;
  /** Called directly before the call is sent, as to connect may have taken long. The call fails with what it returns. */
  beforeSend(): Error | undefined;
  /** The maximum size of a message, in bytes: both as it travels and decompressed. */
  readonly maxMessageBytes: number;
  /** Returns whether uncompressed messages after the first are taken in parts as they arrive. */
  inParts(): boolean;
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

/** Starts a gRPC call over HTTP/2. Messages that arrived before a failure are delivered first. */
export function startGrpcCall(options: GrpcCallOptions): MessageCall {
  const call = new GrpcCall(options);
  call.openStream(1);
  return call;
}

/** A call over HTTP/2: a class, since a closure for each method of each call would take a tenth of a small call. */
class GrpcCall implements MessageCall {
  readonly trailer = new Headers();
  private readonly options: GrpcCallOptions;
  private state: CallState = { kind: "opening", attempt: 0, opened: Promise.resolve() };
  private readonly frames: FrameReader;
  private readonly buffer = new FrameBuffer();
  private readonly change = new ChangeSignal();
  /** Whether those who wait are only to learn of the end, or of more than one message. */
  private awaitsEnd = false;
  private responseHeader: Headers | undefined;
  /** Whether the fields that hold the status say that the call has succeeded. */
  private isSuccess = false;
  /** Whether a body or a trailer has arrived, so that the header does not hold the status. */
  private isContinued = false;
  /** Whether bytes of a body have arrived. */
  private hasBody = false;
  /** Whether the server has ended the response, in a header or a trailer. A reset after it loses nothing. */
  private isComplete = false;
  private leftOfTaken = 0;

  constructor(options: GrpcCallOptions) {
    this.options = options;
    this.frames = new FrameReader(options.maxMessageBytes, options.inParts, this);
  }

  onFrame(frame: ReceivedFrame): void {
    this.buffer.push(frame);
    if (this.change.isAwaited()) {
      if (!this.awaitsEnd || !this.buffer.isFirst()) {
        this.change.notify();
      }
    } else if (this.buffer.isFull()) {
      streamOf(this.state)?.pause();
    }
  }

  openStream(attempt: number): void {
    const { open, headers } = this.options;
    const fail = (reason: unknown) => this.endWith(toConnectError(reason));
    try {
      const stream = open(headers, this);
      if (stream instanceof Promise) {
        this.state = { kind: "opening", attempt, opened: stream.then((opened) => this.onOpen(opened), fail) };
      } else {
        this.state = { kind: "open", attempt, stream };
        this.listen(stream);
      }
    } catch (reason) {
      fail(reason);
    }
  }

  isWanted(): boolean {
    const outdated = this.options.beforeSend();
    if (outdated !== undefined) {
      throw outdated;
    }
    return this.state.kind !== "ended";
  }

  private onOpen(stream: ClientHttp2Stream): void {
    if (this.state.kind === "opening") {
      this.state = { kind: "open", attempt: this.state.attempt, stream };
      this.listen(stream);
    } else {
      stream.on("error", () => undefined);
      cancel(stream); // The call ended at the moment at which the stream was opened.
    }
  }

  private listen(stream: ClientHttp2Stream): void {
    const { session } = stream;
    limitInterimResponses(stream);
    stream
      .on("frameError", (type) => {
        // The server's GOAWAY was read before the stream's first frame was sent, so the stream is never sent. A header that is
        // too large cannot be sent either, but then the session has not ended.
        const isNeverSent = type === HEADERS_FRAME && session?.closed === true;
        const { state } = this;
        if (isNeverSent && state.kind === "open" && state.stream === stream && state.attempt < MAX_ATTEMPTS) {
          this.openStream(state.attempt + 1);
        }
      })
      .on("response", (fields, flags) => {
        this.options.onReceive(stream);
        this.onHeader(fields, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
      })
      .on("data", (bytes: Uint8Array) => {
        this.options.onReceive(stream);
        this.onData(bytes);
      })
      .on("trailers", (fields) => {
        this.options.onReceive(stream);
        this.isSuccess = isSuccess(fields);
        addFields(this.trailer, fields);
        this.isContinued = true;
        this.isComplete = true;
      })
      .on("end", () => {
        // A stream that was reset, or whose connection was lost, ends like any other. The reason is known when it closes.
        const isConnected = stream.session?.destroyed === false;
        if (this.isComplete || (this.responseHeader !== undefined && !isReset(stream) && isConnected)) {
          this.endWithStatus();
        }
      })
      .on("error", (reason) => this.onClose(stream, reason));
  }

  /** Called when a stream has closed, with its error if there was one. It may be called twice. */
  onClose(stream: ClientHttp2Stream, reason?: Error): void {
    if (streamOf(this.state) !== stream) {
      return;
    }
    // Node emits nothing of what it still holds of a lost stream, so that is read here.
    if (stream.readableLength > 0) {
      stream.removeAllListeners("data");
      for (let bytes: unknown = stream.read(); isBytes(bytes); bytes = stream.read()) {
        this.onData(bytes);
      }
    }
    if (!this.isComplete && (reason !== undefined || isReset(stream))) {
      this.endWith(streamError(stream, reason));
    }
    this.endWithStatus();
  }

  private onHeader(fields: ResponseFields, isLast: boolean): void {
    try {
      this.responseHeader = readHeader(fields);
    } catch (reason) {
      this.endWith(ConnectError.from(reason));
    }
    if (isLast) {
      this.isComplete = true;
      this.endWithStatus();
    }
    if (!this.awaitsEnd) {
      this.change.notify();
    }
  }

  private onData(bytes: Uint8Array): void {
    this.isContinued = true;
    this.hasBody ||= bytes.length > 0;
    if (this.state.kind === "ended") {
      return;
    }
    try {
      this.frames.push(bytes);
    } catch (reason) {
      this.endWith(ConnectError.from(reason));
    }
  }

  /** Ends the call with the status that the response holds, or lacks. */
  private endWithStatus(): void {
    if (this.state.kind !== "ended") {
      const error = this.statusError();
      this.endWith(error === undefined && this.frames.isInside() ? brokenAnswerError(TRUNCATED_RESPONSE) : error);
    }
  }

  /**
   * Returns the error in a response that has ended; `undefined` if the call has succeeded. The status is in the trailer, or
   * in the header if nothing follows it. A status in a header that precedes a body says nothing about the call.
   */
  private statusError(): ConnectError | undefined {
    if (this.isContinued && this.isSuccess) {
      return undefined;
    }
    const status = this.isContinued ? this.trailer : this.responseHeader;
    if (status === undefined || !status.has(STATUS)) {
      return new CallError({ kind: "missing status" });
    }
    const error = findTrailerError(status);
    if (error !== undefined && this.isContinued) {
      this.responseHeader?.forEach((value, name) => {
        error.metadata.append(name, value);
      });
    }
    return error === undefined || this.hasBody ? error : addFacts(error, { isNodeStatus: true });
  }

  private endWith(error: ConnectError | undefined): void {
    if (this.state.kind === "ended") {
      return;
    }
    const stream = streamOf(this.state);
    this.state = { kind: "ended", error, stream, isRead: false };
    if (error !== undefined || stream?.writableFinished === false) {
      cancel(stream);
    }
    this.change.notify();
  }

  /** Returns the call's end to its reader: the error, or `undefined` if it succeeded or continues. */
  private readEnd(): ConnectError | undefined {
    if (this.state.kind !== "ended") {
      return undefined;
    }
    if (!this.state.isRead) {
      this.state = { ...this.state, isRead: true };
      this.options.onEnd();
    }
    return this.state.error;
  }

  /**
   * Sends a frame, or the end of the requests with a last one, and again if the stream was never sent. `done` gets whether
   * the call continues.
   */
  private send(frame: Uint8Array | undefined, isLast: boolean, done?: (continues: boolean) => void): void {
    if (this.state.kind === "opening") {
      void this.state.opened.then(() => this.send(frame, isLast, done));
      return;
    }
    const stream = writableOf(this.state);
    if (stream === undefined) {
      done?.(false);
      return;
    }
    const onSent = () => {
      if (streamOf(this.state) === stream) {
        done?.(this.state.kind !== "ended");
      } else {
        this.send(frame, isLast, done);
      }
    };
    if (isLast) {
      stream.end(frame, onSent);
    } else {
      stream.write(frame, onSent);
    }
  }

  private frameOf(message: Uint8Array): Uint8Array {
    return writeFrame(this.options.compression === GZIP ? compress(message) : { isCompressed: false, bytes: message });
  }

  header(): Headers | undefined {
    return this.responseHeader;
  }

  take(): Uint8Array | undefined {
    const frame = this.buffer.shift();
    if (frame === undefined) {
      const error = this.readEnd();
      if (error !== undefined) {
        throw error;
      }
      return undefined;
    }
    this.leftOfTaken = frame.left;
    const stream = streamOf(this.state);
    if (!this.buffer.isFull() && stream?.isPaused() === true) {
      stream.resume();
    }
    // Only what is read is decompressed, so the buffer holds no more than what has arrived.
    return frame.isCompressed
      ? decompress(frame.bytes, this.responseHeader?.get("grpc-encoding") ?? null, this.options.maxMessageBytes)
      : frame.bytes;
  }

  left(): number {
    return this.leftOfTaken;
  }

  isTaken(): boolean {
    return this.state.kind === "ended" && this.buffer.isEmpty();
  }

  failure(): ConnectError | undefined {
    return this.state.kind === "ended" && this.state.error !== undefined ? this.readEnd() : undefined;
  }

  changed(): Promise<void> {
    this.awaitsEnd = false;
    return this.change.wait();
  }

  settled(): Promise<void> {
    this.awaitsEnd = true;
    return this.change.wait();
  }

  write(message: Uint8Array): Promise<boolean> {
    return new Promise((resolve) => this.send(this.frameOf(message), false, resolve));
  }

  end(message?: Uint8Array): void {
    this.send(message && this.frameOf(message), true);
  }

  /** What ends while it is opened is never sent, or reset before its message. */
  mayHaveBeenSent(): boolean {
    return this.state.kind !== "opening";
  }

  fail(error: ConnectError): void {
    this.endWith(error);
    if (this.state.kind !== "ended" || this.state.isRead) {
      return;
    }
    this.state = { ...this.state, error };
    this.buffer.clear();
    cancel(this.state.stream); // Otherwise the unread rest of a response would hold it and its connection forever.
    this.readEnd();
    this.change.notify();
  }
}

/** Cancels a stream. One that waits for the server's limit would wait on if it were only closed. */
function cancel(stream: ClientHttp2Stream | undefined): void {
  stream?.close(constants.NGHTTP2_CANCEL);
  stream?.destroy();
}

/** Returns the stream of a call; `undefined` while it is being opened, or if none was. */
function streamOf(state: CallState): ClientHttp2Stream | undefined {
  return state.kind === "opening" ? undefined : state.stream;
}

/** Returns the stream of a call if requests may be written to it. */
function writableOf(state: CallState): ClientHttp2Stream | undefined {
  return state.kind === "open" && state.stream.writable ? state.stream : undefined;
}

/** Messages that have arrived and that nobody has read. */
class FrameBuffer {
  private frames: ReceivedFrame[] = [];
  private taken = 0;
  private bytes = 0;

  push(frame: ReceivedFrame): void {
    this.frames.push(frame);
    this.bytes += FRAME_HEADER_SIZE + frame.bytes.length; // An empty message takes space too.
  }

  shift(): ReceivedFrame | undefined {
    const frame = this.frames[this.taken];
    if (frame === undefined) {
      return undefined;
    }
    this.taken += 1;
    this.bytes -= FRAME_HEADER_SIZE + frame.bytes.length;
    if (this.taken === this.frames.length) {
      this.clear();
    }
    return frame;
  }

  isFull(): boolean {
    return this.bytes >= HIGH_WATER_MARK;
  }

  /** Returns whether there is one message, which nobody has read. */
  isFirst(): boolean {
    return this.frames.length === 1;
  }

  isEmpty(): boolean {
    return this.frames.length === 0;
  }

  clear(): void {
    this.frames = [];
    this.taken = 0;
    this.bytes = 0;
  }
}

type ResponseFields = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** The type of the frame that opens a stream. */
const HEADERS_FRAME = 1;

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
  const { ":status": status = 0, "content-type": contentType = "", "grpc-encoding": encoding } = fields;
  if (status !== HTTP_OK) {
    throw new CallError({ kind: "HTTP status", status }, { header });
  }
  const foreignType = foreignTypeOf(contentType, FORMATS);
  if (foreignType !== undefined) {
    throw brokenAnswerError(unexpectedContentType(foreignType));
  }
  if (encoding !== undefined && encoding !== GZIP && encoding !== "identity") {
    throw brokenAnswerError(UNEXPECTED_COMPRESSION);
  }
  return header;
}

/** Returns whether the fields with a status say that the call has succeeded, and nothing else. */
function isSuccess(fields: IncomingHttpHeaders): boolean {
  return fields[STATUS] === SUCCESS && fields[DETAILS] === undefined;
}

function addFields(headers: Headers, fields: IncomingHttpHeaders): void {
  repairStatus(fields);
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === "string" && !name.startsWith(":")) {
      headers.append(name, value);
    } else if (Array.isArray(value)) {
      for (const each of value) {
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
  if (details === undefined && !message) {
    return;
  }
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

function compress(message: Uint8Array): Frame {
  return { isCompressed: true, bytes: zlib().gzipSync(message) };
}

/**
 * Decompresses a message. It stops at the limit, however far the rest would expand.
 *
 * @throws `CallError` if the message is larger than the limit, if its data is corrupt, or if `encoding` is not `gzip`
 */
function decompress(bytes: Uint8Array, encoding: string | null, maxMessageBytes: number): Uint8Array {
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
