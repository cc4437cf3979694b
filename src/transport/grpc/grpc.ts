import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from "node:http2";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { createContextValues, decodeBinaryHeader } from "@connectrpc/connect";
import { createGrpcTransport as createConnectGrpcTransport } from "@connectrpc/connect-node";
import { StatusSchema } from "../../../gen/client/google/rpc/status_pb.js";
import type { GrpcConfig } from "../../config/schema.js";
import { knownTypes } from "../../json/any.js";
import { follow } from "../../signal/follow.js";
import { arrivalOf } from "../arrival.js";
import type { HeaderInit } from "../bare-call.js";
import type { ClosableTransport, TransportSettings } from "../closable.js";
import { decodeMessage } from "../decode-message.js";
import { wholeFrames, withoutMessages } from "./frames.js";
import { readingJson } from "./json-codec.js";
import { piecesOf } from "./pieces.js";
import { createSessions } from "./sessions.js";

/** Tells a call from the others, between Connect's transport and the sessions; it is not sent. */
const CALL = "x-tradewire-call";

/** What the sessions need to know of a call. */
interface CallUnderWay {
  readonly signal: AbortSignal | undefined;
  /** Told of each chunk. */
  readonly arrived?: () => void;
  /** Takes the messages, of which Connect gets empty ones. */
  readonly take?: ((message: Uint8Array) => void) | undefined;
}

/**
 * Make a Connect transport over gRPC, on HTTP/2.
 *
 * Node's default flow-control windows are 64 KiB, so a stream would mostly wait for window updates; `windowBytes` sets
 * the windows of the streams and of the connection.
 *
 * @param config where the node is, and how its connections are
 * @param options the largest message that is read, in bytes, and the longest time to connect, in milliseconds
 * @returns the transport; its failures are Connect errors, and with the JSON codec also {@link ProtocolError}
 * @throws {@link FileError} where a file of `config.tls` cannot be read
 */
export function createGrpcTransport(
  config: GrpcConfig,
  options: TransportSettings & { readonly maxMessageBytes: number },
): ClosableTransport {
  const { registry = knownTypes } = options;
  const sessions = createSessions(config, options);
  const underWay = new Map<string, CallUnderWay>();
  let calls = 0;
  const transport = createConnectGrpcTransport({
    baseUrl: config.url,
    useBinaryFormat: config.codec === "proto",
    readMaxBytes: options.maxMessageBytes,
    acceptCompression: [], // An archive gains nothing from compression.
    jsonOptions: { registry },
    sessionManager: {
      ...sessions,
      async request(method, path, headers) {
        const { [CALL]: call, ...sent } = headers;
        const { signal, arrived: told, take } = underWay.get(String(call)) ?? {};
        const stream = await sessions.request(method, path, sent);
        stream.once(
          "close",
          follow(signal, () => dropUnread(stream)),
        );
        const arrived = () => {
          sessions.notifyResponseByteRead(stream);
          told?.();
        };
        const { maxMessageBytes } = options;
        stream[Symbol.asyncIterator] = () => {
          const pieces = piecesOf(stream);
          return take === undefined
            ? wholeFrames(pieces, arrived)
            : withoutMessages(pieces, { maxMessageBytes, arrived, take });
        };
        return stream.on("response", arrived).on("response", mendStatus).on("trailers", mendStatus);
      },
    },
  });
  const { unary, stream } = config.codec === "json" ? readingJson(transport, registry) : transport;

  function begin(header: HeaderInit, own: CallUnderWay) {
    calls += 1;
    const call = String(calls);
    const marked = new Headers(header);
    marked.set(CALL, call);
    underWay.set(call, own);
    return { marked, begun: () => underWay.delete(call) };
  }

  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const { marked, begun } = begin(header, { signal });
      return unary(method, signal, timeoutMs, marked, message, contextValues).finally(begun);
    },
    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const taken: Uint8Array[] = [];
      const take = config.codec === "json" ? undefined : (message: Uint8Array) => taken.push(message);
      const { marked, begun } = begin(header, { signal, arrived: arrivalOf(contextValues), take });
      const response = await stream(method, signal, timeoutMs, marked, input, contextValues).finally(begun);
      return take === undefined ? response : { ...response, message: decoded(method.output, response.message, taken) };
    },
    async close() {
      sessions.close();
    },
  };
}

/** Decode the messages that were taken, one in the place of each empty one. */
async function* decoded<O extends DescMessage>(
  desc: O,
  empty: AsyncIterable<MessageShape<O>>,
  taken: Uint8Array[],
): AsyncGenerator<MessageShape<O>> {
  for await (const message of empty) {
    const bytes = taken.shift();
    yield bytes === undefined ? message : decodeMessage(desc, bytes);
  }
}

/**
 * Drop what is unread of an answer that has come to its end. Connect leaves such a stream as it is, and Node keeps one
 * that is not read to its end, with its bytes and its connection, for ever.
 */
function dropUnread(stream: ClientHttp2Stream): void {
  if (stream.closed && stream.rstCode === constants.NGHTTP2_NO_ERROR) {
    stream.destroy();
  }
}

/** Drop details, and escape a message, that cannot be read: Connect would lose the error that they belong to. */
function mendStatus(headers: IncomingHttpHeaders): void {
  const { "grpc-status-details-bin": details, "grpc-message": message } = headers;
  try {
    decodeURIComponent(String(message));
  } catch {
    headers["grpc-message"] = encodeURIComponent(String(message));
  }
  try {
    if (typeof details === "string") {
      decodeBinaryHeader(details, StatusSchema);
    }
  } catch {
    delete headers["grpc-status-details-bin"];
  }
}
