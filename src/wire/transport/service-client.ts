import {
  create,
  type DescMessage,
  type DescMethod,
  type DescMethodBiDiStreaming,
  type DescMethodClientStreaming,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  type DescService,
  isMessage,
  type Message,
  type MessageShape,
} from "@bufbuild/protobuf";
import {
  type Client,
  createClient,
  createContextValues,
  type Transport,
  type UnaryResponse,
} from "@connectrpc/connect";
import type { CallErrorMapper } from "../../base/errors/call-errors.js";
import { RequestError } from "../../base/errors/index.js";
import { invalidTypeError } from "../../base/input/assert.js";
import { type ServiceCallOptions, validateServiceOptions } from "../../base/input/call-options.js";
import type { InitOf } from "../../base/input/init.js";
import { parseMessageInit } from "../../base/input/message-init.js";
import { snapshot, snapshotData } from "../../base/input/snapshot.js";
import { linkedController } from "../../base/signal/abort.js";
import { isSubmitting } from "../config/submitting-methods.js";
import { writingJson } from "../json/message-json.js";
import { repeatabilityKey, withOwnContextValue } from "./call-context.js";
import { registryOf } from "./layered.js";
import { throwingOurErrors } from "./library-errors.js";
import { handleStream } from "./message-streams.js";
import { hasSingleResponse, isUnary, methodName, streamsRequests } from "./method.js";

/**
 * A client of a service, with a function for each method, as Connect's, whose calls have {@link ServiceCallOptions} and accept the
 * names of enum values.
 */
export type ServiceClient<S extends DescService> = {
  readonly [Name in keyof S["method"]]: MethodClient<S["method"][Name]>;
};

/** The function of a method. */
type MethodClient<M extends DescMethod> =
  M extends DescMethodUnary<infer I, infer O>
    ? (request: InitOf<I>, options?: ServiceCallOptions) => Promise<MessageShape<O>>
    : M extends DescMethodServerStreaming<infer I, infer O>
      ? (request: InitOf<I>, options?: ServiceCallOptions) => AsyncIterable<MessageShape<O>>
      : M extends DescMethodClientStreaming<infer I, infer O>
        ? (requests: AsyncIterable<InitOf<I>>, options?: ServiceCallOptions) => Promise<MessageShape<O>>
        : M extends DescMethodBiDiStreaming<infer I, infer O>
          ? (requests: AsyncIterable<InitOf<I>>, options?: ServiceCallOptions) => AsyncIterable<MessageShape<O>>
          : never;

/**
 * Creates a client of a service like Connect's own, whose methods throw the library's errors. Ends a stream that is no
 * longer read, for example after `break`; Connect's client would leave it open. Requests and options are checked before
 * anything is sent, and enum values in requests may be names.
 */
export function createServiceClient<S extends DescService>(
  service: S,
  transport: Transport,
  failing: CallErrorMapper,
): ServiceClient<S>;
export function createServiceClient(
  service: DescService,
  transport: Transport,
  failing: CallErrorMapper,
): Client<DescService> {
  const calls = throwingOurErrors(transport, failing);
  const client = createClient(service, {
    ...calls,
    stream(...call) {
      const response = calls.stream(...call);
      response.catch(() => undefined); // The reader gets the failure, which may be later, or never.
      return response;
    },
  });
  for (const method of service.methods) {
    const write = writingJson(method.output, registryOf(transport));
    const call: unknown = Reflect.get(client, method.localName);
    if (isUnary(method)) {
      Reflect.set(client, method.localName, unaryCall(method, transport, write, failing));
    } else if (isCall(call)) {
      const ending = hasSingleResponse(method) ? withWrittenJson(call, write) : withEndOnReturn(call, write);
      Reflect.set(client, method.localName, withInputChecks(method, ending, failing));
    }
  }
  return client;
}

/**
 * Returns the function of a unary method. Its failures have the caller in their stack if the caller awaits it, directly or not:
 * V8 then knows the caller at the time of the failure. To record every caller would take a tenth of a small call.
 */
