import { RequestError } from "../../base/errors/index.js";
import {
  assertKnownKeys,
  assertOneOf,
  invalidValueError,
  parsePositiveInteger,
  requireInteger,
} from "../../base/input/assert.js";
import { CALL_OPTIONS, type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { type EventType, parseEventType } from "./event-types.js";

/** Which events to observe. An omitted filter does not restrict them. */
export interface EventsRequest<T extends EventType = EventType> {
  /** The types, by the names of the cases of `BusEvent`, such as `order`, `trade`, `transactionResult`, `endBlock`. */
  readonly types?: readonly T[] | undefined;
  /**
   * Whether to also report canceled and expired orders as events of the type `order`, which otherwise misses them.
   * Needs `order` among the types; with `partyId`, only `order`, `trade`, `transactionResult`, `cancelledOrders` and
   * `expiredOrders`.
   */
  readonly lifecycle?: boolean | undefined;
  /** Only events of this party: its public key, 64 hex digits, or `network`. */
  readonly partyId?: string | undefined;
  /** Only events on this market: its identifier, 64 hex digits. */
  readonly marketId?: string | undefined;
  /**
   * The number of events in a response, up to 1000, after which the node waits for a request for more; 0 by default: the
   * node sends events as they happen.
   */
  readonly batchSize?: number | undefined;
}

/** How a stream is observed. */
export interface ObserveOptions<R extends boolean = boolean> extends CallOptions {
  /**
   * Whether to reopen a lost connection, without a limit; a gap item then shows where events may be missing. By
   * default, a lost connection is thrown as an error.
   */
  readonly reconnect?: R | undefined;
  /**
   * Maximum number of items that wait for a slow consumer before reading pauses; 10 000 by default. Reading also pauses
   * while 16 MiB wait. A single response may exceed both limits.
   */
  readonly maxWaiting?: number | undefined;
}

/** A validated request. */
export interface ParsedEventsRequest {
  readonly types: readonly EventType[] | undefined;
  readonly partyId: string;
  readonly marketId: string;
  readonly batchSize: number;
  readonly lifecycle: boolean;
}

/**
 * The types that can be observed with `lifecycle` and `partyId` together. The client then requests the events of all
 * parties, and selects those of the party.
 */
const LIFECYCLE_PARTY_TYPES = ["order", "trade", "transactionResult", "cancelledOrders", "expiredOrders"] as const;

/** Default maximum number of waiting events. */
const MAX_WAITING = 10_000;

/**
 * Maximum number of events of an answer that can be requested. For each of them, a data node reserves some 30 kB for a stream of
 * all types (v0.78.0, `getBufSize` in libs/subscribers/stream_subscriber.go).
 */
const MAX_BATCH = 1000;

/**
 * Validates which events to observe.
 *
 * @throws {@link RequestError} if a type or an option is unknown, an identifier is invalid, the batch size is not a
 *   whole number, or `lifecycle` cannot be combined with the types
 */
export function parseEventsRequest(request: EventsRequest): ParsedEventsRequest {
  assertKnownKeys("request", request, { types: true, partyId: true, marketId: true, batchSize: true, lifecycle: true });
  const { types, partyId, marketId, batchSize = 0, lifecycle = false } = request;
  if (types !== undefined && (!Array.isArray(types) || types.length === 0)) {
    throw new RequestError("must be a non-empty array of event types", {
      option: "types",
      advice: 'Use at least one type, such as ["order"], or omit it for events of all types.',
    });
  }
  const checkedTypes = types?.map((type, at) => parseEventType(type, `types[${at}]`));
  assertOneOf("lifecycle", lifecycle, [true, false]);
  if (lifecycle) {
    requireLifecycleTypes(checkedTypes ?? [], partyId);
  }
  return {
    types: checkedTypes,
    lifecycle,
    partyId: partyId === undefined || partyId === "network" ? (partyId ?? "") : requireIdentifier(partyId, "partyId"),
    marketId: marketId === undefined ? "" : requireIdentifier(marketId, "marketId"),
    batchSize: requireInteger("batchSize", batchSize, 0, MAX_BATCH),
  };
}

function requireLifecycleTypes(types: readonly EventType[], partyId: string | undefined): void {
  if (!types.includes("order")) {
    throw new RequestError('requires "order" in the types', {
      option: "lifecycle",
      advice:
        'Add "order" to the types, or omit lifecycle, which reports canceled and expired orders as events of that type.',
    });
  }
  const possible: readonly EventType[] = LIFECYCLE_PARTY_TYPES;
  const other = types.find((type) => !possible.includes(type));
  if (partyId !== undefined && other !== undefined) {
    throw new RequestError((nameOf) => `${other} cannot be observed with lifecycle and ${nameOf("partyId")} together`, {
      advice: `Valid types: ${LIFECYCLE_PARTY_TYPES.join(", ")}. Observe the other types with a separate call.`,
    });
  }
}

/**
 * Validates how to observe a stream.
 *
 * @throws {@link RequestError} if one is unknown or wrong
 */
export function parseObserveOptions(options: ObserveOptions) {
  assertKnownKeys("options", options, { ...CALL_OPTIONS, reconnect: true, maxWaiting: true });
  const { signal, reconnect = false, maxWaiting = MAX_WAITING, headers, timeoutMs } = options;
  validateCallOptions(options);
  assertOneOf("reconnect", reconnect, [true, false]);
  return {
    signal,
    reconnect,
    headers,
    timeoutMs,
    maxWaiting: parsePositiveInteger("maxWaiting", maxWaiting, Number.MAX_SAFE_INTEGER),
  };
}

/**
 * Validates an identifier of the network.
 *
 * @throws {@link RequestError} if it is not 64 hex digits
 */
export function requireIdentifier(text: string, name: string): string {
  if (typeof text !== "string" || !/^[0-9a-f]{64}$/i.test(text)) {
    throw invalidValueError(name, text, "64 hex digits");
  }
  return text;
}
