/**
 * Reports calls as spans and metrics of OpenTelemetry.
 *
 * @module tradewire/opentelemetry
 */

import type { Interceptor } from "@connectrpc/connect";
import {
  type Attributes,
  type Context,
  type Counter,
  context,
  createNoopMeter,
  type Histogram,
  metrics,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import type { TradewireError } from "../../base/errors/index.js";
import { assertKnownKeys, assertOneOf } from "../../base/input/assert.js";
import { callIdKey } from "../transport/call-context.js";
import type { CallEnd, CallInfo, Hooks } from "../transport/hooks.js";

/** Options of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /**
   * Whether requests carry the trace context, for example in `traceparent`, by the registered propagator. They do not
   * by default, because a node usually belongs to someone else. It is a header of the call, and is sent over plain HTTP
   * to another machine only if `allowInsecureHeaders` is set.
   */
  readonly propagate?: boolean | undefined;
}

/** The options that connect a client or a transport to OpenTelemetry. */
export interface OpenTelemetryParts {
  /** The hooks; absent if no SDK is registered, because hooks have a small cost. */
  readonly hooks?: Hooks;
  /** One interceptor, in which the call's span is active; none without an SDK. Interceptors after it are in the span. */
  readonly interceptors: readonly Interceptor[];
}

interface TracedCall {
  readonly span: Span;
  /** The context in which the span is active. */
  readonly context: Context;
  attempts: number;
}

const headerSetter = { set: (carrier: Headers, name: string, value: string) => carrier.set(name, value) };

/**
 * Returns the options that report calls to OpenTelemetry: a span for each, by the semantic conventions for RPC, and metrics.
 *
 * Register the SDK first. If no SDK is registered at this time, nothing is reported, at no cost.
 *
 * @param options `propagate` sends the trace context to the node
 * @returns hooks and an interceptor, for any number of clients
 * @throws `RequestError` if an option is unknown or wrong
 *
 * @example
 * const client = createClient({ grpc: { url: "https://node.example:3007" } }, openTelemetry());
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetryParts {
  assertKnownKeys("options", options, { propagate: true });
  const { propagate = false } = options;
  assertOneOf("propagate", propagate, [true, false]);
  const instruments = createInstruments();
  if (instruments === undefined && !hasTracer()) {
    return { interceptors: [] };
  }
  const calls = new Map<number, TracedCall>();
  return { hooks: createHooks(calls, instruments), interceptors: [createInterceptor(calls, propagate)] };
}

function createHooks(calls: Map<number, TracedCall>, instruments: Instruments | undefined): Hooks {
  const tracer = trace.getTracer("tradewire");

  function addEvent(id: number, name: string, attributes: Attributes): void {
    calls.get(id)?.span.addEvent(name, attributes);
  }

  return {
    onCallStart(call) {
      const span = tracer.startSpan(call.method, { kind: SpanKind.CLIENT, attributes: startAttributes(call) });
      calls.set(call.id, { span, context: trace.setSpan(context.active(), span), attempts: 1 });
    },

    onCallEnd(call, end) {
      const traced = calls.get(call.id);
      calls.delete(call.id);
      if (traced === undefined || (!traced.span.isRecording() && instruments === undefined)) {
        return;
      }
      const { span, attempts } = traced;
      const attributes = endAttributes(call, end);
      span.setAttributes({ ...attributes, "tradewire.tries": attempts, "tradewire.messages": end.messages });
      if (end.error !== undefined && !isCanceled(end.error)) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: end.error.summary });
      }
      instruments?.duration.record(end.durationMs / 1000, attributes, traced.context);
      span.end();
    },

    onRetry({ id, method, attempt, delayMs, error }) {
      const traced = calls.get(id);
      if (traced !== undefined) {
        traced.attempts = attempt + 1;
      }
      const reason = { "error.type": errorType(error) };
      addEvent(id, "tradewire.retry", { ...reason, "tradewire.try": attempt, "tradewire.delay": delayMs / 1000 });
      instruments?.retries.add(1, { "rpc.method": method, ...reason });
    },

    onWait({ id, method, waitMs, reason }) {
      addEvent(id, "tradewire.wait", { "tradewire.reason": reason, "tradewire.delay": waitMs / 1000 });
      instruments?.waits.record(waitMs / 1000, { "rpc.method": method, "tradewire.reason": reason });
    },

    onFallback({ id, method, from, to, error }) {
      const attributes = { "error.type": errorType(error), "tradewire.from": from, "tradewire.to": to };
      addEvent(id, "tradewire.fallback", attributes);
      instruments?.fallbacks.add(1, { "rpc.method": method, ...attributes });
    },

    // Without a meter, the hook is left out: the size of a message costs as much as writing it.
    ...(instruments && {
      onBytes({ method, transport }, count) {
        instruments.bytes.add(count, { "rpc.method": method, "tradewire.transport": transport });
      },
    }),
  };
}

function createInterceptor(calls: ReadonlyMap<number, TracedCall>, propagate: boolean): Interceptor {
  return (next) => async (req) => {
    const traced = calls.get(req.contextValues.get(callIdKey) ?? 0);
    if (traced === undefined) {
      return next(req); // The caller did not install the hooks.
    }
    if (propagate) {
      propagation.inject(traced.context, req.header, headerSetter);
    }
    const response = await context.with(traced.context, () => next(req));
    return response.stream ? { ...response, message: inContext(traced.context, response.message) } : response;
  };
}

/** Returns messages that are read in a context. Their reader stays in its own. */
function inContext<T>(active: Context, messages: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = context.with(active, () => messages[Symbol.asyncIterator]());
      return {
        next: () => context.with(active, () => iterator.next()),
        async return(value?: unknown) {
          await context.with(active, async () => iterator.return?.());
          return { done: true, value };
        },
      };
    },
  };
}

