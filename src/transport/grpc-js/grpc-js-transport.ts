import { isIP, type Socket } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Channel,
  type ChannelCredentials,
  type ChannelOptions,
  compressionAlgorithms,
  connectivityState,
  credentials,
} from "@grpc/grpc-js";
import type { GrpcConfig } from "../../config/client-config.js";
import { proxyFor } from "../../config/proxy.js";
import { ConnectionError } from "../../errors/index.js";
import { connectTimeoutError, networkFailure } from "../../errors/network-failure.js";
import { monotonicMs, startAwakeTimer, unixMs } from "../../runtime/index.js";
import { createActiveSet } from "../../signal/collections.js";
import { connectionOptions, pingReplyMs, readTls, SUSPECT_AFTER_MS } from "../connection-options.js";
import { connectSignal, enterTunnel } from "../connector.js";
import { createLivenessCheck, limitInterimResponses } from "../http2-liveness.js";
import { createMessageTransport, protoCodec } from "../message-call.js";
import { silentProxy, unreachableProxy } from "../proxy-tunnel.js";
import type { ClosableTransport, TransportSettings } from "../transport-types.js";
import { sessionOf, startGrpcJsCall, streamOf } from "./grpc-js-call.js";
import { toMetadata } from "./grpc-js-status.js";

/** The number of streams that servers usually allow on a connection. grpc-js would silently let more wait. */
const USUAL_STREAMS = 100;

type RawCall = ReturnType<Channel["createCall"]>;

/** A channel, and its calls in flight. */
interface OpenChannel {
  readonly channel: Channel;
  calls: number;
  /** The number of streams that the server allows on its connection, once it is knused. */
  maxCalls?: number | undefined;
  /** Whether another channel gets new calls, so that this one is closed with its last call. */
  isReplaced?: boolean;
}

/**
 * Creates a Connect transport onCallEnd a channel of `@grpc/grpc-js`, without the layers around it.
 *
 * A message is read from the connection when the caller takes the previous one; the node can be ahead by a flow-control
 * window. A stream is cancelled when its reader stops. When the node ends a stream with an error, grpc-js drops the
 * messages that were not read yet. Nothing is sent before the first call. grpc-js opens connections and sets timers by
 * itself, so a replaced runtime does not affect those.
 *
 * @param config the node's URL, and the options of its connections
 * @param options the maximum size of a message, in bytes, and the time limit for connecting, in milliseconds
 * @returns the transport; its failures are Connect errors
 * @throws `FileError` if a file of `config.tls` cannot be read
 */
export function createRawGrpcJsTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const path = createProxyPath(config, options);
  const openChannel = channelOpener(config, path, options);
  const liveness = createLivenessCheck(config.keepaliveMs);
  const callsInFlight = createActiveSet<RawCall>();
  let current: OpenChannel = { channel: openChannel(), calls: 0 };
  let receivedAt = Number.NEGATIVE_INFINITY;

  /** Replaces the channel for new calls. The calls on the current one go on. */
  function replaceChannel(): void {
    const replaced = current;
    current = { channel: openChannel(), calls: 0 };
    replaced.isReplaced = true;
  }

  return createMessageTransport({
    codec: protoCodec,
    open(method, { header, timeoutMs, onEnd }) {
      const metadata = toMetadata(header);
      if (current.channel.getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE) {
        current.channel.close(); // It would repeat its last failure for up to two minutes; a new channel connects at once.
        current = { channel: openChannel(), calls: 0 };
      }
      if (current.calls >= (current.maxCalls ?? USUAL_STREAMS)) {
        replaceChannel();
      }
      const used = current;
      const { channel } = used;
      const startedAt = monotonicMs();
      const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : unixMs() + timeoutMs;
      const raw = channel.createCall(`/${method.parent.typeName}/${method.name}`, deadline, null, null, null);
      const remove = callsInFlight.add(raw);
      used.calls += 1;
      const onCallEnd = (error?: ConnectError) => {
        const silentMs = monotonicMs() - Math.max(startedAt, receivedAt);
        const isSuspect = error?.code === Code.DeadlineExceeded || (error !== undefined && receivedAt < startedAt);
        remove();
        used.calls -= 1;
        const session = sessionOf(raw);
        if (used === current && isSuspect && silentMs >= SUSPECT_AFTER_MS) {
          replaceChannel(); // A proxy may have forgotten the connection, or nghttp2 may have args it up.
        }
        if (used.isReplaced === true && used.calls === 0) {
          channel.close();
          session?.destroy(); // A session that nghttp2 gave up never reports that its streams have ended, and would stay.
        }
        stopWatch();
        onEnd();
      };
      const onReceive = () => {
        const session = sessionOf(raw);
        receivedAt = monotonicMs();
        used.maxCalls ??= session?.destroyed === false ? session.remoteSettings.maxConcurrentStreams : undefined;
        liveness.onReceive(session);
      };
      const call = startGrpcJsCall(raw, metadata, onCallEnd, onReceive, (error) => path?.explain(error) ?? error);
      const stopWatch = limitConnecting(channel, options.connectMs, () =>
        call.fail(path?.explain(connectTimeout()) ?? connectTimeout()),
      );
      return call;
    },
    check() {
      for (const raw of callsInFlight.list()) {
        const stream = streamOf(raw);
        stream && limitInterimResponses(stream); // While only these have arrived, grpc-js exposes no stream.
      }
      liveness.check(callsInFlight.list().flatMap((raw) => sessionOf(raw) ?? []));
    },
    close: () => current.channel.close(),
  });
}

