// A node with an event bus that behaves, or misbehaves, as the test says.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ObserveEventBusRequest,
  ObserveEventBusResponseSchema,
  type ObserveTransactionResultsRequest,
  ObserveTransactionResultsResponseSchema,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import { type BusEvent, BusEventSchema, type TransactionResultSchema } from "../../gen/vega/events/v1/events_pb.js";
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

/** Start a node whose bus answers as the test says. */
export async function serveEvents(
  answer: BusAnswer,
  answerResults: ResultsAnswer = () => quiet(new AbortController().signal),
): Promise<EventServer> {
  const calls: BusCall[] = [];
  const resultSignals: AbortSignal[] = [];
  const node = await serveNode({
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
  });
  return Object.assign(node, { calls, resultSignals });
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
