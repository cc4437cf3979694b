import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { brokenAnswer, tooLarge } from "../errors/broken-answer.js";
import { bytesOf } from "../errors/check-kinds.js";
import { ProtocolError } from "../errors/index.js";
import { createGathering } from "./gathering.js";
import { parseJson } from "./parse.js";
import { arrayPunctuation, noPunctuation } from "./punctuation.js";
import { isJsonObject, MAX_DEPTH } from "./values.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN = new Set([OPEN_OBJECT, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
const WHITESPACE = new Set(Buffer.from(" \t\n\r"));
/** What any JSON value begins with. */
const BEGINNING = new Set(Buffer.from('{["-0123456789tfn'));
/** What ends a number, `true`, `false` or `null`. */
const SCALAR_END = new Set(Buffer.from(" \t\n\r,]"));

/** How the values of a stream stand in it. */
export interface StreamForm {
  /** Whether the stream is one JSON array; else its values are one a line, or simply concatenated. */
  readonly array: boolean;
  /** Whether values other than objects are expected too. */
  readonly anyValue: boolean;
}

/** A value of which a part has come. */
interface OpenValue {
  depth: number;
  inString: boolean;
  escaped: boolean;
  inScalar: boolean;
  ended: boolean;
}

/**
 * Read a stream of JSON objects, one per line or simply concatenated. Pieces of the stream may end anywhere.
 *
 * @param source the bytes, UTF-8
 * @param maxBytes the largest object that is read, in bytes
 * @returns the objects, each as soon as it is complete
 * @throws {@link ProtocolError} where an object is not valid JSON, is too large or nested too deep, or is cut short
 */
export async function* jsonObjects(source: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<JsonObject> {
  for await (const value of jsonValues(source, { array: false, anyValue: false }, maxBytes)) {
    if (isJsonObject(value)) {
      yield value; // The form lets nothing else pass.
    }
  }
}

/**
 * Read a JSON object that comes by itself.
 *
 * @param bytes the bytes, UTF-8
 * @returns the object
 * @throws {@link ProtocolError} where they are anything else
 */
export function jsonObject(bytes: Uint8Array): JsonObject {
  const json = parse(bytes, "object", bytes.length);
  if (!isJsonObject(json)) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    throw malformed(`a JSON object was expected, but there is ${quote(chunk, 0)}`);
  }
  return json;
}

/**
 * Read the JSON values of a stream. Pieces of the stream may end anywhere.
 *
 * @param source the bytes, UTF-8
 * @param form how the values stand in the stream
 * @param maxBytes the largest value that is read, in bytes
 * @returns the values, each as soon as it is complete; a number is complete at the whitespace or comma behind it. Objects
 *   and lists have their size stored
 * @throws {@link ProtocolError} where a value is not valid JSON, is too large or nested too deep, or the stream is cut
 *   short: an array is so without its closing bracket
 */
export async function* jsonValues(
  source: AsyncIterable<Uint8Array>,
  { array, anyValue }: StreamForm,
  maxBytes: number,
): AsyncGenerator<JsonValue> {
  const noun = anyValue ? "value" : "object";
  const punctuation = array ? arrayPunctuation(`a JSON ${noun}`) : noPunctuation(`a JSON ${noun}`);
  let open: OpenValue | undefined;
  const gathering = createGathering();
  let offset = 0;

  for await (const bytes of source) {
    const chunk = bytesOf("the stream", bytes);
    let at = 0;
    while (at < chunk.length) {
      if (open === undefined) {
        const byte = chunk[at] as number;
        if (WHITESPACE.has(byte) || punctuation.takes(byte)) {
          at += 1;
          continue;
        }
        const isValue = anyValue ? BEGINNING.has(byte) : byte === OPEN_OBJECT;
        if (!isValue || !punctuation.takesValue()) {
          throw malformed(
            `${punctuation.expected()} was expected at byte ${offset + at}, but there is ${quote(chunk, at)}`,
          );
        }
        open = { depth: 0, inString: false, escaped: false, inScalar: false, ended: false };
      }
      const end = scan(open, chunk, at, offset);
      gathering.push(chunk.subarray(at, end));
      if (gathering.size > maxBytes) {
        throw brokenAnswer(tooLarge("limits.maxJsonBytes", maxBytes));
      }
      if (open.ended) {
        yield parse(gathering.take(), noun, offset + end);
        open = undefined;
      }
      at = end;
    }
    offset += chunk.length;
  }
  if (open !== undefined || !punctuation.mayEnd()) {
    const place = open === undefined ? "before the end of its JSON array" : `inside a JSON ${noun}`;
    throw malformed(`the stream ended at byte ${offset}, ${place}: it was cut short`);
  }
}

/** Follow a value to its end, or to that of the chunk; gives the place behind what belongs to the value. */
function scan(value: OpenValue, chunk: Buffer, from: number, offset: number): number {
  let at = from;
  while (at < chunk.length && !value.ended) {
    const byte = chunk[at] as number;
    if (value.inString) {
      at = followString(value, chunk, at);
      value.ended = value.depth === 0 && !value.inString;
    } else if (value.inScalar) {
      value.ended = SCALAR_END.has(byte);
      at += value.ended ? 0 : 1;
    } else {
      at += 1;
      if (byte === QUOTE) {
        value.inString = true;
      } else if (OPEN.has(byte)) {
        value.depth += 1;
        if (value.depth > MAX_DEPTH) {
          throw malformed(`the JSON at byte ${offset + at - 1} is nested more than ${MAX_DEPTH} deep, the limit`);
        }
      } else if (CLOSE.has(byte)) {
        value.depth -= 1;
        value.ended = value.depth === 0;
      } else {
        value.inScalar = value.depth === 0;
      }
    }
  }
  return at;
}

function followString(value: OpenValue, chunk: Buffer, at: number): number {
  if (value.escaped) {
    value.escaped = false;
    return at + 1;
  }
  const quoteAt = chunk.indexOf(QUOTE, at);
  const end = quoteAt === -1 ? chunk.length : quoteAt;
  const odd = backslashesBefore(chunk, at, end) % 2 === 1;
  value.escaped = quoteAt === -1 && odd;
  value.inString = quoteAt === -1 || odd;
  return Math.min(end + 1, chunk.length);
}

/** The number of backslashes directly before `end`, no further back than `from`. */
function backslashesBefore(chunk: Buffer, from: number, end: number): number {
  let at = end;
  while (at > from && chunk[at - 1] === BACKSLASH) {
    at -= 1;
  }
  return end - at;
}

function parse(bytes: Uint8Array, noun: string, end: number): JsonValue {
  try {
    return parseJson(bytes);
  } catch (cause) {
    throw cause instanceof ProtocolError
      ? cause
      : malformed(`the JSON ${noun} that ends at byte ${end} is not valid JSON`, cause);
  }
}

function quote(chunk: Buffer, at: number): string {
  return JSON.stringify(chunk.subarray(at, at + 24).toString("latin1"));
}

function malformed(summary: string, cause?: unknown): ProtocolError {
  return new ProtocolError(summary, {
    advice:
      "Check that the URL is the node's own, and that streams are of the form that is configured: something else may have answered.",
    cause,
  });
}
