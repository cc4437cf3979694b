// A TCP proxy that can swallow what the node answers.
import { once } from "node:events";
import { connect, createServer } from "node:net";

/** A signed transaction is longer than this, in bytes; so are no frames of settings and pings. */
const CALL_BYTES = 300;

/** How long the node's answer is swallowed before the connection is destroyed: the request may come in several pieces. */
const SWALLOW_MS = 300;

/** Start a proxy on 127.0.0.1. */
export async function startProxy(target) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  let isCutting = false;
  const server = createServer((client) => {
    const node = connect(Number(port), hostname);
    let isCut = false;
    for (const socket of [client, node]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        node.destroy();
      });
    }
    client.on("data", (bytes) => {
      if (isCutting && bytes.length > CALL_BYTES) {
        isCutting = false;
        isCut = true;
        setTimeout(() => {
          proxy.cuts += 1;
          client.destroy();
        }, SWALLOW_MS);
      }
      node.write(bytes);
    });
    node.on("data", (bytes) => isCut || client.write(bytes));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = {
    url: `http://127.0.0.1:${server.address().port}`,
    cuts: 0,
    cutNextAnswer() {
      isCutting = true;
    },
    close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
    },
  };
  return proxy;
}
