import { ConnectError, type Transport } from "@connectrpc/connect";
import { type FailingCall, failingWith } from "../../errors/failing.js";
import { ConnectionError, NodeError, type TradewireError } from "../../errors/index.js";
import type { HeaderInit } from "../bare-call.js";
import type { ClosableTransport } from "../closable.js";
import { methodName } from "../method-name.js";
import { callError } from "./failure.js";
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
 * A transport whose failures are Connect errors, for interceptors, that are caused by one of the library's errors: the same
 * for the same failure, whichever transport it comes from. Requests carry the endpoint's headers.
 */
export function withOurErrors(transport: ClosableTransport, endpoint: Endpoint): ClosableTransport {
  const failing: FailingCall = (method, signal) => (reason) => {
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
  const failable = failingBy(transport, failing, (header) => withHeaders(endpoint, header));
  return { ...failable, close: () => transport.close() };
}

/**
 * A transport whose failures are the library's errors themselves, for those who call it; what a caller's own function threw
 * is the caller's and passes unchanged.
 */
export function throwingOurErrors(transport: Transport, failing: FailingCall): Transport {
  return failingBy(transport, failing);
}

function failingBy(
  transport: Transport,
  failing: FailingCall,
  headersOf: (header: HeaderInit) => HeaderInit = (header) => header,
): Transport {
  return {
    unary: (method, signal, timeoutMs, header, message, contextValues) =>
      transport
        .unary(method, signal, timeoutMs, headersOf(header), message, contextValues)
        .catch(failing(method, signal)),

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const fail = failing(method, signal);
      const sent = headersOf(header);
      const response = await transport.stream(method, signal, timeoutMs, sent, input, contextValues).catch(fail);
      return { ...response, message: failingWith(response.message, fail) };
    },
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

function withHeaders({ headers }: Endpoint, header: HeaderInit): Headers {
  const all = new Headers(headers);
  new Headers(header).forEach((value, name) => {
    all.set(name, value);
  });
  return all;
}
