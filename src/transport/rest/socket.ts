import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Code } from "@connectrpc/connect";
import type { RestConfig } from "../../config/schema.js";
import { BROKEN_HANDSHAKE, brokenAnswer } from "../../errors/broken-answer.js";
import { ConnectionError } from "../../errors/index.js";
import { beforeAnyByte, notConnectedInTime, whileConnecting } from "../../errors/network-failure.js";
import { connect, startAwakeTimer } from "../../runtime/index.js";
import type { TransportSettings } from "../closable.js";
import { connectionOptions } from "../connection-options.js";
import { SOCKET_PING_MS, TCP_KEEPALIVE_MS } from "../keepalive.js";
import { readTls } from "../tls.js";
import { type MessageSocket, messageSocket } from "./message-socket.js";

/** Opens sockets to one server. */
export interface SocketClient {
  /**
   * Open a socket.
   *
   * @param target path and query string, percent-encoded
   * @param header of the request
   * @param signal closes the socket, also while it opens
   * @returns the socket; where the server answers something else, that answer, which may be read for the rest of the time
   *   to connect
   */
  open(target: string, header: Headers, signal: AbortSignal): Promise<MessageSocket | IncomingMessage>;
  /** Close all sockets. */
  close(): void;
}

/** How sockets are opened. */
export interface SocketSettings extends TransportSettings {
  /** The largest frame that is read, in bytes. */
  readonly maxJsonBytes: number;
  /** The time between two pings, in milliseconds. */
  readonly pingMs?: number;
}

/**
 * Make a client that opens WebSockets at the gateway, with the connections' TLS and time limit.
 *
 * @param config where the gateway is
 * @param settings `connectMs` is the longest time until a socket is open, in milliseconds
 * @returns the client
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createSocketClient(
  config: RestConfig,
  { connectMs, maxJsonBytes, pingMs = SOCKET_PING_MS, tls = readTls(config.tls) }: SocketSettings,
): SocketClient {
  const { host } = new URL(config.url);
  const server = connectionOptions(config.url, tls);
  const origin = `${server.tls ? "wss:" : "ws:"}//${host}`;
  const open = new Set<(reason: Error) => void>();
  let closed = false;

  return {
    async open(target, header, signal) {
      const { WebSocket } = await import("ws"); // Few calls need a socket.
      return new Promise((resolve, reject) => {
        if (closed) {
          throw whileConnecting(Object.assign(new Error("the transport is closed"), { code: "ERR_STREAM_DESTROYED" }));
        }
        signal.throwIfAborted();
        let connection: Socket | undefined;
        let isConnected = false;
        const socket = new WebSocket(`${origin}${target}`, {
          createConnection: () => connect(server),
          headers: Object.fromEntries(header),
          perMessageDeflate: false,
          maxPayload: maxJsonBytes,
          finishRequest(request) {
            request.once("socket", (made) => {
              connection = made.setKeepAlive(true, TCP_KEEPALIVE_MS);
              made.once(server.tls ? "secureConnect" : "connect", () => {
                isConnected = true;
              });
            });
            request.end();
          },
        });
        let close = () => socket.terminate();
        const end = (reason: Error) => {
          reject(reason);
          close();
        };
        const done = () => {
          stopTimer();
          signal.removeEventListener("abort", abort);
          open.delete(end);
        };
        const abort = () => end(new Error("aborted", { cause: signal.reason }));
        const stopTimer = startAwakeTimer(
          () => end(isConnected ? notOpenInTime(config.url) : notConnectedInTime()),
          connectMs,
        );
        open.add(end);
        signal.addEventListener("abort", abort, { once: true });
        socket.on("close", done);
        socket.on("error", (reason) => {
          const isAnswered = connection !== undefined && connection.bytesRead > 0;
          const refused = isAnswered ? refusal(reason) : beforeAnyByte(refusal(reason));
          reject(isConnected ? refused : whileConnecting(reason));
        });
        socket.on("unexpected-response", (_, response) => {
          response.on("error", () => undefined); // The body's reader gets it.
          response.on("close", () => {
            done();
            connection?.destroy(); // Nobody else takes it.
          });
          resolve(response);
        });
        socket.on("upgrade", (opening) => {
          const messages = messageSocket(socket, opening, {
            pingMs,
            maxBytes: maxJsonBytes,
            bytesRead: () => connection?.bytesRead ?? 0,
          });
          socket.once("open", () => {
            stopTimer();
            ({ close } = messages);
            resolve(messages);
          });
        });
      });
    },
    close() {
      closed = true;
      for (const end of open) {
        end(Object.assign(new Error("the transport was closed"), { code: "ECONNRESET" }));
      }
    },
  };
}

/** The request to open the socket may have arrived. */
function notOpenInTime(url: string): ConnectionError {
  return new ConnectionError("the WebSocket did not open in time", {
    code: Code.Unavailable,
    notes: [url],
    advice: "Check that the URL is the node's own, and that what stands in front of it lets WebSockets pass.",
    connected: true,
  });
}

/** What ws finds wrong with an answer to the request has no code. */
function refusal(reason: Error): Error {
  return "code" in reason ? reason : brokenAnswer(BROKEN_HANDSHAKE, `: ${reason.message}`, reason);
}
