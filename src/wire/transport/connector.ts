import type { Socket } from "node:net";
import { TradewireError } from "../../base/errors/index.js";
import { connectTimeoutError, markConnecting } from "../../base/errors/network-failure.js";
import { hasErrorCode } from "../../base/errors/node-errors.js";
import { type ConnectionOptions, connect, startAwakeTimer } from "../../base/runtime/index.js";
import type { ProxyConfig } from "../config/client-config.js";
import { proxyFor } from "../config/proxy.js";
import { openTunnel, silentProxy, unreachableProxy } from "./proxy-tunnel.js";
import type { TlsMaterial, TlsSource } from "./tls-source.js";
import { connectionOptions, TCP_KEEPALIVE_MS } from "./transport-types.js";

/**
 * The time for which one of several addresses of a host may leave an attempt to connect unanswered before the next attempt,
 * in milliseconds.
 */
const ADDRESS_ATTEMPT_MS = 1500;

/** Opens connections to one server: directly or through a proxy, and with TLS if its URL has `https:`. */
export interface Connector {
  /**
   * Opens a connection. It resolves once TLS, if used, is established.
   *
   * @throws an error that {@link markConnecting} has marked, or a {@link ConnectionError} that names the proxy
   */
  open(options?: OpenOptions): Promise<Socket>;
}

/** Options of {@link Connector}. */
export interface OpenOptions {
  /** Ends the attempt. The error is the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The time limit, in milliseconds, instead of the connector's. */
  readonly withinMs?: number | undefined;
  /** Reads a direct connection in clear text into one buffer, and returns whether to read on. */
  readonly onRead?:
    | { readonly buffer: Uint8Array; readonly callback: (socket: Socket, size: number) => boolean }
    | undefined;
}

/** Settings of {@link createConnector}. */
export interface ConnectorSettings {
  /** The server's URL. */
  readonly url: string;
  readonly tls: TlsSource;
  readonly proxy: ProxyConfig | undefined;
  /** The time limit until a connection is usable, in milliseconds. */
  readonly connectMs: number;
  /** The protocol to negotiate over TLS (ALPN). */
  readonly protocol: string;
}

/**
 * Creates a connector. Each connection resolves the host's name again, and tries its addresses one after the other. TLS
 * sessions are resumed.
 */
export function createConnector({ url, tls, proxy: proxies, connectMs, protocol }: ConnectorSettings): Connector {
  const server = connectionOptions(url, protocol);
  const proxy = proxyFor(proxies, url);
  const readyEvent = server.tls === undefined ? "connect" : "secureConnect";
  /** The newest TLS session, which the next connection with the same certificates resumes. */
  let session: { readonly of: TlsMaterial; readonly ticket: Buffer } | undefined;

  async function openDirect(secure: SecureOptions | undefined, signal: AbortSignal, onRead: OpenOptions["onRead"]) {
    const isShared = onRead !== undefined && secure === undefined;
    const onread = isShared && { buffer: onRead.buffer, callback: (size: number) => onRead.callback(socket, size) };
    const socket: Socket = connect({ ...server, tls: secure, ...ADDRESSES, ...(onread && { onread }) });
    return untilReady(socket, readyEvent, signal);
  }

  async function openTunneled(secure: SecureOptions | undefined, through: string, signal: AbortSignal) {
    const socket = await enterTunnel(await connectToProxy(through, signal), server, through, signal);
    return secure === undefined
      ? socket
      : untilReady(connect({ ...server, tls: { ...secure, socket } }), readyEvent, signal);
  }

  return {
    async open({ signal, withinMs = connectMs, onRead } = {}) {
      const { signal: ended, stop } = connectSignal(signal, withinMs);
      try {
        const material = server.tls && (await tls.material(ended));
        const ticket = session?.of === material ? session?.ticket : undefined;
        const secure = material && { ...server.tls, ...material, session: ticket };
        const socket = await (proxy === undefined
          ? openDirect(secure, ended, onRead)
          : openTunneled(secure, proxy, ended));
        socket.on("session", (newest: Buffer) => {
          session = material && { of: material, ticket: newest };
        });
        return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEPALIVE_MS);
      } catch (reason) {
        throw reason instanceof TradewireError ? reason : markConnecting(reason);
      } finally {
        stop();
      }
    },
  };
}

type SecureOptions = NonNullable<ConnectionOptions["tls"]>;

const ADDRESSES = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS };

/** Returns a signal that is aborted after a time, or with another signal. */
export function connectSignal(
  signal: AbortSignal | undefined,
  withinMs: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  const stopTimer = startAwakeTimer(() => controller.abort(connectTimeoutError()), withinMs);
  signal?.addEventListener("abort", abort, { once: true });
  if (signal?.aborted === true) {
    abort();
  }
  return {
    signal: controller.signal,
    stop() {
      stopTimer();
      signal?.removeEventListener("abort", abort);
    },
  };
}

async function connectToProxy(proxy: string, signal: AbortSignal): Promise<Socket> {
  const { host, port } = connectionOptions(proxy);
  const socket = connect({ host, port, ...ADDRESSES });
  try {
    return await untilReady(socket, "connect", signal);
  } catch (reason) {
    throw isAborted(signal) ? reason : unreachableProxy(proxy, reason);
  }
}

/**
 * Opens a tunnel to a server on a connection to a proxy, with TLS to the proxy if its URL has `https:`.
 *
 * @throws {@link ConnectionError} that names the proxy; the signal's reason if it is aborted
 */
export async function enterTunnel(
  socket: Socket,
  target: ConnectionOptions,
  proxy: string,
  signal: AbortSignal,
): Promise<Socket> {
  const secured = await secureProxy(socket, proxy, signal);
  try {
    await openTunnel(secured, { host: target.host ?? "localhost", port: target.port }, proxy, signal);
    return secured;
  } catch (reason) {
    secured.destroy();
    throw signal.aborted && !isAborted(signal) ? silentProxy(proxy) : reason;
  }
}

async function secureProxy(socket: Socket, proxy: string, signal: AbortSignal): Promise<Socket> {
  const options = connectionOptions(proxy, "http/1.1");
  if (options.tls === undefined) {
    return socket;
  }
  try {
    return await untilReady(connect({ ...options, tls: { ...options.tls, socket } }), "secureConnect", signal);
  } catch (reason) {
    socket.destroy();
    throw isAborted(signal) ? reason : unreachableProxy(proxy, reason);
  }
}

/** Returns whether the caller ended an attempt, rather than its time limit. */
function isAborted({ aborted, reason }: AbortSignal): boolean {
  return aborted && !hasErrorCode(reason, "ETIMEDOUT");
}

/** Waits until a socket has emitted an event. It is destroyed if it fails, or if the signal is aborted. */
function untilReady(socket: Socket, event: "connect" | "secureConnect", signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const onReady = () => {
      signal.removeEventListener("abort", onAbort);
      resolve(socket);
    };
    const fail = (reason: Error) => {
      signal.removeEventListener("abort", onAbort);
      reject(reason);
      socket.destroy();
    };
    const onAbort = () => fail(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    socket.on("error", fail); // It stays, so that an error between this promise and the user of the socket is no crash.
    socket.once("close", () => fail(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" })));
    socket.once(event, onReady);
    if (signal.aborted) {
      onAbort();
    }
  });
}
