import type { CallOptions, Client } from "@connectrpc/connect";
import {
  type ListNetworkParametersResponse,
  type ListStopOrdersResponse,
  TradingDataService,
} from "../../gen/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent } from "../../gen/vega/events/v1/events_pb.js";
import type { StopOrder } from "../../gen/vega/stop_order_pb.js";
import type { NetworkParameter } from "../../gen/vega/vega_pb.js";
import { type FailingCall, failingWith } from "../errors/failing.js";
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

/**
 * The listings of a node's data service.
 *
 * @param service a client whose methods throw the library's errors
 * @param failing does the same for what is found wrong with an answer
 */
export function createListings(service: Client<typeof TradingDataService>, failing: FailingCall): Listings {
  const { method } = TradingDataService;

  return {
    async listNetworkParameters({ pagination = {} } = {}, options = {}) {
      const request = { pagination: readPagination(pagination) };
      return service.listNetworkParameters(request, options);
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

    async networkParameter(key, options = {}) {
      checkName(key, "key");
      const { networkParameter } = await service.getNetworkParameter({ key }, options);
      return networkParameter ?? failing(method.getNetworkParameter, options.signal)(emptyResponse());
    },

    async listStopOrders({ pagination = {}, filter = {} } = {}, options = {}) {
      const request = { pagination: readPagination(pagination), filter: readStopOrderFilter(filter) };
      return service.listStopOrders(request, options);
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

    async stopOrder(id, options = {}) {
      checkName(id, "id");
      const { order } = await service.getStopOrder({ orderId: id }, options);
      return order !== undefined && isStopOrderRecord(order)
        ? order
        : failing(method.getStopOrder, options.signal)(emptyResponse());
    },
  };
}

function isStopOrderRecord(node: StopOrderEvent): node is StopOrderRecord {
  return node.stopOrder !== undefined;
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
