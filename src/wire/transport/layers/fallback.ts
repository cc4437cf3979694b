import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect";
import { mapStreamErrors } from "../../../base/errors/call-errors.js";
import { Code } from "../../../base/errors/code.js";
import {
  BannedError,
  ConnectionError,
  type ErrorText,
  NodeError,
  ProtocolError,
  RequestError,
  serverOf,
  type TradewireError,
} from "../../../base/errors/index.js";
import { failureKind, reactionTo, wasNeverSent } from "../../../base/errors/reaction.js";
import { assertArray, assertKnownKeys, assertOneOf } from "../../../base/input/assert.js";
import { snapshot } from "../../../base/input/snapshot.js";
import { monotonicMs } from "../../../base/runtime/index.js";
import type { Input } from "../../config/client-config.js";
import type { FallbackConfig, NamedTransport } from "../../config/config-schema.js";
import { asLimit, callId, failedTransportsKey, maxWaitKey, remainingMs, withOwnContextValue } from "../call-context.js";
import { setDetails, toConnectError } from "../call-failure.js";
import { type Hooks, isolateHooks } from "../hooks.js";
import { type AnyCall, sendStream, sendUnary, transportOf } from "../layered.js";
import { callError, endedInOwnWait, endUnsent } from "../library-errors.js";
import { awaitFirstMessage, replayable } from "../message-streams.js";
import { hasSingleResponse, isReadOnly, isRepeatable, methodName } from "../method.js";
import type { ClosableTransport } from "../transport-types.js";

/** One of several transports, and its name in hooks and errors. */
export type FallbackMember = NamedTransport;

/** A transport to one of several nodes. */
export interface NodeMember extends FallbackMember {
  /** A group that rotates together: calls go to members of another group only if those of the preferred one fail. */
  readonly group?: string;
  /** The node's host: a call that one host refuses because of too many calls, another may accept. */
  readonly node?: string;
}

/** Decides which members may be used. */
export interface NodeGate {
  /**
   * Returns why a member must not be used, or `undefined` if it may. It throws if the member cannot be reached, or does not
   * answer within the limit.
   *
   * @param name the member's name
   * @param signal the signal of the call
   * @param limitMs the time that the call has for it, in milliseconds; `undefined` without a limit
   */
  refusal(name: string, signal: AbortSignal | undefined, limitMs: number | undefined): Promise<string | undefined>;
  /** Schedules a check of a member before its next use, because its connection was lost. */
  onLost(name: string): void;
  /** Returns whether a member has answered since its connection was lost. */
  hasAnswered(name: string): boolean;
  /** Returns whether a member does not have the path of its check, so that it may not be a node. */
  lacksCheck(name: string): boolean;
}

/** Options of {@link fallback}. Omitted ones have the configuration's defaults. */
export interface FallbackOptions extends Input<Omit<FallbackConfig, "maxLagBlocks">> {
  /** `onFallback` is called when a call is made again over another transport. */
  readonly hooks?: Pick<Hooks, "onFallback"> | undefined;
}

interface Candidate {
  readonly member: NodeMember;
  /** Whether it is in its cooldown, because it was unreachable. */
  readonly isCoolingDown: boolean;
}

/**
 * Composes transports into one, in order of preference.
 *
 * A call falls back to the next transport if one is unreachable, does not answer within its share of the call's time, does not
 * offer the method, or is answered by something other than a node, as long as no message has arrived. A call that may not be
 * repeated, or whose requests stream, falls back only if there was no connection; otherwise the node might execute it twice, or
 * requests could be lost. A transport that was unreachable gets a cooldown, so that it costs one failed connection rather than
 * one per call.
 *
 * @param members at least one transport, the preferred one first
 * @param options `strategy` is `first`, the default, or `round-robin`: reads go to all transports in turn. `pauseMs` is the
 *   cooldown of a transport that was unreachable, in milliseconds (30 000 by default); it doubles with each failure up to
 *   `maxPauseMs` (300 000)
 * @returns the transport; closing it closes all members
 *
 * @example
 * const transport = fallback([
 *   { name: "grpc", transport: createGrpcTransport({ url: "http://127.0.0.1:3007" }) },
 *   { name: "rest", transport: createRestTransport({ url: "http://127.0.0.1:3008" }) },
 * ]);
 */
