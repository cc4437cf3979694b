import { Code, ConnectError } from "@connectrpc/connect";
import { connectivityState } from "@grpc/grpc-js";
import type { GrpcConfig } from "../../config/schema.js";
import { notConnectedInTime } from "../../errors/network-failure.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { protoCodec } from "../codec.js";
import { transportOfCalls } from "../message-call.js";
import { startCall } from "./call.js";
import { channelOpener, limitConnecting } from "./channel.js";
import { toMetadata } from "./metadata.js";

/**
 * Make a Connect transport over a channel of `@grpc/grpc-js`: gRPC with that library's name resolution, proxies and
 * balancing.
 *
 * A message is read from the connection when the caller takes the one before it; the node can be ahead by a
 * flow-control window. A stream is cancelled when its reader stops. When the node ends a stream with an error, grpc-js
 * drops the messages that were not read yet. Nothing is sent before the first call.
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
  let channel = openChannel();

  return transportOfCalls({
    codec: protoCodec,
    open(method, { header, timeoutMs, onEnd }) {
      const metadata = toMetadata(header);
      if (channel.getConnectivityState(false) === connectivityState.TRANSIENT_FAILURE) {
        channel.close(); // It would repeat its last failure for up to two minutes; a new channel tries at once.
        channel = openChannel();
      }
      const deadline = timeoutMs === undefined ? Number.POSITIVE_INFINITY : Date.now() + timeoutMs;
      const raw = channel.createCall(`/${method.parent.typeName}/${method.name}`, deadline, null, null, null);
      const call = startCall(raw, metadata, () => {
        stopWatch();
        onEnd();
      });
      const stopWatch = limitConnecting(channel, options.connectMs, () => call.fail(connectTimeout()));
      return call;
    },
    close: () => channel.close(),
  });
}

function connectTimeout(): ConnectError {
  const cause = notConnectedInTime();
  return new ConnectError(cause.message, Code.Unavailable, undefined, undefined, cause);
}
