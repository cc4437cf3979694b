import { type DescMessage, fromJson, type JsonValue, type MessageShape, type Registry } from "@bufbuild/protobuf";
import { quotedPath } from "../../errors/file-error.js";
import { RequestError } from "../../errors/index.js";
import { isJsonObject } from "../../json/values.js";
import { bytesOf, STANDARD } from "../input.js";
import type { CommandContext } from "../output.js";
import { checkFields } from "./check-fields.js";
import { setFields } from "./set-field.js";

/** The largest request that is read from a file or from standard input, in bytes. */
export const MAX_REQUEST_BYTES = 64 * 1024 * 1024;

/** A request, as the user gave it. */
export interface GivenRequest {
  /** JSON, `@` and the path of a file, or `-` for standard input. */
  readonly argument: string | undefined;
  /** The values of `--set`. */
  readonly settings: readonly string[];
  /** The types that an `Any` may hold. */
  readonly registry: Registry;
}

/**
 * Read a request in Protobuf's JSON.
 *
 * @param desc the request's message
 * @param given the argument, without which the request is empty, and what goes with it
 * @param context the input stream, and the signal that ends the reading
 * @returns the request
 * @throws {@link FileError} if the file cannot be read
 * @throws {@link RequestError} if it is not the JSON of that message
 */
export async function readRequest<I extends DescMessage>(
  desc: I,
  given: GivenRequest,
  context: CommandContext,
): Promise<MessageShape<I>> {
  const place = placeOf(given.argument);
  const text = place === undefined ? (given.argument ?? "{}") : await textOf(place, context);
  return requestOf(desc, text, place?.source ?? "the request", given);
}

/**
 * Find where requests are to be read from.
 *
 * @param argument the argument of the command
 * @returns the path, `-` for standard input, and how errors name it; undefined where the argument is no place
 */
export function placeOf(argument = ""): { readonly path: string; readonly source: string } | undefined {
  if (argument === STANDARD) {
    return { path: STANDARD, source: "standard input" };
  }
  const path = /^@(.+)$/s.exec(argument)?.[1];
  return path === undefined ? undefined : { path, source: quotedPath(path) };
}

/**
 * Make a request of its JSON.
 *
 * @param desc the request's message
 * @param text the JSON
 * @param source how errors name it
 * @param given the values of `--set`, and the types that an `Any` may hold
 * @returns the request
 * @throws {@link RequestError} if it is not the JSON of that message
 */
export function requestOf<I extends DescMessage>(
  desc: I,
  text: string,
  source: string,
  { settings, registry }: Pick<GivenRequest, "settings" | "registry">,
): MessageShape<I> {
  const json = parse(text, source);
  if (settings.length > 0) {
    if (!isJsonObject(json)) {
      throw new RequestError(`${source} is no JSON object, so --set cannot apply`, {
        advice: "Give one or the other.",
      });
    }
    setFields(desc, json, settings);
  }
  checkFields(desc, json, source);
  try {
    return fromJson(desc, json, { registry });
  } catch (cause) {
    throw new RequestError(`${source}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      advice: `\`tradewire describe ${desc.typeName}\` shows what it holds.`,
      cause,
    });
  }
}

async function textOf(
  { path, source }: { readonly path: string; readonly source: string },
  context: CommandContext,
): Promise<string> {
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
  return Buffer.concat(pieces).toString();
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
