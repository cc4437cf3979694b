import { Code, ConnectError } from "@connectrpc/connect";
import { createGathering } from "../../json/gathering.js";

/** The size of a frame's head: a byte of flags, and the length of the message. */
const HEAD_SIZE = 5;

/**
 * Pieces inside a message that are smaller, in bytes, are joined. Connect adds up all pieces of a message with each that
 * comes, so that a message in single bytes would keep it busy for hours.
 */
const JOINED_BYTES = 16 * 1024;

/**
 * Pass the bytes of gRPC frames on, and see to it that they end behind a whole one. Connect does not notice an end
 * straight behind the head of a frame.
 *
 * @param chunks the bytes, split anywhere
 * @param arrived called with each chunk, which may be held back until more of its message comes
 * @returns the same bytes; whole messages and heads are never held back
 * @throws ConnectError with `DATA_LOSS` where they end inside a frame
 */
export async function* wholeFrames(
  chunks: AsyncIterable<Uint8Array>,
  arrived: () => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  /** How much of the frame's head has come, what length it gives, and how much of the message is missing. */
  let head = 0;
  let length = 0;
  let missing = 0;
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    arrived();
    let isInside = true;
    for (let at = 0; at < chunk.length; ) {
      if (missing > 0) {
        const taken = Math.min(missing, chunk.length - at);
        missing -= taken;
        at += taken;
        isInside &&= missing > 0;
        continue;
      }
      length = head === 0 ? 0 : length * 256 + (chunk[at] ?? 0);
      head += 1;
      at += 1;
      if (head === HEAD_SIZE) {
        head = 0;
        missing = length;
        isInside = false;
      }
    }
    held.push(chunk);
    heldBytes += chunk.length;
    if (!isInside || heldBytes >= JOINED_BYTES) {
      yield held.length === 1 ? chunk : Buffer.concat(held);
      held = [];
      heldBytes = 0;
    }
  }
  if (head > 0 || missing > 0) {
    throw new ConnectError("premature end of the response, inside a message", Code.DataLoss);
  }
}

/** The flag of a compressed message; the others mean nothing. */
const COMPRESSED = 1;

function isCompressed([flags = 0]: Uint8Array): boolean {
  return (flags & COMPRESSED) !== 0;
}

/** The frame of an empty message. */
const EMPTY_FRAME = new Uint8Array(HEAD_SIZE);

/** Where the messages of a stream go. */
export interface MessageTaking {
  /** The largest message in bytes. */
  readonly maxMessageBytes: number;
  /** Called with each chunk. */
  arrived(): void;
  /** Called with each message, before the frame that stands for it is given. */
  take(message: Uint8Array): void;
}

/**
 * Take the messages out of the bytes of gRPC frames, and leave the frame of an empty one in the place of each. Connect
 * passes every chunk through a chain of generators, and copies what they make together into zeroed memory.
 *
 * @param chunks the bytes, split anywhere
 * @param taking where the messages go
 * @returns frames of empty messages; from one on that is compressed or too large, the bytes as they are, for Connect to
 *   refuse
 * @throws ConnectError with `DATA_LOSS` where the bytes end inside a frame
 */
export async function* withoutMessages(
  chunks: AsyncIterable<Uint8Array>,
  { maxMessageBytes, arrived, take }: MessageTaking,
): AsyncGenerator<Uint8Array> {
  const head = new Uint8Array(HEAD_SIZE);
  const headView = new DataView(head.buffer);
  let headSize = 0;
  let missing = 0;
  let isRefused = false;
  const message = createGathering();
  for await (const chunk of chunks) {
    arrived();
    let at = 0;
    while (at < chunk.length && !isRefused) {
      if (missing === 0) {
        const part = chunk.subarray(at, at + HEAD_SIZE - headSize);
        head.set(part, headSize);
        headSize += part.length;
        at += part.length;
        if (headSize < HEAD_SIZE) {
          break;
        }
        headSize = 0;
        missing = headView.getUint32(1);
        isRefused = isCompressed(head) || missing > maxMessageBytes;
      } else {
        const part = chunk.subarray(at, at + missing);
        message.push(part);
        missing -= part.length;
        at += part.length;
      }
      if (isRefused) {
        yield head;
      } else if (headSize === 0 && missing === 0) {
        take(message.take());
        yield EMPTY_FRAME;
      }
    }
    if (isRefused) {
      yield chunk.subarray(at);
    }
  }
  if (!isRefused && (headSize > 0 || missing > 0)) {
    throw new ConnectError("premature end of the response, inside a message", Code.DataLoss);
  }
}
