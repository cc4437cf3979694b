import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextValues, type UnaryResponse } from "@connectrpc/connect";
import { unwritable } from "../errors/unwritable.js";
import { type StopTimer, startInterval, startTimer } from "../runtime/index.js";
import { createBag } from "../signal/bag.js";
import { follow } from "../signal/follow.js";
import { connectError, type HeaderInit, timedOut } from "./bare-call.js";
import { noMessage, severalMessages } from "./call-failure.js";
import type { ClosableTransport } from "./closable.js";
import type { Codec } from "./codec.js";
import { CHECK_MS } from "./silent-sessions.js";

/** A call under way whose messages are bytes, unary or streaming. */
export interface MessageCall {
  /** Wait for the response's header. Throws the error that the call failed with. */
  header(): Promise<Headers>;
  /** Wait for the next message; undefined after the last. Throws the error that the call failed with. */
  read(): Promise<Uint8Array | undefined>;
  /** The response's trailer; empty before the end. */
  readonly trailer: Headers;
  /** Send a message; resolves when there is room for another, or to `false` when the call is over. */
  write(message: Uint8Array): Promise<boolean>;
  /** Say that no message follows, behind a last one where it is given. */
  end(message?: Uint8Array): void;
  /** End the call: pending reads get the error, and the node is told. Does nothing when the call is over. */
  fail(error: ConnectError): void;
}

/** How a call is to be begun. */
export interface CallBeginning {
  readonly header: Headers;
  /** The longest time of the call, in milliseconds, which the node is told. */
  readonly timeoutMs: number | undefined;
  readonly contextValues: ContextValues;
  /** To be called once: when the call is over, and its end was read. */
  readonly onEnd: () => void;
}

/** What {@link transportOfCalls} makes a transport of. */
export interface CallMaking {
  readonly codec: Codec;
  /** Begins a call. */
  open(method: DescMethod, beginning: CallBeginning): MessageCall;
  /** Called every {@link CHECK_MS} while calls are under way. */
  check(): void;
  /** Closes all connections. */
  close(): void;
}

/**
 * Make a Connect transport of calls whose messages are bytes. Connect's own chains of generators and linked signals
 * would cost more than the rest of a call.
 *
 * @param making the codec, and how calls are begun
 * @returns the transport; a stream is ended when its reader stops, and all calls when the transport is closed
 */
export function transportOfCalls({ codec, open, check, close }: CallMaking): ClosableTransport {
  const calls = createBag<MessageCall>();
  let underWay = 0;
  let stopChecks: StopTimer | undefined;
  let closed = false;

  function begin(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeaderInit,
    contextValues: ContextValues = createContextValues(),
    onOver = () => {},
  ): MessageCall {
    if (closed) {
      throw new ConnectError("the transport is closed", Code.Canceled);
    }
    if (signal?.aborted === true) {
      throw ConnectError.from(signal.reason, Code.Canceled);
    }
    const limitMs = timeoutMs === undefined || timeoutMs <= 0 ? undefined : timeoutMs;
    let release = () => {};
    const onEnd = () => release();
    const call = opened(() => open(method, { header: new Headers(header), timeoutMs: limitMs, contextValues, onEnd }));
    const leave = follow(signal, () => call.fail(ConnectError.from(signal?.reason, Code.Canceled)));
    const stopTimer = limitMs === undefined ? undefined : startTimer(() => call.fail(timedOut()), limitMs);
    const done = calls.add(call);
    // This keeps the process alive as well: Node stops reading from a connection that nghttp2 has given up.
    stopChecks ??= startInterval(check, CHECK_MS);
    underWay += 1;
    let isReleased = false;
    release = () => {
      if (isReleased) {
        return;
      }
      isReleased = true;
      underWay -= 1;
      if (underWay === 0) {
        stopChecks?.();
        stopChecks = undefined;
      }
      done();
      stopTimer?.();
      leave();
      onOver();
    };
    return call;
  }

  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      message: MessageInitShape<I>,
      contextValues?: ContextValues,
    ): Promise<UnaryResponse<I, O>> {
      const bytes = serialize(codec, method.input, message);
      const call = begin(method, signal, timeoutMs, header, contextValues);
      try {
        call.end(bytes);
        const answer = codec.parse(method.output, await onlyMessage(call));
        const { trailer } = call;
        return { stream: false, service: method.parent, method, header: await call.header(), message: answer, trailer };
      } catch (reason) {
        const error = connectError(reason);
        call.fail(error);
        throw error;
      }
    },

    async stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      input: AsyncIterable<MessageInitShape<I>>,
      contextValues?: ContextValues,
    ) {
      const source = input[Symbol.asyncIterator]();
      const stopSource = () => void source.return?.().catch(() => undefined);
      const call = begin(method, signal, timeoutMs, header, contextValues, stopSource);
      void send(call, codec, method.input, source);
      const responseHeader = await call.header();
      return {
        stream: true,
        service: method.parent,
        method,
        header: responseHeader,
        message: messagesOf(method.output, call, codec),
        trailer: call.trailer,
      };
    },

    async close() {
      closed = true;
      for (const call of calls.list()) {
        call.fail(new ConnectError("the transport was closed", Code.Canceled));
      }
      close();
    },
  };
}

function opened(open: () => MessageCall): MessageCall {
  try {
    return open();
  } catch (reason) {
    throw connectError(reason);
  }
}

function serialize<I extends DescMessage>(codec: Codec, desc: I, message: MessageInitShape<I>): Uint8Array {
  try {
    return codec.serialize(desc, create(desc, message));
  } catch (reason) {
    throw connectError(unwritable(reason));
  }
}

async function onlyMessage(call: MessageCall): Promise<Uint8Array> {
  const message = await call.read();
  if (message === undefined) {
    throw noMessage();
  }
  if ((await call.read()) !== undefined) {
    throw severalMessages();
  }
  return message;
}

/** Send all messages of a source. */
async function send<I extends DescMessage>(
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

function messagesOf<O extends DescMessage>(desc: O, call: MessageCall, codec: Codec): AsyncIterable<MessageShape<O>> {
  const iterator: AsyncIterator<MessageShape<O>, undefined> = {
    async next() {
      const bytes = await call.read();
      if (bytes === undefined) {
        return { done: true, value: undefined };
      }
      try {
        return { done: false, value: codec.parse(desc, bytes) };
      } catch (reason) {
        const error = connectError(reason);
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
