import { create } from "@bufbuild/protobuf";
import { busEventTypeNames } from "../../../gen/names/events.js";
import { type BusEvent, BusEventSchema, BusEventType } from "../../../gen/vega/events/v1/events_pb.js";
import type { LedgerMovement } from "../../../gen/vega/vega_pb.js";
import { Code } from "../../base/errors/code.js";
import { startInterval, startTimer } from "../../base/runtime/index.js";
import { apiError, invalidArgument } from "../api-error.js";
import type { BlockEvent, Event } from "../world/block-event.js";
import { oneOf } from "./filters.js";
import { MAX_BUFFERED_RECORDS, type OpenStreams } from "./streams.js";

/** How long the bus waits for the first request, and after each batch for the next one, in milliseconds. */
const REQUEST_WAIT_MS = 5000;

/**
 * The maximum number of events in a message without batches; each entry of a ledger movement counts as an event. Larger
 * messages would exceed the gateway's WebSocket limit of 64 KiB a line.
 */
const MAX_MESSAGE_EVENTS = 20;

/** A request of `ObserveEventBus` of the data service or the core service. */
export interface BusRequest extends BusFilter {
  readonly batchSize: bigint;
}

/** How often the data node reads a request although it has not sent a batch, in milliseconds. */
const BATCH_WAIT_MS = 1000;

/** The dependencies of an event bus. */
export interface EventBusOptions {
  readonly chainId: string;
  readonly streams: OpenStreams;
}

/** The node whose event bus is emulated. They differ in when they read the request for the next batch. */
export type BusNode = "core" | "data";

/**
 * Creates the method that streams a node's events. As on deployed nodes:
 *
 * - The first request sets the types, the party and the market for the entire stream. If it does not arrive within 5
 *   seconds, the stream ends without an error.
 * - With a batch size of 0 or less, events are sent as they occur, and later requests have no effect.
 * - With a positive batch size, the stream sends batches of that many events. After each batch, the caller must send a
 *   request within 5 seconds, which sets the size of the next batch. Otherwise the stream fails with `Internal`.
 * - The data node also reads a request each second, and sends nothing until it has arrived, so a caller must send requests
 *   on a timer as well (`observeEventsWithAck` in datanode/api/event_observer.go, where the tick of the statistics falls
 *   through to the request). The core node waits for the batch.
 * - If a caller reads too slowly, the stream ends without an error.
 *
 * A batch has at most {@link MAX_BUFFERED_RECORDS} events. A size of 0 after a batch requests all buffered events.
 */
