import { COMPRESSED, tooLarge } from "../../errors/broken-answer.js";
import { brokenAnswerError } from "../call-failure.js";

/** The size of a frame's head: a byte of flags, and the length of the message. */
export const HEAD_SIZE = 5;

/** The flag of a compressed message; the others mean nothing. */
const COMPRESSED_FLAG = 1;

/** Reads gRPC frames. */
export interface FrameReader {
  /** Whether the bytes so far end inside a frame. */
  readonly isInside: boolean;
  /**
   * Take bytes, split anywhere.
   *
   * @throws `CallError` where a message is compressed, or larger than the limit
   */
  push(bytes: Uint8Array): void;
}

/**
 * The first buffer of a message has this many bytes at most, since a length costs its sender nothing. A full buffer is
 * replaced by one of twice the size, so that the bytes copied grow linearly with the message.
 */
const ROOM_AHEAD_BYTES = 4 * 1024 * 1024;

/**
 * Make a reader of gRPC frames. Pieces of a message are copied into their place as they come: pieces that are kept
 * until all are there outlive the young generation, and garbage collection then costs more than the copying.
 *
 * @param maxMessageBytes the largest message, in bytes
 * @param take called with each message
 * @returns the reader
 */
export function createFrameReader(maxMessageBytes: number, take: (message: Uint8Array) => void): FrameReader {
  const head = new Uint8Array(HEAD_SIZE);
  const headView = new DataView(head.buffer);
  let headSize = 0;
  /** The message's length, the room for it, and how much of it has come. */
  let length = 0;
  let room: Uint8Array = EMPTY;
  let size = 0;

  /** Take a part of the head; returns its size. */
  function takeHead(bytes: Uint8Array, at: number): number {
    const part = bytes.subarray(at, at + HEAD_SIZE - headSize);
    head.set(part, headSize);
    headSize += part.length;
    if (headSize === HEAD_SIZE) {
      length = headView.getUint32(1);
      refuse(headView.getUint8(0), length, maxMessageBytes);
    }
    return part.length;
  }

  function give(message: Uint8Array): void {
    headSize = 0;
    room = EMPTY;
    size = 0;
    take(message);
  }

  return {
    get isInside() {
      return headSize > 0;
    },
    push(bytes) {
      for (let at = 0; at < bytes.length; ) {
        if (headSize < HEAD_SIZE) {
          at += takeHead(bytes, at);
          if (headSize < HEAD_SIZE || (length > 0 && at === bytes.length)) {
            continue;
          }
        }
        const part = bytes.subarray(at, at + length - size);
        at += part.length;
        if (part.length === length) {
          give(part);
          continue;
        }
        if (room.length < size + part.length) {
          room = grown(room, size, Math.min(length, Math.max(ROOM_AHEAD_BYTES, 2 * (size + part.length))));
        }
        room.set(part, size);
        size += part.length;
        if (size === length) {
          give(room);
        }
      }
    },
  };
}

const EMPTY = new Uint8Array();

/** Allocates a buffer of `size` bytes that begins with the used part of a smaller one. */
function grown(room: Uint8Array, used: number, size: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(size);
  larger.set(room.subarray(0, used));
  return larger;
}

function refuse(flags: number, length: number, maxMessageBytes: number): void {
  if ((flags & COMPRESSED_FLAG) !== 0) {
    throw brokenAnswerError(COMPRESSED);
  }
  if (length > maxMessageBytes) {
    throw brokenAnswerError(tooLarge("limits.maxMessageBytes", maxMessageBytes, length));
  }
}

/**
 * Make the frame of a message.
 *
 * @param message the message
 * @returns its frame
 */
export function frameOf(message: Uint8Array): Uint8Array {
  const frame = Buffer.allocUnsafe(HEAD_SIZE + message.length);
  frame.writeUInt8(0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, HEAD_SIZE);
  return frame;
}
