import type { DescService } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { closestName } from "../../../base/errors/error-text.js";
import { RequestError, type TradewireError } from "../../../base/errors/index.js";
import { reactionTo, wasNeverSent } from "../../../base/errors/reaction.js";
import { monotonicMs, unixMs } from "../../../base/runtime/index.js";
import { retryDelayMs, wait } from "../../../base/signal/wait.js";
import { DEFAULT_MAX_TOKENS, DEFAULT_TOKEN_RATIO, type RetryConfig } from "../../config/client-config.js";
import { asLimit, callId, remainingMs, repeatabilityKey } from "../call-context.js";
import type { Hooks } from "../hooks.js";
import { type AnyCall, layered } from "../layered.js";
import { libraryErrorIn } from "../library-errors.js";
import { awaitFirstMessage, replayable } from "../message-streams.js";
import { isRepeatable, methodName, streamsRequests } from "../method.js";
import type { AnyTransport, ClosableTransport } from "../transport-types.js";

/** The longest `retry-after` that is obeyed, in milliseconds. A call without a deadline could wait for weeks. */
const MAX_RETRY_AFTER_MS = 600_000;

interface RetryBudget {
  /** Returns whether a call that was sent may be retried. */
  allowsRetry(): boolean;
  onSuccess(): void;
  /** Records an attempt that was sent and that failed in a way that a retry could fix. */
  onFailure(): void;
}

/**
 * Creates a retry budget: the token bucket of gRPC's proposal A6 (github.com/grpc/proposal, A6-client-retries.md, "Throttling
 * Retry Attempts"). Each failure takes a token, each success returns a part of one, and calls are retried while more than half of
 * the tokens are left. A node where most calls fail gets few retries; in the long run, a node gets at most `tokenRatio` times as
 * many retries as other calls.
 */
function createRetryBudget(maxTokens: number, tokenRatio: number): RetryBudget {
  let tokens = maxTokens;
  return {
    allowsRetry: () => tokens > maxTokens / 2,
    onSuccess() {
      tokens = Math.min(tokens + tokenRatio, maxTokens);
    },
    onFailure() {
      tokens = Math.max(tokens - 1, 0);
    },
  };
}

/** The retry options of {@link retrying}. Those of the budget have the configuration's defaults. */
export type RetryOptions = Pick<RetryConfig, "tries" | "baseMs" | "maxMs"> & Partial<RetryConfig>;

/**
 * Returns a transport that retries calls if the node could not serve a call or the connection was lost, as long as no
 * message has arrived: calls that may be repeated, and any call that was not sent. The wait is a random part of a
 * time that doubles with each attempt; the node's `retry-after` or `grpc-retry-pushback-ms` replaces it. No wait begins that
 * would exceed the call's deadline or ten minutes. All calls share a retry budget, as in gRPC's proposal A6.
 *
 * @param transport the transport that makes the calls
 * @param options `tries` is the maximum number of attempts of a call; `baseMs` and `maxMs` are the first and the longest wait, in
 *   milliseconds; `methods` are the full names of additional methods that may be repeated; `maxTokens` and `tokenRatio` are those
 *   of the budget
 * @param hooks `onRetry` is called before each wait
 * @returns the transport; the last failure of a call passes unchanged, and closing it closes `transport`
 */
