import {
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  type Registry,
  toJson,
} from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ContextValues, Transport } from "@connectrpc/connect";
import { messageFromJson } from "../../json/message.js";
import type { HeaderInit } from "../bare-call.js";

/**
 * Make a transport that reads JSON responses as the rest of this library does: it keeps unknown names of enum values
 * and extensions of unknown types, and base64 is strict. Connect gets an output type that all JSON fits.
 *
 * @param transport a Connect transport with the JSON codec
 * @param registry the types that an `Any` may hold
 * @returns the transport; a response that does not fit its definitions fails with a {@link ProtocolError}
 */
export function readingJson(transport: Transport, registry: Registry): Transport {
  return {
    async unary<I extends DescMessage, O extends DescMessage>(
      method: DescMethodUnary<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      message: MessageInitShape<I>,
      contextValues?: ContextValues,
    ) {
      const plain: DescMethodUnary<I, typeof ValueSchema> = { ...method, output: ValueSchema };
      const response = await transport.unary(plain, signal, timeoutMs, header, message, contextValues);
      return { ...response, method, message: read(method.output, response.message, registry) };
    },

    async stream<I extends DescMessage, O extends DescMessage>(
      method: DescMethodStreaming<I, O>,
      signal: AbortSignal | undefined,
      timeoutMs: number | undefined,
      header: HeaderInit,
      input: AsyncIterable<MessageInitShape<I>>,
      contextValues?: ContextValues,
    ) {
      const plain: DescMethodStreaming<I, typeof ValueSchema> = { ...method, output: ValueSchema };
      const response = await transport.stream(plain, signal, timeoutMs, header, input, contextValues);
      return { ...response, method, message: readAll(method.output, response.message, registry) };
    },
  };
}

async function* readAll<O extends DescMessage>(
  desc: O,
  values: AsyncIterable<Value>,
  registry: Registry,
): AsyncGenerator<MessageShape<O>> {
  for await (const value of values) {
    yield read(desc, value, registry);
  }
}

function read<O extends DescMessage>(desc: O, value: Value, registry: Registry): MessageShape<O> {
  return messageFromJson(desc, toJson(ValueSchema, value), registry);
}