export function eventBus({ chainId, streams }: EventBusOptions, node: BusNode) {
  const toBusEvent = busEvents(chainId);

  return async function* observeEventBus(
    requests: AsyncIterable<BusRequest>,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<{ events: BusEvent[] }, void> {
    const incoming = requests[Symbol.asyncIterator]();
    const first = await nextRequest(incoming, signal);
    if (first === undefined) {
      return;
    }
    const isWanted = busFilter(first, node);
    const end = new AbortController();
    const blocks = streams.watch({
      subject: "event",
      signal: AbortSignal.any([signal, end.signal]),
      select: (blockEvents) =>
        blockEvents.flatMap((blockEvent) => (isWanted(blockEvent.event) ? (toBusEvent(blockEvent) ?? []) : [])),
      message: (events) => events,
      slowReaderError: () => undefined,
    });
    if (first.batchSize <= 0n) {
      void discardRequests(incoming);
      for await (const events of blocks) {
        yield* messagesOf(events);
      }
      return;
    }
    const batches = collectBatches(blocks, node === "data" ? BATCH_WAIT_MS : undefined);
    // A caller that has disconnected never resumes a generator that has yielded, so `finally` would not run.
    signal.addEventListener("abort", batches.stop, { once: true });
    try {
      let size = sizeOf(first);
      while (true) {
        const batch = await batches.next(size);
        if (batch === "end") {
          return;
        }
        if (batch !== "tick") {
          yield { events: batch };
        }
        const next = await nextRequest(incoming, signal);
        if (next === undefined) {
          throw apiError(Code.Internal, "internal stream failure", "context deadline exceeded");
        }
        size = sizeOf(next);
      }
    } finally {
      signal.removeEventListener("abort", batches.stop);
      batches.stop();
      end.abort();
    }
  };
}

function collectBatches(blocks: AsyncIterable<readonly BusEvent[]>, tickMs: number | undefined) {
  const state: { buffered: BusEvent[]; hasEnded: boolean; hasTicked: boolean; hasReportedTick: boolean } = {
    buffered: [],
    hasEnded: false,
    hasTicked: false,
    hasReportedTick: false,
  };
  let wake = () => {};
  const change = (changes: Partial<typeof state>) => {
    Object.assign(state, changes);
    wake();
  };
  const tick = () => change({ hasTicked: true });
  const stopClock = tickMs === undefined ? () => {} : startInterval(tick, tickMs);
  const collected = collect();
  return {
    stop: stopClock,

    async next(size: number): Promise<BusEvent[] | "tick" | "end"> {
      for (;;) {
        const isFull = state.buffered.length >= Math.max(size, 1);
        // If both are due, the network chooses at random; here no two ticks precede a full batch.
        if (state.hasTicked && !(isFull && state.hasReportedTick)) {
          state.hasTicked = false;
          state.hasReportedTick = true;
          return "tick";
        }
        if (isFull) {
          break;
        }
        if (state.hasEnded) {
          await collected;
          return "end";
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      state.hasReportedTick = false;
      const count = size === 0 ? state.buffered.length : size;
      const batch = state.buffered.slice(0, count);
      state.buffered = state.buffered.slice(count);
      return batch;
    },
  };

  /** Reads the blocks to their end, or until too many events are buffered. */
  async function collect(): Promise<void> {
    try {
      for await (const events of blocks) {
        change({ buffered: [...state.buffered, ...events] });
        if (state.buffered.length > 2 * MAX_BUFFERED_RECORDS) {
          break;
        }
      }
    } finally {
      change({ hasEnded: true });
    }
  }
}

function* messagesOf(events: readonly BusEvent[]): Generator<{ events: BusEvent[] }, void> {
  let batch: BusEvent[] = [];
  let weight = 0;
  for (const event of events) {
    const more = weightOf(event);
    if (batch.length > 0 && weight + more > MAX_MESSAGE_EVENTS) {
      yield { events: batch };
      batch = [];
      weight = 0;
    }
    batch.push(event);
    weight += more;
  }
  yield { events: batch };
}

function weightOf({ event }: BusEvent): number {
  return event.case === "ledgerMovements"
    ? event.value.ledgerMovements.reduce((sum, { entries }) => sum + entries.length, 1)
    : 1;
}

/** Returns the size of the batch that a request asks for; 0 for all buffered events. */
function sizeOf({ batchSize }: BusRequest): number {
  const wanted = batchSize > 0n ? batchSize : 0n;
  return Number(wanted < BigInt(MAX_BUFFERED_RECORDS) ? wanted : BigInt(MAX_BUFFERED_RECORDS));
}

/** Waits for a request; returns `undefined` if none arrives in time, or the caller has closed the stream. */
async function nextRequest(
  requests: AsyncIterator<BusRequest, unknown>,
  signal: AbortSignal,
): Promise<BusRequest | undefined> {
  let stopWaiting = () => {};
  const tooLate = new Promise<undefined>((resolve) => {
    const stopTimer = startTimer(() => resolve(undefined), REQUEST_WAIT_MS);
    const abort = () => resolve(undefined);
    signal.addEventListener("abort", abort);
    stopWaiting = () => {
      stopTimer();
      signal.removeEventListener("abort", abort);
    };
  });
  const next = requests.next().then(
    ({ done, value }) => (done === true ? undefined : value),
    () => undefined,
  );
  try {
    return await Promise.race([next, tooLate]);
  } finally {
    stopWaiting();
  }
}

/** Reads and discards requests that have no effect, so that they do not block the caller. */
async function discardRequests(requests: AsyncIterator<BusRequest, unknown>): Promise<void> {
  try {
    while ((await requests.next()).done !== true) {
      // Discarded.
    }
  } catch {
    // The caller has disconnected.
  }
}

type BusCase = Exclude<BusEvent["event"]["case"], undefined>;

/** The version of bus events, as on deployed nodes of v0.78. */
const VERSION = 1;

const types = new Map<string, BusEventType>(
  Object.entries(busEventTypeNames).map(([name, type]) => [name, BusEventType[type]]),
);

export function busEventType(name: string): BusEventType {
  return types.get(name) ?? BusEventType.UNSPECIFIED;
}

function busEvents(chainId: string): (blockEvent: BlockEvent) => BusEvent | undefined {
  const converted = new WeakMap<BlockEvent, BusEvent>();
  return (blockEvent) => {
    const { block, sequence, txHash, event } = blockEvent;
    if (!isBusEvent(event)) {
      return undefined;
    }
    const known = converted.get(blockEvent);
    if (known !== undefined) {
      return known;
    }
    const type = busEventType(event.case);
    const id = `${block.height}-${sequence}`;
    const busEvent = create(BusEventSchema, {
      id,
      block: block.hash.toUpperCase(),
      type,
      event,
      version: VERSION,
      chainId,
      txHash: txHash.toUpperCase(),
    });
    converted.set(blockEvent, busEvent);
    return busEvent;
  };
}

function isBusEvent(event: Event): event is Extract<Event, { readonly case: BusCase }> {
  return event.case !== "position" && event.case !== "endedOrder";
}

interface BusFilter {
  readonly type: readonly BusEventType[];
  readonly partyId: string;
  readonly marketId: string;
}

/** The types that {@link BusEventType.MARKET} includes on deployed nodes. */
const MARKET_TYPES = [
  BusEventType.POSITION_RESOLUTION,
  BusEventType.MARKET_CREATED,
  BusEventType.MARKET_UPDATED,
  BusEventType.MARKET_TICK,
  BusEventType.AUCTION,
];

/** The fields of events that hold a party's identifier, and those that hold a market's. */
const PARTY_FIELDS = ["partyId", "party", "owner", "buyer", "seller", "from", "to", "referrer", "referee"];
const MARKET_FIELDS = ["marketId", "market"];

/**
 * Returns the predicate of a subscription to the event bus. A filter by party or market matches only events that name it.
 * Events that name no party or market, such as the start of a block, do not match.
 *
 * @throws ConnectError with `InvalidArgument` if a type does not exist
 */
function busFilter({ type, partyId, marketId }: BusFilter, node: BusNode): (event: Event) => boolean {
  const unknown = type.find((each) => BusEventType[each] === undefined || each === BusEventType.UNSPECIFIED);
  if (unknown !== undefined && !type.includes(BusEventType.ALL)) {
    throw invalidArgument("malformed request", "invalid event type");
  }
  const isForAll = type.length === 0 || type.includes(BusEventType.ALL);
  const isOfType = isForAll
    ? (each: BusEventType) => node === "core" || each !== BusEventType.TX_ERROR
    : oneOf(type.flatMap((each) => (each === BusEventType.MARKET ? [each, ...MARKET_TYPES] : [each])));
  return (event) =>
    isOfType(busEventType(event.case)) &&
    (partyId === "" || partiesOf(event).includes(partyId)) &&
    (marketId === "" || marketsOf(event).includes(marketId));
}

function partiesOf(event: Event): readonly string[] {
  switch (event.case) {
    case "party":
      return [event.value.id];
    case "stopOrder":
      return named(event.value.stopOrder, PARTY_FIELDS);
    case "ledgerMovements":
      return event.value.ledgerMovements.flatMap(ownersOf);
    default:
      return named(event.value, PARTY_FIELDS);
  }
}

function marketsOf(event: Event): readonly string[] {
  switch (event.case) {
    case "marketCreated":
    case "marketUpdated":
    case "marketTick":
      return [event.value.id];
    case "stopOrder":
      return named(event.value.stopOrder, MARKET_FIELDS);
    default:
      return named(event.value, MARKET_FIELDS);
  }
}

function ownersOf({ entries }: LedgerMovement): readonly string[] {
  return entries.flatMap(({ fromAccount, toAccount }) => [fromAccount?.owner ?? "", toAccount?.owner ?? ""]);
}

function named(message: object | undefined, names: readonly string[]): readonly string[] {
  const fields: Partial<Record<string, unknown>> = { ...message };
  return names.map((name) => fields[name]).filter((value) => typeof value === "string");
}
