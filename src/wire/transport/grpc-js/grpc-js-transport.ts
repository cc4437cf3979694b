import type { ClientHttp2Stream } from "node:http2";
import { ConnectError } from "@connectrpc/connect";
import { Channel, type ChannelOptions, compressionAlgorithms, connectivityState } from "@grpc/grpc-js";
import { Code } from "../../../base/errors/code.js";
import { connectTimeoutError } from "../../../base/errors/network-failure.js";
import { monotonicMs, startAwakeTimer, startImmediate, unixMs } from "../../../base/runtime/index.js";
import { createActiveSet } from "../../../base/signal/collections.js";
import type { GrpcConfig } from "../../config/client-config.js";
import { createLivenessCheck, limitInterimResponses } from "../http2-liveness.js";
import { createMessageTransport, protoCodec } from "../message-call.js";
import {
  type ClosableTransport,
  MAX_IDLE_MS,
  pingReplyMs,
  SUSPECT_AFTER_MS,
  type TransportSettings,
  USER_AGENT,
} from "../transport-types.js";
import { type ChannelPath, createChannelPath } from "./channel-path.js";
import { sessionOf, startGrpcJsCall, streamOf } from "./grpc-js-call.js";
import { toMetadata } from "./grpc-js-status.js";

/** The number of streams that servers usually allow on a connection. grpc-js would silently let more wait. */
const USUAL_STREAMS = 100;

type RawCall = ReturnType<Channel["createCall"]>;

/** A channel, and its calls in flight. */
interface OpenChannel {
  readonly channel: Channel;
  calls: number;
  /** The number of streams that the server allows on its connection, once it is known. */
  maxCalls?: number | undefined;
  /** Whether another channel gets new calls. This one is then closed when its last call ends. */
  isReplaced?: boolean;
}

/**
 * Creates a Connect transport on a channel of `@grpc/grpc-js`, without the layers around it.
 *
 * A message is read from the connection when the caller reads the previous one; the node can be ahead by a flow-control
 * window. A stream is canceled when its reader stops. When the node ends a stream with an error, grpc-js drops the
 * messages that were not read yet. Nothing is sent before the first call. grpc-js opens connections and sets timers by
 * itself, so a replaced runtime does not affect those.
 *
 * @throws `FileError` if a file of `config.tls` cannot be read
 */
export function createRawGrpcJsTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const path = createChannelPath(config, options);
  const openChannel = channelOpener(config, path, options.maxMessageBytes);
  const liveness = createLivenessCheck(config.keepaliveMs);
  const callsInFlight = createActiveSet<RawCall>();
  const limitedStreams = new WeakSet<ClientHttp2Stream>();
  let current: OpenChannel = { channel: openChannel(), calls: 0 };
  let receivedAt = Number.NEGATIVE_INFINITY;
  /** When the latest call ended, by `monotonicMs()`. */
  let idleSince = Number.POSITIVE_INFINITY;

  /** Replaces the channel for new calls. The calls on the current one continue. */
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
      if (current.calls === 0 && monotonicMs() - idleSince > MAX_IDLE_MS) {
        current.channel.close(); // A load balancer may have forgotten the connection.
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
        idleSince = monotonicMs();
        const session = sessionOf(raw);
        if (used === current && isSuspect && silentMs >= SUSPECT_AFTER_MS) {
          replaceChannel(); // A proxy may have forgotten the connection, or nghttp2 may have given it up.
        }
        if (used.isReplaced === true && used.calls === 0) {
          channel.close();
          startImmediate(() => session?.destroy()); // A session that nghttp2 gave up never reports that its streams have ended, and would stay.
        }
        watch.stop();
        onEnd();
      };
      const onReceive = () => {
        const session = sessionOf(raw);
        receivedAt = monotonicMs();
        used.maxCalls ??= session?.destroyed === false ? session.remoteSettings.maxConcurrentStreams : undefined;
        liveness.onReceive(session);
      };
      const call = startGrpcJsCall(raw, metadata, onCallEnd, onReceive, path.explain);
      const watch = limitConnecting(channel, options.connectMs, () => call.fail(path.explain(connectTimeout())));
      return { ...call, mayHaveBeenSent: () => !watch.isConnecting() };
    },
    check() {
      for (const raw of callsInFlight.list()) {
        const stream = streamOf(raw);
        if (stream !== undefined && !limitedStreams.has(stream)) {
          limitedStreams.add(stream);
          limitInterimResponses(stream); // While only these have arrived, grpc-js exposes no stream.
        }
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

/** Returns a function that opens a channel. Calls use several addresses in turn. */
function channelOpener(config: GrpcConfig, path: ChannelPath, maxMessageBytes: number): () => Channel {
  const { url, addresses, tls } = config;
  const { protocol, hostname, host } = new URL(url);
  const options: ChannelOptions = {
    "grpc.default_authority": host,
    "grpc.primary_user_agent": USER_AGENT,
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
    ...(addresses !== undefined && { "grpc.service_config": SERVICE_CONFIG }),
    ...(protocol === "https:" && {
      "grpc.ssl_target_name_override": tls?.serverName ?? hostname.replace(/^\[|\]$/g, ""),
    }),
  };
  const target = addresses === undefined ? path.target : addressTarget(addresses);
  return () => new Channel(target, path.credentials, options);
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
 * Calls `onTimeout` unless a connecting channel connects, or fails to connect, in time. Returns whether it is still
 * connecting, so that no call was sent, and a function that ends the watch.
 */
function limitConnecting(channel: Channel, connectMs: number, onTimeout: () => void) {
  if (channel.getConnectivityState(false) === connectivityState.READY) {
    return { isConnecting: () => false, stop: () => undefined }; // This is so for most calls.
  }
  let isConnecting = true;
  const stop = startAwakeTimer(onTimeout, connectMs);
  function watch(): void {
    const state = channel.getConnectivityState(false);
    if (state === connectivityState.IDLE || state === connectivityState.CONNECTING) {
      channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, watch);
    } else {
      isConnecting = false;
      stop();
    }
  }
  watch();
  return { isConnecting: () => isConnecting, stop };
}
