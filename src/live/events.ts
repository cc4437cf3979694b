import { Code } from "@connectrpc/connect";
import type { BusEvent } from "../../gen/vega/events/v1/events_pb.js";
import { ProtocolError } from "../errors/index.js";
import { quoted } from "../errors/quoted.js";
import { createAsking, type TimedRequests } from "./asking.js";
import { busEventTypeName, type EventType } from "./event-types.js";
import {
  type CheckedEventsRequest,
  type EventsRequest,
  type ObserveOptions,
  readEventsRequest,
  readObserveOptions,
} from "./events-request.js";
import { createPlaces, type Gap } from "./gaps.js";
import { type LiveEvent, type LiveEventOf, readEvent } from "./live-event.js";
import type { Observed } from "./observe.js";
import { isNotOffered, type LiveCalls, observeCall } from "./observe-call.js";
import { readAhead, type Source } from "./read-ahead.js";

export type { EventType } from "./event-types.js";
export type { EventsRequest, ObserveOptions as EventsOptions } from "./events-request.js";
export type { Gap } from "./gaps.js";
export type { EventOrigin, LiveEvent, LiveEventOf, UnknownEvent } from "./live-event.js";

/** The gaps among what a stream gives: none where a loss is thrown. */
type GapIf<R extends boolean> = true extends R ? Gap : never;

/** The event bus of a node. */
export interface Events {
  /**
   * Observe events, from now on. Nothing that happened before, or while there is no connection, is sent.
   *
   * They come in the order in which the node sends them, each once. A `Gap` among them, which has the key `gap`, says
   * where some may be missing; without `reconnect` the loss is thrown instead.
   *
   * The type `order` alone misses both ends of an order: the node sends a cancellation as `cancelledOrders` and an
   * expiry as `expiredOrders`, which names no party. With `lifecycle`, each of these orders comes as one more event of the
   * case `order`: the last known version of the order, with the status `CANCELLED` or `EXPIRED`, and with the origin of the
   * event that ended it. Of an order that was placed before the stream began, only the identifiers and the status are
   * known. With a party, its live orders are read first, from the data node.
   *
   * @param request the types, by name; the party, and the market (64 hex digits each); `lifecycle`
   * @param options a signal, request headers, whether a lost connection is made again, and how many events may wait
   * @returns the events; the stream is opened when they are asked for, and ends when the loop is left
   * @throws {@link RequestError} at once, where a type is unknown, another value is invalid, or `lifecycle` is set
   *   without the type `order`
   * @throws {@link ConnectionError} while iterating, where the node cannot be reached or the connection is lost: the
   *   error says from which block on events may be missing
   * @throws {@link SlowConsumerError} while iterating, also with `reconnect`, where the stream ends as it is read too
   *   slowly
   * @throws {@link ProtocolError} while iterating, where an event's id is no `BLOCK-SEQUENCE`, or it is of another chain
   *   than the configuration's or the events' before
   * @throws {@link NodeError} while iterating, where the node refuses the request
   * @throws {@link CanceledError} while iterating, where the signal was aborted
   *
   * @example
   * for await (const event of client.events({ types: ["order", "trade"], partyId }, { reconnect: true })) {
   *   if ("gap" in event) console.warn("events may be missing", event.gap);
   *   else if (event.case === "trade") console.log(event.block, event.value.price);
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
   * Observe events of all types, from now on. An event of a type that this release does not know has the case `unknown`.
   *
   * @param request the filters, as above
   * @param options as above
   * @returns the events, as above
   *
   * @example
   * for await (const { id, case: type, txHash } of client.events()) console.log(id, type, txHash);
   */
  events<R extends boolean = false>(
    request?: EventsRequest,
    options?: ObserveOptions<R>,
  ): AsyncIterable<LiveEvent | GapIf<R>>;
}