export function fallback(members: readonly FallbackMember[], options: FallbackOptions = {}): ClosableTransport {
  members = snapshot(members);
  options = snapshot(options);
  assertKnownKeys("options", options, { strategy: true, pauseMs: true, maxPauseMs: true, hooks: true });
  assertOneOf("strategy", options.strategy, ["first", "round-robin"]);
  assertArray("members", members, "an array of { name, transport }");
  return betweenNodes(members, options);
}

/**
 * Composes transports as {@link fallback} does. A call that may not be repeated goes first to members that have passed their
 * check, since others may not be nodes.
 */
export function betweenNodes(
  members: readonly NodeMember[],
  options: FallbackOptions & { readonly gate?: NodeGate; readonly rotates?: (method: DescMethod) => boolean },
): ClosableTransport {
  const {
    strategy = "first",
    pauseMs = 30_000,
    maxPauseMs = 300_000,
    hooks = {},
    gate,
    rotates = isReadOnly,
  } = options;
  const { onFallback } = isolateHooks(hooks);
  const inOrder = createOrder(members);
  const cooldowns = createCooldowns(pauseMs, maxPauseMs);
  const membersFor = (method: DescMethod) => (strategy === "round-robin" && rotates(method) ? inOrder() : members);
  /** Only nodes of the network can be checked. */
  const turnsFor = (method: DescMethod): Turns => ({
    membersFor,
    cooldowns,
    onFallback,
    gate: serverOf(methodName(method)) === "node" ? gate : undefined,
  });

  return transportOf({
    unary: (call) =>
      callInTurn(turnsFor(call.method), call, ({ transport }, remaining) => {
        const { method, timeoutMs, contextValues } = call;
        const leftMs = remainingMs(contextValues) ?? timeoutMs;
        const limitMs = shareMs(leftMs, remaining);
        if (isRepeatable(method, contextValues)) {
          return sendUnary(transport, { ...call, timeoutMs: limitMs });
        }
        // Once it was sent, it does not fall back, so that it has all the time.
        const values = withOwnContextValue(contextValues, maxWaitKey, limitMs);
        return sendUnary(transport, { ...call, timeoutMs: shareMs(leftMs, []), contextValues: values });
      }),

    async stream(call) {
      const { method, contextValues } = call;
      if (method.methodKind !== "server_streaming") {
        const requests = recordRequests(call.message);
        const response = await callInTurn(
          turnsFor(method),
          call,
          ({ transport }) => sendStream(transport, { ...call, message: requests.replay() }),
          (error) => wasNeverSent(error) && requests.isComplete(),
        ).catch((reason: unknown) => {
          requests.end();
          throw reason;
        });
        requests.release();
        return response;
      }
      const messages = await replayable(call.message);
      return callInTurn(turnsFor(method), call, async (member, [next]) => {
        const response = await awaitFirstMessage(await sendStream(member.transport, { ...call, message: messages() }));
        const failedTransports = contextValues.get(failedTransportsKey);
        if (next === undefined || failedTransports === undefined) {
          return response;
        }
        // Records the transport over which the stream fails, so that `startingOver` uses another one.
        const message = mapStreamErrors(response.message, (reason) => {
          const error = errorOf(reason, member, method);
          if (reactionTo(error).fallBack) {
            failedTransports.add(member.name);
            const id = callId(contextValues);
            onFallback?.({ id, method: methodName(method), from: member.name, to: next.member.name, error });
          }
          throw reason;
        });
        return { ...response, message };
      });
    },

    async close() {
      await Promise.all(members.map(({ transport }) => transport.close?.()));
    },
  });
}

