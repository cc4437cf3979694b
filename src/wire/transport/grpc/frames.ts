import { messageTooLarge } from "../../../base/errors/call-errors.js";
import { brokenAnswerError } from "../call-failure.js";

/** The size of a frame's header: a byte of flags, and the length of the message. */
export const FRAME_HEADER_SIZE = 5;

/** The flag of a compressed message; the others have no meaning. */
const COMPRESSED_FLAG = 1;

/** A message on the wire. */
export interface Frame {
  readonly isCompressed: boolean;
  readonly bytes: Uint8Array;
}

/** Reads gRPC frames. */
export interface FrameReader {
  /** Whether the bytes so far end inside a frame. */
  readonly isInside: boolean;
  /**
   * Reads bytes, split anywhere.
   *
   * @throws `CallError` if a message is larger than the limit
   */
  push(bytes: Uint8Array): void;
}

/**
 * The maximum size of a message's first buffer, in bytes, since a sender can claim any length at no cost. A full buffer is
 * replaced by one of twice the size, so that the number of copied bytes grows linearly with the message.
 */
const MAX_INITIAL_BUFFER_BYTES = 4 * 1024 * 1024;

/**
 * Creates a reader of gRPC frames. It copies the parts of a message into one buffer as they arrive: parts stored until all have
 * arrived would leave the young generation, and garbage collection would cost more than copying.
 */
export function createFrameReader(maxMessageBytes: number, onFrame: (frame: Frame) => void): FrameReader {
  const header = new Uint8Array(FRAME_HEADER_SIZE);
  const headerView = new DataView(header.buffer);
  /** The number of bytes of the header that have arrived; 0 between two frames. */
  let headerSize = 0;
  /** The message of the frame: its length, its buffer, and the number of its bytes that have arrived. */
  const body = { isCompressed: false, length: 0, buffer: NO_BYTES, size: 0 };

  /** Reads a part of the header; returns its size. */
  function readHeaderPart(bytes: Uint8Array, at: number): number {
    const part = bytes.subarray(at, at + FRAME_HEADER_SIZE - headerSize);
    header.set(part, headerSize);
    headerSize += part.length;
    if (headerSize === FRAME_HEADER_SIZE) {
      body.length = headerView.getUint32(1);
      if (body.length > maxMessageBytes) {
        throw brokenAnswerError(messageTooLarge("limits.maxMessageBytes", maxMessageBytes, body.length));
      }
      body.isCompressed = (headerView.getUint8(0) & COMPRESSED_FLAG) !== 0;
    }
    return part.length;
  }

  function emit(bytes: Uint8Array): void {
    headerSize = 0;
    body.buffer = NO_BYTES;
    body.size = 0;
    onFrame({ isCompressed: body.isCompressed, bytes });
  }

  return {
    get isInside() {
      return headerSize > 0;
    },
    push(bytes) {
      for (let at = 0; at < bytes.length; ) {
        if (headerSize < FRAME_HEADER_SIZE) {
          at += readHeaderPart(bytes, at);
          if (headerSize < FRAME_HEADER_SIZE || (body.length > 0 && at === bytes.length)) {
            continue;
          }
        }
        const part = bytes.subarray(at, at + body.length - body.size);
        at += part.length;
        if (part.length === body.length) {
          emit(part); // The message is not split, so it needs no copy.
          continue;
        }
        const size = body.size + part.length;
        if (body.buffer.length < size) {
          body.buffer = grow(
            body.buffer,
            body.size,
            Math.min(body.length, Math.max(MAX_INITIAL_BUFFER_BYTES, 2 * size)),
          );
        }
        body.buffer.set(part, body.size);
        body.size = size;
        if (size === body.length) {
          emit(body.buffer);
        }
      }
    },
  };
}

const NO_BYTES: Uint8Array = new Uint8Array();

/** Allocates a buffer of `size` bytes that begins with the used part of a smaller one. */
function grow(buffer: Uint8Array, used: number, size: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(size);
  larger.set(buffer.subarray(0, used));
  return larger;
}

export function writeFrame({ isCompressed, bytes }: Frame): Uint8Array {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_SIZE + bytes.length);
  frame.writeUInt8(isCompressed ? COMPRESSED_FLAG : 0);
  frame.writeUInt32BE(bytes.length, 1);
  frame.set(bytes, FRAME_HEADER_SIZE);
  return frame;
}
