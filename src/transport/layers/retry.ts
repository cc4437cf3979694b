import { ConnectError, type Interceptor, type StreamRequest, type UnaryRequest } from "@connectrpc/connect";
import type { RetryConfig } from "../../config/client-config.js";
import type { TradewireError } from "../../errors/index.js";
import { reactionTo } from "../../errors/reaction.js";
import { unixMs } from "../../runtime/index.js";
import { retryDelayMs, wait } from "../../signal/wait.js";
import { callId, isRetryDisabled, remainingMs } from "../call-context.js";
import type { Hooks } from "../hooks.js";
import { awaitFirstMessage, replayable } from "../message-streams.js";
import { isReadOnly, methodName } from "../method.js";
import { libraryErrorIn } from "./library-errors.js";

/** The longest `retry-after` that is obeyed, in milliseconds. A call without a deadline could wait for weeks. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Returns an interceptor that retries read-only calls if the node could not serve a call or the connection was lost, as
 * long as no message has arrived. The wait is a random part of a time that doubles with each attempt; the node's
 * `retry-after` replaces it. No wait begins that would exceed the call's deadline or ten minutes.
 *
 * @param config `tries` is the maximum number of attempts of a call; `baseMs` and `maxMs` are the first and the longest
 *   wait, in milliseconds
 * @param hooks `onRetry` is called before each wait
 * @returns the interceptor; the last failure of a call passes unchanged
 */
export function retryInterceptor({ tries, ...waits }: RetryConfig, { onRetry }: Hooks = {}): Interceptor {
  async function withRetries<T>(req: UnaryRequest | StreamRequest, call: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await call();
      } catch (reason) {
        const error = retryableError(reason);
        if (attempt >= tries || req.signal.aborted || error === undefined) {
          throw reason;
        }
        const requestedMs = retryAfterMs(ConnectError.from(reason));
        const leftMs = remainingMs(req.contextValues) ?? Number.POSITIVE_INFINITY;
        if ((requestedMs ?? 0) >= leftMs || (requestedMs ?? 0) > MAX_RETRY_AFTER_MS) {
          throw reason; // The deadline would pass before: the node's own answer says more.
        }
        const delayMs = requestedMs ?? retryDelayMs(attempt, waits);
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
      !isReadOnly(req.method) ||
      isRetryDisabled(req.contextValues) ||
      methodKind === "client_streaming" ||
      methodKind === "bidi_streaming"
    ) {
      return next(req);
    }
    if (!req.stream) {
      return withRetries(req, () => next(req));
    }
    const message = await replayable(req.message);
    return withRetries(req, async () => {
      const response = await next({ ...req, message: message() });
      return response.stream ? awaitFirstMessage(response) : response;
    });
  };
}

/** Returns the library's error for a failure if the call may be retried. */
function retryableError(reason: unknown): TradewireError | undefined {
  const error = libraryErrorIn(ConnectError.from(reason));
  return error !== undefined && reactionTo(error).retry ? error : undefined;
}

/** Returns the wait that `retry-after` asks for, in milliseconds. The header holds seconds or a date. */
function retryAfterMs(error: ConnectError): number | undefined {
  const value = error.metadata.get("retry-after") ?? "";
  // HTTP dates end in GMT. Without this check, Date.parse would read "1.5" as a day in 2001.
  const date = Date.parse(value.endsWith(" GMT") ? value : "");
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : date - unixMs();
  return Number.isNaN(delay) ? undefined : Math.max(delay, 0);
}
