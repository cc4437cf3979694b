import { Code, ConnectError } from "@connectrpc/connect";

/** The size of a frame's head: a byte of flags, and the length of the message. */
const HEAD_SIZE = 5;

/**
 * Pass the bytes of gRPC frames on, and see to it that they end behind a whole one. Connect does not notice an end
 * straight behind the head of a frame.
 *
 * @param chunks the bytes, split anywhere
 * @returns the same chunks
 * @throws ConnectError with `DATA_LOSS` where they end inside a frame
 */
export async function* wholeFrames(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  /** How much of the frame's head has come, what length it gives, and how much of the message is missing. */
  let head = 0;
  let length = 0;
  let missing = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (missing > 0) {
        const taken = Math.min(missing, chunk.length - at);
        missing -= taken;
        at += taken;
        continue;
      }
      length = head === 0 ? 0 : length * 256 + (chunk[at] ?? 0);
      head += 1;
      at += 1;
      if (head === HEAD_SIZE) {
        head = 0;
        missing = length;
      }
    }
    yield chunk;
  }
  if (head > 0 || missing > 0) {
    throw new ConnectError("premature end of the response, inside a message", Code.DataLoss);
  }
}
