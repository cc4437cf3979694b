import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** An address of this machine from which connections are forwarded. */
export interface Forwarder extends AsyncDisposable {
  /** Returns the number of connections that were made. */
  count(): number;
}

/** Start a server that forwards connections. */
export async function startForwarder(host: string, port: number, target: string): Promise<Forwarder> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    sockets.add(socket.on("error", () => undefined));
    const back = connect(Number(new URL(target).port), "127.0.0.1");
    back.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => back.destroy());
    socket.pipe(back).pipe(socket);
  });
  server.listen(port, host);
  await once(server, "listening");
  return {
    count: () => count,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
}
