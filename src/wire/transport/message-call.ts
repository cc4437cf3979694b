import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  isMessage,
  type MessageInitShape,
  type MessageShape,
  type Registry,
  toBinary,
} from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { HttpBodySchema } from "../../../gen/client/google/api/httpbody_pb.js";
import { INVALID_RESPONSE, serializationError } from "../../base/errors/call-errors.js";
import { Code } from "../../base/errors/code.js";
import { ProtocolError } from "../../base/errors/index.js";
import { connectTimeoutError } from "../../base/errors/network-failure.js";
import { isError } from "../../base/errors/node-errors.js";
import { type StopTimer, startInterval, startTimer } from "../../base/runtime/index.js";
import { onAbort } from "../../base/signal/abort.js";
import { createActiveSet } from "../../base/signal/collections.js";
import { assertElementLimit, setSize, sizeOf } from "../json/answer-size.js";
import { messageFromJson, ofType, parseResponseJson, requestToJson } from "../json/message-json.js";
import { BodyParts } from "./body-parts.js";
import { maxWaitKey, ownLimitMs } from "./call-context.js";
import {
  CallError,
  deadlineError,
  extraMessageError,
  missingMessageError,
  toConnectError,
  unsentError,
} from "./call-failure.js";
import { LIVENESS_CHECK_MS } from "./http2-liveness.js";
import { type AnyCall, transportOf } from "./layered.js";
import { decodePlain } from "./plain-message.js";
import type { ClosableTransport, HeaderInit } from "./transport-types.js";

/**
 * A call in flight whose messages are bytes, unary or streaming. Its state is read without promises, since each of them is a
 * noticeable part of a small call.
 */
export interface MessageCall {
  /** Returns the response's header, once it has arrived. */
  header(): Headers | undefined;
  /** The response's trailer; empty before the end. */
  readonly trailer: Headers;
  /**
   * Takes the next message; `undefined` if none has arrived. Throws the error that the call failed with, after its last
   * message, or that of a message that cannot be decompressed.
   */
  take(): Uint8Array | undefined;
  /** Returns how many bytes of the message that was taken last follow in parts. Only a call that asks for parts gets them. */
  left(): number;
  /** Returns whether the call has ended, and all of its messages were taken. */
  isTaken(): boolean;
  /** Returns the error that the call failed with, even if not all of its messages were taken. */
  failure(): ConnectError | undefined;
  /** Waits until something has arrived, or the call has ended. */
  changed(): Promise<void>;
  /** Waits until the call has ended, or more than one message has arrived. It may also resolve before. */
  settled(): Promise<void>;
  /** Sends a message. Resolves to `true` when another one may be sent, or to `false` when the call has ended. */
  write(message: Uint8Array): Promise<boolean>;
  /** Ends the requests, after a last message if there is one. */
  end(message?: Uint8Array): void;
  /** Returns whether anything of the call may have been sent. */
  mayHaveBeenSent(): boolean;
  /** Ends the call: pending reads fail with the error, and the node is notified. Does nothing if the call has ended. */
  fail(error: ConnectError): void;
}

interface MessageCallOptions {
  readonly header: HeaderInit;
  /** The call's time limit, in milliseconds, which is sent to the node. */
  readonly timeoutMs: number | undefined;
  readonly contextValues: ContextValues;
  /** To be called once, when the call has ended and its end was read. */
  readonly onEnd: () => void;
}

/** Options of {@link createMessageTransport}. */
export interface MessageTransportOptions {
  readonly codec: Codec;
  open(method: DescMethod, options: MessageCallOptions): MessageCall;
  /** Called every {@link LIVENESS_CHECK_MS} while calls are in flight. */
  check(): void;
  /** Closes all connections. */
  close(): void;
}

/**
 * Creates a Connect transport from calls whose messages are bytes. It avoids Connect's chains of generators and linked signals,
 * which would cost more than the rest of a call (bench group `calls`).
 */
