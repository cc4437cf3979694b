import {
  createRegistry,
  type DescMethod,
  type DescMethodServerStreaming,
  type DescMethodUnary,
} from "@bufbuild/protobuf";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { readConfig } from "../../config/schema.js";
import { RequestError } from "../../errors/index.js";
import { knownTypes } from "../../json/any.js";
import { failingCall } from "../../transport/index.js";
import { throwingOurErrors } from "../../transport/layers/our-errors.js";
import { methodName } from "../../transport/method-name.js";
import { commandClient } from "../client.js";
import { clientConfig } from "../client-options.js";
import type { CallOptions } from "../commands/call.js";
import { type CommandContext, indentedJson, json, writeOut } from "../output.js";
import { answerJson } from "./answer-json.js";
import { loadDefinitions, methodsOf } from "./definitions.js";
import { findName } from "./find-name.js";
import { readRequest } from "./read-request.js";

/**
 * Call a method, and print its answer.
 *
 * @param name the method's name, as the user gave it
 * @param argument the request, as the user gave it
 * @param options the values of the command-line options
 * @param context the streams of the command, and the signal that interrupts it
 * @throws {@link TradewireError} if the call is not made or fails: its subclass says how
 */
export async function runCall(
  name: string,
  argument: string | undefined,
  options: CallOptions,
  context: CommandContext,
): Promise<void> {
  const definitions = await loadDefinitions(options.proto, context.signal);
  const methods = methodsOf(definitions).map((item) => ({ name: methodName(item), item }));
  const method = findName(name, methods, "method");
  if (!isUnary(method) && !isStreaming(method)) {
    throw new RequestError(`${methodName(method)} streams its requests, which \`tradewire call\` cannot`, {
      advice: "Call it from a program over gRPC: `client.service(...)` has it. REST does not carry it at all.",
    });
  }
  const registry = createRegistry(definitions.registry, knownTypes);
  const request = await readRequest(method.input, { argument, settings: options.set, registry }, context);
  const header = headersOf(options.header);
  await using client = commandClient(options, context, registry);
  const transport = throwingOurErrors(client.transport, failingCall(readConfig(clientConfig(options))));
  const { signal } = context;
  if (isUnary(method)) {
    const { message } = await transport.unary(method, signal, options.timeout, header, request);
    const answer = answerJson(method.output, message, registry);
    const isForPerson = context.out.isTTY === true && options.json !== true;
    await writeOut(context, isForPerson ? indentedJson(answer) : json(answer));
    return;
  }
  const input = createAsyncIterable([request]);
  const { message: messages } = await transport.stream(method, signal, options.timeout, header, input);
  for await (const message of messages) {
    await writeOut(context, json(answerJson(method.output, message, registry)));
  }
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStreaming(method: DescMethod): method is DescMethodServerStreaming {
  return method.methodKind === "server_streaming";
}

function headersOf(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/s.exec(line) ?? [];
    try {
      headers.append(name, value);
    } catch {
      throw new RequestError(`--header ${JSON.stringify(line)} is no header`, {
        advice: "Give a name and a value, such as 'x-request-id: 7'.",
      });
    }
  }
  return headers;
}
