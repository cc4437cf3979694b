import type { DescMethod } from "@bufbuild/protobuf";
import type { CallOptions, Client } from "@connectrpc/connect";
import {
  type ListNetworkParametersResponse,
  type ListStopOrdersResponse,
  TradingDataService,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent } from "../../gen/vega/events/v1/events_pb.js";
import type { StopOrder } from "../../gen/vega/stop_order_pb.js";
import type { NetworkParameter } from "../../gen/vega/vega_pb.js";
import { ProtocolError, RequestError } from "../errors/index.js";
import { type PaginationRequest, readPagination } from "./pagination.js";
import { type ListedRecord, type ListOptions, listRecords } from "./records.js";
import { readStopOrderFilter, type StopOrderFilter } from "./stop-order-filter.js";

/** A stop order, with the order that it holds back (specification, 2.4). */
export type StopOrderRecord = StopOrderEvent & { stopOrder: StopOrder };

type SignalOption = Pick<CallOptions, "signal">;

/** Network parameters and stop orders. */
export interface Listings {
  /**
   * One page of network parameters, as the node sent it (specification, 4.3).
   *
   * @throws {@link RequestError} where the page cannot be right
   */
  listNetworkParameters(
    request?: { readonly pagination?: PaginationRequest | undefined },
    options?: SignalOption,
  ): Promise<ListNetworkParametersResponse>;
  /**
   * All network parameters, page after page.
   *
   * @throws {@link RequestError} at once, where an option cannot be right
   *
   * @example
   * for await (const { node } of client.networkParameters()) console.log(node.key, node.value);
   */
  networkParameters(options?: ListOptions<NetworkParameter>): AsyncIterable<ListedRecord<NetworkParameter>>;
  /**
   * One network parameter by its key, such as `snapshot.interval.length`.
   *
   * @throws {@link NodeError} with `NotFound` where the network has none
   */
  networkParameter(key: string, options?: SignalOption): Promise<NetworkParameter>;
  /**
   * One page of stop orders, as the node sent it (specification, 4.4).
   *
   * @throws {@link RequestError} where the page or the filter cannot be right
   */
  listStopOrders(
    request?: { readonly pagination?: PaginationRequest | undefined; readonly filter?: StopOrderFilter | undefined },
    options?: SignalOption,
  ): Promise<ListStopOrdersResponse>;
  /**
   * All stop orders that a filter lets through, page after page. Prices stay decimal text, times in the unit of the network
   * (deployed nodes give Unix nanoseconds).
   *
   * @throws {@link RequestError} at once, where the filter or an option cannot be right
   *
   * @example
   * const filter = { statuses: ["PENDING"], dateRange: { startTimestamp: new Date("2024-01-01") } } as const;
   * for await (const { node, cursor } of client.stopOrders({ filter, limit: 100 })) {
   *   console.log(node.stopOrder.id, node.submission?.price, cursor);
   * }
   */
  stopOrders(
    options?: ListOptions<StopOrderRecord> & { readonly filter?: StopOrderFilter | undefined },
  ): AsyncIterable<ListedRecord<StopOrderRecord>>;
  /**
   * One stop order by its identifier.
   *
   * @throws {@link NodeError} with `NotFound` where the node holds none
   */
  stopOrder(id: string, options?: SignalOption): Promise<StopOrderRecord>;
}

/** What a failure of a call is turned into. */
type Failing = (method: DescMethod, signal: AbortSignal | undefined) => (reason: unknown) => never;

/** The listings of a node's data service; `failing` makes the library's errors of whatever is thrown. */
export function createListings(service: Client<typeof TradingDataService>, failing: Failing): Listings {
  const { method } = TradingDataService;

  return {
    async listNetworkParameters({ pagination = {} } = {}, { signal } = {}) {
      const request = { pagination: readPagination(pagination) };
      return service.listNetworkParameters(request, given(signal)).catch(failing(method.listNetworkParameters, signal));
    },

    networkParameters(options = {}) {
      const { newestFirst } = options;
      const records = listRecords<NetworkParameter, NetworkParameter>(
        {
          fetchPage: async (page, signal) =>
            (await service.listNetworkParameters({ pagination: { ...page, newestFirst } }, { signal }))
              .networkParameters,
          isWhole: (node): node is NetworkParameter => node.key !== "",
          idOf: ({ key }) => key,
        },
        options,
      );
      return failingWith(records, failing(method.listNetworkParameters, options.signal));
    },

    async networkParameter(key, { signal } = {}) {
      checkName(key, "key");
      const fail = failing(method.getNetworkParameter, signal);
      const { networkParameter } = await service.getNetworkParameter({ key }, given(signal)).catch(fail);
      return networkParameter ?? fail(emptyResponse());
    },

    async listStopOrders({ pagination = {}, filter = {} } = {}, { signal } = {}) {
      const request = { pagination: readPagination(pagination), filter: readStopOrderFilter(filter) };
      return service.listStopOrders(request, given(signal)).catch(failing(method.listStopOrders, signal));
    },

    stopOrders(options = {}) {
      const { newestFirst } = options;
      const filter = readStopOrderFilter(options.filter ?? {});
      const records = listRecords<StopOrderEvent, StopOrderRecord>(
        {
          fetchPage: async (page, signal) =>
            (await service.listStopOrders({ pagination: { ...page, newestFirst }, filter }, { signal })).orders,
          isWhole: isStopOrderRecord,
          idOf: ({ stopOrder }) => stopOrder.id,
        },
        options,
      );
      return failingWith(records, failing(method.listStopOrders, options.signal));
    },

    async stopOrder(id, { signal } = {}) {
      checkName(id, "id");
      const fail = failing(method.getStopOrder, signal);
      const { order } = await service.getStopOrder({ orderId: id }, given(signal)).catch(fail);
      return order !== undefined && isStopOrderRecord(order) ? order : fail(emptyResponse());
    },
  };
}

function isStopOrderRecord(node: StopOrderEvent): node is StopOrderRecord {
  return node.stopOrder !== undefined;
}

function given(signal: AbortSignal | undefined): CallOptions {
  return signal === undefined ? {} : { signal };
}

function checkName(text: string, name: string): void {
  if (typeof text !== "string" || text === "") {
    throw new RequestError(`${name} is ${JSON.stringify(text)}`, { advice: `Give the ${name} of what to get.` });
  }
}

function emptyResponse(): ProtocolError {
  return new ProtocolError("the response does not hold what was asked for", {
    advice: "Try another node, and report it to who runs this one.",
  });
}

/** The same values; what the source throws goes through `fail`. */
function failingWith<T>(values: AsyncIterable<T>, fail: (reason: unknown) => never): AsyncIterable<T> {
  return {
    async *[Symbol.asyncIterator]() {
      try {
        yield* values;
      } catch (reason) {
        fail(reason);
      }
    },
  };
}
