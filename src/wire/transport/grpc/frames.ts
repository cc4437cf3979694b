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

/** A message that has arrived, or a part of it. */
export interface ReceivedFrame extends Frame {
  /** The number of bytes of the message that follow. */
  readonly left: number;
}

/** The size of the parts of a message that is read in parts, in bytes. They fit into a processor's cache, and die young. */
const PART_BYTES = 128 * 1024;

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
  private readonly inParts: () => boolean;
  private readonly receiver: { onFrame(frame: ReceivedFrame): void };
  /** The number of bytes of the header that have arrived; 0 between two frames. */
  private headerSize = 0;
  private isCompressed = false;
  private isFirst = true;
  /** The number of bytes of the message that were not passed on. */
  private left = 0;
  /** The length of the next part or message, its buffer, and the number of its bytes that have arrived. */
  private length = 0;
  private buffer = NO_BYTES;
  private size = 0;

  /**
   * @param inParts returns whether uncompressed messages after the first are passed on in parts of {@link PART_BYTES}
   */
  constructor(maxMessageBytes: number, inParts: () => boolean, receiver: { onFrame(frame: ReceivedFrame): void }) {
    this.maxMessageBytes = maxMessageBytes;
    this.inParts = inParts;
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
      const end = Math.min(bytes.length, at + this.length - this.size);
      const part = at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end);
      at = end;
      if (part.length === this.length) {
        this.emit(part); // It is not split, so it needs no copy.
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
        this.left = 0;
      } else {
        this.left = this.left * 256 + byte;
      }
      this.headerSize += 1;
    }
    if (this.headerSize === FRAME_HEADER_SIZE) {
      if (this.left > this.maxMessageBytes) {
        throw brokenAnswerError(messageTooLarge("limits.maxMessageBytes", this.maxMessageBytes, this.left));
      }
      this.length = this.nextLength();
    }
    return at;
  }

  private nextLength(): number {
    const isWhole = this.isFirst || this.isCompressed || !this.inParts();
    return isWhole ? this.left : Math.min(this.left, PART_BYTES);
  }

  private emit(bytes: Uint8Array): void {
    this.buffer = NO_BYTES;
    this.size = 0;
    this.left -= bytes.length;
    this.length = this.nextLength();
    if (this.left === 0) {
      this.headerSize = 0;
      this.isFirst = false;
    }
    this.receiver.onFrame({ isCompressed: this.isCompressed, bytes, left: this.left });
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
