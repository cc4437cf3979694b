import type { DescMethod } from "@bufbuild/protobuf";
import { ConnectError, type ContextValues } from "@connectrpc/connect";
import { Code } from "../../../base/errors/code.js";
import { BannedError } from "../../../base/errors/index.js";
import { MAX_TIMER_MS, monotonicMs, type StopTimer, startTimer, unixMs } from "../../../base/runtime/index.js";
import { onAbort } from "../../../base/signal/abort.js";
import { asLimit, beforeSendKey, callId, isUrgentKey, maxWaitKey, newContextValues } from "../call-context.js";
import { addFacts, deadlineError, factsOf } from "../call-failure.js";
import type { Hooks, WaitInfo } from "../hooks.js";
import { type AnyCall, layered } from "../layered.js";
import { endUnsent } from "../library-errors.js";
import { methodName } from "../method.js";
import type { AnyTransport, ClosableTransport } from "../transport-types.js";

/** The rate limiter of a client's calls over all its transports. */
export interface Pace extends AsyncDisposable {
  /**
   * Waits until a call may be sent, without a promise if it may be sent at once.
   *
   * @param method the method of the call
   * @param signal ends the wait
   * @param timeoutMs the time limit of the wait, in milliseconds; 0 or less means no limit
   * @param contextValues the call's context values, which hold the id for `onWait`
   * @returns a function to call once with the response of the call: its headers, or its failure
   * @throws ConnectError with a {@link BannedError} as its cause while the node bans this address; one that says that
   *   nothing was sent if the time is up; the signal's reason
   */
  turn(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs?: number,
    contextValues?: ContextValues,
  ): OnResponse | Promise<OnResponse>;
  /** Throws if the node has banned this address, or if the client is closed. */
  checkOpen(): void;
  /** Fails all waiting and later calls. Further calls of `close` have no effect. */
  close(): void;
}

/**
 * Records the response of a call. For a failure by which the node limits calls, it returns the error to throw in its place.
 */
type OnResponse = (response: Headers | ConnectError) => ConnectError | undefined;

/** Whether calls may be sent. Times are by `monotonicMs()`. */
type Gate =
  /** The node refused a call until `heldUntil`; 0 if it never did. */
  | { readonly kind: "open"; readonly heldUntil: number }
  /** The node has banned this address until `end`, which is `until` by the system's clock. */
  | { readonly kind: "banned"; readonly end: number; readonly until: Date; readonly heldUntil: number }
  | { readonly kind: "closed" };

/** The known state of the node's rate limit. Times are by `monotonicMs()`. */
type NodeLimit =
  /** No response has arrived yet. `crowdedAt` is the time at which {@link CAUTIOUS_CALLS} calls were in flight. */
  | { readonly kind: "unknown"; readonly crowdedAt: number }
  /** The node's responses name no limit, so it has none. The last one arrived at `heardAt`. */
  | { readonly kind: "unlimited"; readonly heardAt: number }
  | { readonly kind: "limited"; readonly heardAt: number; readonly bucket: TokenBucket };

/** The wait until the next call may be sent; infinite until a response arrives. */
interface Delay extends Omit<WaitInfo, "id" | "method"> {
  /** Whether the wait is a precaution rather than a known limit. */
  readonly isGuess?: boolean;
}

/** The number of calls that may be in flight while no recent response says what remains of the node's limit. */
const CAUTIOUS_CALLS = 10;
const CAUTIOUS_AFTER_MS = 1000;

/** While nothing is known about the node's limit, {@link CAUTIOUS_CALLS} more are sent each time: the node may be slow. */
const CAUTIOUS_STEP_MS = 200;

/** Has a lane of its own: a transaction is tied to a block, and expires while it waits. */
const SUBMIT = "vega.api.v1.CoreService/SubmitTransaction";

/** The burst of calls that deployed nodes accept from a new address. */
const USUAL_BURST = 100;

/**
 * Creates the rate limiter of a client. Deployed nodes limit the calls of an address, and ban an address that continues after a
 * refusal. The node's responses say how many calls remain; excess calls wait, in the order in which they were made.
 *
 * @param callsPerSecond the maximum number of calls to send in a second; by default only the node limits them
 * @param hooks `onWait` is called before each wait
 * @returns the rate limiter
 */
