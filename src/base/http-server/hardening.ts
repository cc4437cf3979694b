import type { IncomingMessage, Server } from "node:http";
import { isIP, type Socket } from "node:net";

/**
 * Limits the connections of a server on which no complete request has arrived: new ones, idle ones, and those that send slowly.
 * A connection beyond the limit closes the one that has waited longest. Connections whose requests are being answered do
 * not count, so that neither kind can keep out the other.
 */
export function limitWaiting(server: Server, max: number): void {
  /** In the order of their waits. */
  const waiting = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    waiting.add(socket);
    socket.once("close", () => waiting.delete(socket));
    if (waiting.size > max) {
      const [longest = socket] = waiting;
      waiting.delete(longest);
      longest.destroy();
    }
  });
  server.on("request", (request: IncomingMessage, response) => {
    const { socket } = request;
    if (hasBody(request)) {
      request.once("end", () => waiting.delete(socket));
    } else {
      waiting.delete(socket);
    }
    response.once("close", () => {
      if (!socket.destroyed) {
        waiting.add(socket);
      }
    });
  });
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

/**
 * Returns a check of a request's `Host` header. It protects against DNS rebinding: a foreign page whose name is made to
 * resolve to this machine sends its own name, and is rejected.
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
