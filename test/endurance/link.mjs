// A way between a client and a server that can fail: a proxy of TCP connections on loopback.
import { connect, createServer } from "node:net";

/** Start a link. */
export async function startLink(target, onBytes = ({ bytes, socket }) => socket.write(bytes)) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  let isStalled = false;
  const server = createServer((socket) => {
    if (link.isDown) {
      socket.resetAndDestroy();
      return;
    }
    const back = connect(Number(port), hostname);
    let position = 0;
    socket.on("data", (bytes) => {
      back.write(bytes);
    });
    back.on("data", (bytes) => {
      const start = position;
      position += bytes.length;
      onBytes({ bytes, start, socket });
    });
    for (const [one, other] of [
      [socket, back],
      [back, socket],
    ]) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("data", () => other.writableNeedDrain && one.pause());
      other.on("drain", () => isStalled || one.resume());
      one.on("end", () => other.end());
      one.on("close", () => {
        sockets.delete(one);
        other.destroySoon();
      });
      if (isStalled) {
        one.pause();
      }
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const link = {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Whether new connections are reset at once. */
    isDown: false,
    /** Hand nothing on, also not over new connections, as if the network between had gone. */
    stall() {
      isStalled = true;
      for (const socket of sockets) {
        socket.pause();
      }
    },
    /** Go on after a stall. Nothing of what was sent meanwhile is lost. */
    resume() {
      isStalled = false;
      for (const socket of sockets) {
        socket.resume();
      }
    },
    /** Break all connections. */
    cut() {
      for (const socket of sockets) {
        socket.destroy();
      }
    },
    close() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
    },
  };
  return link;
}
