import type { DescService } from "@bufbuild/protobuf";
import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import type { FailingCall } from "../errors/failing.js";
import { followingController } from "../signal/follow.js";
import { throwingOurErrors } from "./layers/our-errors.js";
import { watched } from "./watched.js";

/**
 * Make a client of a service, such as Connect's own, whose methods throw the library's errors. A stream that is no
 * longer read, as after `break`, is ended; Connect's own client would leave it open.
 *
 * @param service the service's descriptor, as `protoc-gen-es` generates it
 * @param transport the transport that makes the calls
 * @param failing makes, for a call, the function that throws its failure as one of the library's errors
 * @returns a client with a function for each method of the service
 */
export function createServiceClient<S extends DescService>(
  service: S,
  transport: Transport,
  failing: FailingCall,
): Client<S> {
  const calls = throwingOurErrors(transport, failing);
  const client = createClient(service, {
    ...calls,
    stream(...call) {
      const response = calls.stream(...call);
      response.catch(() => undefined); // It has failed for who reads it, which may be later, or never.
      return response;
    },
  });
  for (const { methodKind, localName } of service.methods) {
    const call: unknown = Reflect.get(client, localName);
    if ((methodKind === "server_streaming" || methodKind === "bidi_streaming") && isStreaming(call)) {
      Reflect.set(client, localName, endingWhereUnread(call));
    }
  }
  return client;
}

/** A function of a client that streams. */
type Streaming = (request: unknown, options?: CallOptions) => AsyncIterable<unknown>;

function isStreaming(call: unknown): call is Streaming {
  return typeof call === "function";
}

function endingWhereUnread(call: Streaming): Streaming {
  return (request, options = {}) => {
    const abort = followingController(options.signal);
    const end = () => abort.abort(); // It also lets go of the caller's signal.
    const messages = call(request, { ...options, signal: abort.signal });
    const failed = (reason: unknown): never => {
      end();
      throw reason;
    };
    return watched(messages, { ended: end, failed, left: end });
  };
}
