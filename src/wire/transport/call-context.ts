// The values that a call carries between the layers, in its context values. The entry for OpenTelemetry needs one of the
// keys, so this file loads nothing but clocks: the keys are written out instead of made by Connect's `createContextKey`.
import type { ConnectError, ContextKey, ContextValues } from "@connectrpc/connect";
import { monotonicMs } from "../../base/runtime/index.js";

/** The functions of context values. The values are properties of the object that has these as its prototype. */
const sharedFunctions: ContextValues = {
  get(key) {
    return key.id in this ? Reflect.get(this, key.id) : key.defaultValue;
  },
  set(key, value) {
    Reflect.set(this, key.id, value);
    return this;
  },
  delete(key) {
    Reflect.deleteProperty(this, key.id);
    return this;
  },
};

/** Returns empty context values. All calls share their functions; Connect would create three for each call. */
export function newContextValues(): ContextValues {
  return Object.create(sharedFunctions);
}

/** An endpoint that a call was sent to. */
export interface SentTo {
  /** The transport's name in the configuration. */
  readonly transport: string;
  /** The node's URL in the configuration. */
  readonly url: string;
}

/** The key of a call's id. */
export const callIdKey: ContextKey<number | undefined> = { id: Symbol("call id"), defaultValue: undefined };

/**
 * The key of a function that is called directly before a call is sent, after all waits. If it returns an error, the call fails
 * with it.
 */
export const beforeSendKey: ContextKey<() => ConnectError | undefined> = {
  id: Symbol("called directly before the call is sent"),
  defaultValue: () => undefined,
};

/**
 * The key of the time, in milliseconds, for which a call may wait for its turn to be sent, and then for a connection. It is
 * shorter than the call's time limit if another node may serve the call, but not after it was sent.
 */
export const maxWaitKey: ContextKey<number | undefined> = { id: Symbol("maximum wait"), defaultValue: undefined };

/** The key that marks a call as having priority over others that wait for their turn. */
export const isUrgentKey: ContextKey<boolean> = { id: Symbol("sent before others"), defaultValue: false };

/** The key of the time at which a call must have ended, by `monotonicMs()`. */
export const deadlineKey: ContextKey<number | undefined> = { id: Symbol("call deadline"), defaultValue: undefined };

/**
 * The key of the names of the transports over which a stream has broken off. It is set where the caller of the stream can
 * start over.
 */
export const failedTransportsKey: ContextKey<Set<string> | undefined> = {
  id: Symbol("transports over which the stream has broken off"),
  defaultValue: undefined,
};

/**
 * The key that marks a call whose caller accepts the parts of a `google.api.HttpBody` as they arrive, as bodies of their own. By
 * default each message is one body, except where a raw HTTP body has no messages.
 */
export const acceptsPartsKey: ContextKey<boolean> = { id: Symbol("accepts parts of bodies"), defaultValue: false };

/** Returns context values for a call whose caller accepts the parts of bodies. */
export function acceptingParts(callers: ContextValues = newContextValues()): ContextValues {
  return withOwnContextValue(callers, acceptsPartsKey, true);
}

const receiveListenerKey: ContextKey<() => void> = {
  id: Symbol("called when bytes of the call arrive"),
  defaultValue: () => undefined,
};
const sentToKey: ContextKey<SentTo | undefined> = { id: Symbol("where the call was sent"), defaultValue: undefined };

/**
 * Whether a call may be repeated after it was sent: as its definition says, because its caller or the configuration says so, or
 * never.
 */
export type Repeatability = "by definition" | "declared" | "disabled";

/** The key of a call's {@link Repeatability}. */
export const repeatabilityKey: ContextKey<Repeatability> = {
  id: Symbol("whether the call may be repeated"),
  defaultValue: "by definition",
};

/** The number of calls that this process has made. */
let callCount = 0;

export function assignCallId(contextValues: ContextValues): number {
  callCount += 1;
  contextValues.set(callIdKey, callCount);
  return callCount;
}

/** Returns the id of a call, and assigns one if it has none. */
export function callId(contextValues: ContextValues): number {
  return contextValues.get(callIdKey) ?? assignCallId(contextValues);
}

/** Sets the function that the transport calls whenever bytes of a call arrive, even if they complete no message. */
export function setReceiveListener(contextValues: ContextValues, listener: () => void): void {
  contextValues.set(receiveListenerKey, listener);
}

/** Returns the function to call whenever bytes of a call arrive. */
export function receiveListener(contextValues: ContextValues): () => void {
  return contextValues.get(receiveListenerKey);
}

/** Records where a call is sent, for the layers above. */
export function setSentTo(contextValues: ContextValues, endpoint: SentTo): void {
  contextValues.set(sentToKey, endpoint);
}

/** Returns where a call was sent. */
export function sentTo(contextValues: ContextValues): SentTo | undefined {
  return contextValues.get(sentToKey);
}

/**
 * Disables retries and fallback after the call was sent, even if it is read-only. Event streams use this: a silently reopened
 * stream would lack the events in between.
 */
export function withoutRetry(contextValues: ContextValues): ContextValues {
  return contextValues.set(repeatabilityKey, "disabled");
}

/** Returns a time as a time limit: in whole milliseconds, and at least one, because 0 means none. */
export function asLimit(timeMs: number): number {
  return Math.max(Math.ceil(timeMs), 1);
}

export function remainingMs(contextValues: ContextValues): number | undefined {
  const deadline = contextValues.get(deadlineKey);
  return deadline === undefined ? undefined : deadline - monotonicMs();
}

/**
 * Returns the time limit of an attempt, in milliseconds, if it ends before the call's own, whose end aborts the call's signal:
 * another node may serve the call then. A time of 0 or less is none.
 */
export function ownLimitMs(timeoutMs: number | undefined, contextValues: ContextValues): number | undefined {
  const remaining = remainingMs(contextValues);
  const isOwn = timeoutMs !== undefined && timeoutMs > 0 && (remaining === undefined || timeoutMs < remaining);
  return isOwn ? timeoutMs : undefined;
}

/**
 * Returns context values that override one value, and share all others with a caller's. The caller may use the same context
 * values for other calls.
 */
export function withOwnContextValue<T>(callers: ContextValues, key: ContextKey<T>, value: T): ContextValues {
  return new OwnContextValue(callers, key.id, newContextValues().set(key, value));
}

/** A class, because each call has one, and closures take several times as long. */
class OwnContextValue implements ContextValues {
  private readonly callers: ContextValues;
  private readonly id: symbol;
  private readonly own: ContextValues;

  constructor(callers: ContextValues, id: symbol, own: ContextValues) {
    this.callers = callers;
    this.id = id;
    this.own = own;
  }

  get<T>(key: ContextKey<T>): T {
    return this.ownerOf(key).get(key);
  }

  set<T>(key: ContextKey<T>, value: T): this {
    this.ownerOf(key).set(key, value);
    return this;
  }

  delete(key: ContextKey<unknown>): this {
    this.ownerOf(key).delete(key);
    return this;
  }

  private ownerOf({ id }: { readonly id: symbol }): ContextValues {
    return id === this.id ? this.own : this.callers;
  }
}
