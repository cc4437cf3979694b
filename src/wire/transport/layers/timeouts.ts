import { create, type DescMethod, isMessage } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues, type Interceptor } from "@connectrpc/connect";
import { Code } from "../../../base/errors/code.js";
import { ConnectionError } from "../../../base/errors/index.js";
import { MAX_TIMER_MS, monotonicMs, startAwakeTimer, startTimer } from "../../../base/runtime/index.js";
import { lazyControllerOf, linkedController } from "../../../base/signal/abort.js";
import type { TimeoutConfig } from "../../config/config-schema.js";
import { isHttpBody } from "../../json/message-json.js";
import { asLimit, deadlineKey, setReceiveListener, withOwnContextValue } from "../call-context.js";
import { deadlineError } from "../call-failure.js";
import { layered, sendUnary } from "../layered.js";
import { handleStream } from "../message-streams.js";
import { endOf, runStreaming, runUnary } from "../run-call.js";
import type { AnyTransport, ClosableTransport } from "../transport-types.js";

/** A call as interceptors see it. */
type InterceptedCall = ReturnType<Interceptor>;

/**
 * Returns a transport with interceptors and a deadline for each call. The inner transport gets the remaining time of a call. Only
 * unary calls have a deadline by default.
 *
 * @param transport the transport that makes the calls
 * @param options the URL that interceptors see; the default time limit in milliseconds; Connect's interceptors; and whether
 *   anyone may listen to the signal of a unary call, which is the default. Otherwise a call that comes from {@link closing} needs
 *   no signal of its own: the deadline aborts that one. There are no interceptors then.
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
    readonly interceptors?: readonly Interceptor[] | undefined;
    readonly isWatched?: boolean | undefined;
  },
): ClosableTransport {
  const base = url.replace(/\/$/, "");
  const urlOf = (method: DescMethod) => `${base}/${method.parent.typeName}/${method.name}`;

  return layered(transport, {
    async unary(call, next) {
      const { method, signal, timeoutMs = timeouts.callMs, header, contextValues } = call;
      const deadline = callDeadline(timeoutMs, contextValues);
      const message = create(method.input, call.message);
      const controller = isWatched ? undefined : lazyControllerOf(signal);
      if (controller !== undefined) {
        // An iterable of headers can be read only once.
        const ofCall = {
          ...call,
          timeoutMs: deadline.timeoutMs,
          header: header === undefined ? undefined : new Headers(header),
          message,
          contextValues: deadline.values,
        };
        // Nobody else listens to the signal, so the call needs none of its own: signals take a large part of a small call.
        const onDeadline = () => controller.abort(deadlineError());
        const stopTimer = deadline.timeoutMs === undefined ? undefined : startTimer(onDeadline, deadline.timeoutMs);
        try {
          return await next(ofCall);
        } catch (reason) {
          throw endOf(controller.signal, reason);
        } finally {
          stopTimer?.();
        }
      }
      let timed: AbortSignal | undefined;
      const sent: InterceptedCall = async (req) => {
        if (req.stream) {
          throw changedKind();
        }
        const { method, signal, header, message } = req;
        const contextValues = signal === timed ? req.contextValues : withoutDeadline(req.contextValues);
        return sendUnary(transport, { method, signal, timeoutMs: deadline.leftMs(), header, message, contextValues });
      };
      const intercepted = interceptors.reduceRight((next, interceptor) => interceptor(next), sent);
      return runUnary({
        signal,
        timeoutMs: deadline.timeoutMs,
        req: {
          stream: false,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: urlOf(method),
          header: new Headers(header),
          contextValues: deadline.values,
          message,
        },
        async next(req) {
          timed = req.signal;
          const response = await intercepted(req);
          if (response.stream || !isMessage(response.message, method.output)) {
            throw changedKind();
          }
          const { service, header, message, trailer } = response;
          return { stream: false, service, method, header, message, trailer };
        },
      });
    },

    async stream({ method, signal, timeoutMs, header, message, contextValues }, send) {
      const deadline = callDeadline(timeoutMs, contextValues);
      let timed: AbortSignal | undefined;
      const first: Interceptor = (next) => (req) => {
        timed = req.signal;
        return next(req);
      };
      return runStreaming({
        interceptors: [first, ...interceptors],
        signal,
        timeoutMs: deadline.timeoutMs,
        req: {
          stream: true,
          service: method.parent,
          method,
          requestMethod: "POST",
          url: urlOf(method),
          header: new Headers(header),
          contextValues: deadline.values,
          message,
        },
        next({ signal, header, message, contextValues: values }) {
          const contextValues = signal === timed ? values : withoutDeadline(values);
          return send({ method, signal, timeoutMs: deadline.leftMs(), header, message, contextValues });
        },
      });
    },
  });
}

/** Returns the context values of a call to which an interceptor gave another signal, which the deadline does not abort. */
function withoutDeadline(contextValues: ContextValues): ContextValues {
  return withOwnContextValue(contextValues, deadlineKey, undefined);
}

