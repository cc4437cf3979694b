import { type RequestListener, type Server, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Failures } from "./failures.js";
import type { Upgrade } from "./gateway-socket.js";

/** What becomes of requests to become something else. */
export interface UpgradeOptions {
  readonly upgrade: Upgrade;
  /** Answers a request that asks for what is no WebSocket, such as HTTP/2: it is taken as if it did not ask. */
  readonly answer: RequestListener;
  /** Makes a listener of one that answers no requests beyond a limit. */
  readonly limited: (listener: RequestListener) => RequestListener;
  readonly failures: Pick<Failures, "breakable" | "breakableSocket">;
}

/**
 * Let the connections of an HTTP server become WebSockets.
 *
 * @param server the server
 * @param options makes the sockets, answers other requests, limits the number of requests, and makes calls fail
 * @returns ends all these connections at once, of which the server does not know any more
 */
export function takeUpgrades(server: Server, { upgrade, answer, limited, failures }: UpgradeOptions): () => void {
  const connections = new Set<Socket>();
  server.on("upgrade", (request, connection, head) => {
    if (!(connection instanceof Socket)) {
      connection.destroy();
      return;
    }
    connections.add(connection);
    connection.on("close", () => connections.delete(connection));
    connection.on("error", () => undefined); // The client is gone.
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(connection);
    response.on("finish", () => connection.destroySoon());
    const takeSocket = () => {
      response.detachSocket(connection);
      failures.breakableSocket(connection, () => upgrade(request, connection, head));
    };
    const isWebSocket = request.headers.upgrade?.toLowerCase() === "websocket";
    limited(isWebSocket ? takeSocket : failures.breakable(answer))(request, response);
  });
  return () => {
    for (const connection of connections) {
      connection.destroy();
    }
  };
}