function hasTracer(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer("tradewire") !== undefined;
}

/** The HTTP version of each of this library's transports. */
const HTTP_VERSIONS: Readonly<Record<string, string>> = { grpc: "2", "grpc-js": "2", rest: "1.1" };

/** Returns the attributes of a call that starts, for samplers. */
function startAttributes({ method, transport }: CallInfo): Attributes {
  return { "rpc.system.name": "grpc", "rpc.method": method, "tradewire.transport": transport };
}

/** Returns the attributes of a call that has ended, for its span and for metrics. Each has few possible values. */
function endAttributes(call: CallInfo, { error, sentTo }: CallEnd): Attributes {
  const transport = sentTo?.transport ?? error?.transport ?? call.transport;
  const version = HTTP_VERSIONS[transport];
  return {
    ...startAttributes({ ...call, transport }),
    "rpc.response.status_code": error === undefined ? "OK" : error.toJSON().code,
    ...(error !== undefined && !isCanceled(error) && { "error.type": errorType(error) }),
    ...(sentTo && serverAttributes(sentTo.url)),
    ...(version !== undefined && { "network.protocol.name": "http", "network.protocol.version": version }),
  };
}

/** Returns the type of a failure: the node's code if it sent one, or the class of the error. */
function errorType(error: TradewireError): string {
  return error.name === "NodeError" ? error.toJSON().code : error.name;
}

/**
 * Returns whether the caller has ended the call, which is not an error of the call. To import the class would load more
 * code.
 */
function isCanceled(error: TradewireError): boolean {
  return error.name === "CanceledError";
}

function serverAttributes(text: string): Attributes {
  const { hostname, port, protocol } = new URL(text);
  return {
    "server.address": hostname.replace(/^\[(.*)\]$/, "$1"),
    "server.port": Number(port || (protocol === "https:" ? 443 : 80)),
  };
}

interface Instruments {
  readonly duration: Histogram;
  readonly bytes: Counter;
  readonly retries: Counter;
  readonly fallbacks: Counter;
  readonly waits: Histogram;
}

/** The bucket boundaries of the semantic conventions, in seconds. */
const BUCKET_BOUNDARIES = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Creates the instruments with the registered meter; `undefined` if no meter provider is registered. */
function createInstruments(): Instruments | undefined {
  const meter = metrics.getMeter("tradewire");
  if (meter === createNoopMeter()) {
    return undefined;
  }
  return {
    duration: meter.createHistogram("rpc.client.call.duration", {
      description: "Measures the duration of an outgoing Remote Procedure Call (RPC).",
      unit: "s",
      advice: { explicitBucketBoundaries: BUCKET_BOUNDARIES },
    }),
    bytes: meter.createCounter("tradewire.client.received", {
      description: "Bytes of received messages, in binary form.",
      unit: "By",
    }),
    retries: meter.createCounter("tradewire.client.retries", {
      description: "Calls that were retried.",
      unit: "{retry}",
    }),
    fallbacks: meter.createCounter("tradewire.client.fallbacks", {
      description: "Calls that were repeated over another transport.",
      unit: "{fallback}",
    }),
    waits: meter.createHistogram("tradewire.client.wait.duration", {
      description: "Expected waiting time of calls because of rate limits.",
      unit: "s",
      advice: { explicitBucketBoundaries: BUCKET_BOUNDARIES },
    }),
  };
}
