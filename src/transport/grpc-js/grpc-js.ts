import { Code, ConnectError } from "@connectrpc/connect";
import { type Channel, connectivityState } from "@grpc/grpc-js";
import type { GrpcConfig } from "../../config/schema.js";
import { notConnectedInTime } from "../../errors/network-failure.js";
import { monotonicMs, unixMs } from "../../runtime/index.js";
import { createBag } from "../../signal/bag.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { protoCodec } from "../codec.js";
import { limitInterim } from "../interim-answers.js";
import { transportOfCalls } from "../message-call.js";
import { createSilenceCheck, DOUBT_MS } from "../silent-sessions.js";
import { startCall } from "./call.js";
import { channelOpener, limitConnecting } from "./channel.js";
import { sessionOf, streamOf } from "./decoder.js";
import { toMetadata } from "./metadata.js";

/** The streams that servers usually allow on a connection: grpc-js would let more wait, without a word. */
const USUAL_STREAMS = 100;

type RawCall = ReturnType<Channel["createCall"]>;

/** A channel, and its calls under way. */
interface OpenChannel {
  readonly channel: Channel;
  calls: number;
  /** The streams that the server allows on its connection, once that is known. */
  maxCalls?: number | undefined;
  /** Whether another one takes new calls, so that it is closed with its last call. */
  isReplaced?: boolean;
}

/**
 * Make a Connect transport over a channel of `@grpc/grpc-js`: gRPC with that library's name resolution, proxies and
 * balancing.
 *
 * A message is read from the connection when the caller takes the one before it; the node can be ahead by a
 * flow-control window. A stream is cancelled when its reader stops. When the node ends a stream with an error, grpc-js
 * drops the messages that were not read yet. Nothing is sent before the first call.
 *
 * grpc-js opens connections and sets timers by itself, so that a replaced runtime does not reach these.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors
 * @throws `FileError` where a file of `config.tls` cannot be read
 */
export function createGrpcJsTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const openChannel = channelOpener(config, options);
  const silence = createSilenceCheck(config.keepaliveMs);
  const underWay = createBag<RawCall>();
  let current: OpenChannel = { channel: openChannel(), calls: 0 };
  let heardAt = Number.NEGATIVE_INFINITY;

  /** Have the calls to come take another channel. The calls on the present one go on. */
  function replaceChannel(): void {
    const replaced = current;
    current = { channel: openChannel(), calls: 0 };
    replaced.isReplaced = true;
  }

  return transportOfCalls({
    codec: protoCodec,
    open(method, { header, timeoutMs, onEnd }) {
      const metadata = toMetadata(header);
      if (current.channel.getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE) {
        current.channel.close(); // It would repeat its last failure for up to two minutes; a new channel tries at once.
        current = { channel: openChannel(), calls: 0 };
      }
      // It has calls, with the last of which it is closed.
      if (current.calls >= (current.maxCalls ?? USUAL_STREAMS)) {
        replaceChannel();
      }
      const own = current;
      const { channel } = own;
      const startedAt = monotonicMs();
      const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : unixMs() + timeoutMs;
      const raw = channel.createCall(`/${method.parent.typeName}/${method.name}`, deadline, null, null, null);
      const takeOut = underWay.add(raw);
      own.calls += 1;
      const over = (error?: ConnectError) => {
        const silentMs = monotonicMs() - Math.max(startedAt, heardAt);
        const isCut = error?.code === Code.DeadlineExceeded || (error !== undefined && heardAt < startedAt);
        takeOut();
        own.calls -= 1;
        const session = sessionOf(raw);
        if (own === current && isCut && silentMs >= DOUBT_MS) {
          replaceChannel(); // A proxy may have forgotten the connection, or nghttp2 have given it up.
        }
        if (own.isReplaced === true && own.calls === 0) {
          channel.close();
          session?.destroy(); // One that was given up never says that its streams have ended, and would stay.
        }
        stopWatch();
        onEnd();
      };
      const call = startCall(raw, metadata, over, () => {
        const session = sessionOf(raw);
        heardAt = monotonicMs();
        own.maxCalls ??= session?.destroyed === false ? session.remoteSettings.maxConcurrentStreams : undefined;
        silence.heard(session);
      });
      const stopWatch = limitConnecting(channel, options.connectMs, () => call.fail(connectTimeout()));
      return call;
    },
    check() {
      for (const raw of underWay.list()) {
        const stream = streamOf(raw);
        stream && limitInterim(stream); // grpc-js gives a stream to nobody while nothing but these has come.
      }
      silence.check(underWay.list().flatMap((raw) => sessionOf(raw) ?? []));
    },
    close: () => current.channel.close(),
  });
}

function connectTimeout(): ConnectError {
  const cause = notConnectedInTime();
  return new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
}
