import {
  createRegistry,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  isMessage,
  type JsonObject,
  type Message,
  type MessageShape,
  type Registry,
} from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.js";
import { INVALID_RESPONSE, responseError } from "../../base/errors/call-errors.js";
import { RequestError } from "../../base/errors/index.js";
import { quotedPath } from "../../base/errors/node-errors.js";
import { saveUnverified } from "../../base/file/atomic-file.js";
import { connectionOf, recordTypeOf } from "../../data/listing/paging-method.js";
import type { Client } from "../../index.js";
import { knownTypes } from "../../wire/json/any.js";
import { assertDelimitedBody, mediaTypeOf } from "../../wire/json/http-body.js";
import { isHttpBody, messageToJson } from "../../wire/json/message-json.js";
import { throwingOurErrors } from "../../wire/transport/library-errors.js";
import { isReadOnly, isUnary, methodName } from "../../wire/transport/method.js";
import { failingCall } from "../../wire/transport/transport.js";
import { type Definitions, definitionsOptions, methodsOf, type Named, yields } from "../api/definitions.js";
import { findDefined } from "../api/node-definitions.js";
import { type RequestsInput, readRequest, readRequests } from "../api/requests.js";
import { commandClient } from "../client.js";
import { type ClientOptions, clientConfig, clientOptions } from "../client-options.js";
import { STANDARD } from "../command-files.js";
import { choice, defineCommand, type OptionValues, repeatedText, withDefault } from "../declarations.js";
import { size } from "../formatting.js";
import { type CommandContext, indentedJson, json, writeJsonArray, writeOut } from "../output.js";
import { jsonFlag, OUTPUT, outputFormat, printReport } from "../output-format.js";
import { amountOptions, forceOption, toOption } from "../shared-options.js";

const callOptions = {
  data: withDefault(
    repeatedText("<request>", "a request, for a method that streams requests; may be repeated", { short: "-d" }),
    [],
    "none",
  ),
  set: withDefault(
    repeatedText("<path=value>", "set a field, such as pagination.first=5 or filter.partyIds=a,b; may be repeated"),
    [],
    "none",
  ),
  header: withDefault(
    repeatedText("<name: value>", "send a header, but no secrets: other users can see arguments; may be repeated"),
    [],
    "none",
  ),
  ...amountOptions,
  to: toOption("a file, or - for standard output, for the bytes of a google.api.HttpBody"),
  force: forceOption,
  ...definitionsOptions,
  output: choice(
    "<format>",
    "format of the output (default: indented JSON on a terminal, otherwise jsonl)",
    ["json", "jsonl"],
    OUTPUT,
  ),
  json: jsonFlag,
  ...clientOptions,
};

type CallOptions = OptionValues<typeof callOptions> & ClientOptions;

/** Defines the command `call`, which calls any method. */
export const addCall = defineCommand(callOptions, runCall);

/**
 * Calls a method, and prints its response.
 *
 * @throws {@link TradewireError} if the call cannot be made or fails
 */
async function runCall(
  name: string,
  argument: string | undefined,
  options: CallOptions,
  context: CommandContext,
): Promise<void> {
  const { item: method, definitions } = await findDefined(name, "method", namedMethods, options, context);
  checkOutput(method, options);
  const registry = createRegistry(definitions.registry, knownTypes);
  // The end of the call cancels reading the input.
  using input = callScope(context);
  const requestsInput = { argument, data: options.data, settings: options.set, registry };
  const requests = await requestsOf(method, requestsInput, input.context);
  const config = clientConfig(options, context);
  await using client = commandClient(options, context, { registry, config });
  const call = { requests, headers: headersOf(options.header), registry };
  const paging = pagingMethod(method, options);
  if (paging !== undefined) {
    await printRecords(client, paging, call, options, context);
    return;
  }
  if (isUnary(method) && !isReadOnly(method)) {
    context.output.role = "response";
  }
  const messages = responses(throwingOurErrors(client.transport, failingCall(config)), method, call, options, context);
  if (options.to !== undefined) {
    await writeBody(messages, { ...options, to: options.to }, context);
    return;
  }
  async function* printed() {
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    for await (const message of messages) {
      yield responseJson(method.output, message, registry);
      left -= 1;
      if (left === 0) {
        return;
      }
    }
  }
  if (isUnary(method)) {
    const isForPerson = outputFormat(options, context) === "table";
    for await (const response of printed()) {
      await writeOut(context, isForPerson ? indentedJson(response) : json(response));
    }
    return;
  }
  await printAll(printed(), options, context);
}

