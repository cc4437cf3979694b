import { Channel, type ChannelOptions, connectivityState, credentials } from "@grpc/grpc-js";
import type { GrpcConfig } from "../../config/schema.js";
import { readTls } from "../tls.js";

const SERVICE_CONFIG = JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] });

/**
 * What opens a channel; the files of the configuration's TLS are read once, here.
 *
 * With several addresses calls take them in turn, and there is no proxy: grpc-js could not name them to one.
 */
export function channelOpener(config: GrpcConfig, { maxMessageBytes }: { readonly maxMessageBytes: number }) {
  const { protocol, hostname, port, host } = new URL(config.url);
  const secure = protocol === "https:";
  const target =
    config.addresses === undefined
      ? `dns:${hostname}:${port || (secure ? "443" : "80")}`
      : addressTarget(config.addresses);
  const { ca, key, cert, servername } = readTls(config.tls);
  const security = secure ? credentials.createSsl(ca ?? null, key ?? null, cert ?? null) : credentials.createInsecure();
  const serverName = servername ?? (config.addresses === undefined ? undefined : hostname.replace(/^\[|\]$/g, ""));
  const options: ChannelOptions = {
    "grpc.default_authority": host,
    "grpc-node.flow_control_window": config.windowBytes,
    "grpc.max_receive_message_length": maxMessageBytes,
    "grpc.max_send_message_length": -1,
    "grpc.keepalive_time_ms": config.keepaliveMs,
    "grpc.service_config_disable_resolution": 1, // How calls are made is the configuration's to say, not the DNS's.
    "grpc.use_local_subchannel_pool": 1, // Closing is then closing.
    "grpc.enable_channelz": 0,
    ...(config.addresses !== undefined && { "grpc.service_config": SERVICE_CONFIG, "grpc.enable_http_proxy": 0 }),
    ...(secure && serverName !== undefined && { "grpc.ssl_target_name_override": serverName }),
  };
  return () => new Channel(target, security, options);
}

/** One target takes addresses of one kind only: among others, an IPv4 address is written as an IPv6 one. */
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
 * Call `onTimeout` unless a channel that is told to connect has done so, or failed to, in time.
 *
 * @returns what ends the watch
 */
export function limitConnecting(channel: Channel, connectMs: number, onTimeout: () => void): () => void {
  const timer = setTimeout(onTimeout, connectMs);
  const stop = () => clearTimeout(timer);
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