export function createPace(callsPerSecond: number | undefined, { onWait }: Hooks = {}): Pace {
  const local = callsPerSecond === undefined ? undefined : createTokenBucket(callsPerSecond, callsPerSecond / 10);
  const inFlight = { count: 0, haveOverlapped: false };
  let gate: Gate = { kind: "open", heldUntil: 0 };
  let node: NodeLimit = { kind: "unknown", crowdedAt: 0 };
  const queue = createCallQueue({ waitMs: () => delay().waitMs, onSend, timeoutError });

  function delay(): Delay {
    const heldMs = gate.kind === "closed" || gate.heldUntil === 0 ? 0 : gate.heldUntil - monotonicMs();
    if (heldMs > 0) {
      return { waitMs: heldMs, reason: "the server refused a call" };
    }
    const nodeBucket = node.kind === "limited" ? node.bucket : undefined;
    const [nodeMs, localMs] = [nodeBucket?.waitMs() ?? 0, local?.waitMs() ?? 0];
    if (nodeMs > 0 || localMs > 0) {
      return nodeMs >= localMs
        ? { waitMs: nodeMs, reason: "the server's rate limit" }
        : { waitMs: localMs, reason: "limits.callsPerSecond" };
    }
    const precaution = precautionaryDelay(node, inFlight.count);
    if (precaution !== undefined) {
      return precaution;
    }
    const isLocalSlower = local !== undefined && local.msFor(1) >= (nodeBucket?.msFor(1) ?? 0);
    return { waitMs: 0, reason: isLocalSlower ? "limits.callsPerSecond" : "the server's rate limit" };
  }

  function timeoutError(): ConnectError {
    return endUnsent(deadlineError(), undefined, delay().reason === "limits.callsPerSecond");
  }

  function onSend(): void {
    if (node.kind === "limited") {
      node.bucket.take();
    }
    local?.take();
    inFlight.haveOverlapped ||= inFlight.count > 0;
    inFlight.count += 1;
    if (node.kind === "unknown" && inFlight.count === CAUTIOUS_CALLS) {
      node = { kind: "unknown", crowdedAt: monotonicMs() };
    }
  }

  function onResponse(response: Headers | ConnectError): ConnectError | undefined {
    const error = response instanceof ConnectError ? response : undefined;
    const headers = response instanceof ConnectError ? response.metadata : response;
    inFlight.count -= 1;
    node = nodeLimitAfter(node, headers, error === undefined || headers.has("grpc-status"), inFlight);
    inFlight.haveOverlapped &&= inFlight.count > 0;
    const refusal = error && readRefusal(error);
    const failure = refusal && refuse(refusal, error);
    queue.sendNext();
    return failure;
  }

  /** Applies a refusal to all calls; returns the error of the refused call, if it differs from the node's. */
  function refuse(refusal: RateRefusal, error: ConnectError): ConnectError | undefined {
    const now = monotonicMs();
    switch (refusal.kind) {
      case "hold":
        if (gate.kind !== "closed") {
          gate = { ...gate, heldUntil: now + refusal.ms };
        }
        // Over HTTP, the status alone says so, and it stands for another code.
        return error.code === Code.ResourceExhausted ? undefined : asResourceExhausted(error);
      case "ban": {
        const until = new Date(unixMs() + refusal.ms);
        queue.failAll(() => bannedError(until, error));
        if (gate.kind === "closed") {
          return closedError();
        }
        gate = { kind: "banned", end: now + refusal.ms, until, heldUntil: gate.heldUntil };
        const refusedBy = factsOf(error).isNodeStatus === true ? "node" : "unknown";
        return refusal.ms > 0 ? bannedError(until, error, refusedBy) : undefined;
      }
    }
  }

  async function waitForTurn(
    method: DescMethod,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    contextValues: ContextValues,
  ): Promise<OnResponse> {
    pace.checkOpen();
    signal?.throwIfAborted();
    const { waitMs, reason, isGuess } = delay();
    const queued = queue.length();
    if (queued === 0 && waitMs <= 0) {
      onSend();
      return onResponse;
    }
    if (waitMs !== Number.POSITIVE_INFINITY && isGuess !== true) {
      const nodeMs = node.kind === "limited" ? node.bucket.msFor(queued) : 0;
      const queueMs = Math.max(nodeMs, local?.msFor(queued) ?? 0);
      const id = callId(contextValues);
      onWait?.({ id, method: methodName(method), waitMs: waitMs + queueMs, reason });
    }
    const isSubmission = methodName(method) === SUBMIT;
    const lane = contextValues.get(isUrgentKey) ? "urgent" : isSubmission ? "submissions" : "others";
    await queue.wait(signal, timeoutMs, lane);
    return onResponse;
  }

  const pace: Pace = {
    turn(method, signal, timeoutMs, contextValues = newContextValues()) {
      if (gate.kind !== "open" || signal?.aborted === true || queue.length() > 0 || delay().waitMs > 0) {
        return waitForTurn(method, signal, timeoutMs, contextValues);
      }
      onSend();
      return onResponse;
    },

    checkOpen() {
      if (gate.kind === "closed") {
        throw closedError();
      }
      if (gate.kind === "banned" && monotonicMs() < gate.end) {
        throw bannedError(gate.until);
      }
    },

    close() {
      gate = { kind: "closed" };
      queue.failAll(closedError);
    },

    async [Symbol.asyncDispose]() {
      this.close();
    },
  };
  return pace;
}