/**
 * Make the event bus of a node.
 *
 * @param calls how the node is called
 * @returns the event bus
 */
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
    const asked = readEventsRequest(request);
    const observing = readObserveOptions(options);
    if (!asked.lifecycle) {
      return readAhead(eventSource(calls, asked, observing, node), observing);
    }
    const joined: Source<LiveEvent | Gap> = async function* (signal, isLate) {
      const { joinLifecycle, withEnds } = await import("./lifecycle.js");
      const batches = eventSource(calls, withEnds(asked), observing, node)(signal, isLate);
      yield* joinLifecycle(batches, asked, { ...observing, signal, records: calls.records });
    };
    return readAhead(joined, observing);
  }
  return { events };
}

let definitions: Promise<typeof import("./definitions.js")> | undefined;

/** Loads the definitions of all events, once: they are large. */
function loadDefinitions(): Promise<typeof import("./definitions.js")> {
  definitions ??= import("./definitions.js");
  return definitions;
}

/**
 * The requests for batches beside the one that follows each answer. A data node takes one request for each batch, and one
 * more each second. Where none has come it sends nothing, collects what happens meanwhile into one large batch, and after
 * 5 s it ends the stream (v0.78.0, `observeEventsWithAck` in datanode/api/event_observer.go). Those that are sent ahead
 * make up for timers that are late.
 */
const BATCH_REQUESTS: TimedRequests = { everyMs: 1000, ahead: 2 };

/** The events that are asked for, with the gaps among them. */
function eventSource(
  calls: LiveCalls,
  asked: CheckedEventsRequest,
  options: ObserveOptions,
  node: EventBusNode,
): Source<LiveEvent | Gap> {
  return async function* (signal, isLate) {
    const { BusEventType, CoreService, TradingDataService } = await loadDefinitions();
    const { types, partyId, marketId, batchSize } = asked;
    const type = types?.map((name) => BusEventType[busEventTypeName(name)]) ?? [BusEventType.ALL];
    const request = { type, partyId, marketId, batchSize: BigInt(batchSize) };
    const { take, ...taking } = takingEvents(types, calls.chainId);
    let askAgain = (): void => {};
    let hasAnswered = false;
    const call = {
      ...taking,
      headers: options.headers,
      timeoutMs: options.timeoutMs,
      reconnect: options.reconnect ?? false,
      stream: "the stream of events",
      requests(connection: AbortSignal) {
        const asking = createAsking(request, connection, batchSize > 0 ? BATCH_REQUESTS : undefined);
        askAgain = asking.again;
        return asking.requests;
      },
      take(answer: { readonly events: readonly BusEvent[] }) {
        hasAnswered = true;
        if (batchSize > 0) {
          askAgain();
        }
        return take(answer);
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
      "Over REST only a data node streams events, over a WebSocket: give the URL of one, let what stands in front of it pass WebSockets, or use gRPC.",
    cause,
  });
}

/** Takes the events of answers: those that were asked for, each once, and the gaps before them. */
function takingEvents(
  types: readonly EventType[] | undefined,
  chainId: string | undefined,
): Pick<Observed<{ readonly events: readonly BusEvent[] }, LiveEvent | Gap>, "take" | "lost" | "missing"> {
  const asked: ReadonlySet<string> | undefined = types && new Set(types);
  const places = createPlaces();
  let chain = chainId;
  return {
    take({ events }) {
      const taken: (LiveEvent | Gap)[] = [];
      for (const sent of events) {
        const event = readEvent(sent);
        chain ??= event.chainId;
        requireChain(event, chain);
        const { gap, isRepeated } = places.place(event);
        if (gap !== undefined) {
          taken.push(gap);
        }
        // What a node sends beside what was asked for is no loss, so it is passed over.
        if (!isRepeated && asked?.has(event.case) !== false) {
          taken.push(event);
        }
      }
      return taken;
    },
    lost: () => places.lost(),
    missing() {
      const block = places.wholeBlock();
      return `events ${block === undefined ? "" : `after block ${block} `}may be missing`;
    },
  };
}

function requireChain({ id, chainId }: LiveEvent, expected: string): void {
  if (chainId !== expected) {
    throw new ProtocolError(`event ${id} is of the chain ${quoted(chainId)}, not of ${quoted(expected)}`, {
      advice: "Check the address of the node, and chainId in the configuration.",
    });
  }
}
