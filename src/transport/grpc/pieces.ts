import type { ClientHttp2Stream } from "node:http2";
import { finished } from "node:stream";

/** How many bytes are taken from a stream before they are asked for. */
const AHEAD_BYTES = 64 * 1024;

/**
 * Read the bytes of a stream as they came. Node's own iterator joins all that has come since the last reading, up to the
 * whole window: that copies every byte, and keeps it twice.
 *
 * @param stream the stream
 * @returns the bytes, each piece as it came; the stream is destroyed where the reader stops
 * @throws the stream's error behind the bytes before it, also for an end that comes too early
 */
export async function* piecesOf(stream: ClientHttp2Stream): AsyncGenerator<Uint8Array> {
  let waiting: Buffer[] = [];
  let size = 0;
  let end: { readonly error: Error | null | undefined } | undefined;
  let wake = () => {};
  const take = (piece: Buffer) => {
    waiting.push(piece);
    size += piece.length;
    if (size >= AHEAD_BYTES) {
      stream.pause();
    }
    wake();
  };
  const forget = finished(stream, { writable: false }, (error) => {
    end = { error };
    wake();
  });
  stream.on("data", take);
  try {
    for (;;) {
      if (waiting.length > 0) {
        const pieces = waiting; // All at once: to take the first of many, again and again, moves the others each time.
        waiting = [];
        for (const piece of pieces) {
          size -= piece.length;
          yield piece;
        }
      } else if (end !== undefined) {
        if (end.error) {
          throw end.error;
        }
        return;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          stream.resume();
        });
      }
    }
  } finally {
    forget();
    stream.off("data", take);
    if (end === undefined) {
      stream.destroy(); // The reader has stopped. One that has ended is not reset on top of it.
    }
  }
}
