import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { BROKEN_FRAME, brokenAnswer, tooLarge } from "../../errors/broken-answer.js";
import { isError } from "../../errors/is-error.js";
import { startAwakeTimer, startTimer } from "../../runtime/index.js";

/** What ws says of a message that is too large, or of too many pieces. */
const TOO_MUCH: ReadonlySet<string> = new Set([
  "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH",
  "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
  "WS_ERR_TOO_MANY_BUFFERED_PARTS",
]);

/** The code of a close that is no failure. */
const NORMAL = 1000;
/** How long the other side may take to answer a close, in milliseconds. */
const CLOSE_MS = 1000;

/** A socket over which a call streams both ways. */
export interface MessageSocket {
  /** The answer that opened it. */
  readonly opening: IncomingMessage;
  /**
   * What comes, each message as it is. Unread, it holds back the sender. It fails where the other side closes the socket,
   * however it does: no call ends so.
   */
  readonly frames: AsyncIterable<Uint8Array>;
  /** Send a message of text. Resolves when there is room for the next one, and to false when the socket is closed. */
  send(text: string): Promise<boolean>;
  /** Close it: no frame comes any more, and the other side is told. */
  close(): void;
}

/**
 * Make a socket for messages of a WebSocket.
 *
 * @param socket the WebSocket, which is about to open
 * @param opening the answer that opens it
 * @param options the largest message, in bytes; the time between two pings, in milliseconds, and how many bytes have come. A server from which nothing
 *   comes between two of them, no pong either, is gone
 * @returns the socket
 */
export function messageSocket(
  socket: WebSocket,
  opening: IncomingMessage,
  { pingMs, maxBytes, bytesRead }: { readonly pingMs: number; readonly maxBytes: number; bytesRead(): number },
): MessageSocket {
  const waiting: Uint8Array[] = [];
  let lost: Error | undefined;
  let wake = () => {};
  const fail = (reason: Error) => {
    lost ??= reason;
    socket.terminate();
  };

  let readAtPing = -1;
  let stopPings = startAwakeTimer(ping, pingMs, { ref: false });
  function ping(): void {
    // While it is held back, its pongs are too.
    const read = socket.isPaused ? -1 : bytesRead();
    if (!socket.isPaused && read === readAtPing) {
      fail(closedByServer("a ping was not answered"));
      return;
    }
    readAtPing = read;
    socket.ping();
    stopPings = startAwakeTimer(ping, pingMs, { ref: false });
  }

  socket.on("message", (data) => {
    if (Buffer.isBuffer(data)) {
      waiting.push(data); // The type of all of them, by default.
    }
    socket.pause(); // What is left of the piece that was read still comes.
    wake();
  });
  socket.on("error", (reason) => fail(frameError(reason, maxBytes)));
  socket.on("close", () => {
    stopPings();
    fail(closedByServer("the socket was closed"));
    wake();
  });

  async function* frames(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const frame = waiting.shift();
      if (frame !== undefined) {
        yield frame;
      } else if (lost !== undefined) {
        throw lost;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
          socket.resume();
        });
      }
    }
  }

  return {
    opening,
    frames: frames(),
    send: (text) => new Promise((resolve) => socket.send(text, (error) => resolve(!isError(error)))),
    close() {
      lost ??= closedByServer("the socket was closed");
      wake();
      socket.removeAllListeners("message");
      socket.resume(); // The answer stands behind what was not read.
      socket.close(NORMAL);
      socket.once(
        "close",
        startTimer(() => socket.terminate(), CLOSE_MS, { ref: false }),
      );
    },
  };
}

function closedByServer(message: string): Error {
  return Object.assign(new Error(message), { code: "ECONNRESET" });
}

function frameError(reason: Error, maxBytes: number): Error {
  const code = "code" in reason ? String(reason.code) : "";
  if (TOO_MUCH.has(code)) {
    return brokenAnswer(tooLarge("limits.maxJsonBytes", maxBytes), "", reason);
  }
  return code.startsWith("WS_ERR_") ? brokenAnswer(BROKEN_FRAME, `: ${reason.message}`, reason) : reason;
}
