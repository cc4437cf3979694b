import { type ClientHttp2Stream, constants } from "node:http2";

/** The type of the frame that begins a stream. */
const HEADERS = 1;

/** The codes that Node gives to streams whose connection is lost. */
const endsOfLost: ReadonlySet<number | undefined> = new Set([constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL]);

/**
 * See to it that the end of a stream is noticed by whoever listens for its errors: Node says nothing of some ends.
 *
 * @param stream the stream, which was just opened
 * @param onLost makes the error of a lost connection; undefined where the connection is there
 */
export function noticeEnd(stream: ClientHttp2Stream, onLost: () => Error | undefined): void {
  stream.on("error", () => undefined);
  stream.once("close", () => {
    // Where its connection is lost, Node ends a stream as if the server had canceled it, or as if it were whole.
    const lost = endsOfLost.has(stream.rstCode) ? onLost() : undefined;
    if (lost !== undefined) {
      stream.emit("error", lost);
    }
  });
  // A stream that waits for its turn, as the server takes no more, would wait on when it is given up.
  const close = stream.close.bind(stream);
  stream.close = (code, callback) => {
    close(code, callback);
    stream.destroy();
  };
}

/**
 * Notice that a stream was opened in vain: the server's GOAWAY was read before the stream's first frame was sent, so that
 * nothing of it has left, and nothing will.
 *
 * @param stream the stream, which was just opened
 * @param onNeverBegun called before the stream fails
 */
export function whenNeverBegun(stream: ClientHttp2Stream, onNeverBegun: () => void): void {
  const { session } = stream;
  stream.once("frameError", (type) => {
    // A header that is too large cannot be sent either, but not for the session's end.
    if (type === HEADERS && session?.closed === true) {
      onNeverBegun();
    }
  });
}
