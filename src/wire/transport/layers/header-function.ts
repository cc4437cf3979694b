import type { DescMethod } from "@bufbuild/protobuf";
import * as v from "valibot";
import { RequestError } from "../../../base/errors/index.js";
import { monotonicMs, startTimer } from "../../../base/runtime/index.js";
import { onAbort, raceAbort } from "../../../base/signal/abort.js";
import type { HeaderFunction } from "../../config/client-config.js";
import { headers as headersSchema } from "../../config/config-schema.js";
import { deadlineError, toConnectError } from "../call-failure.js";
import { endUnsent } from "../library-errors.js";
import { methodName } from "../method.js";
import type { ClosableTransport, HeaderInit } from "../transport-types.js";

/**
 * Returns a transport whose requests carry the headers that a function returns. It is called for each attempt of a call.
 */
export function withHeaderFunction(transport: ClosableTransport, headersOf: HeaderFunction): ClosableTransport {
  return {
    async unary(method, signal, timeoutMs, header, message, contextValues) {
      const { headers, leftMs } = await prepare(headersOf, { method, signal, timeoutMs, header });
      return transport.unary(method, signal, leftMs, headers, message, contextValues);
    },

    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const { headers, leftMs } = await prepare(headersOf, { method, signal, timeoutMs, header });
      return transport.stream(method, signal, leftMs, headers, input, contextValues);
    },

    close: () => transport.close(),
  };
}

/** A call before it is sent. */
interface UnsentCall {
  readonly method: DescMethod;
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number | undefined;
  readonly header: HeaderInit;
}

/** Returns all headers of a call, and what remains of its time. */
async function prepare(headersOf: HeaderFunction, { method, signal, timeoutMs, header }: UnsentCall) {
  const startedAt = monotonicMs();
  const limitMs = timeoutMs === undefined || timeoutMs <= 0 ? undefined : timeoutMs;
  const headers = new Headers(parseHeaders(await ask(headersOf, methodName(method), signal, limitMs)));
  new Headers(header).forEach((value, name) => {
    headers.set(name, value);
  });
  const leftMs = limitMs && Math.max(Math.ceil(limitMs - (monotonicMs() - startedAt)), 1);
  return { headers, leftMs };
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
    new RequestError(`${what} ${issue?.message}`, { advice: "Correct the function. Nothing was sent." }),
  );
}
