import type { Interceptor } from "@connectrpc/connect";
import {
  type Attributes,
  type Context,
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { requireKnown, requireOneOf } from "../errors/check-values.js";
import { callKey } from "../transport/call-key.js";
import type { Hooks } from "../transport/hooks.js";
import { endAttributes, errorType, isCanceled, startAttributes } from "./attributes.js";
import { inContext } from "./in-context.js";
import { createInstruments } from "./instruments.js";

/** What OpenTelemetry is told, beside spans and metrics. */
export interface OpenTelemetryOptions {
  /**
   * Whether requests carry the context, as in `traceparent`, by the propagator that is registered; by default not, for a
   * node is mostly someone else's. It is a header of the call, and goes over plain HTTP to another machine only where
   * `allowInsecureHeaders` says so.
   */
  readonly propagate?: boolean | undefined;
}

/** What a client or a transport takes to be seen by OpenTelemetry. */
export interface OpenTelemetryParts {
  /** Absent where no SDK is registered: hooks cost a little, also where nobody listens. */
  readonly hooks?: Hooks;
  /** One, in which the call's span is active; none without an SDK. Interceptors behind it are in the span. */
  readonly interceptors: readonly Interceptor[];
}

interface TracedCall {
  readonly span: Span;
  /** The context in which the span is active. */
  readonly context: Context;
  tries: number;
}

const headers = { set: (carrier: Headers, name: string, value: string) => carrier.set(name, value) };

/**
 * Make what tells OpenTelemetry of calls: a span for each, by the semantic conventions for RPC, and metrics.
 *
 * Register the SDK before. Without one, at that time, nothing is told, and calls cost what they cost without this.
 *
 * @param options `propagate` sends the context to the node
 * @returns hooks and an interceptor, for any number of clients
 * @throws `RequestError` where an option is unknown or wrong
 *
 * @example
 * const client = createClient({ grpc: { url: "https://node.example:3007" } }, openTelemetry());
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): OpenTelemetryParts {
  requireKnown("options", options, { propagate: true });
  const { propagate = false } = options;
  requireOneOf("propagate", propagate, [true, false]);
  const tracer = trace.getTracer("tradewire");
  const instruments = createInstruments();
  if (instruments === undefined && !isTraced()) {
    return { interceptors: [] };
  }
  const calls = new Map<number, TracedCall>();

  function addEvent(id: number, name: string, attributes: Attributes): void {
    calls.get(id)?.span.addEvent(name, attributes);
  }

  const hooks: Hooks = {
    onCallStart(call) {
      const span = tracer.startSpan(call.method, { kind: SpanKind.CLIENT, attributes: startAttributes(call) });
      calls.set(call.id, { span, context: trace.setSpan(context.active(), span), tries: 1 });
    },

    onCallEnd(call, end) {
      const traced = calls.get(call.id);
      calls.delete(call.id);
      if (traced === undefined || (!traced.span.isRecording() && instruments === undefined)) {
        return;
      }
      const { span, tries } = traced;
      const attributes = endAttributes(call, end);
      span.setAttributes({ ...attributes, "tradewire.tries": tries, "tradewire.messages": end.messages });
      if (end.error !== undefined && !isCanceled(end.error)) {
        span.setStatus({ code: SpanStatusCode.ERROR, message: end.error.summary });
      }
      instruments?.duration.record(end.durationMs / 1000, attributes, traced.context);
      span.end();
    },

    onRetry({ id, method, attempt, delayMs, error }) {
      const traced = calls.get(id);
      if (traced !== undefined) {
        traced.tries = attempt + 1;
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
      const way = { "error.type": errorType(error), "tradewire.from": from, "tradewire.to": to };
      addEvent(id, "tradewire.fallback", way);
      instruments?.fallbacks.add(1, { "rpc.method": method, ...way });
    },

    // Bytes are only counted for someone: the size of a message costs as much as to write it.
    ...(instruments && {
      onBytes({ method, transport }, count) {
        instruments.bytes.add(count, { "rpc.method": method, "tradewire.transport": transport });
      },
    }),
  };

  const interceptor: Interceptor = (next) => async (req) => {
    const traced = calls.get(req.contextValues.get(callKey) ?? 0);
    if (traced === undefined) {
      return next(req); // The hooks were left out.
    }
    if (propagate) {
      propagation.inject(traced.context, req.header, headers);
    }
    const response = await context.with(traced.context, () => next(req));
    return response.stream ? { ...response, message: inContext(traced.context, response.message) } : response;
  };

  return { hooks, interceptors: [interceptor] };
}

/** Whether a provider of tracers is registered. */
function isTraced(): boolean {
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer("tradewire") !== undefined;
}
