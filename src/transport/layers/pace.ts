import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextValues } from "@connectrpc/connect";
import { BannedError } from "../../errors/index.js";
import { monotonicMs, type StopTimer, startTimer, unixMs } from "../../runtime/index.js";
import { follow } from "../../signal/follow.js";
import { callId } from "../call-id.js";
import type { Hooks, WaitInfo } from "../hooks.js";
import { methodName } from "../method-name.js";
import { isOwnStatus } from "../own-status.js";
import { type Bucket, createBucket } from "./bucket.js";
import { banMs, readAllowance, refusalMs } from "./rate-headers.js";

/** The pace of a client's calls, over all its transports. */
export interface Pace {
  /**
   * Wait until a call may be sent.
   *
   * @param method the method that is called
   * @param signal ends the wait
   * @param contextValues the call's context values, whose number `onWait` gets
   * @returns a function that is told the answer of the call, once: its headers, or its failure
   * @throws ConnectError caused by {@link BannedError} while the node bans this address; the signal's reason
   */
  turn(method: DescMethod, signal: AbortSignal | undefined, contextValues?: ContextValues): Promise<Answered>;
  /**
   * Fail if the node has banned this address, or the client is closed.
   *
   * @param answer the answer to the call, if it was sent
   */
  checkOpen(answer?: ConnectError): void;
  /** Fail all calls that wait or come later. */
  close(): void;
}

type Answered = (answer: Headers | ConnectError) => void;

interface Waiting {
  go(): void;
  stop(reason: unknown): void;
}

/** The calls that may be under way where no answer has told for a while what the node's limit leaves. */
const CAUTIOUS_CALLS = 10;
const CAUTIOUS_AFTER_MS = 1000;

/** Where nothing is known of the node's limit yet, as many more are let go each so many milliseconds: it may be slow. */
const CAUTIOUS_STEP_MS = 200;

/** The calls that deployed nodes take at once from an address that is new to them. */
const USUAL_BURST = 100;

/**
 * Make the pace of a client. Deployed nodes limit the calls of an address, and ban who goes on after a refusal. The
 * node's answers tell what is left; calls beyond it wait, first come, first sent.
 *
 * @param callsPerSecond the most calls to send in a second; no limit of one's own by default
 * @param hooks `onWait` is called before each wait
 * @returns the pace
 */
