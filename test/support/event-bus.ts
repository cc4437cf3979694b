import type { MessageInitShape } from "@bufbuild/protobuf";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import type { ObserveEventBusRequestSchema } from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import type { BusEvent } from "tradewire/gen/vega/events/v1/events_pb.js";

/** A request of `ObserveEventBus`, of either service. */
export type BusRequestInit = Omit<MessageInitShape<typeof ObserveEventBusRequestSchema>, "$typeName">;

/** `ObserveEventBus` of a client. */
export type ObserveEventBus = (
  requests: AsyncIterable<BusRequestInit>,
  options: { readonly signal: AbortSignal },
) => AsyncIterable<{ readonly events: readonly BusEvent[] }>;

/** A subscription to the event bus. */
export interface Subscription {
  /** Ask for the next batch. */
  ask(request: BusRequestInit): void;
  /** Ask for no more. */
  askNoMore(): void;
  /** The next message, as the ids of its events. It is undefined at the end. */
  next(): Promise<readonly string[] | undefined>;
  /** The events of the next message. */
  events(): Promise<readonly BusEvent[]>;
  end(): void;
}

/** Subscribe to an event bus. The stream is opened at once. */
export function subscribe(observe: ObserveEventBus, first?: BusRequestInit): Subscription {
  const requests = createWritableIterable<BusRequestInit>();
  const abort = new AbortController();
  const answers = observe(requests, { signal: abort.signal })[Symbol.asyncIterator]();
  const ask = (request: BusRequestInit) => void requests.write(request).catch(() => undefined);
  if (first !== undefined) {
    ask(first);
  }
  // The stream opens when it is read.
  let opening: ReturnType<typeof answers.next> | undefined = answers.next();
  opening.catch(() => undefined);
  const events = async () => {
    const next = opening ?? answers.next();
    opening = undefined;
    const { done, value } = await next;
    return done === true ? undefined : value.events;
  };
  return {
    ask,
    askNoMore: () => requests.close(),
    next: async () => (await events())?.map(({ id }) => id),
    events: async () => (await events()) ?? [],
    end() {
      abort.abort();
      requests.close();
    },
  };
}
