import { Code, ConnectError } from "@connectrpc/connect";
import type { BusEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { busEvents } from "./bus-event.js";
import { type BusFilter, busFilter } from "./bus-filter.js";
import { MAX_WAITING_RECORDS, type Streams } from "./observe.js";

/** How long the bus waits for the first request, and behind each batch for the next one, in milliseconds. */
const REQUEST_WAIT_MS = 5000;

/**
 * The most events of a message where they are told as they come; entries of ledger movements count each. The gateway's
 * WebSockets end at lines of more than 64 KiB.
 */
const MAX_EVENTS_AT_ONCE = 20;

/** A request of `ObserveEventBus`, of the data service or the core service. */
export interface BusRequest extends BusFilter {
  readonly batchSize: bigint;
}

/** What the event bus of a node needs. */
export interface EventBusOptions {
  readonly chainId: string;
  readonly streams: Streams;
}

/**
 * Make the method that streams a node's events. As on deployed nodes:
 *
 * - The first request has its types, its party and its market for the whole stream. If it does not come within 5 seconds,
 *   the stream ends without an error.
 * - With a batch size of 0 or below, events come as they happen, and further requests change nothing.
 * - With a batch size, that many come at once. A request has to follow within 5 seconds, and has the size of the next
 *   batch. Otherwise the stream fails with `Internal`.
 * - A caller that reads too slowly is dropped: the stream ends without an error.
 *
 * A batch has {@link MAX_WAITING_RECORDS} events at most. A size of 0 behind a batch asks for what there is.
 *
 * @param options the chain's identifier, and what keeps streams open
 * @returns the method, for both services that have it
 */
export function eventBus({ chainId, streams }: EventBusOptions) {
  const told = busEvents(chainId);

  return async function* observeEventBus(
    requests: AsyncIterable<BusRequest>,
    { signal }: { readonly signal: AbortSignal },
  ): AsyncGenerator<{ events: BusEvent[] }, void> {
    const asked = requests[Symbol.asyncIterator]();
    const first = await nextRequest(asked, signal);
    if (first === undefined) {
      return;
    }
    const isWanted = busFilter(first);
    const blocks = streams.watch({
      subject: "event",
      signal,
      select: (happenings) =>
        happenings.flatMap((happening) => (isWanted(happening.event) ? (told(happening) ?? []) : [])),
      message: (events) => events,
      tooSlow: () => undefined,
    });
    if (first.batchSize <= 0n) {
      void ignore(asked);
      for await (const events of blocks) {
        yield* pieces(events);
      }
      return;
    }
    let size = sizeOf(first);
    let waiting: BusEvent[] = [];
    for await (const events of blocks) {
      waiting.push(...events);
      while (waiting.length >= Math.max(size, 1)) {
        const count = size === 0 ? waiting.length : size;
        yield { events: waiting.slice(0, count) };
        waiting = waiting.slice(count);
        const next = await nextRequest(asked, signal);
        if (next === undefined) {
          throw new ConnectError("no request for the next batch came in time", Code.Internal);
        }
        size = sizeOf(next);
      }
    }
  };
}

function* pieces(events: readonly BusEvent[]): Generator<{ events: BusEvent[] }, void> {
  let piece: BusEvent[] = [];
  let weight = 0;
  for (const event of events) {
    const more = weightOf(event);
    if (piece.length > 0 && weight + more > MAX_EVENTS_AT_ONCE) {
      yield { events: piece };
      piece = [];
      weight = 0;
    }
    piece.push(event);
    weight += more;
  }
  yield { events: piece };
}

function weightOf({ event }: BusEvent): number {
  return event.case === "ledgerMovements"
    ? event.value.ledgerMovements.reduce((sum, { entries }) => sum + entries.length, 1)
    : 1;
}

/** The number of events of a batch; 0 for as many as there are. */
function sizeOf({ batchSize }: BusRequest): number {
  const wanted = batchSize > 0n ? batchSize : 0n;
  return Number(wanted < BigInt(MAX_WAITING_RECORDS) ? wanted : BigInt(MAX_WAITING_RECORDS));
}

/** Wait for a request; `undefined` where none comes in time, or none will come. */
async function nextRequest(
  requests: AsyncIterator<BusRequest, unknown>,
  signal: AbortSignal,
): Promise<BusRequest | undefined> {
  let stopWaiting = () => {};
  const tooLate = new Promise<undefined>((resolve) => {
    const timer = setTimeout(() => resolve(undefined), REQUEST_WAIT_MS);
    const abort = () => resolve(undefined);
    signal.addEventListener("abort", abort);
    stopWaiting = () => {
      clearTimeout(timer);
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

/** Take requests that change nothing out of the caller's way. */
async function ignore(requests: AsyncIterator<BusRequest, unknown>): Promise<void> {
  try {
    while ((await requests.next()).done !== true) {
      // Nobody looks at them.
    }
  } catch {
    // The caller is gone.
  }
}
