import { once } from "node:events";
import { WebSocket } from "ws";

/** A WebSocket, read frame by frame. */
export interface PlainSocket {
  readonly socket: WebSocket;
  /** The subprotocol that the server chose. */
  readonly protocol: string;
  send(json: object): void;
  /** The next frame as JSON. It is undefined when the socket is closed. */
  next(): Promise<{ readonly result?: unknown; readonly error?: unknown } | undefined>;
  /** Wait until the server has taken what was sent before. */
  caughtUp(): Promise<void>;
  /** The code of the close: 1006 where no close frame came. */
  readonly closed: Promise<number>;
}

/** Open a WebSocket. */
export async function openPlainSocket(
  restUrl: string,
  target: string,
  protocols: readonly string[] = [],
): Promise<PlainSocket> {
  const socket = new WebSocket(new URL(target, restUrl.replace("http", "ws")), [...protocols]);
  const frames: string[] = [];
  let isClosed = false;
  let wake = () => {};
  socket.on("message", (data) => {
    frames.push(String(data));
    wake();
  });
  const closed = new Promise<number>((resolve) => {
    socket.on("close", (code) => {
      isClosed = true;
      wake();
      resolve(code);
    });
  });
  await once(socket, "open");
  socket.on("error", () => undefined);
  return {
    socket,
    protocol: socket.protocol,
    send: (json) => socket.send(JSON.stringify(json)),
    async next() {
      while (frames.length === 0 && !isClosed) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      const frame = frames.shift();
      return frame === undefined ? undefined : JSON.parse(frame);
    },
    async caughtUp() {
      for (let ping = 0; ping < 5; ping += 1) {
        socket.ping();
        await once(socket, "pong");
      }
    },
    closed,
  };
}