export function createMessageTransport({ codec, open, check, close }: MessageTransportOptions): ClosableTransport {
  const calls = createActiveSet<MessageCall>();
  let stopChecks: StopTimer | undefined;

  function begin({ method, signal, timeoutMs, header, contextValues }: AnyCall, onCallEnd?: () => void): MessageCall {
    if (signal?.aborted === true) {
      throw ConnectError.from(signal.reason, Code.Canceled);
    }
    const limitMs = timeoutMs === undefined || timeoutMs <= 0 ? undefined : timeoutMs;
    const ownMs = ownLimitMs(timeoutMs, contextValues);
    const maxWaitMs = contextValues.get(maxWaitKey);
    let hasEnded = false;
    let clean = () => {
      hasEnded = true;
    };
    const onEnd = () => {
      clean();
      onCallEnd?.();
    };
    const call = withOpenErrors(() => open(method, { header, timeoutMs: limitMs, contextValues, onEnd }));
    const cancel = (reason: ConnectError) => call.fail(call.mayHaveBeenSent() ? reason : unsentError(reason));
    const onMaxWait = () => call.mayHaveBeenSent() || call.fail(toConnectError(connectTimeoutError()));
    const remove = calls.add(call);
    // The timer also keeps the process alive: Node stops reading from a connection that nghttp2 has abandoned.
    stopChecks ??= startInterval(check, LIVENESS_CHECK_MS);
    const stopListening = onAbort(signal, () => cancel(ConnectError.from(signal?.reason, Code.Canceled)));
    const stopTimer = ownMs === undefined ? undefined : startTimer(() => cancel(deadlineError()), ownMs);
    const stopWaitTimer = maxWaitMs === undefined ? undefined : startTimer(onMaxWait, maxWaitMs);
    clean = () => {
      remove();
      stopListening();
      stopTimer?.();
      stopWaitTimer?.();
      if (calls.size() === 0) {
        stopChecks?.();
        stopChecks = undefined;
      }
    };
    if (hasEnded) {
      clean(); // It ended while it was opened.
    }
    return call;
  }

  return transportOf({
    async unary({ message, ...request }) {
      const { method } = request;
      const bytes = serialize(codec, method.input, message);
      const call = begin(request);
      try {
        call.end(bytes);
        const response = codec.parse(method.output, await readSingleMessage(call));
        const header = call.header() ?? new Headers();
        return { stream: false, service: method.parent, method, header, message: response, trailer: call.trailer };
      } catch (reason) {
        const error = toConnectError(reason);
        call.fail(error);
        throw error;
      }
    },

    async stream({ message: input, ...request }) {
      const { method } = request;
      const source = input[Symbol.asyncIterator]();
      const endSource = () => void source.return?.().catch(() => undefined);
      const call = begin(request, endSource);
      void sendMessages(call, codec, method.input, source);
      const header = await readHeader(call);
      const responses = readMessages(method.output, call, codec);
      return { stream: true, service: method.parent, method, header, message: responses, trailer: call.trailer };
    },

    async close() {
      for (const call of calls.list()) {
        call.fail(new ConnectError("the transport was closed", Code.Canceled));
      }
      close();
    },
  });
}

function withOpenErrors(open: () => MessageCall): MessageCall {
  try {
    return open();
  } catch (reason) {
    throw toConnectError(reason);
  }
}

function serialize<I extends DescMessage>(codec: Codec, desc: I, message: MessageInitShape<I>): Uint8Array {
  try {
    return codec.serialize(desc, create(desc, message));
  } catch (reason) {
    throw toConnectError(serializationError(reason));
  }
}

async function readSingleMessage(call: MessageCall): Promise<Uint8Array> {
  let message: Uint8Array | undefined;
  for (;;) {
    const taken = call.take();
    if (taken !== undefined && message !== undefined) {
      throw extraMessageError();
    }
    message ??= taken;
    if (call.isTaken()) {
      call.take(); // Throws the error of a call that failed after its message.
      if (message === undefined) {
        throw missingMessageError();
      }
      return message;
    }
    if (taken === undefined) {
      await call.settled();
    }
  }
}

async function readHeader(call: MessageCall): Promise<Headers> {
  while (call.header() === undefined && call.failure() === undefined && !call.isTaken()) {
    await call.changed();
  }
  const failure = call.failure();
  if (failure !== undefined) {
    throw failure;
  }
  return call.header() ?? new Headers();
}

