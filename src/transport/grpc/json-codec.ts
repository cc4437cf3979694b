import {
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import type { ContextValues, Transport } from "@connectrpc/connect";
import { messageFromJson } from "../../json/message.js";
import type { HeaderInit } from "../bare-call.js";

/**
 * A transport whose responses are JSON, read as everywhere in this library rather than by Connect: unknown names of enum
 * values and extensions of unknown types are kept, and base64 is strict. Connect is given a type that all JSON fits.
 */
export function readingJson(transport: Transport): Transport {
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
      return { ...response, method, message: read(method.output, response.message) };
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
      return { ...response, method, message: readAll(method.output, response.message) };
    },
  };
}

async function* readAll<O extends DescMessage>(desc: O, values: AsyncIterable<Value>): AsyncGenerator<MessageShape<O>> {
  for await (const value of values) {
    yield read(desc, value);
  }
}

function read<O extends DescMessage>(desc: O, value: Value): MessageShape<O> {
  return messageFromJson(desc, toJson(ValueSchema, value));
}
