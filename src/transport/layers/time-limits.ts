import { type DescMethod, isMessage } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Interceptor,
} from "@connectrpc/connect";
import type { TimeoutConfig } from "../../config/schema.js";
import { MAX_TIMER_MS, monotonicMs } from "../../runtime/index.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import { runStreaming } from "../run-streaming.js";
import { runUnary } from "../run-unary.js";
import { isEndUnsent } from "./failure.js";

/** A call as interceptors see it. */
type Call = ReturnType<Interceptor>;

/**
 * Make a transport with interceptors and a time limit for a whole call that does not stream. The inner transport gets
 * the rest of a call's time.
 *
 * @param transport the transport that makes the calls
 * @param options the URL that interceptors see, the time limit in milliseconds, Connect's interceptors, and whether
 *   someone may listen at the signal of a call that does not stream; else the time ends the signal that the call is given
 * @returns the transport; closing it closes `transport`
 */
export function limited(
  transport: AnyTransport,
  {
    url,
    timeouts,
    interceptors = [],
    isWatched = true,
  }: {
    readonly url: string;
    readonly timeouts: Pick<TimeoutConfig, "callMs">;
    readonly interceptors?: readonly Interceptor[];
    readonly isWatched?: boolean;
  },
): ClosableTransport {
  const base = url.replace(/\/$/, "");
  const urlOf = (method: DescMethod) => `${base}/${method.parent.typeName}/${method.name}`;

  return {
    async unary(method, signal, timeoutMs = timeouts.callMs, header, message, contextValues = createContextValues()) {
      const limit = timeLimit(timeoutMs, contextValues);
      let unsent: unknown;
      const keepUnsent = (reason: unknown): never => {
        unsent = isEndUnsent(reason) ? reason : undefined;
        throw reason;
      };
      const call: Call = async (req) => {
        if (req.stream) {
          throw changedKind();
        }
        const { method, signal, header, message, contextValues } = req;
        return transport.unary(method, signal, limit.left(), header, message, contextValues).catch(keepUnsent);
      };
      const intercepted = interceptors.reduceRight((next, interceptor) => interceptor(next), call);
      return runUnary({
        signal,
        timeoutMs: limit.timeoutMs,
        isWatched,
        req: {
          stream: false,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: urlOf(method),
          header: new Headers(header),
          contextValues: limit.values,
          message,
        },
        async next(req) {
          const response = await intercepted(req);
          if (response.stream || !isMessage(response.message, method.output)) {
            throw changedKind();
          }
          const { service, header, message, trailer } = response;
          return { stream: false, service, method, header, message, trailer };
        },
      }).catch((reason: unknown) => {
        throw unsent ?? reason; // Connect puts the signal's reason in the place of an error.
      });
    },

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      const limit = timeLimit(timeoutMs, contextValues);
      return runStreaming({
        interceptors: [...interceptors],
        signal,
        timeoutMs: limit.timeoutMs,
        req: {
          stream: true,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: urlOf(method),
          header: new Headers(header),
          contextValues: limit.values,
          message: input,
        },
        next: (req) => transport.stream(method, req.signal, limit.left(), req.header, req.message, req.contextValues),
      });
    },

    close: async () => transport.close?.(),
  };
}

function changedKind(): ConnectError {
  return new ConnectError("an interceptor has made another kind of call of one that does not stream", Code.Internal);
}

const endKey = createContextKey<number | undefined>(undefined, { description: "when the call's time is up" });

/**
 * Find how much of a call's time is left.
 *
 * @param contextValues the call's context values
 * @returns the time in milliseconds; undefined where it has no limit
 */
export function timeLeft(contextValues: ContextValues): number | undefined {
  const end = contextValues.get(endKey);
  return end === undefined ? undefined : end - monotonicMs();
}

/**
 * The time limit of a call, and the context values that carry it: the caller's, which keep what is set in them, but not
 * this limit. They may be those of another limit around this one. As in Connect, a time of 0 or less stands for none, and
 * so does an infinite one. A time that is too long for a timer is shortened to the longest, of 24 days.
 */
function timeLimit(givenMs: number | undefined, callers: ContextValues) {
  const isLimited = givenMs !== undefined && givenMs > 0 && givenMs !== Number.POSITIVE_INFINITY;
  const timeoutMs = isLimited ? Math.min(givenMs, MAX_TIMER_MS) : undefined;
  const end = timeoutMs === undefined ? undefined : monotonicMs() + timeoutMs;
  const own = createContextValues().set(endKey, end);
  const values: ContextValues = {
    get: (key) => (key.id === endKey.id ? own : callers).get(key),
    set(key, value) {
      (key.id === endKey.id ? own : callers).set(key, value);
      return values;
    },
    delete(key) {
      (key.id === endKey.id ? own : callers).delete(key);
      return values;
    },
  };
  return {
    values,
    timeoutMs,
    left: () => (end === undefined ? undefined : Math.max(Math.ceil(end - monotonicMs()), 1)),
  };
}