function connectTimeout(): ConnectError {
  const cause = connectTimeoutError();
  return new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
}

const SERVICE_CONFIG = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });

/**
 * Returns a function that opens a channel. The files of the TLS configuration are read once, here.
 *
 * Calls use several addresses in turn, without a proxy. Through a proxy, the channel connects to the proxy, and opens a tunnel
 * to the server before TLS.
 */
function channelOpener(
  config: GrpcConfig,
  path: ProxyPath | undefined,
  { maxMessageBytes, tls = readTls(config.tls) }: TransportSettings & { readonly maxMessageBytes: number },
) {
  const { protocol, hostname, port, host } = new URL(config.url);
  const secure = protocol === "https:";
  const target =
    config.addresses === undefined
      ? (path?.target ?? `dns:${hostname}:${port || (secure ? "443" : "80")}`)
      : addressTarget(config.addresses);
  const { ca, key, cert, servername } = tls;
  const serverName = servername ?? hostname.replace(/^\[|\]$/g, "");
  const security = secure
    ? withServerName(serverName, credentials.createSsl(ca ?? null, key ?? null, cert ?? null))
    : credentials.createInsecure();
  const options: ChannelOptions = {
    "grpc.default_authority": host,
    "grpc.default_compression_algorithm": compressionAlgorithms[config.compression === "gzip" ? "gzip" : "identity"],
    "grpc-node.flow_control_window": config.windowBytes,
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": config.keepaliveMs,
    "grpc.keepalive_timeout_ms": pingReplyMs(config.keepaliveMs),
    "grpc.service_config_disable_resolution": 1, // The DNS must not configure calls.
    "grpc.use_local_subchannel_pool": 1, // Closing the channel then closes its connections.
    "grpc.enable_channelz": 0,
    "grpc.enable_retries": 0, // It would retry calls that a server refuses, including those that change state.
    "grpc.enable_http_proxy": 0, // It would read the environment.
    ...(config.addresses !== undefined && { "grpc.service_config": SERVICE_CONFIG }),
    ...(secure && { "grpc.ssl_target_name_override": serverName }),
  };
  return () => new Channel(target, withoutReconnects(security, path), options);
}

/** How a channel's connections go through a proxy. */
interface ProxyPath {
  /** The target of the channel, which is the proxy. */
  readonly target: string;
  /** Notes that the channel begins to connect to the proxy. */
  begin(): void;
  /** Opens a tunnel to the server on a connection to the proxy. */
  enter(socket: Socket): Promise<Socket>;
  /** Returns the error that names the proxy, if an attempt to connect has failed there; otherwise the same error. */
  explain(error: ConnectError): ConnectError;
}

/** How far the latest attempt to connect through a proxy has come. */
type ProxyState =
  | { readonly kind: "connecting" }
  | { readonly kind: "entering" }
  | { readonly kind: "entered" }
  | { readonly kind: "failed"; readonly error: ConnectionError };

