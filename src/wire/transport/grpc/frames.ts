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

/**
 * The maximum size of a message's first buffer, in bytes, since a sender can claim any length at no cost. A full buffer is
 * replaced by one of twice the size, so that the number of copied bytes grows linearly with the message.
 */
const MAX_INITIAL_BUFFER_BYTES = 4 * 1024 * 1024;

const NO_BYTES: Uint8Array = new Uint8Array();

/**
 * Reads gRPC frames. It copies the parts of a message into one buffer as they arrive: parts stored until all have arrived would
 * leave the young generation, and garbage collection would cost more than copying.
 */
export class FrameReader {
  private readonly maxMessageBytes: number;
  private readonly receiver: { onFrame(frame: Frame): void };
  /** The number of bytes of the header that have arrived; 0 between two frames. */
  private headerSize = 0;
  private isCompressed = false;
  /** The length of the message, its buffer, and the number of its bytes that have arrived. */
  private length = 0;
  private buffer = NO_BYTES;
  private size = 0;

  constructor(maxMessageBytes: number, receiver: { onFrame(frame: Frame): void }) {
    this.maxMessageBytes = maxMessageBytes;
    this.receiver = receiver;
  }

  /** Returns whether the bytes so far end inside a frame. */
  isInside(): boolean {
    return this.headerSize > 0;
  }

  /**
   * Reads bytes, split anywhere.
   *
   * @throws `CallError` if a message is larger than the limit
   */
  push(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; ) {
      if (this.headerSize < FRAME_HEADER_SIZE) {
        at = this.readHeaderPart(bytes, at);
        if (this.headerSize < FRAME_HEADER_SIZE || (this.length > 0 && at === bytes.length)) {
          continue;
        }
      }
      const part = bytes.subarray(at, at + this.length - this.size);
      at += part.length;
      if (part.length === this.length) {
        this.emit(part); // The message is not split, so it needs no copy.
        continue;
      }
      const size = this.size + part.length;
      if (this.buffer.length < size) {
        const initial = Math.max(MAX_INITIAL_BUFFER_BYTES, 2 * size);
        this.buffer = grow(this.buffer, this.size, Math.min(this.length, initial));
      }
      this.buffer.set(part, this.size);
      this.size = size;
      if (size === this.length) {
        this.emit(this.buffer);
      }
    }
  }

  /** Reads a part of the header, byte by byte, because an array for it would take longer; returns where it ends. */
  private readHeaderPart(bytes: Uint8Array, start: number): number {
    let at = start;
    for (; at < bytes.length && this.headerSize < FRAME_HEADER_SIZE; at += 1) {
      const byte = bytes[at] ?? 0;
      if (this.headerSize === 0) {
        this.isCompressed = (byte & COMPRESSED_FLAG) !== 0;
        this.length = 0;
      } else {
        this.length = this.length * 256 + byte;
      }
      this.headerSize += 1;
    }
    if (this.headerSize === FRAME_HEADER_SIZE && this.length > this.maxMessageBytes) {
      throw brokenAnswerError(messageTooLarge("limits.maxMessageBytes", this.maxMessageBytes, this.length));
    }
    return at;
  }

  private emit(bytes: Uint8Array): void {
    this.headerSize = 0;
    this.buffer = NO_BYTES;
    this.size = 0;
    this.receiver.onFrame({ isCompressed: this.isCompressed, bytes });
  }
}

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