export function createPace(callsPerSecond: number | undefined, { onWait }: Hooks = {}): Pace {
  const own = callsPerSecond === undefined ? undefined : createBucket(callsPerSecond, callsPerSecond / 10);
  let node: Bucket | undefined;
  let heardAt = Number.NEGATIVE_INFINITY;
  let inFlight = 0;
  let isCrowded = false;
  /** When as many calls were under way as may be without an answer. */
  let crowdedAt = 0;
  let heldUntil = 0;
  let ban: { readonly end: number; readonly until: Date } | undefined;
  let waiting: Waiting[] = [];
  let stopTimer: StopTimer | undefined;
  let isClosed = false;

  /** The wait until the next call may be sent, and its reason; infinite until an answer comes. */
  function delay(): Omit<WaitInfo, "id" | "method"> & { readonly isGuess?: boolean } {
    const held = heldUntil - monotonicMs();
    if (held > 0) {
      return { waitMs: held, reason: "the node refused a call" };
    }
    const [nodeMs, ownMs] = [node?.waitMs() ?? 0, own?.waitMs() ?? 0];
    if (nodeMs > 0 || ownMs > 0) {
      return nodeMs >= ownMs
        ? { waitMs: nodeMs, reason: "the node's rate limit" }
        : { waitMs: ownMs, reason: "limits.callsPerSecond" };
    }
    // Without a limit in its answers, a node has none.
    const isFresh = monotonicMs() - heardAt < (node === undefined ? Number.POSITIVE_INFINITY : CAUTIOUS_AFTER_MS);
    const steps = node === undefined ? Math.floor((monotonicMs() - crowdedAt) / CAUTIOUS_STEP_MS) : 0;
    const isCautious = !isFresh && inFlight >= CAUTIOUS_CALLS && inFlight >= CAUTIOUS_CALLS * (steps + 1);
    if (isCautious && node === undefined && inFlight < USUAL_BURST) {
      const nextAt = crowdedAt + (steps + 1) * CAUTIOUS_STEP_MS;
      const waitMs = Math.max(Math.ceil(nextAt - monotonicMs()), 1);
      return { waitMs, reason: "the node's rate limit", isGuess: true };
    }
    const isOwnSlower = own !== undefined && own.msFor(1) >= (node?.msFor(1) ?? 0);
    const reason = isOwnSlower && !isCautious ? "limits.callsPerSecond" : "the node's rate limit";
    return { waitMs: isCautious ? Number.POSITIVE_INFINITY : 0, reason };
  }

  function take(): void {
    node?.take();
    own?.take();
    isCrowded ||= inFlight > 0;
    inFlight += 1;
    if (inFlight === CAUTIOUS_CALLS) {
      crowdedAt = monotonicMs();
    }
  }

  /** Send the calls whose turn has come, and come back for the others. */
  function sendNext(): void {
    stopTimer?.();
    for (;;) {
      const [next] = waiting;
      const { waitMs } = delay();
      if (next === undefined || waitMs > 0) {
        const isLast = next === undefined || waitMs === Number.POSITIVE_INFINITY;
        stopTimer = isLast ? undefined : startTimer(sendNext, waitMs);
        return;
      }
      waiting.shift();
      take();
      next.go();
    }
  }

  function stopAll(reason: () => unknown): void {
    const stopped = waiting;
    waiting = [];
    stopTimer?.();
    for (const { stop } of stopped) {
      stop(reason());
    }
  }

  function waitForTurn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting = waiting.filter((other) => other !== entry);
        reject(signal?.reason);
        sendNext();
      };
      const unfollow = follow(signal, leave);
      const entry: Waiting = {
        go() {
          unfollow();
          resolve();
        },
        stop(reason) {
          unfollow();
          reject(reason);
        },
      };
      waiting.push(entry);
      sendNext();
    });
  }

  /** Take what an answer says. Calls that are not answered yet may, or may not, have been counted in it. */
  function learn(headers: Headers): void {
    const allowance = readAllowance(headers);
    if (allowance !== undefined) {
      node ??= createBucket(allowance.perSecond);
      node.correct(allowance.perSecond, allowance.remaining - inFlight, !isCrowded);
    }
  }

  const pace: Pace = {
    async turn(method, signal, contextValues = createContextValues()) {
      pace.checkOpen();
      signal?.throwIfAborted();
      const { waitMs, reason, isGuess } = delay();
      if (waiting.length > 0 || waitMs > 0) {
        if (waitMs !== Number.POSITIVE_INFINITY && isGuess !== true) {
          const queueMs = Math.max(node?.msFor(waiting.length) ?? 0, own?.msFor(waiting.length) ?? 0);
          const id = callId(contextValues);
          onWait?.({ id, method: methodName(method), waitMs: waitMs + queueMs, reason });
        }
        await waitForTurn(signal);
      } else {
        take();
      }
      return (answer) => {
        inFlight -= 1;
        const isError = answer instanceof ConnectError;
        const headers = isError ? answer.metadata : answer;
        learn(headers);
        isCrowded &&= inFlight > 0;
        if (!isError || headers.has("grpc-status")) {
          heardAt = monotonicMs();
        }
        const [banned, refused] = isError ? [banMs(answer), refusalMs(answer)] : [];
        if (banned !== undefined) {
          const until = new Date(unixMs() + banned);
          ban = { end: monotonicMs() + banned, until };
          stopAll(() => bannedError(until, answer));
        } else if (refused !== undefined) {
          heldUntil = monotonicMs() + refused;
        }
        sendNext();
      };
    },

    checkOpen(answer) {
      if (isClosed) {
        throw closedError();
      }
      if (ban !== undefined && monotonicMs() < ban.end) {
        throw bannedError(ban.until, answer, answer === undefined || isOwnStatus(answer));
      }
    },

    close() {
      isClosed = true;
      stopAll(closedError);
    },
  };
  return pace;
}

function closedError(): ConnectError {
  return new ConnectError("the transport is closed", Code.Canceled);
}

function bannedError(until: Date, reason?: unknown, isRefusal = true): ConnectError {
  const cause = new BannedError(until, reason, isRefusal);
  return new ConnectError(cause.summary, cause.code, undefined, undefined, cause);
}