/** Returns the way through the proxy of a configuration; undefined if connections are direct. grpc-js reports less of it. */
function createProxyPath({ url, addresses }: GrpcConfig, options: TransportSettings): ProxyPath | undefined {
  const proxy = addresses === undefined ? proxyFor(options.proxy, url) : undefined;
  return proxy === undefined ? undefined : pathThrough(proxy, url, options.connectMs);
}

function pathThrough(proxy: string, url: string, connectMs: number): ProxyPath {
  const { host, port } = connectionOptions(proxy, {});
  const server = connectionOptions(url, {});
  let state: ProxyState = { kind: "connecting" };

  function failure(error: ConnectError): ConnectionError | undefined {
    if (networkFailure(error, url)?.connected !== false) {
      return undefined;
    }
    switch (state.kind) {
      case "connecting":
        return unreachableProxy(proxy, error);
      case "entering":
        return silentProxy(proxy);
      case "failed":
        return state.error;
      case "entered":
        return undefined;
    }
  }

  return {
    target: `dns:${host.includes(":") ? `[${host}]` : host}:${port}`,
    begin() {
      state = { kind: "connecting" };
    },
    async enter(socket) {
      state = { kind: "entering" };
      const { signal, stop } = connectSignal(undefined, connectMs);
      try {
        const tunnel = await enterTunnel(socket, server, proxy, signal);
        state = { kind: "entered" };
        return tunnel;
      } catch (reason) {
        state = reason instanceof ConnectionError ? { kind: "failed", error: reason } : state;
        throw new Error("connect ECONNABORTED"); // grpc-js keeps only the text of an error.
      } finally {
        stop();
      }
    },
    explain(error) {
      const cause = failure(error);
      return cause === undefined ? error : new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
    },
  };
}

/**
 * Prevents a closed channel from connecting. grpc-js would retry a connection that had failed, once its backoff is onCallEnd,
 * and keep it for as long as the process lives.
 */
function withoutReconnects(security: ChannelCredentials, path: ProxyPath | undefined): ChannelCredentials {
  const createConnector: ChannelCredentials["_createSecureConnector"] = (...args) => {
    const connector = security._createSecureConnector(...args);
    let isDestroyed = false;
    return {
      async waitForReady() {
        if (isDestroyed) {
          throw new Error("the channel is closed");
        }
        path?.begin();
        await connector.waitForReady();
      },
      connect: async (socket) => connector.connect(path === undefined ? socket : await path.enter(socket)),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isDestroyed = true;
        connector.destroy();
      },
    };
  };
  return Object.create(security, { _createSecureConnector: { value: createConnector } });
}

/** Makes TLS send no server name for an IP address (RFC 6066, 3). grpc-js would send the address. */
function withServerName(serverName: string, secure: ChannelCredentials): ChannelCredentials {
  if (isIP(serverName) !== 0) {
    const createConnector = secure._createSecureConnector.bind(secure);
    secure._createSecureConnector = (...args) => {
      const connector = createConnector(...args);
      const options: unknown = Reflect.get(connector, "connectionOptions"); // The options of Node's TLS.
      if (typeof options === "object" && options !== null) {
        Reflect.deleteProperty(options, "servername");
      }
      return connector;
    };
  }
  return secure;
}

/** Returns a target of addresses. A target has one address family, so IPv4 addresses among IPv6 ones are mapped to IPv6. */
function addressTarget(addresses: readonly string[]): string {
  if (!addresses.some((address) => address.startsWith("["))) {
    return `ipv4:${addresses.join(",")}`;
  }
  const mapped = addresses.map((address) =>
    address.startsWith("[") ? address : address.replace(/^[^:]+/, "[::ffff:$&]"),
  );
  return `ipv6:${mapped.join(",")}`;
}

/**
 * Calls `onTimeout` unless a connecting channel connects, or fails to connect, in time. Returns a function that ends the
 * watch.
 */
function limitConnecting(channel: Channel, connectMs: number, onTimeout: () => void): () => void {
  if (channel.getConnectivityState(false) === connectivityState.READY) {
    return () => undefined; // This is so for most calls.
  }
  const stop = startAwakeTimer(onTimeout, connectMs);
  function watch(): void {
    const state = channel.getConnectivityState(false);
    if (state === connectivityState.IDLE || state === connectivityState.CONNECTING) {
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, watch);
    } else {
      stop();
    }
  }
  watch();
  return stop;
}
