import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { messageTooLarge, responseError } from "../../base/errors/call-errors.js";
import { ProtocolError } from "../../base/errors/index.js";
import { parseChunk } from "../../base/input/assert.js";
import { parseJson } from "./answer-size.js";
import { createByteAccumulator } from "./byte-accumulator.js";
import { isJsonObject, MAX_DEPTH } from "./json-values.js";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_OBJECT = 0x7b;
const OPEN = new Set([OPEN_OBJECT, 0x5b]);
const CLOSE = new Set([0x7d, 0x5d]);
/** The byte order mark of UTF-8, which a stream may begin with. */
const MARK = Buffer.of(0xef, 0xbb, 0xbf);
const WHITESPACE = new Set(Buffer.from(" \t\n\r"));
/** The first bytes of JSON values. */
const VALUE_START = new Set(Buffer.from('{["-0123456789tfn'));
/** The bytes that end a number, `true`, `false` or `null`. */
const SCALAR_END = new Set(Buffer.from(" \t\n\r,]"));

/** The form of a stream of JSON values. */
export interface StreamForm {
  /** Whether the stream is one JSON array. Otherwise its values are one per line, or concatenated. */
  readonly array: boolean;
  /** Whether values other than objects are valid, too. */
  readonly anyValue: boolean;
}

interface OpenValue {
  depth: number;
  inString: boolean;
  escaped: boolean;
  inScalar: boolean;
  ended: boolean;
}

/**
 * Parses a stream of JSON objects, one per line or concatenated. The chunks of the stream may end anywhere.
 *
 * @throws {@link ProtocolError} if an object is invalid JSON, too large, nested too deep or truncated
 */
export async function* parseJsonObjects(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<JsonObject> {
  for await (const value of parseJsonValues(source, { array: false, anyValue: false }, maxBytes)) {
    if (isJsonObject(value)) {
      yield value; // Always: the form allows only objects.
    }
  }
}

/**
 * Parses a single JSON object.
 *
 * @throws {@link ProtocolError} if they are anything else
 */
export function parseJsonObject(bytes: Uint8Array): JsonObject {
  const json = parse(bytes, "object", bytes.length);
  if (!isJsonObject(json)) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    throw malformed(`expected a JSON object, but found ${quote(chunk, 0)}`);
  }
  return json;
}

/**
 * Parses the JSON values of a stream. The chunks of the stream may end anywhere.
 *
 * @throws {@link ProtocolError} if a value is invalid JSON, too large or nested too deep, or if the stream is truncated. An
 *   array without its closing bracket is truncated
 */
export async function* parseJsonValues(
  source: AsyncIterable<Uint8Array>,
  { array, anyValue }: StreamForm,
  maxBytes: number,
): AsyncGenerator<JsonValue> {
  const noun = anyValue ? "value" : "object";
  const punctuation = array ? arrayPunctuation(`a JSON ${noun}`) : noPunctuation(`a JSON ${noun}`);
  let open: OpenValue | undefined;
  const accumulator = createByteAccumulator();
  let offset = 0;
  /** The number of bytes of the byte order mark at the start. */
  let markSize = 0;

  for await (const bytes of source) {
    const chunk = parseChunk("the stream", bytes);
    let at = 0;
    while (at < chunk.length) {
      if (open === undefined) {
        const byte = chunk[at] as number;
        if (markSize === offset + at && byte === MARK[markSize]) {
          markSize += 1;
          at += 1;
          continue;
        }
        if (WHITESPACE.has(byte) || punctuation.takes(byte)) {
          at += 1;
          continue;
        }
        const isValue = anyValue ? VALUE_START.has(byte) : byte === OPEN_OBJECT;
        if (!isValue || markSize % MARK.length !== 0 || !punctuation.takesValue()) {
          throw malformed(`expected ${punctuation.expected()} at byte ${offset + at}, but found ${quote(chunk, at)}`);
        }
        open = { depth: 0, inString: false, escaped: false, inScalar: false, ended: false };
      }
      const end = scan(open, chunk, at, offset);
      accumulator.push(chunk.subarray(at, end));
      if (accumulator.size > maxBytes) {
        throw responseError(messageTooLarge("limits.maxJsonBytes", maxBytes));
      }
      if (open.ended) {
        yield parse(accumulator.take(), noun, offset + end);
        open = undefined;
      }
      at = end;
    }
    offset += chunk.length;
  }
  if (open !== undefined || !punctuation.mayEnd()) {
    const place = open === undefined ? "before the end of its JSON array" : `inside a JSON ${noun}`;
    throw malformed(`the stream was truncated at byte ${offset}, ${place}`);
  }
}

/** Scans a value to its end, or to the end of the chunk. Returns the position after the value's bytes. */
function scan(value: OpenValue, chunk: Buffer, from: number, offset: number): number {
  let at = from;
  while (at < chunk.length && !value.ended) {
    const byte = chunk[at] as number;
    if (value.inString) {
      at = scanString(value, chunk, at);
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
          throw malformed(`the JSON at byte ${offset + at - 1} exceeds the limit of ${MAX_DEPTH} nested levels`);
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

function scanString(value: OpenValue, chunk: Buffer, at: number): number {
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

/** Returns the number of backslashes directly before `end`, but not before `from`. */
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
      : malformed(`invalid JSON in the ${noun} that ends at byte ${end}`, cause);
  }
}

function quote(chunk: Buffer, at: number): string {
  return JSON.stringify(chunk.subarray(at, at + 24).toString("latin1"));
}

function malformed(summary: string, cause?: unknown): ProtocolError {
  return new ProtocolError(summary, {
    advice: "Check the URL, and that `streams` matches the format of the server: another server may have answered.",
    cause,
  });
}

const [COMMA, OPEN_ARRAY, CLOSE_ARRAY] = [0x2c, 0x5b, 0x5d];

/** The bytes between the values of a stream, besides whitespace. */
interface Punctuation {
  /** Consumes a byte between values. Returns whether it is valid there. */
  takes(byte: number): boolean;
  /** Consumes the start of a value. Returns whether a value may start there. */
  takesValue(): boolean;
  /** Returns what was expected, for errors. */
  expected(): string;
  mayEnd(): boolean;
}

/** Returns the punctuation of concatenated values: there is none. */
function noPunctuation(value: string): Punctuation {
  return { takes: () => false, takesValue: () => true, expected: () => value, mayEnd: () => true };
}

/** Returns the punctuation of one JSON array: brackets and commas. */
function arrayPunctuation(value: string): Punctuation {
  let state: "start" | "first" | "after value" | "after comma" | "end" = "start";

  function after(byte: number): typeof state | undefined {
    switch (state) {
      case "start":
        return byte === OPEN_ARRAY ? "first" : undefined;
      case "first":
        return byte === CLOSE_ARRAY ? "end" : undefined;
      case "after value":
        return byte === COMMA ? "after comma" : byte === CLOSE_ARRAY ? "end" : undefined;
      default:
        return undefined;
    }
  }

  return {
    takes(byte) {
      const next = after(byte);
      state = next ?? state;
      return next !== undefined;
    },
    takesValue() {
      const isExpected = state === "first" || state === "after comma";
      state = isExpected ? "after value" : state;
      return isExpected;
    },
    expected() {
      switch (state) {
        case "start":
          return "a JSON array";
        case "end":
          return "the end of the stream";
        case "after value":
          return "a comma or the end of the JSON array";
        default:
          return value;
      }
    },
    mayEnd: () => state === "end",
  };
}
