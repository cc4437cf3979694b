import { ConnectError, type ContextValues, type Transport } from "@connectrpc/connect";
import { isForbiddenHeader } from "../../config/forbidden-headers.js";
import { exposedHost } from "../../config/loopback.js";
import { type Fail, type FailingCall, failingWith } from "../../errors/failing.js";
import { ConnectionError, NodeError, RequestError, type TradewireError } from "../../errors/index.js";
import type { HeaderInit } from "../bare-call.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import type { SentTo } from "../hooks.js";
import { methodName } from "../method-name.js";
import { noteSentTo } from "../sent-to.js";
import { limitEmpty } from "./empty-results.js";
import { callError } from "./failure.js";
import { hasOneAnswer, withOneAnswer } from "./one-answer.js";
import { onlyReads } from "./read-method.js";
import { timeLeft } from "./time-limits.js";

/** The settings of a transport that its errors and requests need. */
export interface Endpoint {
  /** The transport's name in the configuration. */
  readonly name: string;
  /** Where the node is. */
  readonly url: string;
  /** Addresses that are taken instead of the URL's host. */
  readonly addresses?: readonly string[] | undefined;
  /** Headers of every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether headers may go over plain HTTP to other machines. */
  readonly allowInsecureHeaders?: boolean | undefined;
}

/**
 * Make a transport whose failures are Connect errors, for interceptors, caused by one of the library's errors. The same
 * failure has the same error over every transport. Requests carry the endpoint's headers.
 *
 * @param transport the transport that makes the calls
 * @param endpoint the transport's name and URL, for errors, and its headers; a call's own headers override them
 * @returns the transport; closing it closes `transport`
 */
export function withOurErrors(transport: AnyTransport, endpoint: Endpoint): ClosableTransport {
  const sentTo: SentTo = { transport: endpoint.name, url: endpoint.url };
  const failing: FailingCall = (method, signal, contextValues) => (reason) => {
    const name = methodName(method);
    const leftMs = contextValues && timeLeft(contextValues);
    const call = { method: name, signal, leftMs, hasOneAnswer: hasOneAnswer(method) };
    const context = { transport: endpoint.name, url: endpoint.url, ...call };
    const failure = callError(reason, context);
    const cause = onlyReads(method) ? failure : callError(perhapsTaken(failure), { ...context, signal: undefined });
    const { metadata } = ConnectError.from(reason);
    const message = cause instanceof NodeError ? cause.object.message : cause.summary;
    const error = new ConnectError(message, cause.code, metadata, undefined, cause);
    error.details = ConnectError.from(reason).details;
    throw error;
  };
  const exposed = endpoint.allowInsecureHeaders === true ? undefined : exposedHost(endpoint);
  const failable = failingBy(transport, failing, (header, contextValues) => {
    const headers = withHeaders(endpoint.headers, exposed, header);
    contextValues && noteSentTo(contextValues, sentTo);
    return headers;
  });
  return { ...failable, close: async () => transport.close?.() };
}

/**
 * Make a transport whose failures are the library's errors themselves, for its callers.
 *
 * @param transport a transport, such as {@link withOurErrors} makes
 * @param failing makes, for a call, the function that throws its failure
 * @returns the transport; its failures are those that `failing` throws
 */
export function throwingOurErrors(transport: Transport, failing: FailingCall): Transport {
  return failingBy(transport, failing);
}

function failingBy(
  transport: Transport,
  failing: FailingCall,
  headersOf: (header: HeaderInit, contextValues: ContextValues | undefined) => HeaderInit = (header) => header,
): Transport {
  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const fail = failing(method, signal, contextValues);
      const sent = given(() => headersOf(header, contextValues), fail);
      return transport.unary(method, signal, timeoutMs, sent, message, contextValues).catch(fail);
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const fail = failing(method, signal, contextValues);
      const sent = given(() => headersOf(header, contextValues), fail);
      const response = await transport.stream(method, signal, timeoutMs, sent, input, contextValues).catch(fail);
      const answers = limitEmpty(method.output, withOneAnswer(method, response.message));
      return { ...response, message: failingWith(answers, fail) };
    },
  };
}

function given<T>(take: () => T, fail: Fail): T {
  try {
    return take();
  } catch (reason) {
    return fail(reason);
  }
}

/** The failure of a call that does more than read. With a connection it may have arrived, so its outcome is unknown. */
function perhapsTaken(failure: TradewireError): TradewireError {
  if (!(failure instanceof ConnectionError && failure.connected)) {
    return failure;
  }
  const { code } = failure;
  const advice = "Look for what the call does before it is made again.";
  const summary = `${failure.summary}; whether the node took the call is unknown`;
  return new ConnectionError(summary, { code, advice, cause: failure, isClosed: failure.isClosed });
}

/** The headers of a call, over those of every call. Where they must not go over plain HTTP, `exposed` is the host. */
function withHeaders(everyCalls: Endpoint["headers"], exposed: string | undefined, header: HeaderInit): Headers {
  const all = new Headers(everyCalls);
  const own = header instanceof Headers ? header : new Headers(header);
  own.forEach((value, name) => {
    if (isForbiddenHeader(name)) {
      throw new RequestError(`the header ${name} of the call is one that only the connection sets`, {
        advice: "Leave it out; nothing was sent.",
      });
    }
    if (exposed !== undefined) {
      throw new RequestError(`the header ${name} of the call would go over plain HTTP to ${exposed}`, {
        advice: "Use https, or set allowInsecureHeaders; nothing was sent.",
      });
    }
    all.set(name, value);
  });
  return all;
}
