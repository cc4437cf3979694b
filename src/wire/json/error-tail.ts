import type { JsonValue } from "@bufbuild/protobuf";
import { NodeError } from "../../base/errors/index.js";
import { parseChunk } from "../../base/input/assert.js";
import { parseErrorObject } from "./envelope.js";
import { decodeUtf8, isJsonObject } from "./json-values.js";

/** The start of a gateway's error object. */
const ERROR_START = Buffer.from('{"error":');
const [BRACE = 0] = ERROR_START;
/** The bytes to search for: in random bytes, Node's search takes ten times as long for more than 6 bytes. */
const SEARCHED = ERROR_START.subarray(0, 6);
/** The maximum size of an error object, in bytes. A text of 64 KiB with its details fits, even with each character escaped. */
const MAX_ERROR_SIZE = 1024 * 1024;
/** The maximum number of possible starts that are checked at the end of a body. Only data contains more than a few. */
const MAX_ATTEMPTS = 16;

/** Buffers the end of a body as long as it may be a gateway's error object. */
export interface ErrorTail {
  /** Adds the next bytes of the body. */
  push(bytes: Uint8Array): Uint8Array;
  /** Ends the body. */
  finish(): { readonly rest: Uint8Array; readonly error: NodeError | undefined };
}

/**
 * Returns a detector of an error object at the end of a body. When a stream fails, the gateway has already sent the HTTP
 * status, so it appends the error to the bytes that it has sent. These may stop anywhere, and data may contain the same
 * start by chance. Each possible start is buffered until a byte follows that JSON cannot contain, or more bytes than an
 * error has.
 */
export function createErrorTail(): ErrorTail {
  let buffer = Buffer.alloc(0);
  // The range of the buffered bytes. They start with ERROR_START, or are a prefix of it.
  let start = 0;
  let end = 0;

  function append(bytes: Uint8Array): void {
    if (end + bytes.length > buffer.length) {
      const size = end - start + bytes.length;
      const larger = size * 2 > buffer.length ? Buffer.allocUnsafe(size * 2) : buffer;
      buffer.copy(larger, 0, start, end);
      buffer = larger;
      end -= start;
      start = 0;
    }
    buffer.set(bytes, end);
    end += bytes.length;
  }

  /** Removes and returns the first buffered bytes. */
  function release(size: number): Buffer {
    const bytes = Buffer.from(buffer.subarray(start, start + size));
    start += size;
    return bytes;
  }

  /** Releases possible starts that are followed by more bytes than an error has. */
  function* releaseTooLong(): Generator<Buffer> {
    while (end - start > MAX_ERROR_SIZE) {
      const buffered = buffer.subarray(start, end);
      const next = nextStart(buffered, 1);
      yield release(next === -1 ? buffered.length - partialStartSize(buffered) : next);
    }
  }

  /** Releases the bytes that are certainly data, and buffers the others. */
  function* free(bytes: Buffer): Generator<Uint8Array> {
    let rest = bytes;
    if (end - start < ERROR_START.length) {
      rest = end === start ? bytes : Buffer.concat([release(end - start), bytes]);
    } else {
      const fitting = jsonSize(rest);
      append(rest.subarray(0, fitting));
      rest = rest.subarray(fitting);
      if (rest.length === 0) {
        yield* releaseTooLong();
        return;
      }
      yield release(end - start);
    }
    while (rest.length > 0) {
      const at = nextStart(rest, 0);
      const from = at === -1 ? rest.length - partialStartSize(rest) : at;
      yield rest.subarray(0, from);
      rest = rest.subarray(from);
      const fitting = jsonSize(rest);
      if (fitting === rest.length) {
        append(rest);
        yield* releaseTooLong();
        return;
      }
      yield rest.subarray(0, fitting);
      rest = rest.subarray(fitting);
    }
  }

  return {
    push(bytes) {
      const view = parseChunk("the stream", bytes);
      if (end === start && nextStart(view, 0) === -1 && partialStartSize(view) === 0) {
        return view; // The usual case.
      }
      const parts = [...free(view)].filter(({ length }) => length > 0);
      const [only] = parts;
      return parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
    },
    finish() {
      const buffered = release(end - start);
      let at = nextStart(buffered, 0);
      for (let attempts = 0; at !== -1 && attempts < MAX_ATTEMPTS; attempts += 1) {
        const error = parseError(buffered.subarray(at));
        if (error !== undefined) {
          return { rest: buffered.subarray(0, at), error };
        }
        at = nextStart(buffered, at + 1);
      }
      return { rest: buffered, error: undefined };
    },
  };
}

/**
 * Returns the bytes of a body, and throws the error object that it may end with.
 *
 * @throws {@link NodeError} after these bytes, if there is an error object
 */
export async function* throwTrailingError(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const tail = createErrorTail();
  for await (const bytes of source) {
    yield tail.push(bytes);
  }
  const { rest, error } = tail.finish();
  yield rest;
  if (error !== undefined) {
    throw error;
  }
}

function parseError(bytes: Uint8Array): NodeError | undefined {
  let json: JsonValue;
  try {
    json = JSON.parse(decodeUtf8(bytes));
  } catch {
    return undefined; // Not JSON.
  }
  return isJsonObject(json) && isJsonObject(json["error"]) ? new NodeError(parseErrorObject(json["error"])) : undefined;
}

/** Returns the position of the next start of an error object, at `from` or later; -1 if there is none. */
function nextStart(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(SEARCHED, from);
  while (at !== -1 && !bytes.subarray(at, at + ERROR_START.length).equals(ERROR_START)) {
    at = bytes.indexOf(SEARCHED, at + 1);
  }
  return at;
}

/** Returns the number of last bytes that are a prefix of the start of an error object. Only its first byte is a brace. */
function partialStartSize(bytes: Buffer): number {
  const last = bytes.subarray(1 - ERROR_START.length);
  const at = last.lastIndexOf(BRACE);
  return at !== -1 && last.subarray(at).equals(ERROR_START.subarray(0, last.length - at)) ? last.length - at : 0;
}

/** Returns the number of first bytes that JSON can contain: no control characters but whitespace. */
function jsonSize(bytes: Buffer): number {
  let at = 0;
  for (const byte of bytes) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) {
      break;
    }
    at += 1;
  }
  return at;
}
