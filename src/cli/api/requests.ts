import { type DescMessage, fromJson, type JsonValue, type MessageShape, type Registry } from "@bufbuild/protobuf";
import { RequestError } from "../../base/errors/index.js";
import { quotedPath } from "../../base/errors/node-errors.js";
import { isJsonObject } from "../../wire/json/json-values.js";
import { assertStrictMessage, parseStrictJson } from "../../wire/json/strict-json.js";
import { MAX_TEXT_BYTES, readBytes, readText, STANDARD } from "../command-files.js";
import type { InputContext } from "../output.js";
import { readFields, setFields } from "./request-fields.js";

/** The input of a request, as the user wrote it. */
export interface RequestInput {
  /** JSON, `@` and the path of a file, or `-` for standard input. */
  readonly argument: string | undefined;
  /** The values of `--set`. */
  readonly settings: readonly string[];
  /** The types that an `Any` may hold. */
  readonly registry: Registry;
}

/**
 * Reads a request in Protobuf's JSON.
 *
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if it is not the JSON of that message
 */
export async function readRequest<I extends DescMessage>(
  desc: I,
  input: RequestInput,
  context: InputContext,
): Promise<MessageShape<I>> {
  const origin = sourceOf(input.argument);
  const text = origin === undefined ? (input.argument ?? "{}") : await readText(origin.path, origin.source, context);
  return requestOf(desc, text, origin?.source ?? "the request", input);
}

function sourceOf(argument = ""): { readonly path: string; readonly source: string } | undefined {
  if (argument === STANDARD) {
    return { path: STANDARD, source: "standard input" };
  }
  const path = /^@(.+)$/s.exec(argument)?.[1];
  return path === undefined ? undefined : { path, source: quotedPath(path) };
}

/**
 * Parses a request.
 *
 * @throws {@link RequestError} if it is not the JSON of that message
 */
function requestOf<I extends DescMessage>(
  desc: I,
  text: string,
  source: string,
  { settings, registry }: Pick<RequestInput, "settings" | "registry">,
): MessageShape<I> {
  const json = parse(text, source);
  if (settings.length > 0) {
    if (!isJsonObject(json)) {
      throw new RequestError(`${source} is not a JSON object, so --set cannot apply`, {
        advice: "Use a JSON object, or remove --set.",
      });
    }
    setFields(desc, json, settings);
  }
  const read = isJsonObject(json) ? readFields(desc, json, source) : json;
  assertStrictMessage(desc, read, registry, source);
  try {
    return fromJson(desc, read, { registry });
  } catch (cause) {
    throw new RequestError(`${source}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      advice: `See its fields with \`tradewire describe ${desc.typeName}\`.`,
      cause,
    });
  }
}

function parse(text: string, source: string): JsonValue {
  const invalid = () =>
    new RequestError(`${source} is not valid JSON`, {
      advice: 'Use Protobuf JSON, such as \'{"pagination": {"first": 5}}\', or @FILE, or - for standard input.',
    });
  return parseStrictJson(text, source, invalid);
}

/** The input of a call that streams its requests. */
export interface RequestsInput extends RequestInput {
  /** Requests in Protobuf's JSON, which are sent first. */
  readonly data: readonly string[];
}

/**
 * Reads the requests of a call that streams them.
 *
 * @throws {@link RequestError} if a request is not the JSON of that message; for a line, the iteration throws it
 */
export function readRequests<I extends DescMessage>(
  desc: I,
  { data, ...input }: RequestsInput,
  context: InputContext,
): AsyncIterable<MessageShape<I>> {
  const { argument } = input;
  const origin = sourceOf(argument);
  const texts = [...data, ...(argument === undefined || origin !== undefined ? [] : [argument])];
  if (origin === undefined && texts.length === 0) {
    texts.push("{}");
  }
  const requests = texts.map((text, index) =>
    requestOf(desc, text, texts.length === 1 ? "the request" : `request ${index + 1}`, input),
  );
  return (async function* () {
    yield* requests;
    if (origin === undefined) {
      return;
    }
    let number = 0;
    for await (const line of linesOf(readBytes(origin.path, context), origin.source)) {
      number += 1;
      if (line.trim() !== "") {
        yield requestOf(desc, line, `line ${number} of ${origin.source}`, input);
      }
    }
  })();
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, source: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let open = "";
  for await (const chunk of bytes) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    open += first;
    for (const line of others) {
      yield open;
      open = line;
    }
    if (open.length > MAX_TEXT_BYTES) {
      throw new RequestError(`a line of ${source} exceeds the request limit of ${MAX_TEXT_BYTES} bytes`, {
        advice: "Put each request on a separate line.",
      });
    }
  }
  yield open;
}
