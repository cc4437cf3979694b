import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type CallOptions, type Client, createClient, type Transport } from "@connectrpc/connect";
import { requireDescriptor } from "../errors/check-kinds.js";
import type { FailingCall } from "../errors/failing.js";
import { checkConnectOptions } from "../given/call-options.js";
import { readInit } from "../given/init.js";
import { misfit } from "../given/misfit.js";
import { followingController } from "../signal/follow.js";
import { throwingOurErrors } from "./layers/our-errors.js";
import { watched } from "./watched.js";

/**
 * Make a client of a service, such as Connect's own, whose methods throw the library's errors. A stream that is no
 * longer read, as after `break`, is ended; Connect's own client would leave it open. Requests and options are checked
 * before anything is sent, and enum values in requests may be names.
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
  requireDescriptor(service, "service", "TradingDataService of tradewire/api");
  const calls = throwingOurErrors(transport, failing);
  const client = createClient(service, {
    ...calls,
    stream(...call) {
      const response = calls.stream(...call);
      response.catch(() => undefined); // It has failed for who reads it, which may be later, or never.
      return response;
    },
  });
  for (const method of service.methods) {
    const call: unknown = Reflect.get(client, method.localName);
    if (isCall(call)) {
      const ending = answersOnce(method) ? call : endingWhereUnread(call);
      Reflect.set(client, method.localName, checked(method, ending, failing));
    }
  }
  return client;
}

/** A function of a client. */
type Call = (request: unknown, options?: CallOptions) => unknown;

function isCall(call: unknown): call is Call {
  return typeof call === "function";
}

function answersOnce({ methodKind }: DescMethod): boolean {
  return methodKind === "unary" || methodKind === "client_streaming";
}

/** Make a function of a client check what it is given, where plain JavaScript may give anything. */
function checked(method: DescMethod, call: Call, failing: FailingCall): Call {
  const { methodKind, input } = method;
  const asksOnce = methodKind === "unary" || methodKind === "server_streaming";
  const read = (request: unknown) => (request === undefined ? {} : readInit(input, request));
  return (request, options) => {
    try {
      checkConnectOptions(options);
      return call(asksOnce ? read(request) : eachOf(request, read), options);
    } catch (reason) {
      const fail = failing(method, undefined);
      return answersOnce(method) ? Promise.reject(reason).catch(fail) : fail(reason);
    }
  };
}

function eachOf(requests: unknown, read: (request: unknown) => unknown): AsyncIterable<unknown> {
  if (!isAsyncIterable(requests)) {
    throw misfit("the requests", requests, "an async iterable, such as an async generator makes");
  }
  return (async function* () {
    for await (const request of requests) {
      yield read(request);
    }
  })();
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function endingWhereUnread(call: Call): Call {
  return (request, options = {}) => {
    const abort = followingController(options.signal);
    const end = () => abort.abort(); // It also lets go of the caller's signal.
    const messages = call(request, { ...options, signal: abort.signal });
    const failed = (reason: unknown): never => {
      end();
      throw reason;
    };
    return isAsyncIterable(messages) ? watched(messages, { ended: end, failed, left: end }) : messages;
  };
}
