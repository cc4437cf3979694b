import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { FallbackConfig } from "../../config/schema.js";
import { requireList } from "../../errors/check-kinds.js";
import { requireKnown } from "../../errors/check-values.js";
import { failingWith } from "../../errors/failing.js";
import { ConnectionError, type TradewireError } from "../../errors/index.js";
import { reactionTo } from "../../errors/reaction.js";
import { monotonicMs } from "../../runtime/index.js";
import { callId } from "../call-id.js";
import type { AnyTransport, ClosableTransport } from "../closable.js";
import type { Hooks } from "../hooks.js";
import { methodName } from "../method-name.js";
import { callError } from "./failure.js";
import { replayable, withFirstMessage } from "./first-message.js";
import { keptRequests } from "./kept-requests.js";
import { type FailedMember, namingAll } from "./naming-all.js";
import { observing } from "./observing.js";
import { isOnceOnly } from "./once-only.js";
import { hasOneAnswer } from "./one-answer.js";
import { onlyReads } from "./read-method.js";
import { timeLeft } from "./time-limits.js";

/** A transport among others. */
export interface FallbackMember {
  /** Its name in hooks and errors. */
  readonly name: string;
  readonly transport: AnyTransport;
}

/** A transport to try. */
interface Candidate {
  readonly member: FallbackMember;
  /** Whether it pauses, as it could not be reached. */
  readonly pauses: boolean;
}

/** How transports are composed. Options that are left out have the configuration's defaults. */
export interface FallbackOptions extends Partial<FallbackConfig> {
  /** Called when a call is made again over another transport. */
  readonly hooks?: Pick<Hooks, "onFallback"> | undefined;
}

/**
 * Compose a transport of transports, in order of preference.
 *
 * A call goes on to the next transport where one cannot be reached, says nothing in its share of the call's time, does
 * not offer the method or is answered by something else than a node, as long as no message has come. A call that does more
 * than read, or whose requests stream, goes on only where there was no connection: else the node might do it twice, or
 * requests be lost. A transport that could not be reached pauses, so that a node
 * without it costs one failed connection, and not one for each call.
 *
 * @param members at least one transport, the preferred one first
 * @param options `pauseMs` is the pause of a transport that could not be reached, in milliseconds (30 000 by default);
 *   it doubles with each failure up to `maxPauseMs` (300 000)
 * @returns the transport; closing it closes all members
 *
 * @example
 * const transport = fallback([
 *   { name: "grpc", transport: createGrpcTransport({ url: "http://127.0.0.1:3007" }) },
 *   { name: "rest", transport: createRestTransport({ url: "http://127.0.0.1:3008" }) },
 * ]);
 */