/** Prints several messages: as one array, or one per line. */
async function printAll(
  values: AsyncIterable<JsonObject>,
  options: CallOptions,
  context: CommandContext,
): Promise<void> {
  if (outputFormat(options, context) === "json") {
    await writeJsonArray(context, values);
    return;
  }
  for await (const value of values) {
    await writeOut(context, json(value));
  }
}

function namedMethods(definitions: Definitions): Named<DescMethod>[] {
  return methodsOf(definitions).map((item) => ({ name: methodName(item), item, yields: yields(item) }));
}

interface PreparedCall {
  readonly requests: AsyncIterable<Message>;
  readonly headers: Headers;
  /** The types that an `Any` may hold. */
  readonly registry: Registry;
}

/** Creates the context of a call, whose signal is also aborted when the call ends. */
function callScope(context: CommandContext): { readonly context: CommandContext } & Disposable {
  const { out, output, err, notes, environment, onConfig, signal } = context;
  const end = new AbortController();
  return {
    context: {
      get in() {
        return context.in; // Not opened until it is read.
      },
      out,
      output,
      err,
      notes,
      environment,
      onConfig,
      signal: AbortSignal.any([signal, end.signal]),
    },
    [Symbol.dispose]: () => end.abort(),
  };
}

async function requestsOf(
  method: DescMethod,
  input: RequestsInput,
  context: CommandContext,
): Promise<AsyncIterable<Message>> {
  if (method.methodKind === "bidi_streaming" || method.methodKind === "client_streaming") {
    return readRequests(method.input, input, context);
  }
  if (input.data.length > 0) {
    throw new RequestError(
      `--data is for methods that stream requests, but ${methodName(method)} takes a single request`,
      {
        advice: "Pass the request as an argument.",
      },
    );
  }
  return createAsyncIterable([await readRequest(method.input, input, context)]);
}

async function onlyOf(requests: AsyncIterable<Message>): Promise<Message> {
  for await (const request of requests) {
    return request;
  }
  throw new Error("the request is missing");
}

function isStreaming(method: DescMethod): method is DescMethodStreaming {
  return method.methodKind !== "unary";
}

const RAW_NOTE =
  "The bytes came over REST: a grpc-gateway may have added a line feed after each chunk. Compare over gRPC.\n";

/** Makes the call and yields its responses. Nothing is sent before the first one is requested. */
async function* responses(
  transport: Transport,
  method: DescMethod,
  { requests, headers }: PreparedCall,
  { timeout, to }: CallOptions,
  { signal, notes }: CommandContext,
): AsyncGenerator<Message> {
  if (isUnary(method)) {
    const request = await onlyOf(requests);
    const { message } = await transport.unary(method, signal, timeout, headers, request);
    yield message;
  }
  if (isStreaming(method)) {
    const { header, message } = await transport.stream(method, signal, timeout, headers, requests);
    const isSavedRaw = to !== undefined && isRawBody(header);
    if (isSavedRaw) {
      assertDelimitedBody(header);
    }
    yield* message;
    if (isSavedRaw) {
      notes.write(RAW_NOTE);
    }
  }
}

/** Returns the method if its records are requested, of all pages or a number of them. */
function pagingMethod(method: DescMethod, { all, limit }: CallOptions): DescMethodUnary | undefined {
  if (all !== true && (limit === undefined || !isUnary(method))) {
    return undefined;
  }
  recordTypeOf(method); // Throws if the method has no records.
  return isUnary(method) ? method : undefined;
}

