import type {
  DescMessage,
  DescMethod,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  Registry,
} from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, UnaryResponse } from "@connectrpc/connect";
import { newContextValues } from "./call-context.js";
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
export interface Calls {
  unary<I extends DescMessage, O extends DescMessage>(call: UnaryCall<I, O>): Promise<UnaryResponse<I, O>>;
  stream<I extends DescMessage, O extends DescMessage>(call: StreamCall<I, O>): Promise<StreamResponse<I, O>>;
  close(): Promise<void>;
}

type NextUnary = Calls["unary"];
type NextStream = Calls["stream"];

/** The code around each call of a transport. `next` makes the call, or one that was changed. */
interface Layer extends Partial<Pick<Calls, "close">> {
  unary?<I extends DescMessage, O extends DescMessage>(
    call: UnaryCall<I, O>,
    next: NextUnary,
  ): Promise<UnaryResponse<I, O>>;
  stream?<I extends DescMessage, O extends DescMessage>(
    call: StreamCall<I, O>,
    next: NextStream,
  ): Promise<StreamResponse<I, O>>;
}

const registries = new WeakMap<AnyTransport, Registry>();

/** Returns the types that an `Any` in the messages of a transport may hold; `undefined` if none were given. */
export function registryOf(transport: AnyTransport): Registry | undefined {
  return registries.get(transport);
}

/** Records the types that an `Any` in the messages of a transport may hold, also for transports around it. */
export function setRegistry(transport: ClosableTransport, registry: Registry): ClosableTransport {
  registries.set(transport, registry);
  return transport;
}

/** Returns a transport with a layer around its calls. By default, closing it closes the transport. */
export function layered(transport: AnyTransport, { unary, stream, close }: Layer): ClosableTransport {
  const registry = registryOf(transport);
  const next = callsOf(transport);
  const layer = transportOf({
    unary: unary === undefined ? next.unary : (call) => unary(call, next.unary),
    stream: stream === undefined ? next.stream : (call) => stream(call, next.stream),
    close: close ?? (async () => transport.close?.()),
  });
  return registry === undefined ? layer : setRegistry(layer, registry);
}

/** The calls of transports that {@link transportOf} has made, which a layer passes on without taking them apart. */
const ownCalls = new WeakMap<AnyTransport, { readonly calls: Calls; readonly original: AnyTransport }>();

/** Returns a transport as functions of calls. Its users may have replaced its methods. */
export function callsOf(transport: AnyTransport): Calls {
  const own = ownCalls.get(transport);
  return own !== undefined && own.original.unary === transport.unary && own.original.stream === transport.stream
    ? own.calls
    : {
        unary: (call) => sendUnary(transport, call),
        stream: (call) => sendStream(transport, call),
        close: async () => transport.close?.(),
      };
}

export function transportOf(calls: Calls): ClosableTransport {
  const { unary, stream, close } = calls;
  const transport: ClosableTransport = {
    unary: (method, signal, timeoutMs, header, message, contextValues = newContextValues()) =>
      unary({ method, signal, timeoutMs, header, message, contextValues }),
    stream: (method, signal, timeoutMs, header, message, contextValues = newContextValues()) =>
      stream({ method, signal, timeoutMs, header, message, contextValues }),
    close,
    [Symbol.asyncDispose]: close,
  };
  ownCalls.set(transport, { calls, original: { ...transport } });
  return transport;
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
