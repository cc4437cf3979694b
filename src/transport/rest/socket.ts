import type { IncomingMessage } from "node:http";
import { createWebSocketStream, WebSocket } from "ws";
import type { RestConfig } from "../../config/schema.js";
import { notConnectedInTime, whileConnecting } from "../../errors/network-failure.js";
import type { TransportSettings } from "../closable.js";
import { TCP_KEEPALIVE_MS } from "../keepalive.js";
import { readTls } from "../tls.js";

/** What a subprotocol may be made of. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A socket over which a call streams both ways. */
export interface MessageSocket {
  /** The answer that opened it. */
  readonly opening: IncomingMessage;
  /** What comes, each frame as it is. It fails where the socket is closed by the other side: no call ends so. */
  readonly frames: AsyncIterable<Uint8Array>;
  /** Send a frame of text. Resolves when there is room for the next one. */
  send(text: string): Promise<void>;
  /** Close it at once. */
  close(): void;
}

/** Opens sockets to one server. */
export interface SocketClient {
  /**
   * Open a socket.
   *
   * @param target path and query string, percent-encoded
   * @param header of the request
   * @param signal closes the socket, also while it opens
   * @returns the socket; where the server answers something else, that answer
   */
  open(target: string, header: Headers, signal: AbortSignal): Promise<MessageSocket | IncomingMessage>;
  /** Close all sockets. */
  close(): void;
}

/**
 * Make a client that opens WebSockets at the gateway, with the connections' TLS and time limit.
 *
 * @param config where the gateway is
 * @param options `connectMs` is the longest time until a socket is open, in milliseconds; `maxJsonBytes` the largest frame
 * @returns the client
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createSocketClient(
  config: RestConfig,
  { connectMs, maxJsonBytes, tls = readTls(config.tls) }: TransportSettings & { readonly maxJsonBytes: number },
): SocketClient {
  const origin = new URL(config.url);
  origin.protocol = origin.protocol === "https:" ? "wss:" : "ws:";
  const open = new Set<WebSocket>();
  let closed = false;

  return {
    open: (target, header, signal) =>
      new Promise((resolve, reject) => {
        if (closed) {
          throw Object.assign(new Error("the transport is closed"), { code: "ERR_STREAM_DESTROYED" });
        }
        signal.throwIfAborted();
        const socket = new WebSocket(new URL(target, origin), subprotocols(header), {
          ...tls,
          headers: Object.fromEntries(header),
          perMessageDeflate: false,
          maxPayload: maxJsonBytes,
          followRedirects: false,
        });
        open.add(socket);
        const stop = () => socket.terminate();
        const abort = () => {
          reject(new Error("aborted", { cause: signal.reason }));
          stop();
        };
        const timer = setTimeout(() => {
          reject(notConnectedInTime());
          stop();
        }, connectMs);
        signal.addEventListener("abort", abort, { once: true });
        socket.on("close", () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", abort);
          open.delete(socket);
        });
        socket.on("error", (reason) => reject(whileConnecting(reason)));
        socket.on("unexpected-response", (_, response) => {
          clearTimeout(timer);
          response.on("error", () => undefined);
          resolve(response);
        });
        let opening: IncomingMessage | undefined;
        socket.on("upgrade", (response) => {
          opening = response;
          response.socket.setKeepAlive(true, TCP_KEEPALIVE_MS);
        });
        socket.on("open", () => {
          clearTimeout(timer);
          if (opening !== undefined) {
            resolve(messageSocket(socket, opening));
          }
        });
      }),
    close() {
      closed = true;
      for (const socket of open) {
        socket.terminate();
      }
    },
  };
}

/** A gateway takes a bearer token from there, and answers in kind. A token of other characters goes as a header alone. */
function subprotocols(header: Headers): string[] {
  const [, token = ""] = /^bearer +(\S+)$/i.exec(header.get("authorization") ?? "") ?? [];
  return TOKEN.test(token) ? ["Bearer", token] : [];
}

function messageSocket(socket: WebSocket, opening: IncomingMessage): MessageSocket {
  // The stream holds what comes back where nobody reads, and says when there is room for what is sent.
  const stream = createWebSocketStream(socket, { readableObjectMode: true });
  async function* frames(): AsyncGenerator<Uint8Array> {
    for await (const frame of stream) {
      yield typeof frame === "string" ? Buffer.from(frame) : frame;
    }
    throw Object.assign(new Error("the socket was closed"), { code: "ECONNRESET" });
  }
  return {
    opening,
    frames: frames(),
    send: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    close: () => socket.terminate(),
  };
}