function unaryCall(method: DescMethodUnary, transport: Transport, write: WriteJson, failing: CallErrorMapper): Call {
  return async (request, givenOptions) => {
    let options: ServiceCallOptions | undefined;
    try {
      options = snapshot(givenOptions);
      validateServiceOptions(options);
    } catch (reason) {
      return failing(method, undefined)(reason);
    }
    let response: UnaryResponse;
    try {
      const { signal, timeoutMs, headers, contextValues } =
        options === undefined ? NO_OPTIONS : withRepeatability(method, options);
      const message = readRequest(method.input, request);
      response = await transport.unary(method, signal, timeoutMs, headers, message, contextValues);
    } catch (reason) {
      return failing(method, options?.signal)(reason);
    }
    options?.onHeader?.(response.header);
    options?.onTrailer?.(response.trailer);
    return write(response.message);
  };
}

const NO_OPTIONS: ServiceCallOptions = {};

/** Reads a request once, which may be anything in plain JavaScript. */
function readRequest(input: DescMessage, request: unknown): Message {
  return create(input, request === undefined ? undefined : parseMessageInit(input, snapshotData(request)));
}

type Call = (request: unknown, options?: ServiceCallOptions) => unknown;

function isCall(call: unknown): call is Call {
  return typeof call === "function";
}

/** Returns a function of a client that validates its arguments, which may be anything in plain JavaScript. */
function withInputChecks(method: DescMethod, call: Call, failing: CallErrorMapper): Call {
  const { methodKind, input } = method;
  const hasSingleRequest = methodKind === "unary" || methodKind === "server_streaming";
  const read = (request: unknown) => readRequest(input, request);
  return (request, givenOptions) => {
    try {
      const options = snapshot(givenOptions);
      validateServiceOptions(options);
      return call(hasSingleRequest ? read(request) : readEach(request, read), withRepeatability(method, options));
    } catch (reason) {
      const fail = failing(method, undefined);
      return hasSingleResponse(method) ? Promise.reject(reason).catch(fail) : fail(reason);
    }
  };
}

/** Returns the options for Connect, with `retry` in the context values. */
function withRepeatability(method: DescMethod, options: ServiceCallOptions | undefined): ServiceCallOptions {
  const { retry, ...connectOptions } = options ?? {};
  if (retry === undefined) {
    return connectOptions;
  }
  if (retry && isSubmitting(methodName(method))) {
    const advice = "Omit it: transactions are never retried. Nothing was sent.";
    throw new RequestError(`cannot be true for ${method.name}`, { option: "retry", advice });
  }
  if (retry && streamsRequests(method)) {
    const advice = "Omit it: streamed requests cannot be retried.";
    throw new RequestError(`cannot be true for ${method.name}`, { option: "retry", advice });
  }
  const { contextValues = createContextValues() } = connectOptions;
  const repeatability = retry ? "declared" : "disabled";
  return { ...connectOptions, contextValues: withOwnContextValue(contextValues, repeatabilityKey, repeatability) };
}

function readEach(requests: unknown, read: (request: unknown) => unknown): AsyncIterable<unknown> {
  if (!isAsyncIterable(requests)) {
    throw invalidTypeError("requests", requests, "an async iterable, such as an async generator returns");
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

type WriteJson = ReturnType<typeof writingJson>;

function withWrittenJson(call: Call, write: WriteJson): Call {
  return async (request, options) => {
    const message = await call(request, options);
    return isMessage(message) ? write(message) : message;
  };
}

function withEndOnReturn(call: Call, write: WriteJson): Call {
  return (request, options = {}) => {
    const abort = linkedController(options.signal);
    const end = () => abort.abort(); // This also removes the listener from the caller's signal.
    const messages = call(request, { ...options, signal: abort.signal });
    const onMessage = (message: unknown) => isMessage(message) && write(message);
    const onError = (reason: unknown): never => {
      end();
      throw reason;
    };
    return isAsyncIterable(messages)
      ? handleStream(messages, { onMessage, onEnd: end, onError, onReturn: end })
      : messages;
  };
}
