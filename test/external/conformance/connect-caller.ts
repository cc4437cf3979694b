import { type DescMessage, isMessage, type Message, type MessageShape } from "@bufbuild/protobuf";
import { type Client, ConnectError } from "@connectrpc/connect";
import type { Answer, CallSettings, Failure, MethodName } from "./caller.js";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformanceService,
  IdempotentUnaryRequestSchema,
  ServerStreamRequestSchema,
  UnaryRequestSchema,
  UnimplementedRequestSchema,
} from "./gen/connectrpc/conformance/v1/service_pb.js";

/** Make the function that calls the suite's service with a client such as Connect's. */
export function callWith(client: Client<typeof ConformanceService>) {
  return async function* (
    name: MethodName,
    messages: AsyncIterable<Message>,
    { timeoutMs = 0, ...settings }: CallSettings, // 0 stands for no limit.
  ): AsyncGenerator<Answer> {
    const options = { timeoutMs, ...settings };
    switch (name) {
      case "unary":
        yield await client.unary(await only(UnaryRequestSchema, messages), options);
        break;
      case "idempotentUnary":
        yield await client.idempotentUnary(await only(IdempotentUnaryRequestSchema, messages), options);
        break;
      case "unimplemented":
        await client.unimplemented(await only(UnimplementedRequestSchema, messages), options);
        break;
      case "serverStream":
        yield* client.serverStream(await only(ServerStreamRequestSchema, messages), options);
        break;
      case "clientStream":
        yield await client.clientStream(each(ClientStreamRequestSchema, messages), options);
        break;
      case "bidiStream":
        yield* client.bidiStream(each(BidiStreamRequestSchema, messages), options);
        break;
    }
  };
}

/** Read a Connect error. */
export function connectFailure(reason: unknown): Failure {
  const { code, rawMessage: message, details, metadata } = ConnectError.from(reason);
  return { code, message, details: details.filter((detail) => "type" in detail), metadata };
}

async function* each<D extends DescMessage>(
  desc: D,
  messages: AsyncIterable<Message>,
): AsyncGenerator<MessageShape<D>> {
  for await (const message of messages) {
    if (!isMessage(message, desc)) {
      throw new Error(`the method takes ${desc.typeName}, not ${message.$typeName}`);
    }
    yield message;
  }
}

/**
 * Take the one message of a request, to its end.
 *
 * @throws Error where there is none, or another
 */
export async function only<D extends DescMessage>(desc: D, messages: AsyncIterable<Message>): Promise<MessageShape<D>> {
  let found: MessageShape<D> | undefined;
  for await (const message of each(desc, messages)) {
    if (found !== undefined) {
      throw new Error("the method takes one message only");
    }
    found = message;
  }
  if (found === undefined) {
    throw new Error("the method takes a message");
  }
  return found;
}