async function printRecords(
  client: Client,
  method: DescMethodUnary,
  { requests, headers, registry }: PreparedCall,
  options: CallOptions,
  context: CommandContext,
): Promise<void> {
  const { limit } = options;
  const desc = recordTypeOf(method);
  const { field } = connectionOf(method);
  const others = method.output.fields.filter((other) => other !== field && other.fieldKind === "list");
  if (others.length > 0) {
    const names = others.map(({ name }) => name).join(" and ");
    context.notes.write(`Printing ${field.name}, but not ${names} of each page: call without --all to see them.\n`);
  }
  const records = client.records(method, await onlyOf(requests), { limit, headers, signal: context.signal });
  async function* printed() {
    for await (const { node } of records) {
      yield responseJson(desc, node, registry);
    }
  }
  await printAll(printed(), options, context);
}

function headersOf(lines: readonly string[]): Headers {
  const headers = new Headers();
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*)$/s.exec(line) ?? [];
    try {
      headers.append(name, value);
    } catch {
      throw new RequestError(`--header must have the form NAME: VALUE (got ${JSON.stringify(line)})`, {
        advice: "Write a name and a value, such as 'x-request-id: 7'.",
      });
    }
  }
  return headers;
}

/**
 * Converts a message from a node to JSON.
 *
 * @throws {@link ProtocolError} if a value has no form in JSON, such as a time after the year 9999
 */
function responseJson<O extends DescMessage>(desc: O, message: MessageShape<O>, registry: Registry): JsonObject {
  try {
    return messageToJson(desc, message, registry);
  } catch (cause) {
    throw responseError(INVALID_RESPONSE, { cause });
  }
}

/**
 * Checks the options for bytes.
 *
 * @throws {@link RequestError} if `--to` is given for a method that does not respond with bytes, or with options that
 *   exclude it
 */
function checkOutput(method: DescMethod, { to, force, all, limit }: CallOptions): void {
  if (to === undefined && force === true) {
    throw new RequestError("--force needs --to", { advice: "Add --to, or remove --force." });
  }
  if (to !== undefined && !isHttpBody(method.output)) {
    throw new RequestError(`${methodName(method)} responds with ${method.output.typeName}, not with bytes`, {
      advice: `Remove --to: the response is printed as JSON. To save it, redirect it: \`> ${to}\`.`,
    });
  }
  if (to !== undefined && (all === true || limit !== undefined)) {
    throw new RequestError(`--to saves bytes, which --${all === true ? "all" : "limit"} does not apply to`, {
      advice: `Remove --${all === true ? "all" : "limit"}, or remove --to to print records.`,
    });
  }
}

/** Returns whether a stream is the body itself. Streams of gRPC and of JSON mark their end, and where each message ends. */
function isRawBody(header: Headers): boolean {
  const mediaType = mediaTypeOf(header);
  return mediaType !== "" && !/^application\/(grpc|json|x-ndjson|ndjson)\b/.test(mediaType);
}

/**
 * Writes the bytes of `google.api.HttpBody` messages to a file, all or nothing, or to standard output as they arrive.
 *
 * @throws {@link FileError} if the file cannot be written, or exists
 */
async function writeBody(
  messages: AsyncIterable<Message>,
  options: CallOptions & { readonly to: string },
  context: CommandContext,
): Promise<void> {
  const { to, force = false } = options;
  const bytes = dataOf(messages);
  if (to === STANDARD) {
    for await (const chunk of bytes) {
      await writeOut(context, chunk);
    }
    return;
  }
  const saved = await saveUnverified(bytes, { target: to, fileName: () => noName(to), force });
  const table = () => {
    context.out.write(`${saved.path}\n`);
    context.notes.write(`${size(saved.bytes)}, SHA-256 ${saved.sha256}\n`);
  };
  await printReport({ table, object: () => saved }, outputFormat(options, context), context);
}

async function* dataOf(messages: AsyncIterable<Message>): AsyncGenerator<Uint8Array> {
  for await (const message of messages) {
    if (isMessage(message, HttpBodySchema)) {
      yield message.data;
    }
  }
}

function noName(path: string): never {
  throw new RequestError(`${quotedPath(path)} is a folder`, { advice: "Use the path of a file." });
}
