import { connect, type Socket } from "node:net";
import { serveTcp } from "./node.js";

/** A proxy of TCP connections that can cut them, and let none through. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** Cut all connections. New ones go through, unless `isDown` is set. */
  cut(): void;
  /** Whether new connections are cut at once. */
  isDown: boolean;
  /** How many connections were cut as they came, while `isDown` was set. */
  readonly refused: number;
}

/** Start a proxy. */
export async function startCuttingProxy(target: string, cutsAnswerTo?: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let refused = 0;
  const front = await serveTcp((socket) => {
    if (proxy.isDown) {
      refused += 1;
      socket.destroy();
      return;
    }
    const back = connect(Number(port), hostname);
    sockets.add(socket);
    back.on("error", () => socket.destroy());
    socket.on("error", () => undefined);
    socket.on("close", () => {
      sockets.delete(socket);
      back.destroy();
    });
    socket.pipe(back).pipe(socket);
    socket.on("data", (bytes: Buffer) => {
      if (cutsAnswerTo !== undefined && bytes.includes(cutsAnswerTo)) {
        back.unpipe(socket).on("data", () => socket.destroy());
      }
    });
  });
  const proxy: CuttingProxy = {
    url: front.url,
    isDown: false,
    get refused() {
      return refused;
    },
    cut() {
      for (const socket of sockets) {
        socket.destroy();
      }
    },
    [Symbol.asyncDispose]: () => front[Symbol.asyncDispose](),
  };
  return proxy;
}