async function sendMessages<I extends DescMessage>(
  call: MessageCall,
  codec: Codec,
  desc: I,
  source: AsyncIterator<MessageInitShape<I>>,
): Promise<void> {
  try {
    for (let next = await source.next(); next.done !== true; next = await source.next()) {
      if (!(await call.write(serialize(codec, desc, next.value)))) {
        return;
      }
    }
    call.end();
  } catch (reason) {
    call.fail(ConnectError.from(reason));
  }
}

function readMessages<O extends DescMessage>(desc: O, call: MessageCall, codec: Codec): AsyncIterable<MessageShape<O>> {
  let parts: BodyParts | undefined;
  const read = (bytes: Uint8Array): MessageShape<O> | undefined => {
    const left = call.left();
    if (left === 0 && parts?.isInside() !== true) {
      return codec.parse(desc, bytes, setSize);
    }
    parts ??= new BodyParts((body) => codec.parse(HttpBodySchema, body));
    const body = parts.read(bytes, left);
    return body !== undefined && isMessage(body, desc) ? body : undefined;
  };
  const iterator: AsyncIterator<MessageShape<O>, undefined> = {
    async next() {
      try {
        for (;;) {
          const bytes = call.take();
          const value = bytes && read(bytes);
          if (value !== undefined) {
            return { done: false, value };
          }
          if (bytes === undefined && call.isTaken()) {
            return { done: true, value: undefined };
          }
          if (bytes === undefined) {
            await call.changed();
          }
        }
      } catch (reason) {
        const error = toConnectError(reason);
        call.fail(error);
        throw error;
      }
    },
    async return() {
      call.fail(new ConnectError("the stream is no longer read", Code.Canceled));
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Wakes the readers and writers of a call when its state changes. */
export class ChangeSignal {
  private waiting: (() => void)[] | undefined;

  /** Waits for the next change. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      if (this.waiting === undefined) {
        this.waiting = [resolve];
      } else {
        this.waiting.push(resolve);
      }
    });
  }

  /** Returns whether anyone waits for a change. */
  isAwaited(): boolean {
    return this.waiting !== undefined;
  }

  notify(): void {
    const resolved = this.waiting;
    if (resolved !== undefined) {
      this.waiting = undefined;
      for (const resolve of resolved) {
        resolve();
      }
    }
  }
}

/** Converts messages to bytes and back. */
export interface Codec {
  /** Throws any error if the message cannot be written. */
  serialize<I extends DescMessage>(desc: I, message: MessageShape<I>): Uint8Array;
  /**
   * Returns the message, after `onSize` was called with its size in bytes. Throws a Connect error, or one of this library's, if
   * the bytes are not such a message.
   */
  parse<O extends DescMessage>(desc: O, bytes: Uint8Array, onSize?: OnSize): MessageShape<O>;
}

type OnSize = (message: object, bytes: number) => void;

/** The codec of Protobuf's binary format. */
export const protoCodec: Codec = { serialize: toBinary, parse: decodeMessage };

function decodeMessage<O extends DescMessage>(desc: O, bytes: Uint8Array, onSize?: OnSize): MessageShape<O> {
  try {
    const size = assertElementLimit(desc, bytes);
    const message = ofType(desc, decodePlain(desc, bytes) ?? fromBinary(desc, bytes));
    onSize?.(message, size);
    return message;
  } catch (cause) {
    if (cause instanceof ProtocolError) {
      throw cause;
    }
    const reason = isError(cause) ? cause.message : String(cause);
    const message = `a message is not a ${desc.typeName}: ${reason}`;
    throw new CallError({ kind: "broken answer", answer: INVALID_RESPONSE }, { cause, message });
  }
}

/** Creates the codec of Protobuf's JSON, which the rest of this library reads and writes too. */
export function jsonCodec(registry: Registry): Codec {
  return {
    serialize: (desc, message) => Buffer.from(JSON.stringify(requestToJson(desc, message, registry))),
    parse(desc, bytes) {
      const json = parseResponseJson(bytes);
      return messageFromJson(desc, json, registry, sizeOf(json));
    },
  };
}
