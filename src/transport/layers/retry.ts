import { ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import type { RetryConfig } from "../../config/schema.js";
import { TradewireError } from "../../errors/index.js";
import { reactionTo } from "../../errors/reaction.js";
import { unixMs } from "../../runtime/index.js";
import { retryMs, wait } from "../../signal/wait.js";
import { callId } from "../call-id.js";
import type { Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { replayable, withFirstMessage } from "./first-message.js";
import { isOnceOnly } from "./once-only.js";
import { onlyReads } from "./read-method.js";
import { timeLeft } from "./time-limits.js";

/** The longest wait that a node is believed, in milliseconds: a call of no time limit would wait for weeks. */
const MAX_ASKED_MS = 600_000;

/**
 * Make an interceptor that retries calls that only read. It does so where the node could not serve a call or the
 * connection was lost, as long as no message has come. The wait is a random part of a time that doubles with each try;
 * the node's `retry-after` overrides it. The call's own deadline ends all tries: a wait beyond it, or beyond ten minutes,
 * is not begun.
 *
 * @param config `tries` is the most tries of a call; `baseMs` and `maxMs` are the first and the longest wait, in
 *   milliseconds
 * @param hooks `onRetry` is called before each wait
 * @returns the interceptor; the last failure of a call passes unchanged
 */
export function retryInterceptor({ tries, ...waits }: RetryConfig, { onRetry }: Hooks = {}): Interceptor {
  async function trying<T>(req: UnaryRequest | StreamRequest, call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (reason) {
        const error = retryable(reason);
        if (attempt >= tries || req.signal.aborted || error === undefined) {
          throw reason;
        }
        const asked = retryAfter(ConnectError.from(reason));
        const leftMs = timeLeft(req.contextValues) ?? Number.POSITIVE_INFINITY;
        if ((asked ?? 0) >= leftMs || (asked ?? 0) > MAX_ASKED_MS) {
          throw reason; // The call's time would be up before: the node's own answer says more.
        }
        const delayMs = asked ?? retryMs(attempt, waits);
        onRetry?.({ id: callId(req.contextValues), method: methodName(req.method), attempt, delayMs, error });
        // The check below handles an abort during the wait.
        await wait(delayMs, req.signal).catch(() => undefined);
        if (req.signal.aborted) {
          throw reason;
        }
      }
    }
  }

  return (next) => async (req) => {
    const { methodKind } = req.method;
    // Requests that stream cannot be sent again.
    if (
      !onlyReads(req.method) ||
      isOnceOnly(req.contextValues) ||
      methodKind === "client_streaming" ||
      methodKind === "bidi_streaming"
    ) {
      return next(req);
    }
    if (!req.stream) {
      return trying(req, () => next(req));
    }
    const message = await replayable(req.message);
    return trying(req, async () => {
      const response = await next({ ...req, message: message() });
      return response.stream ? withFirstMessage(response) : response;
    });
  };
}

/** Returns the failure if the call may be retried. */
function retryable(reason: unknown): TradewireError | undefined {
  const { cause } = ConnectError.from(reason);
  return cause instanceof TradewireError && reactionTo(cause).retry ? cause : undefined;
}

/** The wait that `retry-after` asks for, in milliseconds; the header holds seconds or a date. */
function retryAfter(error: ConnectError): number | undefined {
  const value = error.metadata.get("retry-after") ?? "";
  // HTTP's dates end in GMT. Alone, Date.parse would take "1.5" for a day of 2001.
  const date = Date.parse(value.endsWith(" GMT") ? value : "");
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : date - unixMs();
  return Number.isNaN(delay) ? undefined : Math.max(delay, 0);
}
