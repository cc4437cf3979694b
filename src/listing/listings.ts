import type { Client } from "@connectrpc/connect";
import {
  type ListNetworkParametersResponse,
  type ListStopOrdersResponse,
  TradingDataService,
} from "../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent } from "../../gen/client/vega/events/v1/events_pb.js";
import type { NetworkParameter, StopOrder } from "../../gen/client/vega/vega_pb.js";
import { requireKnown, wrong } from "../errors/check-values.js";
import type { FailingCall } from "../errors/failing.js";
import { ProtocolError } from "../errors/index.js";
import { type CallOptions, readCallOptions } from "../given/call-options.js";
import { type PaginationRequest, readPagination } from "./pagination.js";
import { type ListRecords, RECORDS_OPTIONS, type RequireOrder } from "./paging.js";
import type { ListedRecord, ListOptions } from "./records.js";
import { readStopOrderFilter, type StopOrderFilter } from "./stop-order-filter.js";
import { withJson } from "./with-json.js";

/** A stop order, and the order that is submitted when it triggers (specification, 2.4). */
export type StopOrderRecord = StopOrderEvent & { stopOrder: StopOrder };

/**
 * The listings of a node: network parameters and stop orders.
 *
 * Besides the errors named below, every method may throw {@link NodeError} where the node answers with an error,
 * {@link ConnectionError} where it cannot be reached or the connection is lost, {@link ProtocolError} where its answer
 * breaks the rules of the interface, and {@link CanceledError} where the signal was aborted.
 */
export interface Listings {
  /**
   * Get one page of network parameters (specification, 4.3).
   *
   * @param request which page to get; by default the node's first
   * @param options a signal, headers and a time limit
   * @returns the page as the node sent it
   * @throws {@link RequestError} where the pagination is invalid
   *
   * @example
   * const { networkParameters } = await client.listNetworkParameters({ pagination: { first: 10 } });
   */
  listNetworkParameters(
    request?: { readonly pagination?: PaginationRequest | undefined },
    options?: CallOptions,
  ): Promise<ListNetworkParametersResponse>;
  /**
   * List all network parameters, page after page (specification, 4.3).
   *
   * @param options the size of a page, where to start and stop, a signal
   * @returns the records, each with its cursor; nothing is sent before they are asked for
   * @throws {@link RequestError} at once, where an option is invalid
   *
   * @example
   * for await (const { node } of client.networkParameters()) console.log(node.key, node.value);
   */
  networkParameters(options?: ListOptions<NetworkParameter>): AsyncIterable<ListedRecord<NetworkParameter>>;
  /**
   * Get one network parameter.
   *
   * @param key such as `snapshot.interval.length`
   * @param options a signal, headers and a time limit
   * @returns the parameter; its value is text
   * @throws {@link RequestError} where the key is empty
   * @throws {@link NodeError} with `NotFound` where the network has no such parameter
   *
   * @example
   * const { value } = await client.networkParameter("snapshot.interval.length");
   */
  networkParameter(key: string, options?: CallOptions): Promise<NetworkParameter>;
  /**
   * Get one page of stop orders (specification, 4.4).
   *
   * @param request which page to get, by default the node's first, and which stop orders
   * @param options a signal, headers and a time limit
   * @returns the page as the node sent it
   * @throws {@link RequestError} where the pagination or the filter is invalid
   *
   * @example
   * const { orders } = await client.listStopOrders({ filter: { liveOnly: true }, pagination: { first: 10 } });
   */
  listStopOrders(
    request?: { readonly pagination?: PaginationRequest | undefined; readonly filter?: StopOrderFilter | undefined },
    options?: CallOptions,
  ): Promise<ListStopOrdersResponse>;
  /**
   * List all stop orders that pass a filter, page after page (specification, 4.4). Prices stay decimal text. Times stay
   * in the unit of the network; deployed nodes give Unix nanoseconds.
   *
   * @param options the filter, the size of a page, where to start and stop, a signal
   * @returns the records, each with its cursor; nothing is sent before they are asked for
   * @throws {@link RequestError} at once, where the filter or an option is invalid
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
   * Get one stop order.
   *
   * @param id of the stop order, 64 hex digits
   * @param options a signal, headers and a time limit
   * @returns the stop order, and the order that is submitted when it triggers
   * @throws {@link RequestError} where the identifier is empty
   * @throws {@link NodeError} with `NotFound` where the node holds no such stop order
   *
   * @example
   * const { stopOrder } = await client.stopOrder(id);
   */
  stopOrder(id: string, options?: CallOptions): Promise<StopOrderRecord>;
}