interface Cooldowns {
  isCoolingDown(member: FallbackMember): boolean;
  start(member: FallbackMember): void;
  /** Forgets the cooldowns of a transport that was reached. */
  clear(member: FallbackMember): void;
}

function createCooldowns(firstMs: number, maxMs: number): Cooldowns {
  /** The lengths of the last cooldowns, and their ends by `monotonicMs()`. */
  const cooldowns = new Map<string, { readonly until: number; readonly ms: number }>();
  const isCoolingDown = ({ name }: FallbackMember) => monotonicMs() < (cooldowns.get(name)?.until ?? 0);
  return {
    isCoolingDown,
    start(member) {
      if (!isCoolingDown(member)) {
        // Calls that fail at the same time count as one failure.
        const previous = cooldowns.get(member.name);
        const ms = previous === undefined ? firstMs : Math.min(previous.ms * 2, maxMs);
        cooldowns.set(member.name, { until: monotonicMs() + ms, ms });
      }
    },
    clear({ name }) {
      cooldowns.delete(name);
    },
  };
}

/** Returns a function that returns the members in another order each time: those of a group take turns. */
function createOrder(members: readonly NodeMember[]): () => readonly NodeMember[] {
  const groups = [...new Set(members.map(({ group }) => group))].map((group) =>
    members.filter((member) => member.group === group),
  );
  let turn = 0;
  return () => {
    const first = turn;
    turn = (turn + 1) % Number.MAX_SAFE_INTEGER;
    return groups.flatMap((group) => group.map((_, at) => group[(first + at) % group.length] ?? noCandidate()));
  };
}

interface Turns {
  /** Returns all members in the order of preference for a call. */
  membersFor(method: DescMethod): readonly NodeMember[];
  readonly cooldowns: Cooldowns;
  readonly onFallback: Hooks["onFallback"];
  readonly gate: NodeGate | undefined;
}

/** Returns the candidates for a call. Those in their cooldown come last, in case no other one is reachable. */
function candidatesFor({ membersFor, cooldowns, gate }: Turns, { method, contextValues }: AnyCall): Candidate[] {
  const failedTransports = contextValues.get(failedTransportsKey);
  const candidates = membersFor(method)
    .filter(({ name }) => failedTransports?.has(name) !== true)
    .map((member) => ({
      member,
      isCoolingDown: cooldowns.isCoolingDown(member) && gate?.hasAnswered(member.name) !== true,
    }));
  return [
    ...candidates.filter(({ isCoolingDown }) => !isCoolingDown),
    ...candidates.filter(({ isCoolingDown }) => isCoolingDown),
  ];
}

/** Returns the part of a call's time that a candidate may use, in milliseconds. It leaves half for the remaining ones. */
function shareMs(leftMs: number | undefined, remaining: readonly Candidate[]): number | undefined {
  const isShared = remaining.some(({ isCoolingDown }) => !isCoolingDown);
  const share = leftMs !== undefined && isShared ? leftMs / 2 : leftMs;
  return share && asLimit(share);
}

type Attempt<T> =
  | { readonly kind: "ok"; readonly result: T }
  /** Members that have passed their check go first: this one may not be a node. */
  | { readonly kind: "postponed" }
  /** `wasRefused` if the member was skipped. */
  | { readonly kind: "failed"; readonly reason: unknown; readonly error: TradewireError; readonly wasRefused: boolean };

type Send<T> = (member: FallbackMember, remaining: readonly Candidate[]) => Promise<T>;

/**
 * Makes a call over one candidate after the other, until one succeeds; `send` gets the remaining candidates. One in its
 * cooldown is used only if the others lost the connection. That it is still unreachable says nothing new, so it is the
 * call's failure only if all candidates are in their cooldown.
 */