/** Returns the wait while too many calls are in flight without a recent response; `undefined` if there are not. */
function precautionaryDelay(node: NodeLimit, inFlight: number): Delay | undefined {
  if (inFlight < CAUTIOUS_CALLS) {
    return undefined;
  }
  const untilResponse: Delay = { waitMs: Number.POSITIVE_INFINITY, reason: "the server's rate limit" };
  switch (node.kind) {
    case "unlimited":
      return undefined;
    case "limited":
      return monotonicMs() - node.heardAt < CAUTIOUS_AFTER_MS ? undefined : untilResponse;
    case "unknown": {
      const steps = Math.floor((monotonicMs() - node.crowdedAt) / CAUTIOUS_STEP_MS);
      if (inFlight < CAUTIOUS_CALLS * (steps + 1)) {
        return undefined;
      }
      const nextStepAt = node.crowdedAt + (steps + 1) * CAUTIOUS_STEP_MS;
      return inFlight < USUAL_BURST
        ? { ...untilResponse, waitMs: asLimit(nextStepAt - monotonicMs()), isGuess: true }
        : untilResponse;
    }
  }
}

/**
 * Returns what is known about the node's limit after a response. The response may or may not have counted the calls that
 * are still in flight.
 */
function nodeLimitAfter(
  node: NodeLimit,
  headers: Headers,
  isFromNode: boolean,
  inFlight: { readonly count: number; readonly haveOverlapped: boolean },
): NodeLimit {
  const lastHeardAt = node.kind === "unknown" ? Number.NEGATIVE_INFINITY : node.heardAt;
  const heardAt = isFromNode ? monotonicMs() : lastHeardAt;
  const allowance = readAllowance(headers);
  if (allowance !== undefined) {
    const bucket = node.kind === "limited" ? node.bucket : createTokenBucket(allowance.perSecond);
    bucket.correct(allowance.perSecond, allowance.remaining - inFlight.count, !inFlight.haveOverlapped);
    return { kind: "limited", heardAt, bucket };
  }
  if (!isFromNode) {
    return node;
  }
  return node.kind === "limited" ? { ...node, heardAt } : { kind: "unlimited", heardAt };
}

/** Calls that wait to be sent, in order. */
interface CallQueue {
  length(): number;
  /**
   * Waits until it is the call's turn: urgent calls go first, then submissions and others alternately. Throws the signal's
   * reason, or an error if the time limit is reached.
   */
  wait(signal: AbortSignal | undefined, timeoutMs: number | undefined, lane: Lane): Promise<void>;
  /** Sends the calls whose turn has come, and sets a timer for the others. */
  sendNext(): void;
  failAll(reason: () => unknown): void;
}

type Lane = "urgent" | "submissions" | "others";

interface WaitingCall {
  send(): void;
  fail(reason: unknown): void;
}