export function retrying(transport: AnyTransport, options: RetryOptions, { onRetry }: Hooks = {}): ClosableTransport {
  const { tries, methods = [], maxTokens = DEFAULT_MAX_TOKENS, tokenRatio = DEFAULT_TOKEN_RATIO, ...waits } = options;
  const declared = new Set(methods);
  const budget = createRetryBudget(maxTokens, tokenRatio);

  async function withRetries<C extends AnyCall, R>(call: C, send: (call: C) => Promise<R>): Promise<R> {
    const { method, signal, contextValues } = call;
    const leftMs = remainingTime(call);
    const isAborted = () => signal?.aborted === true;
    if (contextValues.get(repeatabilityKey) === "by definition" && declared.has(methodName(method))) {
      contextValues.set(repeatabilityKey, "declared"); // For the fallback below, too.
    }
    for (let attempt = 1; ; attempt += 1) {
      try {
        const response = await send(attempt === 1 ? call : { ...call, timeoutMs: attemptMs(leftMs()) });
        budget.onSuccess();
        return response;
      } catch (reason) {
        const error = retryableError(reason);
        const isUnsent = wasNeverSent(error);
        if (error !== undefined && !isUnsent) {
          budget.onFailure();
        }
        if (attempt >= tries || isAborted() || error === undefined) {
          throw reason;
        }
        if (!isUnsent && !(isRepeatable(method, contextValues) && budget.allowsRetry())) {
          throw reason;
        }
        const requestedMs = requestedDelayMs(ConnectError.from(reason).metadata);
        const remaining = leftMs() ?? Number.POSITIVE_INFINITY;
        if ((requestedMs ?? 0) >= remaining || (requestedMs ?? 0) > MAX_RETRY_AFTER_MS) {
          throw reason; // The deadline would pass before: the node's own answer says more.
        }
        const delayMs = requestedMs ?? retryDelayMs(attempt, waits);
        onRetry?.({ id: callId(contextValues), method: methodName(method), attempt, delayMs, error });
        // The check below handles an abort during the wait.
        const isTimed = remainingMs(contextValues) !== undefined; // The end of its time aborts the signal then.
        await wait(isTimed ? delayMs : Math.min(delayMs, remaining), signal).catch(() => undefined);
        if (isAborted() || (!isTimed && (leftMs() ?? 1) <= 0)) {
          throw reason;
        }
      }
    }
  }

  const isRetried = ({ method, contextValues }: AnyCall) =>
    contextValues.get(repeatabilityKey) !== "disabled" && !streamsRequests(method);

  return layered(transport, {
    unary: (call, next) => (isRetried(call) ? withRetries(call, next) : next(call)),

    async stream(call, next) {
      if (!isRetried(call)) {
        return next(call);
      }
      const message = await replayable(call.message);
      return withRetries(call, async (attempt) => awaitFirstMessage(await next({ ...attempt, message: message() })));
    },
  });
}

/** Returns a function that returns the remaining time of a call, in milliseconds; `undefined` without a limit. */
function remainingTime({ timeoutMs, contextValues }: AnyCall): () => number | undefined {
  const endsAt = timeoutMs === undefined || timeoutMs <= 0 ? undefined : monotonicMs() + timeoutMs;
  return () => remainingMs(contextValues) ?? (endsAt === undefined ? undefined : endsAt - monotonicMs());
}

const attemptMs = (leftMs: number | undefined) => (leftMs === undefined ? undefined : asLimit(leftMs));

/** Returns the library's error for a failure if the call may be retried. */
function retryableError(reason: unknown): TradewireError | undefined {
  const error = libraryErrorIn(ConnectError.from(reason));
  return error !== undefined && reactionTo(error).retry ? error : undefined;
}

/**
 * Returns the wait that a node asks for, in milliseconds; infinite if it asks for no retry. `grpc-retry-pushback-ms` is from
 * gRPC's proposal A6, where a negative or unreadable number means no retry.
 */
function requestedDelayMs(metadata: Headers): number | undefined {
  const pushback = metadata.get("grpc-retry-pushback-ms");
  if (pushback !== null) {
    return /^\d{1,10}$/.test(pushback) ? Number(pushback) : Number.POSITIVE_INFINITY;
  }
  return retryAfterMs(metadata.get("retry-after") ?? "");
}

/** Returns the wait that `retry-after` asks for, in milliseconds. The header holds seconds or a date. */
function retryAfterMs(value: string): number | undefined {
  // HTTP dates end in GMT. Without this check, Date.parse would read "1.5" as a day in 2001.
  const date = Date.parse(value.endsWith(" GMT") ? value : "");
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : date - unixMs();
  return Number.isNaN(delay) ? undefined : Math.max(delay, 0);
}

/**
 * Checks the methods of `retry.methods` that belong to a service.
 *
 * @throws {@link RequestError} if the service lacks one of them, or if one streams its requests
 */
export function assertRetryMethods(names: readonly string[] = [], service: DescService): void {
  const methods = new Map(service.methods.map((method) => [methodName(method), method]));
  for (const name of names) {
    const method = methods.get(name);
    const isOfService = name.startsWith(`${service.typeName}/`);
    if (isOfService && method === undefined) {
      const near = closestName(name, [...methods.keys()]);
      const advice = near === undefined ? "Correct or remove the name." : `Did you mean ${near}?`;
      throw invalidMethod(`the unknown method ${name}`, advice);
    }
    if (method !== undefined && streamsRequests(method)) {
      throw invalidMethod(`${name}, which streams its requests`, "Remove it: streamed requests cannot be retried.");
    }
  }
}

function invalidMethod(what: string, advice: string): RequestError {
  const option = "retry.methods";
  return new RequestError(`names ${what}`, { option, advice, errorCode: "TW_CONFIGURATION" });
}
