import {
  createRegistry,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import type { Client } from "../../client/index.js";
import { RequestError } from "../../errors/index.js";
import { knownTypes } from "../../json/any.js";
import { connectionOf } from "../../listing/connection.js";
import { throwingOurErrors } from "../../transport/layers/our-errors.js";
import { onlyReads } from "../../transport/layers/read-method.js";
import { methodName } from "../../transport/method-name.js";
import { failingCall } from "../../transport/transport.js";
import { commandClient } from "../client.js";
import { clientConfig } from "../client-options.js";
import { type CommandContext, indentedJson, json, writeOut } from "../output.js";
import { answerJson } from "./answer-json.js";
import type { CallOptions } from "./call-options.js";
import { loadDefinitions, methodsOf, yields } from "./definitions.js";
import { findName } from "./find-name.js";
import { checkEnd, checkOutput, writeBody } from "./http-body.js";
import { readRequest } from "./read-request.js";
import { type GivenRequests, readRequests } from "./read-requests.js";

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
  const methods = methodsOf(definitions).map((item) => ({ name: methodName(item), item, yields: yields(item) }));
  const method = findName(name, methods, "method", (sentence) => context.notes.write(`${sentence}\n`));
  checkOutput(method, options);
  const registry = createRegistry(definitions.registry, knownTypes);
  // What still waits for a line of the input ends with the call.
  using input = callEnd(context);
  const given = { argument, data: options.data, settings: options.set, registry };
  const requests = await requestsOf(method, given, input.context);
  const config = clientConfig(options, context);
  await using client = commandClient(options, context, { registry, config });
  const call = { requests, headers: headersOf(options.header), registry };
  const paging = pagingMethod(method, options);
  if (paging !== undefined) {
    await printRecords(client, paging, call, options, context);
    return;
  }
  const messages = answers(throwingOurErrors(client.transport, failingCall(config)), method, call, options, context);
  if (options.out !== undefined) {
    await writeBody(messages, { ...options, out: options.out, transport: config.transport }, context);
    return;
  }
  const isForPerson = context.out.isTTY === true && options.json !== true && method.methodKind === "unary";
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  for await (const message of messages) {
    const answer = answerJson(method.output, message, registry);
    await writeOut(context, isForPerson ? indentedJson(answer) : json(answer));
    left -= 1;
    if (left === 0) {
      break;
    }
  }
}

/** A call that is ready to be made. */
interface ReadyCall {
  readonly requests: AsyncIterable<Message>;
  readonly headers: Headers;
  /** The types that an `Any` may hold. */
  readonly registry: Registry;
}

/** The context of a call, whose signal is aborted at the end of the call too. */
function callEnd(context: CommandContext): { readonly context: CommandContext } & Disposable {
  const { out, err, notes, environment, signal } = context;
  const end = new AbortController();
  return {
    context: {
      get in() {
        return context.in; // Untouched until it is read.
      },
      out,
      err,
      notes,
      environment,
      signal: AbortSignal.any([signal, end.signal]),
    },
    [Symbol.dispose]: () => end.abort(),
  };
}

async function requestsOf(
  method: DescMethod,
  given: GivenRequests,
  context: CommandContext,
): Promise<AsyncIterable<Message>> {
  if (method.methodKind === "bidi_streaming" || method.methodKind === "client_streaming") {
    return readRequests(method.input, given, context);
  }
  if (given.data.length > 0) {
    throw new RequestError(`--data is for methods that stream their requests, and ${methodName(method)} takes one`, {
      advice: "Give the request as an argument.",
    });
  }
  return createAsyncIterable([await readRequest(method.input, given, context)]);
}

async function onlyOf(requests: AsyncIterable<Message>): Promise<Message> {
  for await (const request of requests) {
    return request;
  }
  throw new Error("the call has no request");
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === "unary";
}

function isStreaming(method: DescMethod): method is DescMethodStreaming {
  return method.methodKind !== "unary";
}

/** Make the call, and give its answers: one, or those of a stream. Nothing is sent before they are asked for. */
async function* answers(
  transport: Transport,
  method: DescMethod,
  { requests, headers }: ReadyCall,
  { timeout, out }: CallOptions,
  { signal, err }: CommandContext,
): AsyncGenerator<Message> {
  if (isUnary(method)) {
    const request = await onlyOf(requests);
    const { message } = await transport.unary(method, signal, timeout, headers, request).catch((reason: unknown) => {
      if (signal.aborted && !onlyReads(method)) {
        err.write("tradewire: interrupted; whether the node took the call is unknown\n");
      }
      throw reason;
    });
    yield message;
  }
  if (isStreaming(method)) {
    const { header, message } = await transport.stream(method, signal, timeout, headers, requests);
    if (out !== undefined) {
      checkEnd(header);
    }
    yield* message;
  }
}

/** The method, where its records are asked for, of all pages or a number of them. */
function pagingMethod(method: DescMethod, { all, limit, timeout }: CallOptions): DescMethodUnary | undefined {
  if (all !== true && (limit === undefined || !isUnary(method))) {
    return undefined;
  }
  connectionOf(method); // It throws where the method does not page.
  if (timeout !== undefined) {
    throw new RequestError("--timeout is for one call, and pages take several", {
      advice: "Limit each with --call-timeout.",
    });
  }
  return isUnary(method) ? method : undefined;
}

async function printRecords(
  client: Client,
  method: DescMethodUnary,
  { requests, headers, registry }: ReadyCall,
  { limit }: CallOptions,
  context: CommandContext,
): Promise<void> {
  const { node: desc } = connectionOf(method);
  for await (const { node } of client.records(method, await onlyOf(requests), {
    limit,
    headers,
    signal: context.signal,
  })) {
    await writeOut(context, json(answerJson(desc, node, registry)));
  }
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