async function callInTurn<T>(
  turns: Turns,
  call: AnyCall,
  send: Send<T>,
  mayFallBack = (error: TradewireError) => wasNeverSent(error) || isRepeatable(call.method, call.contextValues),
): Promise<T> {
  let candidates = candidatesFor(turns, call);
  let candidate = candidates.shift() ?? noCandidate();
  const areAllCoolingDown = candidate.isCoolingDown;
  const earlier: FailedMember[] = [];
  let failure: unknown;
  for (;;) {
    const { member, isCoolingDown } = candidate;
    const attempt = await attemptOver(turns, call, member, candidates, send);
    switch (attempt.kind) {
      case "ok":
        return attempt.result;
      case "postponed":
        candidates.push(candidate);
        candidate = candidates.shift() ?? noCandidate();
        break;
      case "failed": {
        const { reason, error } = attempt;
        const { others, isElsewhere, mayGoOn } = optionsAfter(turns, error, member, candidates);
        candidates = others;
        if (call.signal?.aborted === true || !mayGoOn) {
          throw withEarlierFailures(reason, error, earlier);
        }
        noteLoss(turns, attempt, member);
        // What was sent must not look as if it was not.
        if (!isCoolingDown || areAllCoolingDown || !wasNeverSent(error)) {
          failure = withEarlierFailures(reason, error, earlier);
        }
        const next = candidates.shift();
        // If there was no answer of a node and time remains, even a transport in its cooldown may succeed.
        const mayReachNext = isElsewhere || (error instanceof ConnectionError && reactionTo(error).retry);
        if (next === undefined || !mayFallBack(error) || (next.isCoolingDown && !isCoolingDown && !mayReachNext)) {
          throw failure;
        }
        earlier.push({ name: member.name, error });
        const id = callId(call.contextValues);
        turns.onFallback?.({ id, method: methodName(call.method), from: member.name, to: next.member.name, error });
        candidate = next;
      }
    }
  }
}

async function attemptOver<T>(
  { cooldowns, gate }: Turns,
  call: AnyCall,
  member: NodeMember,
  remaining: readonly Candidate[],
  send: Send<T>,
): Promise<Attempt<T>> {
  const { method, contextValues } = call;
  let refusal: string | undefined;
  try {
    refusal = gate && (await refusalOf(gate, member, call, shareMs(remainingMs(contextValues), remaining)));
    if (refusal !== undefined) {
      throw notSent(`${member.name} is skipped: ${refusal}`);
    }
    if (!isRepeatable(method, contextValues) && isLessKnown(gate, member, remaining)) {
      return { kind: "postponed" };
    }
    const result = await send(member, [...remaining]);
    cooldowns.clear(member);
    return { kind: "ok", result };
  } catch (reason) {
    return { kind: "failed", reason, error: errorOf(reason, member, method), wasRefused: refusal !== undefined };
  }
}

/** Returns what remains after a failure: the candidates, and whether one of them may have what this member has not. */
function optionsAfter(
  { gate }: Turns,
  error: TradewireError,
  member: NodeMember,
  candidates: readonly Candidate[],
): { readonly others: Candidate[]; readonly isElsewhere: boolean; readonly mayGoOn: boolean } {
  const isLimited = isTooManyCalls(error);
  const others = candidates.filter((other) => !isLimited || other.member.node !== member.node);
  // A server that is no node has nothing that a node has.
  const isElsewhere = failureKind(error) === "node: not found" && gate?.lacksCheck(member.name) === true;
  const mayGoOn = reactionTo(error).fallBack || ((isLimited || isElsewhere) && others.length > 0);
  return { others, isElsewhere, mayGoOn };
}

/** Starts the cooldown of a member whose connection was lost. */
function noteLoss(
  { cooldowns, gate }: Turns,
  { error, wasRefused }: Attempt<unknown> & { readonly kind: "failed" },
  member: NodeMember,
): void {
  if (error instanceof ConnectionError && !wasRefused && !endedInOwnWait(error)) {
    cooldowns.start(member);
    gate?.onLost(member.name);
  }
}

