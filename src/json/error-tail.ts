import type { JsonValue } from "@bufbuild/protobuf";
import { bytesOf } from "../errors/check-kinds.js";
import { NodeError } from "../errors/index.js";
import { readErrorObject } from "./envelope.js";
import { decodeUtf8, isJsonObject } from "./values.js";

/** The beginning of a gateway's error object. */
const BEGINNING = Buffer.from('{"error":');
const [BRACE = 0] = BEGINNING;
/** What is searched for: Node's search takes ten times as long for texts of more than 6 bytes among random bytes. */
const SEARCHED = BEGINNING.subarray(0, 6);
/** The most bytes of an error object. A text of 64 KiB and its details fit, even where each character is escaped. */
const MAX_ERROR_SIZE = 1024 * 1024;
/** How many beginnings are tried at the end of a body. Only data can hold more than a few. */
const MAX_TRIED = 16;

/** Holds back the end of a body while that may be a gateway's error object. */
export interface ErrorTail {
  /**
   * Take the next bytes of the body.
   *
   * @param bytes the bytes, split anywhere
   * @returns the bytes, of these and of those held back, that are certainly not of an error object
   */
  push(bytes: Uint8Array): Uint8Array;
  /**
   * Take the end of the body.
   *
   * @returns the bytes that were held back but are data, and the node's error where the body ends with one
   */
  finish(): { readonly rest: Uint8Array; readonly error: NodeError | undefined };
}

/**
 * Start to watch a body for an error object at its end. When a stream fails, the gateway has sent the HTTP status
 * already, so it writes the error straight behind the bytes that it has sent. Those may break off anywhere, and data
 * may hold the same beginning by chance. Every beginning is held back until a byte comes that JSON cannot hold, or more
 * bytes than an error has.
 *
 * @returns the watch, to which every byte of the body must be pushed
 */
export function createErrorTail(): ErrorTail {
  let room = Buffer.alloc(0);
  // The bytes that are held back. They begin with BEGINNING, or are the beginning of that.
  let start = 0;
  let end = 0;

  function hold(bytes: Uint8Array): void {
    if (end + bytes.length > room.length) {
      const size = end - start + bytes.length;
      const larger = size * 2 > room.length ? Buffer.allocUnsafe(size * 2) : room;
      room.copy(larger, 0, start, end);
      room = larger;
      end -= start;
      start = 0;
    }
    room.set(bytes, end);
    end += bytes.length;
  }

  /** Let go of the first bytes that are held back. */
  function release(size: number): Buffer {
    const bytes = Buffer.from(room.subarray(start, start + size));
    start += size;
    return bytes;
  }

  /** Let go of the beginnings that more bytes follow than an error has. */
  function* releaseTooLong(): Generator<Buffer> {
    while (end - start > MAX_ERROR_SIZE) {
      const held = room.subarray(start, end);
      const next = nextBeginning(held, 1);
      yield release(next === -1 ? held.length - begunSize(held) : next);
    }
  }

  function* free(bytes: Buffer): Generator<Uint8Array> {
    let rest = bytes;
    if (end - start < BEGINNING.length) {
      rest = end === start ? bytes : Buffer.concat([release(end - start), bytes]);
    } else {
      const fitting = jsonSize(rest);
      hold(rest.subarray(0, fitting));
      rest = rest.subarray(fitting);
      if (rest.length === 0) {
        yield* releaseTooLong();
        return;
      }
      yield release(end - start);
    }
    while (rest.length > 0) {
      const at = nextBeginning(rest, 0);
      const from = at === -1 ? rest.length - begunSize(rest) : at;
      yield rest.subarray(0, from);
      rest = rest.subarray(from);
      const fitting = jsonSize(rest);
      if (fitting === rest.length) {
        hold(rest);
        yield* releaseTooLong();
        return;
      }
      yield rest.subarray(0, fitting);
      rest = rest.subarray(fitting);
    }
  }

  return {
    push(bytes) {
      const view = bytesOf("the stream", bytes);
      if (end === start && nextBeginning(view, 0) === -1 && begunSize(view) === 0) {
        return view; // As nearly always.
      }
      const pieces = [...free(view)].filter(({ length }) => length > 0);
      const [only] = pieces;
      return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
    },
    finish() {
      const held = release(end - start);
      let at = nextBeginning(held, 0);
      for (let tried = 0; at !== -1 && tried < MAX_TRIED; tried += 1) {
        const error = errorOf(held.subarray(at));
        if (error !== undefined) {
          return { rest: held.subarray(0, at), error };
        }
        at = nextBeginning(held, at + 1);
      }
      return { rest: held, error: undefined };
    },
  };
}

/**
 * Read a body that may end with a gateway's error object, wherever the body breaks off.
 *
 * @param source the bytes, split anywhere; its errors are thrown unchanged
 * @returns the bytes before the object
 * @throws {@link NodeError} behind them, where there is one
 */
export async function* withoutErrorObject(
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

function errorOf(bytes: Uint8Array): NodeError | undefined {
  let json: JsonValue;
  try {
    json = JSON.parse(decodeUtf8(bytes));
  } catch {
    return undefined; // Not JSON.
  }
  return isJsonObject(json) && isJsonObject(json["error"]) ? new NodeError(readErrorObject(json["error"])) : undefined;
}

/** Where the next beginning of an error object stands, at `from` or behind it; -1 where there is none. */
function nextBeginning(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(SEARCHED, from);
  while (at !== -1 && !bytes.subarray(at, at + BEGINNING.length).equals(BEGINNING)) {
    at = bytes.indexOf(SEARCHED, at + 1);
  }
  return at;
}

/** How many of the last bytes are the beginning of an error object's beginning, of which only the first byte is a brace. */
function begunSize(bytes: Buffer): number {
  const last = bytes.subarray(1 - BEGINNING.length);
  const at = last.lastIndexOf(BRACE);
  return at !== -1 && last.subarray(at).equals(BEGINNING.subarray(0, last.length - at)) ? last.length - at : 0;
}

/** How many of the first bytes can stand in JSON, which has no controls but white space. */
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
