// A transport in memory, for tests of the layers around a transport: the test says what each call meets.
import {
  create,
  type DescMessage,
  type DescMethod,
  isMessage,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import { StringValueSchema } from "@bufbuild/protobuf/wkt";
import { ConnectError, type ContextValues, createContextValues, type Transport } from "@connectrpc/connect";
import type { TradewireError } from "tradewire";
import { read, watch } from "./probe.js";

/** A call as it reaches the transport. */
export interface MadeCall {
  readonly method: DescMethod;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly header: Headers;
  /** The request. */
  readonly input?: unknown;
  /** The stream of requests. */
  readonly requests?: AsyncIterable<unknown>;
  readonly contextValues: ContextValues;
}

/** What a call meets; a failure is thrown, at once or among the messages. */
export interface Answer {
  readonly messages: Iterable<Message> | AsyncIterable<Message>;
  readonly header?: Record<string, string>;
  readonly trailer?: Record<string, string>;
}

/** The transport, the calls that it was given, and how often it was closed. */
export interface MemoryTransport extends Transport {
  close(): Promise<void>;
  readonly calls: MadeCall[];
  readonly closed: () => number;
}

/** Make a transport in memory. */
export function memoryTransport(answer: (call: MadeCall, before: number) => Answer | Promise<Answer>): MemoryTransport {
  const calls: MadeCall[] = [];
  let closed = 0;

  async function answered(call: MadeCall) {
    calls.push(call);
    const { messages, header, trailer } = await answer(call, calls.length - 1);
    return { service: call.method.parent, header: new Headers(header), trailer: new Headers(trailer), messages };
  }

  return {
    calls,
    closed: () => closed,
    async unary(method, signal, timeoutMs, init, input, contextValues = createContextValues()) {
      const header = new Headers(init);
      const { messages, ...rest } = await answered({ method, signal, timeoutMs, header, input, contextValues });
      for await (const message of messagesOf(method.output, messages)) {
        return { ...rest, method, stream: false, message };
      }
      throw new Error("the answer has no message");
    },
    async stream(method, signal, timeoutMs, init, requests, contextValues = createContextValues()) {
      const header = new Headers(init);
      const { messages, ...rest } = await answered({ method, signal, timeoutMs, header, requests, contextValues });
      return { ...rest, method, stream: true, message: messagesOf(method.output, messages) };
    },
    async close() {
      closed += 1;
    },
  };
}

async function* messagesOf<Desc extends DescMessage>(
  desc: Desc,
  messages: Answer["messages"],
): AsyncGenerator<MessageShape<Desc>> {
  for await (const message of messages) {
    if (!isMessage(message, desc)) {
      throw new Error(`the answer holds a ${message.$typeName}`);
    }
    yield message;
  }
}

/** A text as a message of the probe's methods. */
export const text = (value: string) => create(StringValueSchema, { value });

/** An answer of texts. */
export const texts = (...values: string[]): Answer => ({ messages: values.map(text) });

/** An answer of texts that then breaks off. */
export function broken(reason: unknown, ...values: string[]): Answer {
  async function* messages() {
    yield* values.map(text);
    throw reason;
  }
  return { messages: messages() };
}

/** The error of the library as the transports throw it, for interceptors. */
export function thrown(cause: TradewireError, metadata?: Record<string, string>): ConnectError {
  return new ConnectError(cause.summary, cause.code, metadata, undefined, cause);
}

/** How a call is made. */
export interface CallOptions {
  readonly method?: typeof read;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  readonly header?: Record<string, string>;
  readonly contextValues?: ContextValues;
}

/** Make a call, of the method that only reads unless another is given, and get the text that answers it. */
export async function ask(transport: Transport, options: CallOptions = {}): Promise<string> {
  const { method = read, signal, timeoutMs, header, contextValues } = options;
  const response = await transport.unary(method, signal, timeoutMs, header, { value: "ask" }, contextValues);
  return response.message.value;
}

/** Begin a stream that only reads. */
export function open(transport: Transport, options: Omit<CallOptions, "method"> = {}) {
  const { signal, timeoutMs, header, contextValues } = options;
  async function* input() {
    yield text("open");
  }
  return transport.stream(watch, signal, timeoutMs, header, input(), contextValues);
}

/** Read the texts of a stream to its end. */
export async function listen(transport: Transport, options: Omit<CallOptions, "method"> = {}): Promise<string[]> {
  const heard: string[] = [];
  for await (const { value } of (await open(transport, options)).message) {
    heard.push(value);
  }
  return heard;
}

/** Read the texts of the requests that a call's stream was opened with. */
export async function requested({ requests }: MadeCall): Promise<string[]> {
  const values: string[] = [];
  for await (const message of requests ?? []) {
    values.push(isMessage(message, StringValueSchema) ? message.value : String(message));
  }
  return values;
}

/** The reason for which a promise fails. */
export function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => {
      throw new Error("it did not fail");
    },
    (reason: unknown) => reason,
  );
}