/**
 * Consumes a stream whose messages only count when it is complete, such as a file that is being written. If the stream fails
 * midway and there is another transport, it is consumed again from the start over that one.
 *
 * @throws the error of `consume` if no transport remains to start over with
 */
export async function startingOver<T>(consume: (contextValues: ContextValues) => Promise<T>): Promise<T> {
  const failedTransports = new Set<string>();
  for (;;) {
    const failuresBefore = failedTransports.size;
    try {
      return await consume(createContextValues().set(failedTransportsKey, failedTransports));
    } catch (reason) {
      if (failedTransports.size === failuresBefore) {
        throw reason;
      }
    }
  }
}

/** Returns whether a member may not be a node, since it has not answered its check, while another one is a node. */
function isLessKnown(gate: NodeGate | undefined, { name }: NodeMember, others: readonly Candidate[]): boolean {
  return gate?.hasAnswered(name) === false && others.some(({ member }) => gate.hasAnswered(member.name));
}

/** Returns why a member must not be used, if so. Throws if it cannot be checked. Nothing of the call was sent then. */
async function refusalOf(
  gate: NodeGate,
  member: NodeMember,
  { method, signal }: AnyCall,
  limitMs: number | undefined,
): Promise<string | undefined> {
  try {
    return await gate.refusal(member.name, signal, limitMs);
  } catch (reason) {
    if (signal?.aborted === true) {
      throw endUnsent(signal.reason, "the node was checked");
    }
    const error = errorOf(reason, member, method);
    if (error instanceof RequestError) {
      throw toConnectError(error);
    }
    if (error instanceof BannedError) {
      throw toConnectError(new BannedError(error.until, error)); // The check may have been sent, but the call was not.
    }
    throw notSent(error.headline, error);
  }
}

/** Returns the failure of a call that was not sent because of its node. */
function notSent(headline: ErrorText, reason?: TradewireError): ConnectError {
  const advice = "Nothing was sent. Check this node, or remove it from the configuration.";
  const { code = Code.Unavailable, notes = [] } = reason ?? {};
  const cause = new ConnectionError(headline, { code, notes, advice, cause: reason, connected: false });
  return new ConnectError(cause.summary, code, undefined, undefined, cause);
}

/** Returns whether a node refuses a call, its check, or all calls of this address, for too many calls. */
function isTooManyCalls(error: unknown): boolean {
  return (
    error instanceof BannedError ||
    (error instanceof NodeError && error.code === Code.ResourceExhausted) ||
    (error instanceof ConnectionError && !error.connected && isTooManyCalls(error.cause))
  );
}

function noCandidate(): never {
  throw new ConnectError("no transport is available for the call", Code.Unavailable);
}

/** Returns the library's error for a member's failure. A member may be any transport, which throws other errors. */
function errorOf(reason: unknown, { name }: FallbackMember, method: DescMethod): TradewireError {
  const call = { method: methodName(method), hasSingleResponse: hasSingleResponse(method) };
  return callError(reason, { transport: name, url: name, ...call });
}

/** A transport over which a call failed. */
export interface FailedMember {
  readonly name: string;
  readonly error: TradewireError;
}

/** Adds the failures over the transports that were used before to a call's last failure. */
export function withEarlierFailures(reason: unknown, error: TradewireError, earlier: readonly FailedMember[]): unknown {
  const cause = earlier.length === 0 ? undefined : withNote(error, earlier.map(describeFailure).join("; "));
  if (cause === undefined) {
    return reason;
  }
  Object.assign(cause, { transport: error.transport, method: error.method });
  const { rawMessage, metadata, details } = ConnectError.from(reason);
  return setDetails(new ConnectError(rawMessage, cause.code, metadata, undefined, cause), details);
}