function changedKind(): ConnectError {
  return new ConnectError("an interceptor changed a unary call to another kind of call", Code.Internal);
}

/**
 * Returns the deadline of a call, and context values that carry it: the caller's may be those of another deadline around
 * this one. As in Connect, a time of 0 or less means no deadline, and so does an infinite one. A time that is too long for a
 * timer is shortened to the longest, 24 days.
 */
function callDeadline(limitMs: number | undefined, callers: ContextValues) {
  const isLimited = limitMs !== undefined && limitMs > 0 && limitMs !== Number.POSITIVE_INFINITY;
  const timeoutMs = isLimited ? Math.min(limitMs, MAX_TIMER_MS) : undefined;
  const deadline = timeoutMs === undefined ? undefined : monotonicMs() + timeoutMs;
  return {
    values: withOwnContextValue(callers, deadlineKey, deadline),
    timeoutMs,
    leftMs: () => (deadline === undefined ? undefined : asLimit(deadline - monotonicMs())),
  };
}

/** The default time limit for silence during a download, in milliseconds. */
const DOWNLOAD_IDLE_MS = 60_000;

/**
 * Returns a transport whose streams end when nothing arrives for too long, or when they are no longer read. Only time
 * during which the reader waits counts. If the transport reports bytes, every byte restarts the time.
 *
 * @param transport the transport that makes the calls
 * @param idleMs the time limit for silence, in milliseconds; by default 60 000 for streams of `google.api.HttpBody`, which
 *   are downloads, and none for others, since a stream of events may be silent
 * @returns the transport; closing it closes `transport`
 */
export function idleLimited(transport: AnyTransport, idleMs: number | undefined): ClosableTransport {
  return layered(transport, {
    async stream(call, next) {
      const limitMs = idleMs ?? (isHttpBody(call.method.output) ? DOWNLOAD_IDLE_MS : undefined);
      const abort = linkedController(call.signal);
      const timer = limitMs === undefined ? NO_TIMER : startIdleTimer(limitMs, () => abort.abort(idleError(limitMs)));
      setReceiveListener(call.contextValues, timer.onReceive);
      abort.signal.addEventListener("abort", timer.stop); // The reader of an aborted stream may never ask for its end.
      const end = () => abort.abort();
      const onError = (reason: unknown): never => {
        end();
        throw reason;
      };
      const response = await next({ ...call, signal: abort.signal }).catch(onError);
      timer.pause();
      const message = handleStream(response.message, {
        next(messages) {
          timer.restart();
          return messages.next();
        },
        onMessage: timer.pause,
        onEnd: end,
        onError,
        onReturn: end,
      });
      return { ...response, message };
    },
  });
}

interface IdleTimer {
  restart(): void;
  /** Restarts the timer unless it is paused: bytes may arrive while the reader is busy. */
  onReceive(): void;
  pause(): void;
  stop(): void;
}

const NO_TIMER: IdleTimer = {
  restart: () => undefined,
  onReceive: () => undefined,
  pause: () => undefined,
  stop: () => undefined,
};

/** Starts an idle timer. It restarts often, so one timer of the runtime serves all restarts. */
function startIdleTimer(idleMs: number, onIdle: () => void): IdleTimer {
  /** The start of the silence, by `monotonicMs()`; `undefined` while the timer is paused. */
  let silentSince: number | undefined = monotonicMs();
  // Data that arrives while this process is blocked is read afterwards, so only awake time counts.
  let stopTimer = startAwakeTimer(check, idleMs, { ref: false }); // The connection keeps the process alive.
  function check(): void {
    const silentMs = silentSince === undefined ? 0 : monotonicMs() - silentSince;
    if (silentMs >= idleMs) {
      onIdle();
    } else {
      stopTimer = startAwakeTimer(check, Math.ceil(idleMs - silentMs), { ref: false });
    }
  }
  return {
    restart() {
      silentSince = monotonicMs();
    },
    onReceive() {
      silentSince = silentSince === undefined ? undefined : monotonicMs();
    },
    pause() {
      silentSince = undefined;
    },
    stop: () => stopTimer(),
  };
}

function idleError(idleMs: number): ConnectError {
  const cause = new ConnectionError(`no data received for ${idleMs} ms (idle timeout)`, {
    code: Code.DeadlineExceeded,
    advice: (nameOf) => `Allow more time (${nameOf("timeouts.idleMs")}), or check why the server is slow.`,
    connected: true,
  });
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}
