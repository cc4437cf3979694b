import { type buildConnector, Client } from "undici";
import type { RestConfig } from "../../config/schema.js";
import { notConnectedInTime, whileConnecting } from "../../errors/network-failure.js";
import { connect, startAwakeTimer } from "../../runtime/index.js";
import type { TransportSettings } from "../closable.js";
import { connectionOptions } from "../connection-options.js";
import { TCP_KEEPALIVE_MS } from "../keepalive.js";
import { readTls } from "../tls.js";

/** The longest time for which a connection is kept open while nothing is sent over it, in milliseconds. */
export const IDLE_MS = 55_000;

/** A connection for one request at a time, made with the first one and again where it was lost in between. */
export interface Connection {
  /** The client of undici's that holds it, and no other. */
  readonly client: Client;
  /** The first error of its socket, if any: what undici finds then is a consequence. */
  failure(): Error | undefined;
  /** Whether a byte has come over it. */
  isAnswered(): boolean;
  /** Close it at once, also while it is being made. */
  destroy(): void;
}

/**
 * Make a function that opens connections to an HTTP/1.1 server.
 *
 * @param config where the server is, and how its connections are
 * @param options `connectMs` is the longest time until a connection is usable, TLS included, in milliseconds
 * @returns the function; what it is given is called when the connection is lost or closed
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function connectionOpener(
  config: RestConfig,
  { connectMs, tls = readTls(config.tls) }: TransportSettings,
): (onLost: (connection: Connection) => void) => Connection {
  const { origin } = new URL(config.url);
  const server = connectionOptions(config.url, tls, "http/1.1");
  let session: Buffer | undefined;

  function open(callback: buildConnector.Callback) {
    const socket = connect({ ...server, ...(server.tls && { tls: { ...server.tls, session } }) });
    let failure: Error | undefined;
    let isDone = false;
    const done = (...outcome: Parameters<buildConnector.Callback>) => {
      if (!isDone) {
        isDone = true;
        stopTimer();
        callback(...outcome);
      }
    };
    const stopTimer = startAwakeTimer(() => {
      done(notConnectedInTime(), null);
      socket.destroy();
    }, connectMs);
    socket.setNoDelay(true).setKeepAlive(true, TCP_KEEPALIVE_MS);
    socket.on("session", (newest: Buffer) => {
      session = newest; // The next connection takes it up.
    });
    socket.on("error", (reason) => {
      failure ??= reason;
      if (!isDone) {
        done(whileConnecting(reason), null);
      }
    });
    socket.once(server.tls ? "secureConnect" : "connect", () => done(null, socket));
    return {
      failure: () => failure,
      isAnswered: () => socket.bytesRead > 0,
      destroy() {
        stopTimer();
        socket.destroy();
      },
    };
  }

  return (onLost) => {
    let socket: ReturnType<typeof open> | undefined;
    const client = new Client(origin, {
      connect: (_, callback) => {
        socket = open(callback);
      },
      headersTimeout: 0, // A call has limits of its own.
      bodyTimeout: 0,
      keepAliveTimeout: IDLE_MS,
      keepAliveMaxTimeout: IDLE_MS,
    });
    const connection: Connection = {
      client,
      failure: () => socket?.failure(),
      isAnswered: () => socket?.isAnswered() === true,
      destroy() {
        client.destroy().catch(() => undefined);
        socket?.destroy();
      },
    };
    client.on("disconnect", () => onLost(connection));
    return connection;
  };
}
