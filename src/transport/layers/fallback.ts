import type { DescMethod } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  createContextKey,
  createContextValues,
  type Transport,
} from "@connectrpc/connect";
import type { FallbackConfig } from "../../config/schema.js";
import { ConnectionError, ProtocolError, type TradewireError } from "../../errors/index.js";
import type { ClosableTransport } from "../closable.js";
import type { Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { callError } from "./failure.js";
import { replayable, withFirstMessage } from "./first-message.js";
import { onlyReads } from "./read-method.js";

/** A transport among others. */
export interface FallbackMember {
  /** What hooks and errors call it. */
  readonly name: string;
  readonly transport: Transport & Partial<ClosableTransport>;
}

/** How transports are composed. What is left out has the configuration's default. */
export interface FallbackOptions extends Partial<FallbackConfig> {
  /** Told when a call goes on over another transport. */
  readonly hooks?: Pick<Hooks, "onFallback"> | undefined;
}

/**
 * A transport composed of transports, in order of preference.
 *
 * A call goes on to the next where one could not be reached or does not offer the method, as long as no message has come. A
 * call that does more than read does so only where there was no connection: else it might be done twice. A transport that
 * could not be reached is left alone for a while, so that a node without it costs one failed connection, not one a call.
 *
 * @param members at least one transport, the preferred one first
 * @param options `pauseMs` is how long a transport that could not connect is left alone, in milliseconds (30 000 by default),
 *   which doubles with each failure up to `maxPauseMs` (300 000)
 * @returns the transport; closing it closes all members
 *
 * @example
 * const transport = fallback([
 *   { name: "grpc", transport: createGrpcTransport({ baseUrl: "http://127.0.0.1:3007" }) },
 *   { name: "connect", transport: createConnectTransport({ baseUrl: "http://127.0.0.1:3007", httpVersion: "2" }) },
 * ]);
 */
export function fallback(
  members: readonly FallbackMember[],
  { pauseMs = 30_000, maxPauseMs = 300_000, hooks = {} }: FallbackOptions = {},
): ClosableTransport {
  const pausing = new Map<string, { readonly until: number; readonly pauseMs: number }>();

  /** The members to try: those that pause come last, for a call has to go somewhere. */
  function order(contextValues: ContextValues): FallbackMember[] {
    const brokenOff = contextValues.get(brokenOffOver);
    const allowed = members.filter(({ name }) => brokenOff?.has(name) !== true);
    const pauses = ({ name }: FallbackMember) => performance.now() < (pausing.get(name)?.until ?? 0);
    return [...allowed.filter((member) => !pauses(member)), ...allowed.filter(pauses)];
  }

  function failed({ name }: FallbackMember): void {
    const known = pausing.get(name);
    if (known !== undefined && performance.now() < known.until) {
      return; // Calls at the same time fail together.
    }
    const next = known === undefined ? pauseMs : Math.min(known.pauseMs * 2, maxPauseMs);
    pausing.set(name, { until: performance.now() + next, pauseMs: next });
  }

  /** Make a call over the first candidate that does, and tell over which one that was and which are left. */
  async function over<T>(
    method: DescMethod,
    contextValues: ContextValues,
    call: (member: FallbackMember, left: readonly FallbackMember[]) => Promise<T>,
  ): Promise<T> {
    const candidates = order(contextValues);
    let member = candidates.shift() ?? none();
    for (;;) {
      try {
        const result = await call(member, [...candidates]);
        pausing.delete(member.name);
        return result;
      } catch (reason) {
        const error = errorOf(reason, member, method);
        if (!isElsewhere(error)) {
          throw reason;
        }
        if (error instanceof ConnectionError) {
          failed(member);
        }
        const next = candidates.shift();
        if (next === undefined || !(onlyReads(method) || neverLeft(error))) {
          throw reason;
        }
        hooks.onFallback?.({ method: methodName(method), from: member.name, to: next.name, error });
        member = next;
      }
    }
  }

  /** Where the caller can start over, a stream that breaks off is called again, over the next of those that are left. */
  async function* remembering<T>(
    messages: AsyncIterable<T>,
    method: DescMethod,
    member: FallbackMember,
    next: FallbackMember,
    brokenOff: Set<string>,
  ): AsyncGenerator<T> {
    try {
      yield* messages;
    } catch (reason) {
      const error = errorOf(reason, member, method);
      if (isElsewhere(error)) {
        brokenOff.add(member.name);
        hooks.onFallback?.({ method: methodName(method), from: member.name, to: next.name, error });
      }
      throw reason;
    }
  }

  return {
    unary: (method, signal, timeoutMs, header, message, contextValues = createContextValues()) =>
      over(method, contextValues, ({ transport }) =>
        transport.unary(method, signal, timeoutMs, header, message, contextValues),
      ),

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      if (method.methodKind !== "server_streaming") {
        // Requests that stream cannot be sent again: they go where calls are most likely to get through.
        const { transport } = order(contextValues)[0] ?? none();
        return transport.stream(method, signal, timeoutMs, header, input, contextValues);
      }
      const messages = await replayable(input);
      return over(method, contextValues, async (member, [next]) => {
        const response = await withFirstMessage(
          await member.transport.stream(method, signal, timeoutMs, header, messages(), contextValues),
        );
        const brokenOff = contextValues.get(brokenOffOver);
        return next === undefined || brokenOff === undefined
          ? response
          : { ...response, message: remembering(response.message, method, member, next, brokenOff) };
      });
    },

    async close() {
      await Promise.all(members.map(({ transport }) => transport.close?.()));
    },
  };
}

/** The transports over which a stream has broken off, where its caller can start over. */
const brokenOffOver = createContextKey<Set<string> | undefined>(undefined, {
  description: "transports over which the stream has broken off",
});

/**
 * Consume a stream of which nothing counts until all of it is there, such as a file that is being written: where it breaks off
 * and there is another transport, it is consumed once more from its start, over that one.
 *
 * @param consume makes the call with the context values that it is given, and consumes what comes
 */
export async function startingOver<T>(consume: (contextValues: ContextValues) => Promise<T>): Promise<T> {
  const brokenOff = new Set<string>();
  for (;;) {
    const before = brokenOff.size;
    try {
      return await consume(createContextValues().set(brokenOffOver, brokenOff));
    } catch (reason) {
      if (brokenOff.size === before) {
        throw reason;
      }
    }
  }
}

function none(): never {
  throw new ConnectError("no transport is left for the call", Code.Unavailable);
}

/** What a member's failure is, for members that throw nothing of the library's own too. */
function errorOf(reason: unknown, { name }: FallbackMember, method: DescMethod): TradewireError {
  return callError(reason, { transport: name, method: methodName(method), url: name });
}

/** Whether another transport may do better: the node was not reached, does not offer the method, or something else answered. */
function isElsewhere(error: TradewireError): boolean {
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
