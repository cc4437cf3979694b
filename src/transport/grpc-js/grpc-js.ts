import {
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createContextValues } from "@connectrpc/connect";
import { createAsyncIterable, createMethodUrl, runStreamingCall } from "@connectrpc/connect/protocol";
import { connectivityState } from "@grpc/grpc-js";
import type { GrpcConfig } from "../../config/schema.js";
import { notConnectedInTime } from "../../errors/network-failure.js";
import { unwritable } from "../../errors/unwritable.js";
import { follow } from "../../signal/follow.js";
import { asConnectError, callLimits, connectError, type HeaderInit } from "../bare-call.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { decodeMessage } from "../decode-message.js";
import { runUnary } from "../run-unary.js";
import { type GrpcJsCall, startCall } from "./call.js";
import { channelOpener, limitConnecting } from "./channel.js";
import { toMetadata } from "./metadata.js";

/**
 * Make a Connect transport over a channel of `@grpc/grpc-js`: gRPC with that library's name resolution, proxies and
 * balancing.
 *
 * A message is read from the connection when the caller takes the one before it; the node can be ahead by a
 * flow-control window. A stream is cancelled when its reader stops. When the node ends a stream with an error, grpc-js
 * drops the messages that were not read yet. Nothing is sent before the first call.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createGrpcJsTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const openChannel = channelOpener(config, options);
  const calls = new Set<GrpcJsCall>();
  let channel = openChannel();
  let closed = false;

  function open(method: DescMethod, header: Headers, timeoutMs: number | undefined, signal: AbortSignal): GrpcJsCall {
    if (closed) {
      throw new ConnectError("the transport is closed", Code.Canceled);
    }
    signal.throwIfAborted();
    const metadata = toMetadata(header);
    if (channel.getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE) {
      channel.close(); // It would repeat its last failure for up to two minutes; a new channel tries at once.
      channel = openChannel();
    }
    const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
    const raw = channel.createCall(`/${method.parent.typeName}/${method.name}`, deadline, null, null, null);
    const call = startCall(raw, metadata, () => {
      calls.delete(call);
      stopWatch();
      leave();
    });
    calls.add(call);
    const stopWatch = limitConnecting(channel, options.connectMs, () => call.fail(connectTimeout()));
    const leave = follow(signal, () => call.fail(ConnectError.from(signal.reason, Code.Canceled)));
    return call;
  }

  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      message: MessageInitShape<I>,
      contextValues = createContextValues(),
    ) {
      const limits = callLimits(signal, timeoutMs);
      return runUnary<I, O>({
        ...limits,
        req: { stream: false, ...requestOf(config, method, header), method, contextValues, message },
        next: (req) =>
          asConnectError(async () => {
            const bytes = serialize(method.input, req.message);
            const call = open(method, req.header, limits.timeoutMs, req.signal);
            void send(call, createAsyncIterable([bytes]));
            const answer = await onlyMessage(call);
            const responseHeader = await call.header();
            return {
              stream: false,
              service: method.parent,
              method,
              header: responseHeader,
              message: decodeMessage(method.output, answer),
              trailer: call.trailer,
            };
          }),
      });
    },

    async stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      input: AsyncIterable<MessageInitShape<I>>,
      contextValues = createContextValues(),
    ) {
      const limits = callLimits(signal, timeoutMs);
      let call: GrpcJsCall | undefined;
      const response = await runStreamingCall<I, O>({
        ...limits,
        req: { stream: true, ...requestOf(config, method, header), method, contextValues, message: input },
        next: (req) =>
          asConnectError(async () => {
            const opened = open(method, req.header, limits.timeoutMs, req.signal);
            call = opened;
            void send(opened, serialized(method.input, req.message));
            const responseHeader = await opened.header();
            return { ...req, header: responseHeader, message: parsed(method.output, opened), trailer: opened.trailer };
          }),
      });
      const stop = () => call?.fail(new ConnectError("the stream is no longer read", Code.Canceled));
      return { ...response, message: stoppable(response.message, stop) };
    },

    async close() {
      closed = true;
      for (const call of calls) {
        call.fail(new ConnectError("the transport was closed", Code.Canceled));
      }
      channel.close();
    },
  };
}

function requestOf(config: GrpcConfig, method: DescMethod, header: HeaderInit) {
  const url = createMethodUrl(config.url, method);
  return { service: method.parent, requestMethod: "POST", url, header: new Headers(header) };
}

async function send(call: GrpcJsCall, messages: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    for await (const message of messages) {
      if (!(await call.write(message))) {
        return;
      }
    }
    call.end();
  } catch (reason) {
    call.fail(ConnectError.from(reason));
  }
}

async function* serialized<I extends DescMessage>(
  desc: I,
  messages: AsyncIterable<MessageShape<I>>,
): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    yield serialize(desc, message);
  }
}

function serialize<I extends DescMessage>(desc: I, message: MessageShape<I>): Uint8Array {
  try {
    return toBinary(desc, message);
  } catch (reason) {
    throw connectError(unwritable(reason));
  }
}

async function onlyMessage(call: GrpcJsCall): Promise<Uint8Array> {
  const message = await call.read();
  if (message === undefined) {
    throw new ConnectError("the response has no message", Code.Unimplemented);
  }
  if ((await call.read()) !== undefined) {
    throw new ConnectError("the response has more than one message", Code.Unimplemented);
  }
  return message;
}

async function* parsed<O extends DescMessage>(desc: O, call: GrpcJsCall): AsyncGenerator<MessageShape<O>> {
  for (let bytes = await call.read(); bytes !== undefined; bytes = await call.read()) {
    yield decodeMessage(desc, bytes);
  }
}

/** Pass messages on, and call `stop` at the end or when the reader stops. */
async function* stoppable<T>(messages: AsyncIterable<T>, stop: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    stop();
    // Connect releases its timer and signal when the end of the stream is read.
    await messages[Symbol.asyncIterator]()
      .next()
      .catch(() => undefined);
  }
}

function connectTimeout(): ConnectError {
  const cause = notConnectedInTime();
  return new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
}
