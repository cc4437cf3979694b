import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  Registry,
} from "@bufbuild/protobuf";
import { type ContextValues, createContextValues, type StreamResponse, type UnaryResponse } from "@connectrpc/connect";
import type { AnyTransport, ClosableTransport, HeaderInit } from "./transport-types.js";

/** A call as the layers of a transport pass it on: the arguments of Connect's transports, with names. */
interface Call<Method, Message> {
  readonly method: Method;
  readonly signal: AbortSignal | undefined;
  /** The time that is left for it, in milliseconds; `undefined`, 0 or less without a limit. */
  readonly timeoutMs: number | undefined;
  readonly header: HeaderInit;
  readonly message: Message;
  readonly contextValues: ContextValues;
}

/** What calls of all kinds have. */
export type AnyCall = Omit<Call<DescMethod, unknown>, "message">;

/** A call with one request and one response. */
export type UnaryCall<I extends DescMessage, O extends DescMessage> = Call<DescMethodUnary<I, O>, MessageInitShape<I>>;

/** A call whose requests or responses stream. */
export type StreamCall<I extends DescMessage, O extends DescMessage> = Call<
  DescMethodStreaming<I, O>,
  AsyncIterable<MessageInitShape<I>>
>;

/** A transport whose calls are objects. */
interface Calls {
  unary<I extends DescMessage, O extends DescMessage>(call: UnaryCall<I, O>): Promise<UnaryResponse<I, O>>;
  stream<I extends DescMessage, O extends DescMessage>(call: StreamCall<I, O>): Promise<StreamResponse<I, O>>;
  close(): Promise<void>;
}

/** The code around each call of a transport. `next` makes the call, or one that was changed. */
interface Layer extends Partial<Pick<Calls, "close">> {
  unary?<I extends DescMessage, O extends DescMessage>(
    call: UnaryCall<I, O>,
    next: (call: UnaryCall<I, O>) => Promise<UnaryResponse<I, O>>,
  ): Promise<UnaryResponse<I, O>>;
  stream?<I extends DescMessage, O extends DescMessage>(
    call: StreamCall<I, O>,
    next: (call: StreamCall<I, O>) => Promise<StreamResponse<I, O>>,
  ): Promise<StreamResponse<I, O>>;
}

const registries = new WeakMap<AnyTransport, Registry>();

/** Returns the types that an `Any` in the messages of a transport may hold; `undefined` if none were given. */
export function registryOf(transport: AnyTransport): Registry | undefined {
  return registries.get(transport);
}

/** Returns a transport with a layer around its calls. By default, closing it closes the transport. */
export function layered(
  transport: AnyTransport,
  { unary, stream, close }: Layer,
  registry = registryOf(transport),
): ClosableTransport {
  const layer = transportOf({
    unary: (call) =>
      unary === undefined ? sendUnary(transport, call) : unary(call, (changed) => sendUnary(transport, changed)),
    stream: (call) =>
      stream === undefined ? sendStream(transport, call) : stream(call, (changed) => sendStream(transport, changed)),
    close: close ?? (async () => transport.close?.()),
  });
  if (registry !== undefined) {
    registries.set(layer, registry);
  }
  return layer;
}

export function transportOf({ unary, stream, close }: Calls): ClosableTransport {
  return {
    unary: (method, signal, timeoutMs, header, message, contextValues = createContextValues()) =>
      unary({ method, signal, timeoutMs, header, message, contextValues }),
    stream: (method, signal, timeoutMs, header, message, contextValues = createContextValues()) =>
      stream({ method, signal, timeoutMs, header, message, contextValues }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function sendUnary<I extends DescMessage, O extends DescMessage>(
  transport: AnyTransport,
  { method, signal, timeoutMs, header, message, contextValues }: UnaryCall<I, O>,
): Promise<UnaryResponse<I, O>> {
  return transport.unary(method, signal, timeoutMs, header, message, contextValues);
}

/** Makes a call whose requests or responses stream over a transport. */
export function sendStream<I extends DescMessage, O extends DescMessage>(
  transport: AnyTransport,
  { method, signal, timeoutMs, header, message, contextValues }: StreamCall<I, O>,
): Promise<StreamResponse<I, O>> {
  return transport.stream(method, signal, timeoutMs, header, message, contextValues);
}
