import { isIP, type Socket } from "node:net";
import type { ConnectError } from "@connectrpc/connect";
import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { TradewireError } from "../../../base/errors/index.js";
import { isConnecting, markConnecting } from "../../../base/errors/network-failure.js";
import type { GrpcConfig } from "../../config/client-config.js";
import { proxyFor } from "../../config/proxy.js";
import { toConnectError } from "../call-failure.js";
import { connectSignal, enterTunnel } from "../connector.js";
import { silentProxy, unreachableProxy } from "../proxy-tunnel.js";
import { createTlsSource, type TlsMaterial } from "../tls-source.js";
import { connectionOptions, type TransportSettings } from "../transport-types.js";

/** How the connections of channels reach a server: through a proxy if there is one, and with TLS for `https:`. */
export interface ChannelPath {
  /** The address that channels connect to: the server, or the proxy. */
  readonly target: string;
  /** Open the tunnel through the proxy and TLS, on connections to the target. */
  readonly credentials: ChannelCredentials;
  /**
   * Returns a more specific error for a call that could not connect; otherwise the same error. grpc-js keeps only the
   * text of an error, and does not know the proxy.
   */
  explain(error: ConnectError): ConnectError;
}

type AttemptState =
  /** To the target. */
  | { readonly kind: "connecting" }
  | { readonly kind: "entering"; readonly proxy: string }
  | { readonly kind: "securing" }
  | { readonly kind: "failed"; readonly error: Error };

type SecureConnector = ReturnType<ChannelCredentials["_createSecureConnector"]>;

/**
 * Creates the path of channels. Connections to `addresses` use no proxy.
 *
 * @throws `FileError` if a file of `config.tls` cannot be read
 */
export function createChannelPath(
  config: GrpcConfig,
  { connectMs, proxy: proxies, tls = createTlsSource(config.tls) }: TransportSettings,
): ChannelPath {
  const { url, addresses } = config;
  const proxy = addresses === undefined ? proxyFor(proxies, url) : undefined;
  const server = connectionOptions(url);
  const isSecure = server.tls !== undefined;
  const serverName = config.tls?.serverName ?? server.host;
  const base = isSecure ? secureCredentials({}, serverName) : credentials.createInsecure();
  let state: AttemptState = { kind: "connecting" };
  /** Why the last handshake failed. grpc-js ends calls with its text even after the next attempt has begun. */
  let lastFailure: Error | undefined;

  /** Opens the tunnel, and returns the certificates for TLS. */
  async function prepare(socket: Socket) {
    const { signal, stop } = connectSignal(undefined, connectMs);
    try {
      if (proxy !== undefined) {
        state = { kind: "entering", proxy };
      }
      const tunnel = proxy === undefined ? socket : await enterTunnel(socket, server, proxy, signal);
      state = { kind: "securing" };
      return { tunnel, material: isSecure ? await tls.material(signal) : undefined };
    } catch (reason) {
      state = reason instanceof TradewireError ? { kind: "failed", error: reason } : state;
      throw new Error("connect ECONNABORTED"); // The text is all that grpc-js keeps.
    } finally {
      stop();
    }
  }

  const createConnector: ChannelCredentials["_createSecureConnector"] = (...args) => {
    let connector: SecureConnector = base._createSecureConnector(...args);
    let current: TlsMaterial | undefined;
    let isDestroyed = false;
    return {
      async waitForReady() {
        // grpc-js would retry a connection that had failed, once its backoff is over, for as long as the process lives.
        if (isDestroyed) {
          throw new Error("the channel is closed");
        }
        state = { kind: "connecting" };
        await connector.waitForReady();
      },
      async connect(socket) {
        const { tunnel, material } = await prepare(socket);
        if (material !== undefined && material !== current) {
          connector.destroy();
          connector = secureCredentials(material, serverName)._createSecureConnector(...args);
          current = material;
        }
        try {
          return await connector.connect(tunnel);
        } catch (reason) {
          lastFailure = markConnecting(reason);
          state = { kind: "failed", error: lastFailure };
          throw reason;
        }
      },
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isDestroyed = true;
        connector.destroy();
      },
    };
  };

  function failure(error: ConnectError): Error | undefined {
    if (!isConnecting(error)) {
      return undefined;
    }
    const known = error.rawMessage === lastFailure?.message ? lastFailure : undefined;
    switch (state.kind) {
      case "connecting":
        return known ?? (proxy === undefined ? undefined : unreachableProxy(proxy, error));
      case "entering":
        return known ?? silentProxy(state.proxy);
      case "failed":
        return state.error;
      case "securing":
        return known;
    }
  }

  const first = proxy === undefined ? server : connectionOptions(proxy);
  return {
    target: `dns:${first.host.includes(":") ? `[${first.host}]` : first.host}:${first.port}`,
    credentials: Object.create(base, { _createSecureConnector: { value: createConnector } }),
    explain(error) {
      const cause = failure(error);
      return cause === undefined ? error : toConnectError(cause);
    },
  };
}

const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text));

/** Returns the credentials of TLS. They verify the server's certificate, even with `NODE_TLS_REJECT_UNAUTHORIZED=0`. */
function secureCredentials({ ca, cert, key }: TlsMaterial, serverName: string): ChannelCredentials {
  const secure = credentials.createSsl(pem(ca), pem(key), pem(cert), { rejectUnauthorized: true });
  return isIP(serverName) === 0 ? secure : withoutServerName(secure);
}

/** Makes TLS send no server name, as for an IP address (RFC 6066, 3). grpc-js would send the address. */
function withoutServerName(secure: ChannelCredentials): ChannelCredentials {
  const createConnector = secure._createSecureConnector.bind(secure);
  secure._createSecureConnector = (...args) => {
    const connector = createConnector(...args);
    const options: unknown = Reflect.get(connector, "connectionOptions"); // The options of Node's TLS.
    if (typeof options === "object" && options !== null) {
      Reflect.deleteProperty(options, "servername");
    }
    return connector;
  };
  return secure;
}