/**
 * Make the listings of a node's data service.
 *
 * @param service a client whose methods throw the library's errors
 * @param listRecords lists the records of a method
 * @param failing adds to an error about an answer which call it came from
 * @param requireOrder refuses pages that the node does not give
 * @returns the listings
 */
export function createListings(
  service: Client<typeof TradingDataService>,
  listRecords: ListRecords,
  failing: FailingCall,
  requireOrder: RequireOrder,
): Listings {
  const { method } = TradingDataService;

  return {
    async listNetworkParameters(request = {}, options) {
      requireKnown("request", request, { pagination: true });
      const pagination = readPagination(request.pagination ?? {});
      const answer = await service.listNetworkParameters({ pagination }, readCallOptions(options));
      return withJson(method.listNetworkParameters.output, answer);
    },

    networkParameters(options = {}) {
      requireKnown("options", options, LIST_OPTIONS);
      return listRecords(method.listNetworkParameters, { pagination: orderOf(options) }, options, {
        isWhole: (node): node is NetworkParameter => node.key !== "",
        idOf: ({ key }) => key,
      });
    },

    async networkParameter(key, options) {
      checkName(key, "key");
      const { networkParameter } = await service.getNetworkParameter({ key }, readCallOptions(options));
      return networkParameter ?? failing(method.getNetworkParameter, options?.signal)(emptyResponse());
    },

    async listStopOrders(request = {}, options) {
      requireKnown("request", request, { pagination: true, filter: true });
      const { pagination = {}, filter = {} } = request;
      const asked = { pagination: readPagination(pagination), filter: readStopOrderFilter(filter) };
      requireOrder(method.listStopOrders, asked.pagination);
      return withJson(method.listStopOrders.output, await service.listStopOrders(asked, readCallOptions(options)));
    },

    stopOrders(options = {}) {
      requireKnown("options", options, { ...LIST_OPTIONS, filter: true });
      const request = { pagination: orderOf(options), filter: readStopOrderFilter(options.filter ?? {}) };
      return listRecords(method.listStopOrders, request, options, {
        isWhole: isStopOrderRecord,
        idOf: ({ stopOrder }) => stopOrder.id,
      });
    },

    async stopOrder(id, options) {
      checkName(id, "id");
      const { order } = await service.getStopOrder({ orderId: id }, readCallOptions(options));
      return order !== undefined && isStopOrderRecord(order)
        ? order
        : failing(method.getStopOrder, options?.signal)(emptyResponse());
    },
  };
}

/** The names of {@link ListOptions}. */
const LIST_OPTIONS = { ...RECORDS_OPTIONS, after: true, newestFirst: true, onDuplicate: true } as const;

/** The part of a request's pagination that holds for all pages. */
function orderOf({ after, newestFirst }: ListOptions<never>) {
  return { after, newestFirst };
}

function isStopOrderRecord(node: StopOrderEvent): node is StopOrderRecord {
  return node.stopOrder !== undefined;
}

function checkName(text: string, name: string): void {
  if (typeof text !== "string" || text === "") {
    throw wrong(name, text, `Give the ${name} of what to get.`);
  }
}

function emptyResponse(): ProtocolError {
  return new ProtocolError("the response does not hold what was asked for", {
    advice: "Try another node, and report it to who runs this one.",
  });
}
