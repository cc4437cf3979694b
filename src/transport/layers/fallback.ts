import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { FallbackConfig } from "../../config/schema.js";
import { ConnectionError, ProtocolError, TradewireError } from "../../errors/index.js";
import type { ClosableTransport } from "../closable.js";
import type { Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { replayable, withFirstMessage } from "./first-message.js";
import { onlyReads } from "./read-method.js";

/** A transport among others, under its name in the configuration. */
export interface Member {
  readonly name: string;
  readonly transport: ClosableTransport;
}

/** The names of transports that a call must not take, because it has failed over them already. */
export const avoidedTransports = createContextKey<readonly string[]>([], {
  description: "transports that the call must not take",
});

/**
 * A transport composed of transports, in order of preference.
 *
 * A call goes on to the next where one could not be reached or does not offer the method, as long as no message has come. A
 * call that does more than read does so only where there was no connection: else it might be done twice. A transport that
 * could not be reached is left alone for a while, so that a node without it costs one failed connection, not one a call.
 *
 * @param members at least one transport
 */
export function createFallbackTransport(
  members: readonly Member[],
  { restMs, maxRestMs }: FallbackConfig,
  { onFallback }: Hooks = {},
): ClosableTransport {
  const resting = new Map<string, { readonly until: number; readonly restMs: number }>();

  /** The members to try: those that rest come last, for a call has to go somewhere. */
  function order(contextValues: ContextValues): readonly Member[] {
    const avoided = contextValues.get(avoidedTransports);
    const allowed = members.filter(({ name }) => !avoided.includes(name));
    const rests = ({ name }: Member) => performance.now() < (resting.get(name)?.until ?? 0);
    return [...allowed.filter((member) => !rests(member)), ...allowed.filter(rests)];
  }

  function failed({ name }: Member): void {
    const known = resting.get(name);
    if (known !== undefined && performance.now() < known.until) {
      return; // Calls at the same time fail together.
    }
    const next = known === undefined ? restMs : Math.min(known.restMs * 2, maxRestMs);
    resting.set(name, { until: performance.now() + next, restMs: next });
  }

  async function over<T>(
    method: DescMethod,
    contextValues: ContextValues,
    call: (transport: ClosableTransport) => Promise<T>,
  ): Promise<T> {
    const [...candidates] = order(contextValues);
    let member = candidates.shift();
    if (member === undefined) {
      throw new ConnectError("no transport is left for the call", Code.Unavailable);
    }
    for (;;) {
      try {
        const result = await call(member.transport);
        resting.delete(member.name);
        return result;
      } catch (reason) {
        const error = reason instanceof ConnectError ? reason.cause : undefined;
        if (!(error instanceof TradewireError) || !isElsewhere(error)) {
          throw reason;
        }
        if (error instanceof ConnectionError) {
          failed(member);
        }
        const next = candidates.shift();
        if (next === undefined || !(onlyReads(method) || neverLeft(error))) {
          throw reason;
        }
        onFallback?.({ method: methodName(method), from: member.name, to: next.name, error });
        member = next;
      }
    }
  }

  return {
    unary: (method, signal, timeoutMs, header, message, contextValues = createContextValues()) =>
      over(method, contextValues, (transport) =>
        transport.unary(method, signal, timeoutMs, header, message, contextValues),
      ),

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      if (method.methodKind !== "server_streaming") {
        // Requests that stream cannot be sent again: they go where calls are most likely to get through.
        const [member] = order(contextValues);
        if (member === undefined) {
          throw new ConnectError("no transport is left for the call", Code.Unavailable);
        }
        return member.transport.stream(method, signal, timeoutMs, header, input, contextValues);
      }
      const messages = await replayable(input);
      return over(method, contextValues, async (transport) =>
        withFirstMessage(await transport.stream(method, signal, timeoutMs, header, messages(), contextValues)),
      );
    },

    async close() {
      await Promise.all(members.map(({ transport }) => transport.close()));
    },
  };
}

/** Whether another transport may do better: the node was not reached, does not offer the method, or something else answered. */
export function isElsewhere(error: TradewireError): boolean {
  switch (error.code) {
    case Code.Unavailable:
    case Code.Unimplemented:
      return true;
    case Code.Internal:
    case Code.DataLoss:
      return error instanceof ProtocolError;
    default:
      return false;
  }
}

/** Whether it is certain that nothing of the call has reached the node. */
function neverLeft(error: TradewireError): boolean {
  return error instanceof ConnectionError && !error.connected;
}
