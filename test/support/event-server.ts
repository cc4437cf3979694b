// A node with an event bus that behaves, or misbehaves, as the test says.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type Client,
  type ClientConfig,
  createClient,
  type Gap,
  type LiveEvent,
  type TransportOptions,
} from "tradewire";
import {
  type ObserveEventBusRequest,
  ObserveEventBusResponseSchema,
  type ObserveTransactionResultsRequest,
  ObserveTransactionResultsResponseSchema,
  type TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";
import { type BusEvent, BusEventSchema, type TransactionResultSchema } from "tradewire/gen/vega/events/v1/events_pb.js";
import { serveNode, type TestNode } from "./node.js";

/** A call of the bus, as the node sees it. */
export interface BusCall {
  /** The requests that have come; the first one is there. */
  readonly requests: readonly ObserveEventBusRequest[];
  /** Resolves when there are so many requests. */
  asked(count: number): Promise<void>;
  /** Aborted when the client ends the call. */
  readonly signal: AbortSignal;
}

/** What the node answers to a call: answers, each a list of events; what it throws is the call's error. */
export type BusAnswer = (call: BusCall, before: number) => AsyncIterable<readonly BusEvent[]>;

/** What the node answers to a call of the stream of results. */
export type ResultsAnswer = (
  request: ObserveTransactionResultsRequest,
  signal: AbortSignal,
  before: number,
) => AsyncIterable<MessageInitShape<typeof TransactionResultSchema>[]>;

/** The node, and the calls of its streams. */
export interface EventServer extends TestNode {
  readonly calls: BusCall[];
  readonly resultSignals: AbortSignal[];
}

/** Make the streams of a node, which answer as the test says. */
export function streamingService(
  answer: BusAnswer,
  answerResults: ResultsAnswer = (_, signal) => quiet(signal),
): { readonly service: Partial<ServiceImpl<typeof TradingDataService>> } & Pick<
  EventServer,
  "calls" | "resultSignals"
> {
  const calls: BusCall[] = [];
  const resultSignals: AbortSignal[] = [];
  const service: Partial<ServiceImpl<typeof TradingDataService>> = {
    async *observeEventBus(requests, { signal }) {
      const call = await readRequests(requests, signal);
      calls.push(call);
      for await (const events of answer(call, calls.length - 1)) {
        yield create(ObserveEventBusResponseSchema, { events: [...events] });
      }
    },
    async *observeTransactionResults(request, { signal }) {
      resultSignals.push(signal);
      for await (const transactionResults of answerResults(request, signal, resultSignals.length - 1)) {
        yield create(ObserveTransactionResultsResponseSchema, { transactionResults });
      }
    },
  };
  return { service, calls, resultSignals };
}

async function readRequests(given: AsyncIterable<ObserveEventBusRequest>, signal: AbortSignal): Promise<BusCall> {
  const requests: ObserveEventBusRequest[] = [];
  let came = (): void => {};
  const asked = async (count: number) => {
    while (requests.length < count && !signal.aborted) {
      await new Promise<void>((resolve) => {
        came = resolve;
        signal.addEventListener("abort", () => resolve(), { once: true });
      });
    }
  };
  void (async () => {
    for await (const request of given) {
      requests.push(request);
      came();
    }
  })().catch(() => undefined);
  await asked(1);
  return { requests, asked, signal };
}

/** Say nothing more, until the client ends the call. */
export async function* quiet(signal: AbortSignal): AsyncGenerator<never> {
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** The chain of {@link eventOf}. */
export const CHAIN = "chain-1";

/** Make an event: an order where nothing else is given. */
export function eventOf(id: string, more: MessageInitShape<typeof BusEventSchema> = {}): BusEvent {
  const [block] = id.split("-");
  const event = { case: "order", value: { id: `order-${id}` } } as const;
  return create(BusEventSchema, { id, block: `hash-${block}`, txHash: `tx-${id}`, chainId: CHAIN, event, ...more });
}

/** A node, and a client of it that waits only briefly before it comes back. */
export interface Observing extends AsyncDisposable {
  readonly server: EventServer;
  readonly client: Client;
}

/** Start a node whose streams answer as the test says, and a client of it. */
export async function startObserving(
  answer: BusAnswer,
  config: Omit<Partial<ClientConfig>, "rest"> & { readonly grpc?: { readonly url: string } } = {},
  { results, ...options }: TransportOptions & { readonly results?: ResultsAnswer } = {},
): Promise<Observing> {
  const { service, ...calls } = streamingService(answer, results);
  const server = Object.assign(await serveNode(service), calls);
  const retry = { baseMs: 1, maxMs: 5 };
  const urls = { grpc: { url: server.grpcUrl }, rest: { url: server.restUrl } };
  const client = createClient({ ...urls, transport: "grpc", retry, ...config }, options);
  return {
    server,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

/** Take some values of a stream, and leave it. */
export async function take<T>(count: number, values: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const value of values) {
    taken.push(value);
    if (taken.length === count) {
      break;
    }
  }
  return taken;
}

/** Read a stream until it fails: what came, and why it failed. */
export async function untilFailure<T>(values: AsyncIterable<T>): Promise<{ taken: T[]; error: unknown }> {
  const taken: T[] = [];
  try {
    for await (const value of values) {
      taken.push(value);
    }
  } catch (error) {
    return { taken, error };
  }
  throw new Error("the stream ended without an error");
}

/** What a stream of events gave, in short: the ids of events, and the blocks around gaps. */
export function inShort(items: readonly (LiveEvent | Gap)[]): (string | Gap["gap"])[] {
  return items.map((item) => ("gap" in item ? item.gap : item.id));
}
