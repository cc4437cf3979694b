import type { Server } from "node:http";
import { isIP, type Socket } from "node:net";

/**
 * Limits the connections of a server. A connection beyond the limit closes the one that has waited longest without a
 * complete request, so that connections which send nothing, or send slowly, block nobody. If all others are being answered,
 * the new connection is closed.
 *
 * @param server the server, before it listens
 * @param max the maximum number of concurrent connections
 */
export function limitConnections(server: Server, max: number): void {
  let open = 0;
  /** The connections on which no request is being answered, in the order of their waits. */
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

/**
 * Returns a check of a request's `Host` header. It protects against DNS rebinding: a foreign page whose name is made to
 * resolve to this machine sends its own name, and is rejected.
 *
 * @param host the address that the server listens on
 * @param names additional hostnames to accept, such as a container's
 * @returns whether the header names this server; the port is ignored, since tunnels change it
 */
export function hostCheck(host: string, names: readonly string[]): (header: string | undefined) => boolean {
  const accepted = new Set(["localhost", "::1", host, ...names].map((name) => name.toLowerCase()));
  const listensOnAll = host === "0.0.0.0" || host === "::";
  return (header = "") => {
    const { v6, name } = /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]+))(?::\d{1,5})?$/i.exec(header)?.groups ?? {};
    const requested = (v6 ?? name ?? "").toLowerCase();
    // An IP address cannot be rebound. If the server listens on all addresses, it accepts each.
    return accepted.has(requested) || /^127(\.\d{1,3}){3}$/.test(requested) || (listensOnAll && isIP(requested) !== 0);
  };
}
