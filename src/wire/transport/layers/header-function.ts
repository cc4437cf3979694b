import * as v from "valibot";
import { RequestError } from "../../../base/errors/index.js";
import { monotonicMs, startTimer } from "../../../base/runtime/index.js";
import { onAbort, raceAbort } from "../../../base/signal/abort.js";
import type { HeaderFunction } from "../../config/client-config.js";
import { headers as headersSchema } from "../../config/config-schema.js";
import { asLimit } from "../call-context.js";
import { deadlineError, toConnectError } from "../call-failure.js";
import { type AnyCall, layered } from "../layered.js";
import { endUnsent } from "../library-errors.js";
import { methodName } from "../method.js";
import type { ClosableTransport } from "../transport-types.js";

/**
 * Returns a transport whose requests carry the headers that a function returns. It is called for each attempt of a call.
 */
export function withHeaderFunction(transport: ClosableTransport, headersOf: HeaderFunction): ClosableTransport {
  return layered(transport, {
    unary: async (call, next) => next({ ...call, ...(await prepared(headersOf, call)) }),
    stream: async (call, next) => next({ ...call, ...(await prepared(headersOf, call)) }),
  });
}

/** Returns all headers of a call, and what remains of its time. */
async function prepared(headersOf: HeaderFunction, { method, signal, timeoutMs, header }: AnyCall) {
  const startedAt = monotonicMs();
  const limitMs = timeoutMs === undefined || timeoutMs <= 0 ? undefined : timeoutMs;
  const all = new Headers(parseHeaders(await ask(headersOf, methodName(method), signal, limitMs)));
  new Headers(header).forEach((value, name) => {
    all.set(name, value);
  });
  return { header: all, timeoutMs: limitMs && asLimit(limitMs - (monotonicMs() - startedAt)) };
}

/** Calls the function. It has as long as the call, whether or not it listens to its signal. */
async function ask(
  headersOf: HeaderFunction,
  method: string,
  signal: AbortSignal | undefined,
  limitMs: number | undefined,
): Promise<unknown> {
  if (signal?.aborted === true) {
    throw endUnsent(signal.reason);
  }
  const abort = new AbortController();
  const unsubscribe = onAbort(signal, () => abort.abort(signal?.reason));
  const stopTimer = limitMs === undefined ? undefined : startTimer(() => abort.abort(deadlineError()), limitMs);
  try {
    return await raceAbort((async () => headersOf({ method, signal: abort.signal }))(), abort.signal);
  } catch (cause) {
    if (abort.signal.aborted) {
      throw endUnsent(abort.signal.reason, "the headers function returned");
    }
    throw toConnectError(
      new RequestError("the headers function failed", {
        errorCode: "TW_CONFIGURATION",
        advice: "Nothing was sent. The error's cause is the error that the function threw.",
        cause,
      }),
    );
  } finally {
    unsubscribe();
    stopTimer?.();
  }
}

/** Validates what the function returns like headers of the configuration. The error shows no value. */
function parseHeaders(returned: unknown): Readonly<Record<string, string>> {
  const { success, output, issues } = v.safeParse(headersSchema, typeof returned === "function" ? undefined : returned);
  if (success && typeof output !== "function") {
    return output;
  }
  const [issue] = issues ?? [];
  const { origin, key } = issue?.path?.[0] ?? {};
  const what =
    origin === undefined
      ? "the result of the headers function"
      : `${origin === "key" ? "a header" : `the header ${String(key)}`} from the headers function`;
  throw toConnectError(
    new RequestError(`${what} ${issue?.message}`, {
      errorCode: "TW_CONFIGURATION",
      advice: "Correct the function. Nothing was sent.",
    }),
  );
}
