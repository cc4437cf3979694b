import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { brokenAnswer, TOO_LARGE } from "../errors/broken-answer.js";
import { ProtocolError } from "../errors/index.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = new Set([0x7b, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
/** How deep JSON may be nested: as deep as a Protobuf message. */
export const MAX_DEPTH = 100;
const WHITESPACE = new Set([0x20, 0x09, 0x0a, 0x0d]);

/**
 * Read a stream of JSON objects, one per line or simply concatenated. Pieces of the stream may end anywhere.
 *
 * @param source the bytes, UTF-8
 * @param maxBytes the largest object that is read, in bytes
 * @returns the objects, each as soon as it is complete
 * @throws {@link ProtocolError} where an object is not valid JSON, is too large or nested too deep, or is cut short
 */
export async function* jsonObjects(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<JsonObject> {
  let pieces: Buffer[] = [];
  let size = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let offset = 0;

  for await (const bytes of source) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    let start = 0;
    let at = 0;
    while (at < chunk.length) {
      const byte = chunk[at] as number;
      if (inString) {
        if (escaped) {
          escaped = false;
          at += 1;
        } else {
          const quoteAt = chunk.indexOf(QUOTE, at);
          const end = quoteAt === -1 ? chunk.length : quoteAt;
          const odd = backslashesBefore(chunk, at, end) % 2 === 1;
          escaped = quoteAt === -1 && odd;
          inString = quoteAt === -1 || odd;
          at = end + 1;
        }
        continue;
      }
      at += 1;
      if (depth === 0) {
        if (WHITESPACE.has(byte)) {
          start = at;
          continue;
        }
        if (byte !== 0x7b) {
          throw malformed(
            `a JSON object was expected at byte ${offset + at - 1}, but there is ${quote(chunk, at - 1)}`,
          );
        }
      }
      if (byte === QUOTE) {
        inString = true;
      } else if (OPEN.has(byte)) {
        depth += 1;
        if (depth > MAX_DEPTH) {
          throw malformed(`the JSON at byte ${offset + at - 1} is nested more than ${MAX_DEPTH} deep, the limit`);
        }
      } else if (CLOSE.has(byte)) {
        depth -= 1;
        if (depth === 0) {
          pieces.push(chunk.subarray(start, at));
          checkSize(size + at - start, maxBytes);
          yield parseObject(Buffer.concat(pieces), offset + at);
          pieces = [];
          size = 0;
          start = at;
        }
      }
    }
    if (depth > 0) {
      pieces.push(chunk.subarray(start));
      size += chunk.length - start;
      checkSize(size, maxBytes);
    }
    offset += chunk.length;
  }
  if (depth > 0) {
    throw malformed(`the stream ended at byte ${offset}, inside a JSON object: it was cut short`);
  }
}

/** The number of backslashes directly before `end`, no further back than `from`. */
function backslashesBefore(chunk: Buffer, from: number, end: number): number {
  let at = end;
  while (at > from && chunk[at - 1] === BACKSLASH) {
    at -= 1;
  }
  return end - at;
}

function checkSize(size: number, maxBytes: number): void {
  if (size > maxBytes) {
    throw brokenAnswer(TOO_LARGE);
  }
}

function parseObject(bytes: Uint8Array, end: number): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(decodeUtf8(bytes)) as JsonValue;
  } catch (cause) {
    throw malformed(`the JSON object that ends at byte ${end} is not valid JSON`, cause);
  }
  if (!isJsonObject(value)) {
    throw malformed(`the JSON that ends at byte ${end} is not an object`);
  }
  return value;
}

/**
 * Decode UTF-8.
 *
 * @param bytes the bytes, with or without a byte order mark
 * @returns the text, without a byte order mark
 * @throws TypeError where the bytes are not UTF-8
 */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/**
 * Whether a JSON value is an object.
 *
 * @param value the JSON value
 * @returns true for an object that is neither an array nor null
 */
export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function quote(chunk: Buffer, at: number): string {
  return JSON.stringify(chunk.subarray(at, at + 24).toString("latin1"));
}

function malformed(summary: string, cause?: unknown): ProtocolError {
  return new ProtocolError(summary, {
    advice: "Check that the URL is the node's own: something that is not its interface may have answered.",
    cause,
  });
}
