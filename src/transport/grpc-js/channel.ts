import { isIP } from "node:net";
import { Channel, type ChannelCredentials, type ChannelOptions, connectivityState, credentials } from "@grpc/grpc-js";
import { isLoopback } from "../../config/loopback.js";
import type { GrpcConfig } from "../../config/schema.js";
import { startAwakeTimer } from "../../runtime/index.js";
import type { TransportSettings } from "../closable.js";
import { pingAnswerMs } from "../keepalive.js";
import { readTls } from "../tls.js";

const SERVICE_CONFIG = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });

/**
 * Make a function that opens channels. The files of the TLS configuration are read once, here.
 *
 * Calls take several addresses in turn. There is no proxy then: grpc-js has no host name to give to it.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes
 * @returns a function that opens a new channel with each call
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function channelOpener(
  config: GrpcConfig,
  { maxMessageBytes, tls = readTls(config.tls) }: TransportSettings & { readonly maxMessageBytes: number },
) {
  const { protocol, hostname, port, host } = new URL(config.url);
  const secure = protocol === "https:";
  const target =
    config.addresses === undefined
      ? `dns:${hostname}:${port || (secure ? "443" : "80")}`
      : addressTarget(config.addresses);
  const { ca, key, cert, servername } = tls;
  const serverName = servername ?? hostname.replace(/^\[|\]$/g, "");
  const security = secure
    ? withNameOf(serverName, credentials.createSsl(ca ?? null, key ?? null, cert ?? null))
    : credentials.createInsecure();
  const options: ChannelOptions = {
    "grpc.default_authority": host,
    "grpc-node.flow_control_window": config.windowBytes,
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": config.keepaliveMs,
    "grpc.keepalive_timeout_ms": pingAnswerMs(config.keepaliveMs),
    "grpc.service_config_disable_resolution": 1, // The DNS must not decide how calls are made.
    "grpc.use_local_subchannel_pool": 1, // Closing the channel then closes its connections.
    "grpc.enable_channelz": 0,
    "grpc.enable_retries": 0, // It would send calls again that a server refuses, also those that do more than read.
    ...(isLoopback(hostname) && { "grpc.enable_http_proxy": 0 }), // A proxy would be this machine's own way out.
    ...(config.addresses !== undefined && { "grpc.service_config": SERVICE_CONFIG, "grpc.enable_http_proxy": 0 }),
    ...(secure && { "grpc.ssl_target_name_override": serverName }),
  };
  return () => new Channel(target, endingWithChannel(security), options);
}

/**
 * Let a channel that is closed connect no more. grpc-js would try a connection again that had failed before, once its
 * wait is over, and keep it for as long as the process lives.
 */
function endingWithChannel(security: ChannelCredentials): ChannelCredentials {
  const createConnector: ChannelCredentials["_createSecureConnector"] = (...given) => {
    const connector = security._createSecureConnector(...given);
    let isEnded = false;
    return {
      async waitForReady() {
        if (isEnded) {
          throw new Error("the channel is closed");
        }
        await connector.waitForReady();
      },
      connect: (socket) => connector.connect(socket),
      getCallCredentials: () => connector.getCallCredentials(),
      destroy() {
        isEnded = true;
        connector.destroy();
      },
    };
  };
  return Object.create(security, { _createSecureConnector: { value: createConnector } });
}

/** Where a server is called by an IP address, TLS sends no name (RFC 6066, 3). grpc-js would send the address. */
function withNameOf(serverName: string, secure: ChannelCredentials): ChannelCredentials {
  if (isIP(serverName) !== 0) {
    const createConnector = secure._createSecureConnector.bind(secure);
    secure._createSecureConnector = (...given) => {
      const connector = createConnector(...given);
      const options: unknown = Reflect.get(connector, "connectionOptions"); // Those of Node's TLS.
      if (typeof options === "object" && options !== null) {
        Reflect.deleteProperty(options, "servername");
      }
      return connector;
    };
  }
  return secure;
}

/** A target takes addresses of one family only, so IPv4 addresses beside IPv6 ones are written as IPv6. */
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
 * Call `onTimeout` unless a connecting channel connects, or fails to connect, in time.
 *
 * @param channel the channel, which was told to connect
 * @param connectMs the longest time until a connection is made, in milliseconds; see {@link startAwakeTimer}
 * @param onTimeout called when the time is up
 * @returns a function that ends the watch
 */
export function limitConnecting(channel: Channel, connectMs: number, onTimeout: () => void): () => void {
  if (channel.getConnectivityState(false) === connectivityState.READY) {
    return () => undefined; // As for most calls.
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