function withNote(error: TradewireError, note: string): TradewireError | undefined {
  const { code, errorCode, details, cause } = error;
  const { headline, notes, advice } = error.texts;
  const options = { code, errorCode, advice, details, cause, notes: [...notes, note] };
  if (error instanceof ConnectionError) {
    return new ConnectionError(headline, { ...options, connected: error.connected, isClosed: error.isClosed });
  }
  if (error instanceof ProtocolError) {
    const { isTruncated } = error;
    return new ProtocolError(headline, { ...options, isTruncated });
  }
  if (error instanceof RequestError) {
    return new RequestError(headline, options);
  }
  if (error instanceof NodeError) {
    const { object, isRefusal, http, method } = error;
    const server = method === undefined ? undefined : serverOf(method);
    return new NodeError(object, { cause, notes: options.notes, isRefusal, http, server });
  }
  return undefined;
}

function describeFailure({ name, error }: FailedMember): string {
  return `previously over ${name}: ${[error.headline, ...error.notes].join(", ").replace(/[()]/g, "")}`;
}

/** The maximum number of requests that are recorded. A transport that reads more has been reached. */
const MAX_RECORDED = 100;

/** Streaming requests that are offered to one transport after the other, until one is reached. */
interface RecordedRequests<T> {
  /** Returns the requests from the first on, for the next transport. Earlier transports get no more. */
  replay(): AsyncIterable<T>;
  /** Returns whether all requests that were read can be replayed. */
  isComplete(): boolean;
  /** Stops recording: the transport that has the requests was reached. */
  release(): void;
  /** Ends the source: no transport was reached. */
  end(): void;
}

/** Whether requests are recorded. While they are, the current reader has read `position` of those that were. */
type RecordingState =
  | { readonly kind: "recording"; readonly position: number }
  | { readonly kind: "released"; readonly isComplete: boolean };

/** Records the requests that a transport reads, so that another one can have them too. Nothing is read ahead. */
function recordRequests<T>(source: AsyncIterable<T>): RecordedRequests<T> {
  const iterator = source[Symbol.asyncIterator]();
  const recorded: Promise<IteratorResult<T>>[] = [];
  const done = { done: true, value: undefined } as const;
  let state: RecordingState = { kind: "recording", position: 0 };
  let readers = 0;

  function release(isComplete: boolean): void {
    if (state.kind === "recording") {
      recorded.splice(0, state.position);
      state = { kind: "released", isComplete };
    }
  }

  function read(): Promise<IteratorResult<T>> {
    if (state.kind === "released") {
      return recorded.shift() ?? iterator.next();
    }
    const { position } = state;
    const known = recorded[position];
    if (known === undefined && recorded.length === MAX_RECORDED) {
      release(false);
      return iterator.next();
    }
    state = { kind: "recording", position: position + 1 };
    if (known !== undefined) {
      return known;
    }
    const next = iterator.next();
    next.catch(() => undefined); // The reader may be gone.
    recorded.push(next);
    return next;
  }

  return {
    replay() {
      readers += 1;
      const reader = readers;
      if (state.kind === "recording") {
        state = { kind: "recording", position: 0 };
      }
      // A transport that fails ends what it reads, but the source is for the next one.
      const ownsSource = () => reader === readers && state.kind === "released";
      return {
        [Symbol.asyncIterator]: () => ({
          async next() {
            const result = reader === readers ? await read() : done;
            return reader === readers ? result : done;
          },
          async return() {
            return ownsSource() ? ((await iterator.return?.()) ?? done) : done;
          },
          async throw(reason: unknown) {
            return ownsSource() ? ((await iterator.throw?.(reason)) ?? done) : done;
          },
        }),
      };
    },
    isComplete: () => state.kind === "recording" || state.isComplete,
    release: () => release(true),
    end() {
      readers += 1;
      iterator.return?.().catch(() => undefined);
    },
  };
}
