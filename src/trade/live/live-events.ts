import type { BusEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { ProtocolError } from "../../base/errors/index.js";
import { lazily } from "../../base/input/lazy.js";
import { createGapTracker, type Gap } from "./event-gaps.js";
import {
  busEventTypeName,
  type EventType,
  eventTypes,
  type LiveEvent,
  type LiveEventOf,
  parseEvent,
} from "./event-types.js";
import {
  type EventsRequest,
  type ObserveOptions,
  type ParsedEventsRequest,
  parseEventsRequest,
  parseObserveOptions,
} from "./events-request.js";
import {
  createRepeatedRequests,
  isNotOffered,
  type LiveCalls,
  observeCall,
  type RequestSchedule,
} from "./live-call.js";
import { loadDefinitions } from "./load-definitions.js";
import { readAhead, type Source } from "./read-ahead.js";

export type { Gap } from "./event-gaps.js";
export type { EventOrigin, EventType, LiveEvent, LiveEventOf, UnknownEvent } from "./event-types.js";
export type { EventsRequest, ObserveOptions as EventsOptions } from "./events-request.js";

/** The gaps in a stream: none if a loss is thrown. */
type GapIf<R extends boolean> = true extends R ? Gap : never;

/** The event bus of a node. */
export interface Events {
  /**
   * Observes events from now on. The node does not send earlier events, or events that happen without a connection.
   *
   * Events arrive in the order in which the node sends them, each once. With `reconnect`, an item with the key `gap` (a
   * `Gap`) shows where events may be missing; otherwise a lost connection is thrown as an error.
   *
   * The type `order` alone misses cancellations and expiries: the node sends a cancellation as `cancelledOrders` and an
   * expiry as `expiredOrders`, which names no party. With `lifecycle`, each of these orders is also reported as an
   * event of the kind `order`: the last known version of the order, with the status `CANCELLED` or `EXPIRED`, and with
   * the position of the event that ended it. If an order was placed before the stream began, the event has only its
   * identifiers and its status. With a party, the client first reads its live orders from the data node.
   *
   * @param request the types, by name; the party, and the market (64 hex digits each); `lifecycle`
   * @param options a signal, request headers, whether to reconnect, and how many events may wait
   * @returns the events; the stream opens when the iteration begins, and ends when you leave the loop
   * @throws {@link RequestError} immediately, if a type is unknown, another value is invalid, or `lifecycle` is set without the
   *   type `order`
   * @throws {@link ConnectionError} while iterating, if the node is unreachable or the connection is lost: the
   *   error says from which block on events may be missing
   * @throws {@link SlowConsumerError} while iterating, even with `reconnect`, if the stream ends because it is read too
   *   slowly
   * @throws {@link ProtocolError} while iterating, if an event's id is not `BLOCK-SEQUENCE`, or an event belongs to
   *   a different chain than the configured one or than earlier events
   * @throws {@link NodeError} while iterating, if the node refuses the request
   * @throws {@link CanceledError} while iterating, if the signal was aborted
   *
   * @example
   * for await (const event of client.events({ types: ["order", "trade"], partyId }, { reconnect: true })) {
   *   if ("gap" in event) console.warn("events may be missing", event.gap);
   *   else if (event.kind === "trade") console.log(event.block, event.value.price);
   * }
   *
   * @example
   * for await (const { value } of client.events({ types: ["order"], lifecycle: true, partyId })) {
   *   console.log(value.id, value.status);
   * }
   */
  events<const T extends EventType, R extends boolean = false>(
    request: EventsRequest<T> & { readonly types: readonly T[] },
    options?: ObserveOptions<R>,
  ): AsyncIterable<LiveEventOf<T> | GapIf<R>>;
  /**
   * Observes events of all types in {@link eventTypes} from now on. An event whose content this release does not know has
   * the kind `unknown`.
   *
   * @param request the filters, as above
   * @param options as above
   * @returns the events, as above
   *
   * @example
   * for await (const { id, kind: type, txHash } of client.events()) console.log(id, type, txHash);
   */
  events<R extends boolean = false>(
    request?: EventsRequest,
    options?: ObserveOptions<R>,
  ): AsyncIterable<LiveEvent | GapIf<R>>;
}

export function createEvents(calls: LiveCalls): Events {
  const node: EventBusNode = { bus: "data node" };

  function events<const T extends EventType, R extends boolean = false>(
    request: EventsRequest<T> & { readonly types: readonly T[] },
    options?: ObserveOptions<R>,
  ): AsyncIterable<LiveEventOf<T> | GapIf<R>>;
  function events<R extends boolean = false>(
    request?: EventsRequest,
    options?: ObserveOptions<R>,
  ): AsyncIterable<LiveEvent | GapIf<R>>;
  function events(request: EventsRequest = {}, options: ObserveOptions = {}): AsyncIterable<LiveEvent | Gap> {
    const asked = parseEventsRequest(request);
    const observing = parseObserveOptions(options);
    if (!asked.lifecycle) {
      return readAhead(eventSource(calls, asked, observing, node), observing);
    }
    const joined: Source<LiveEvent | Gap> = async function* (signal, isLate) {
      const { joinLifecycle, withOrderEndTypes: withEnds } = await loadLifecycle();
      const batches = eventSource(calls, withEnds(asked), observing, node)(signal, isLate);
      yield* joinLifecycle(batches, asked, { ...observing, signal, records: calls.records, service: calls.service });
    };
    return readAhead(joined, observing);
  }
  return { events };
}

/**
 * The requests for batches in addition to the one after each answer. A data node takes one request for each batch, and one
 * more each second. Without a request it sends nothing, collects new events into one large batch, and ends the stream
 * after 5 s (v0.78.0, `observeEventsWithAck` in datanode/api/event_observer.go). The requests sent ahead make up for late
 * timers.
 */
const BATCH_SCHEDULE: RequestSchedule = { everyMs: 1000, ahead: 2 };

const loadLifecycle = lazily(() => import("./order-lifecycle.js"));

/** The requested events, with the gaps among them. */
function eventSource(
  calls: LiveCalls,
  asked: ParsedEventsRequest,
  options: ObserveOptions,
  node: EventBusNode,
): Source<LiveEvent | Gap> {
  return async function* (signal, isLate) {
    const { BusEventType, CoreService, TradingDataService } = await loadDefinitions();
    const { types, partyId, marketId, batchSize } = asked;
    // A data node leaves out the errors of transactions unless they are named (v0.78.0, `subscribe` in datanode/broker/broker.go).
    const type = (types ?? eventTypes).map((name) => BusEventType[busEventTypeName(name)]);
    const request = { type, partyId, marketId, batchSize: BigInt(batchSize) };
    const reader = createEventReader(types, calls.chainId);
    let repeatRequest = (): void => {};
    let hasAnswered = false;
    const call = {
      onGap: reader.onGap,
      missing: reader.missing,
      headers: options.headers,
      timeoutMs: options.timeoutMs,
      reconnect: options.reconnect ?? false,
      stream: "the stream of events",
      requests(connection: AbortSignal) {
        const { requests, repeat } = createRepeatedRequests(
          request,
          connection,
          batchSize > 0 ? BATCH_SCHEDULE : undefined,
        );
        repeatRequest = repeat;
        return requests;
      },
      read(answer: EventAnswer) {
        hasAnswered = true;
        if (batchSize > 0) {
          repeatRequest();
        }
        return reader.read(answer);
      },
    };
    if (node.bus === "data node") {
      try {
        yield* observeCall(calls, { ...call, method: TradingDataService.method.observeEventBus }, signal, isLate);
        return;
      } catch (reason) {
        if (hasAnswered || !isNotOffered(reason)) {
          throw reason;
        }
      }
    }
    try {
      yield* observeCall(calls, { ...call, method: CoreService.method.observeEventBus }, signal, isLate);
    } catch (reason) {
      throw !hasAnswered && isNotOffered(reason) ? noEvents(reason) : reason;
    } finally {
      node.bus = hasAnswered ? "core" : node.bus;
    }
  };
}

/** Which service of a node streams events: that of its data node, or that of its core where there is no data node. */
interface EventBusNode {
  bus: "data node" | "core";
}

/** The failure where neither service streams events. Each reason may be that the answer opens no WebSocket. */
function noEvents(cause: unknown): ProtocolError {
  const why = cause instanceof ProtocolError ? `: ${cause.summary}` : "";
  return new ProtocolError(`the node offers no stream of events${why}`, {
    code: Code.Unimplemented,
    advice:
      "Over REST only a data node streams events, over a WebSocket: use its URL and allow WebSockets in proxies, or use gRPC.",
    cause,
  });
}

type EventAnswer = { readonly events: readonly BusEvent[] };

/** Reads the events of answers: those of the requested types, each once, and the gaps before them. */
function createEventReader(types: readonly EventType[] | undefined, chainId: string | undefined) {
  const requested: ReadonlySet<string> | undefined = types && new Set(types);
  const tracker = createGapTracker();
  let chain = chainId;
  return {
    read({ events }: EventAnswer): readonly (LiveEvent | Gap)[] {
      const items: (LiveEvent | Gap)[] = [];
      for (const sent of events) {
        const event = parseEvent(sent);
        chain ??= event.chainId;
        assertChain(event, chain);
        const { gap, isRepeated } = tracker.track(event);
        if (gap !== undefined) {
          items.push(gap);
        }
        // Skips the events of other types that a node sends: they are no sign of a gap.
        if (!isRepeated && requested?.has(event.kind) !== false) {
          items.push(event);
        }
      }
      return items;
    },
    onGap: () => tracker.connectionLost(),
    missing() {
      const block = tracker.lastCompleteBlock();
      return `events ${block === undefined ? "" : `after block ${block} `}may be missing`;
    },
  };
}

function assertChain({ id, chainId }: LiveEvent, expected: string): void {
  if (chainId !== expected) {
    throw new ProtocolError(`event ${id} belongs to chain ${quoted(chainId)}, not to ${quoted(expected)}`, {
      advice: (nameOf) => `Check the node's URL and ${nameOf("chainId", "chainId in the configuration")}.`,
    });
  }
}
