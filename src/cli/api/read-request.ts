import { type DescMessage, fromJson, type JsonValue, type MessageShape, type Registry } from "@bufbuild/protobuf";
import { quotedPath } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { isJsonObject } from "../../json/values.js";
import { bytesOf, STANDARD } from "../input.js";
import type { CommandContext } from "../output.js";
import { checkFields } from "./check-fields.js";
import { setFields } from "./set-field.js";

/** The largest request that is read from a file or from standard input, in bytes. */
const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/**
 * Read a request in Protobuf's JSON.
 *
 * @param desc the request's message
 * @param given the argument: JSON, `@` and the path of a file, or `-` for standard input; without it the request is
 *   empty. Further the values of `--set`, and the types that an `Any` may hold
 * @param context the input stream, and the signal that ends the reading
 * @returns the request
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if it is not the JSON of that message
 */
export async function readRequest<I extends DescMessage>(
  desc: I,
  given: { readonly argument: string | undefined; readonly settings: readonly string[]; readonly registry: Registry },
  context: CommandContext,
): Promise<MessageShape<I>> {
  const { text, source } = await textOf(given.argument, context);
  const json = parse(text, source);
  if (given.settings.length > 0) {
    if (!isJsonObject(json)) {
      throw new RequestError(`${source} is no JSON object, so --set cannot apply`, {
        advice: "Give one or the other.",
      });
    }
    setFields(desc, json, given.settings);
  }
  checkFields(desc, json, source);
  try {
    return fromJson(desc, json, { registry: given.registry });
  } catch (cause) {
    throw new RequestError(`${source}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      advice: `\`tradewire describe ${desc.typeName}\` shows what it holds.`,
      cause,
    });
  }
}

async function textOf(
  argument: string | undefined,
  context: CommandContext,
): Promise<{ text: string; source: string }> {
  if (argument === undefined) {
    return { text: "{}", source: "the request" };
  }
  const path = argument === STANDARD ? STANDARD : /^@(.+)$/s.exec(argument)?.[1];
  if (path === undefined) {
    return { text: argument, source: "the request" };
  }
  const source = argument === STANDARD ? "standard input" : quotedPath(path);
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of bytesOf(path, context)) {
    pieces.push(piece);
    size += piece.length;
    if (size > MAX_REQUEST_BYTES) {
      throw new RequestError(`${source} is larger than ${MAX_REQUEST_BYTES} bytes, the limit for a request`, {
        advice: "Send less in one request.",
      });
    }
  }
  return { text: Buffer.concat(pieces).toString(), source };
}

function parse(text: string, source: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch {
    throw new RequestError(`${source} is no valid JSON`, {
      advice:
        'Give the request in Protobuf\'s JSON, such as \'{"pagination": {"first": 5}}\', or @FILE, or - for standard input.',
    });
  }
}
