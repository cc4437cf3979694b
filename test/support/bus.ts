// A method that streams both ways, as tests call it: ObserveEventBus of the data service.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, type ClientConfig, createClient, TradewireError } from "tradewire";
import {
  type ObserveEventBusRequestSchema,
  type ObserveEventBusResponse,
  TradingDataService,
} from "tradewire/gen/datanode/api/v2/trading_data_pb.js";

/** A request of the method. */
export type BusRequest = MessageInitShape<typeof ObserveEventBusRequestSchema>;

/** Make a client over REST, which tries nothing twice. */
export function restClient(url: string, more: Partial<ClientConfig["rest"]> & Partial<ClientConfig> = {}): Client {
  const { timeouts, limits, ...rest } = more;
  return createClient({
    transport: "rest",
    rest: { url, ...rest },
    retry: { tries: 1 },
    ...(timeouts && { timeouts }),
    ...(limits && { limits }),
  });
}

/** Call the method. */
export function observe(
  client: Client,
  requests: AsyncIterable<BusRequest>,
  options: { readonly signal?: AbortSignal; readonly headers?: Record<string, string> } = {},
): AsyncIterable<ObserveEventBusResponse> {
  return client.service(TradingDataService).observeEventBus(requests, options);
}

/** Requests of these batch sizes, and then none, without an end. */
export async function* asking(...sizes: bigint[]): AsyncGenerator<BusRequest> {
  for (const batchSize of sizes) {
    yield { batchSize };
  }
  await new Promise(() => undefined);
}

/** The identifiers of the events of an answer, separated by commas. */
export function idsOf({ events }: ObserveEventBusResponse): string {
  return events.map(({ id }) => id).join();
}

/** Read answers: the identifiers of each, and the failure that ends them. `onAnswer` is called when one has come. */
export async function readAll(
  answers: AsyncIterable<ObserveEventBusResponse>,
  onAnswer: () => void = () => undefined,
): Promise<{ readonly ids: string[]; readonly error?: TradewireError }> {
  const ids: string[] = [];
  try {
    for await (const answer of answers) {
      ids.push(idsOf(answer));
      onAnswer();
    }
    return { ids };
  } catch (reason) {
    if (!(reason instanceof TradewireError)) {
      throw reason;
    }
    return { ids, error: reason };
  }
}

/** An answer with one event, as the gateway writes it. */
export function eventFrame(id: string): string {
  return JSON.stringify({ result: { events: [{ id }] } });
}
