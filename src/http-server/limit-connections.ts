import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Limit the connections of a server. One too many closes the connection that has been without a whole request for the
 * longest, so that connections that send nothing, or send it slowly, keep nobody from being answered. Where all others are
 * being answered, the new one is closed.
 *
 * @param server the server, before it listens
 * @param max the most connections at once
 */
export function limitConnections(server: Server, max: number): void {
  let open = 0;
  /** The connections on which no request is being answered, the one that has been so for the longest first. */
  const waiting = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open += 1;
    waiting.add(socket);
    socket.once("close", () => {
      open -= 1;
      waiting.delete(socket);
    });
    if (open > max) {
      const [longest = socket] = waiting;
      waiting.delete(longest);
      longest.destroy();
    }
  });
  server.on("request", ({ socket }, response) => {
    waiting.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) {
        waiting.add(socket);
      }
    });
  });
}
