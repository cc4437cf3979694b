import { Code } from "@connectrpc/connect";
import type { BusEvent } from "../../../gen/vega/events/v1/events_pb.js";
import { startInterval, startTimer } from "../../runtime/index.js";
import { apiError } from "../api-error.js";
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

/** How often the data node reads a request without having sent a batch, in milliseconds. */
const BATCH_WAIT_MS = 1000;

/** What the event bus of a node needs. */
export interface EventBusOptions {
  readonly chainId: string;
  readonly streams: Streams;
}

/** Which node a bus is of: they differ in when they read the request for the next batch. */
export type BusNode = "core" | "data";

/**
 * Make the method that streams a node's events. As on deployed nodes:
 *
 * - The first request has its types, its party and its market for the whole stream. If it does not come within 5 seconds,
 *   the stream ends without an error.
 * - With a batch size of 0 or below, events come as they happen, and further requests change nothing.
 * - With a batch size, that many come at once. A request has to follow within 5 seconds, and has the size of the next
 *   batch. Otherwise the stream fails with `Internal`.
 * - The data node reads one request more each second, and sends nothing until it has it: a caller has to send requests on a
 *   timer as well (`observeEventsWithAck` in datanode/api/event_observer.go, where the tick of the statistics goes on to the
 *   request). The core waits for the batch.
 * - A caller that reads too slowly is dropped: the stream ends without an error.
 *
 * A batch has {@link MAX_WAITING_RECORDS} events at most. A size of 0 behind a batch asks for what there is.
 *
 * @param options the chain's identifier, and what keeps streams open
 * @param node whose method it is
 * @returns the method
 */
export function eventBus({ chainId, streams }: EventBusOptions, node: BusNode) {
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
    const ending = new AbortController();
    const blocks = streams.watch({
      subject: "event",
      signal: AbortSignal.any([signal, ending.signal]),
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
    const batches = collectBatches(blocks, node === "data" ? BATCH_WAIT_MS : undefined);
    try {
      let size = sizeOf(first);
      while (true) {
        const batch = await batches.next(size);
        if (batch === "end") {
          return;
        }
        if (batch !== "wait") {
          yield { events: batch };
        }
        const next = await nextRequest(asked, signal);
        if (next === undefined) {
          throw apiError(Code.Internal, "internal stream failure", "context deadline exceeded");
        }
        size = sizeOf(next);
      }
    } finally {
      batches.stop();
      ending.abort();
    }
  };
}

/**
 * Collect events into batches.
 *
 * @param blocks the events of each block
 * @param waitMs how often `next` ends without a batch, in milliseconds; never by default
 * @returns `next` waits for a batch of a size, 0 for what there is; for the tick of the clock (`wait`); or for the end.
 *   `stop` stops the clock
 */
function collectBatches(blocks: AsyncIterable<readonly BusEvent[]>, waitMs: number | undefined) {
  const state: { waiting: BusEvent[]; isOver: boolean; hasTicked: boolean; hasWaited: boolean } = {
    waiting: [],
    isOver: false,
    hasTicked: false,
    hasWaited: false,
  };
  let wake = () => {};
  const change = (changes: Partial<typeof state>) => {
    Object.assign(state, changes);
    wake();
  };
  const tick = () => change({ hasTicked: true });
  const stopClock = waitMs === undefined ? () => {} : startInterval(tick, waitMs);
  const failed = collect();
  return {
    stop: stopClock,

    async next(size: number): Promise<BusEvent[] | "wait" | "end"> {
      for (;;) {
        const isFull = state.waiting.length >= Math.max(size, 1);
        // Where both are due, the network takes either by chance: here the clock never comes twice before a full batch.
        if (state.hasTicked && !(isFull && state.hasWaited)) {
          state.hasTicked = false;
          state.hasWaited = true;
          return "wait";
        }
        if (isFull) {
          break;
        }
        if (state.isOver) {
          await failed;
          return "end";
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      state.hasWaited = false;
      const count = size === 0 ? state.waiting.length : size;
      const batch = state.waiting.slice(0, count);
      state.waiting = state.waiting.slice(count);
      return batch;
    },
  };

  /** Read the blocks to their end. Who lets too many events wait is left. */
  async function collect(): Promise<void> {
    try {
      for await (const events of blocks) {
        change({ waiting: [...state.waiting, ...events] });
        if (state.waiting.length > 2 * MAX_WAITING_RECORDS) {
          break;
        }
      }
    } finally {
      change({ isOver: true });
    }
  }
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
