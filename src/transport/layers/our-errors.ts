import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { ConnectionError, NodeError, type TradewireError } from "../../errors/index.js";
import type { ClosableTransport } from "../closable.js";
import { methodName } from "../method-name.js";
import { callError, failingWith } from "./failure.js";
import { onlyReads } from "./read-method.js";

/** A transport as the configuration names it. */
export interface Endpoint {
  /** The transport's name in the configuration. */
  readonly name: string;
  /** Where the node is. */
  readonly url: string;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * A transport whose failures say what they are.
 *
 * Whatever a transport throws leaves as a `ConnectError`, for interceptors, whose cause is one of the library's errors: the
 * same for the same failure, whichever transport it comes from. Requests carry the endpoint's headers.
 */
export function described(transport: ClosableTransport, endpoint: Endpoint): ClosableTransport {
  function failing(method: DescMethod, signal: AbortSignal | undefined) {
    return (reason: unknown): never => {
      const name = methodName(method);
      const context = { transport: endpoint.name, method: name, url: endpoint.url, signal };
      const failure = callError(reason, context);
      const cause = onlyReads(method) ? failure : callError(perhapsTaken(failure), { ...context, signal: undefined });
      const { metadata } = ConnectError.from(reason);
      const message = cause instanceof NodeError ? cause.object.message : cause.summary;
      const error = new ConnectError(message, cause.code, metadata, undefined, cause);
      error.details = ConnectError.from(reason).details;
      throw error;
    };
  }

  return {
    unary: (method, signal, timeoutMs, header, message, contextValues) =>
      transport
        .unary(method, signal, timeoutMs, withHeaders(endpoint, header), message, contextValues)
        .catch(failing(method, signal)),

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const fail = failing(method, signal);
      const sent = withHeaders(endpoint, header);
      const response = await transport.stream(method, signal, timeoutMs, sent, input, contextValues).catch(fail);
      return { ...response, message: failingWith(response.message, fail) };
    },

    close: () => transport.close(),
  };
}

/** The failure of a call that does more than read: where it may have arrived, nobody knows whether it was taken. */
function perhapsTaken(failure: TradewireError): TradewireError {
  if (!(failure instanceof ConnectionError && failure.connected)) {
    return failure;
  }
  const { code } = failure;
  const advice = "Look for what the call does before it is made again.";
  const summary = `${failure.summary}; whether the node took the call is unknown`;
  return new ConnectionError(summary, { code, advice, cause: failure });
}

function withHeaders({ headers }: Endpoint, header: ConstructorParameters<typeof Headers>[0]): Headers {
  const all = new Headers(headers);
  new Headers(header).forEach((value, name) => {
    all.set(name, value);
  });
  return all;
}