export function fallback(members: readonly FallbackMember[], options: FallbackOptions = {}): ClosableTransport {
  requireKnown("options", options, { pauseMs: true, maxPauseMs: true, hooks: true });
  requireList("members", members, "Give the transports, each as { name, transport }.");
  const { pauseMs = 30_000, maxPauseMs = 300_000, hooks = {} } = options;
  const { onFallback } = observing(hooks);
  const pausing = new Map<string, { readonly until: number; readonly pauseMs: number }>();

  /** The members to try. Those that pause come last, for when no other one can be reached. */
  function order(contextValues: ContextValues): Candidate[] {
    const brokenOff = contextValues.get(brokenOffOver);
    const candidates = members
      .filter(({ name }) => brokenOff?.has(name) !== true)
      .map((member) => ({ member, pauses: monotonicMs() < (pausing.get(member.name)?.until ?? 0) }));
    return [...candidates.filter(({ pauses }) => !pauses), ...candidates.filter(({ pauses }) => pauses)];
  }

  function failed({ name }: FallbackMember): void {
    const known = pausing.get(name);
    if (known !== undefined && monotonicMs() < known.until) {
      return; // Calls that fail at the same time count as one failure.
    }
    const next = known === undefined ? pauseMs : Math.min(known.pauseMs * 2, maxPauseMs);
    pausing.set(name, { until: monotonicMs() + next, pauseMs: next });
  }

  /**
   * Make a call over one candidate after the other, until one succeeds; `call` gets the candidates that are left. One that
   * pauses is tried only where the others lost the connection, and its own failure is that of the call only where all
   * pause: it tells nothing that was not known.
   */
  async function over<T>(
    method: DescMethod,
    signal: AbortSignal | undefined,
    contextValues: ContextValues,
    call: (member: FallbackMember, left: readonly Candidate[]) => Promise<T>,
    mayGoOn = (error: TradewireError) => neverLeft(error) || (onlyReads(method) && !isOnceOnly(contextValues)),
  ): Promise<T> {
    const candidates = order(contextValues);
    const id = callId(contextValues);
    const earlier: FailedMember[] = [];
    let { member, pauses } = candidates.shift() ?? none();
    const allPause = pauses;
    let known: unknown;
    for (;;) {
      try {
        const result = await call(member, [...candidates]);
        pausing.delete(member.name);
        return result;
      } catch (reason) {
        const error = errorOf(reason, member, method);
        if (signal?.aborted === true || !reactionTo(error).fallBack) {
          throw namingAll(reason, error, earlier);
        }
        if (error instanceof ConnectionError) {
          failed(member);
        }
        if (!pauses || allPause) {
          known = namingAll(reason, error, earlier);
        }
        const next = candidates.shift();
        if (next === undefined || !mayGoOn(error) || (next.pauses && !pauses && !mayReachAnother(error))) {
          throw known;
        }
        earlier.push({ name: member.name, error });
        onFallback?.({ id, method: methodName(method), from: member.name, to: next.member.name, error });
        ({ member, pauses } = next);
      }
    }
  }

  /** Note where messages break off: {@link startingOver} then calls another member. */
  function remembering<T>(
    messages: AsyncIterable<T>,
    method: DescMethod,
    member: FallbackMember,
    next: FallbackMember,
    brokenOff: Set<string>,
    id: number,
  ): AsyncIterable<T> {
    return failingWith(messages, (reason) => {
      const error = errorOf(reason, member, method);
      if (reactionTo(error).fallBack) {
        brokenOff.add(member.name);
        onFallback?.({ id, method: methodName(method), from: member.name, to: next.name, error });
      }
      throw reason;
    });
  }

  return {
    unary: (method, signal, timeoutMs, header, message, contextValues = createContextValues()) =>
      over(method, signal, contextValues, ({ transport }, left) => {
        const leftMs = timeLeft(contextValues) ?? timeoutMs;
        // A read that may be made again leaves time for that.
        const isShared = left.some(({ pauses }) => !pauses) && onlyReads(method);
        const share = leftMs !== undefined && isShared ? leftMs / 2 : leftMs;
        const limitMs = share && Math.max(Math.ceil(share), 1);
        return transport.unary(method, signal, limitMs, header, message, contextValues);
      }),

    async stream(method, signal, timeoutMs, header, input, contextValues = createContextValues()) {
      if (method.methodKind !== "server_streaming") {
        const requests = keptRequests(input);
        const response = await over(
          method,
          signal,
          contextValues,
          ({ transport }) => transport.stream(method, signal, timeoutMs, header, requests.again(), contextValues),
          (error) => neverLeft(error) && requests.areWhole(),
        ).catch((reason: unknown) => {
          requests.end();
          throw reason;
        });
        requests.release();
        return response;
      }
      const messages = await replayable(input);
      return over(method, signal, contextValues, async (member, [next]) => {
        const response = await withFirstMessage(
          await member.transport.stream(method, signal, timeoutMs, header, messages(), contextValues),
        );
        const brokenOff = contextValues.get(brokenOffOver);
        return next === undefined || brokenOff === undefined
          ? response
          : {
              ...response,
              message: remembering(response.message, method, member, next.member, brokenOff, callId(contextValues)),
            };
      });
    },

    async close() {
      await Promise.all(members.map(({ transport }) => transport.close?.()));
    },
  };
}

/** The names of the transports over which a stream has broken off; set where its caller can start over. */
const brokenOffOver = createContextKey<Set<string> | undefined>(undefined, {
  description: "transports over which the stream has broken off",
});

/**
 * Consume a stream whose messages count only when it is complete, such as a file that is being written. Where it breaks
 * off and there is another transport, it is consumed from its start over that one.
 *
 * @param consume makes the call with the context values that it gets, and consumes the stream
 * @returns the result of `consume`
 * @throws the error of `consume`, where no transport is left to start over with
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

/** The library's error for a member's failure, whose transport may throw other errors. */
function errorOf(reason: unknown, { name }: FallbackMember, method: DescMethod): TradewireError {
  const call = { method: methodName(method), hasOneAnswer: hasOneAnswer(method) };
  return callError(reason, { transport: name, url: name, ...call });
}

/** Whether another transport may still succeed within the call's time: there was no answer, and there is time left. */
function mayReachAnother(error: TradewireError): boolean {
  return error instanceof ConnectionError && reactionTo(error).retry;
}

/** Whether it is certain that nothing of the call has reached the node. */
function neverLeft(error: TradewireError): boolean {
  return error instanceof ConnectionError && !error.connected;
}