function createCallQueue({
  waitMs,
  onSend,
  timeoutError,
}: {
  waitMs(): number;
  onSend(): void;
  timeoutError(): ConnectError;
}): CallQueue {
  const lanes: Readonly<Record<Lane, WaitingCall[]>> = { urgent: [], submissions: [], others: [] };
  let last: Lane = "others";
  let stopTimer: StopTimer | undefined;

  /** Returns the lane of the next call; one without calls if none waits. */
  function nextLane(): Lane {
    const [one, other] =
      last === "submissions" ? (["others", "submissions"] as const) : (["submissions", "others"] as const);
    return lanes.urgent.length > 0 ? "urgent" : lanes[one].length > 0 ? one : other;
  }

  const length = () => lanes.urgent.length + lanes.submissions.length + lanes.others.length;

  function sendNext(): void {
    stopTimer?.();
    stopTimer = undefined;
    while (length() > 0) {
      const lane = nextLane();
      const [next] = lanes[lane];
      const ms = waitMs();
      if (next === undefined || ms > 0) {
        const needsTimer = next !== undefined && ms !== Number.POSITIVE_INFINITY;
        stopTimer = needsTimer ? startTimer(sendNext, ms) : undefined;
        return;
      }
      lanes[lane].shift();
      last = lane;
      onSend();
      next.send();
    }
  }

  return {
    length,
    wait: (signal, timeoutMs = 0, lane) =>
      new Promise((resolve, reject) => {
        const leave = (reason: unknown) => {
          lanes[lane].splice(lanes[lane].indexOf(call), 1);
          call.fail(reason);
          sendNext();
        };
        const stopListening = onAbort(signal, () => leave(signal?.reason));
        const onTimeout = () => leave(timeoutError());
        const stopTimeout = timeoutMs > 0 ? startTimer(onTimeout, Math.min(timeoutMs, MAX_TIMER_MS)) : undefined;
        const end = () => {
          stopListening();
          stopTimeout?.();
        };
        const call: WaitingCall = {
          send() {
            end();
            resolve();
          },
          fail(reason) {
            end();
            reject(reason);
          },
        };
        lanes[lane].push(call);
        sendNext();
      }),
    sendNext,
    failAll(reason) {
      stopTimer?.();
      for (const { fail } of Object.values(lanes).flatMap((lane) => lane.splice(0))) {
        fail(reason());
      }
    },
  };
}

function closedError(): ConnectError {
  return new ConnectError("the transport is closed", Code.Canceled);
}

function bannedError(until: Date, ...response: [reason?: unknown, refusedBy?: "node" | "unknown"]): ConnectError {
  const cause = new BannedError(until, ...response);
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}

/** Returns the error of a refusal with the code that gRPC has for it. */
function asResourceExhausted(error: ConnectError): ConnectError {
  const { isNodeStatus = false } = factsOf(error);
  return addFacts(new ConnectError(error.rawMessage, Code.ResourceExhausted, error.metadata), { isNodeStatus });
}

/**
 * Returns a transport that limits the rate of its calls.
 *
 * @param transport the transport that makes the calls
 * @param pace the client's rate limiter
 * @param isCounted returns whether nodes count the calls of a method over this transport
 * @returns the transport; closing it fails the calls that wait and closes `transport`
 */
export function paced(
  transport: AnyTransport,
  pace: Pace,
  isCounted: (method: DescMethod) => boolean,
): ClosableTransport {
  /** Sends a call when it is its turn; the time that it waited is subtracted from its time limit. */
  async function inTurn<C extends AnyCall, R extends { readonly header: Headers; readonly trailer: Headers }>(
    call: C,
    send: (call: C) => Promise<R>,
  ): Promise<R> {
    const { method, signal, timeoutMs, contextValues } = call;
    const waitMs = contextValues.get(maxWaitKey) ?? timeoutMs;
    let onResponse = pace.turn(method, signal, waitMs, contextValues);
    let leftMs = timeoutMs;
    if (onResponse instanceof Promise) {
      const start = monotonicMs();
      onResponse = await onResponse.catch((reason: unknown) => {
        throw signal?.aborted === true ? endUnsent(signal.reason) : reason;
      });
      const isLimited = timeoutMs !== undefined && timeoutMs > 0;
      leftMs = isLimited ? asLimit(timeoutMs - (monotonicMs() - start)) : timeoutMs;
    }
    try {
      const outdated = contextValues.get(beforeSendKey)();
      if (outdated !== undefined) {
        throw outdated;
      }
      const response = await send({ ...call, timeoutMs: leftMs });
      onResponse(response.header.has("ratelimit-remaining") ? response.header : response.trailer);
      return response;
    } catch (reason) {
      throw onResponse(ConnectError.from(reason)) ?? reason;
    }
  }

  return layered(transport, {
    unary: (call, next) => inTurn(call, next),

    async stream(call, next) {
      if (isCounted(call.method)) {
        return inTurn(call, next);
      }
      pace.checkOpen();
      return next(call);
    },

    async close() {
      pace.close();
      await transport.close?.();
    },
  });
}

/** A token bucket: it refills at a constant rate, and each call takes one token. */
export interface TokenBucket {
  /** Returns the milliseconds until a token is available; 0 if one is. */
  waitMs(): number;
  /** Returns the milliseconds in which a number of tokens is added. */
  msFor(tokens: number): number;
  take(): void;
  /** Corrects the bucket with the known state of the node's limit. */
  correct(perSecond: number, known: number, isExact: boolean): void;
}

export function createTokenBucket(perSecond: number, capacity = perSecond): TokenBucket {
  const bucket = {
    perSecond,
    capacity: Math.max(capacity, 1),
    tokens: Math.max(capacity, 1),
    filledAt: monotonicMs(),
  };

  function fill(): void {
    const now = monotonicMs();
    bucket.tokens = Math.min(bucket.tokens + ((now - bucket.filledAt) / 1000) * bucket.perSecond, bucket.capacity);
    bucket.filledAt = now;
  }

  return {
    waitMs() {
      fill();
      return Math.ceil((Math.max(1 - bucket.tokens, 0) / bucket.perSecond) * 1000);
    },
    msFor: (tokens) => (tokens / bucket.perSecond) * 1000,
    take() {
      fill();
      bucket.tokens -= 1;
    },
    correct(newRate, known, isExact) {
      fill();
      bucket.perSecond = newRate;
      bucket.capacity = Math.max(bucket.capacity, known);
      bucket.tokens = isExact ? known : Math.min(bucket.tokens, known);
    },
  };
}

/** The node's rate limit, as a response reports it. */
export interface Allowance {
  /** The number of calls that the node would accept now. */
  readonly remaining: number;
  /** The number of calls that are added per second. */
  readonly perSecond: number;
  /** The milliseconds until calls are accepted again after a refusal. */
  readonly resetMs: number;
}

/** A failure by which a node limits calls: it refuses calls for a time, or bans this address. */
type RateRefusal = { readonly kind: "hold" | "ban"; readonly ms: number };

/** The longest reset and the longest ban that are believed, in seconds. */
const MAX_RESET_S = 600;
const MAX_BAN_S = 24 * 3600;

/** The codes of a refusal: HTTP status 429 means the second, as in gRPC. */
const REFUSAL_CODES: readonly Code[] = [Code.ResourceExhausted, Code.Unavailable];

/**
 * Reads the node's limit from a response. Deployed nodes send the number of calls that their bucket still holds, and the number
 * of calls (`ratelimit-limit`) that are added to it per interval (`ratelimit-reset`, in seconds).
 */
export function readAllowance(headers: Headers): Allowance | undefined {
  const remaining = readInteger(headers, "ratelimit-remaining");
  const reset = remaining === undefined ? undefined : readInteger(headers, "ratelimit-reset");
  if (remaining === undefined || reset === undefined) {
    return undefined;
  }
  const seconds = Math.min(Math.max(reset, 1), MAX_RESET_S);
  const limit = readInteger(headers, "ratelimit-limit") ?? remaining;
  return { remaining, perSecond: Math.max(limit, 1) / seconds, resetMs: seconds * 1000 };
}

function readRefusal(error: ConnectError): RateRefusal | undefined {
  const ban = banMs(error);
  if (ban !== undefined) {
    return { kind: "ban", ms: ban };
  }
  const hold = refusalMs(error);
  return hold === undefined ? undefined : { kind: "hold", ms: hold };
}

/**
 * Returns how long a node refuses calls after its limit was exceeded. Its code has other causes, too, such as too many streams.
 */
export function refusalMs({ code, metadata }: ConnectError): number | undefined {
  const allowance = REFUSAL_CODES.includes(code) ? readAllowance(metadata) : undefined;
  return allowance?.remaining === 0 ? allowance.resetMs : undefined;
}

export function banMs({ code, metadata }: ConnectError): number | undefined {
  const seconds = readInteger(metadata, "ratelimit-retry-after") ?? readInteger(metadata, "retry-after");
  return code === Code.PermissionDenied && seconds !== undefined ? Math.min(seconds, MAX_BAN_S) * 1000 : undefined;
}

/** Reads the integer in a header. If proxies have repeated it, the first one counts. */
function readInteger(headers: Headers, name: string): number | undefined {
  const value = headers.get(name);
  const digits = value === null ? undefined : /^\s*(\d{1,9})\s*(?:,|$)/.exec(value)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
