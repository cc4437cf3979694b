import type { Client } from "@connectrpc/connect";
import {
  type ListNetworkParametersResponse,
  type ListStopOrdersResponse,
  TradingDataService,
} from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import type { StopOrderEvent } from "../../../gen/client/vega/events/v1/events_pb.js";
import type { NetworkParameter, StopOrder } from "../../../gen/client/vega/vega_pb.js";
import type { CallErrorMapper } from "../../base/errors/call-errors.js";
import { ProtocolError } from "../../base/errors/index.js";
import { assertKnownKeys, invalidValueError } from "../../base/input/assert.js";
import { type CallOptions, parseCallOptions } from "../../base/input/call-options.js";
import { readStopOrderFilter, type StopOrderFilter } from "./listing-filters.js";
import { type PaginationRequest, readPagination } from "./pagination.js";
import { type ListedRecord, type ListOptions, type ListRecords, RECORDS_OPTIONS, type RequireOrder } from "./paging.js";

/** A stop order, and the order that is submitted when it triggers. */
export type StopOrderRecord = StopOrderEvent & { stopOrder: StopOrder };

/**
 * The listing of network parameters, single pages and single records.
 *
 * Besides the errors named below, every method may throw {@link NodeError} if the node answers with an error,
 * {@link ConnectionError} if it is unreachable or the connection is lost, {@link ProtocolError} if its response violates
 * the rules of the interface, and {@link CanceledError} if the signal was aborted.
 */
export interface Listings {
  /**
   * Gets one page of network parameters.
   *
   * @param request which page to get; by default the node's first
   * @param options a signal, headers and a time limit
   * @returns the page as the node sent it
   * @throws {@link RequestError} if the pagination is invalid
   *
   * @example
   * const { networkParameters } = await client.listNetworkParameters({ pagination: { first: 10 } });
   */
  listNetworkParameters(
    request?: { readonly pagination?: PaginationRequest | undefined },
    options?: CallOptions,
  ): Promise<ListNetworkParametersResponse>;
  /**
   * Lists all network parameters, page after page.
   *
   * @param options the size of a page, where to start and stop, a signal
   * @returns the records, each with its cursor; nothing is sent before they are requested
   * @throws {@link RequestError} immediately, if an option is invalid
   *
   * @example
   * for await (const { node } of client.networkParameters()) console.log(node.key, node.value);
   */
  networkParameters(
    options?: ListOptions<ListedRecord<NetworkParameter>>,
  ): AsyncIterable<ListedRecord<NetworkParameter>>;
  /**
   * Gets one network parameter.
   *
   * @param key such as `snapshot.interval.length`
   * @param options a signal, headers and a time limit
   * @returns the parameter; its value is text
   * @throws {@link RequestError} if the key is empty
   * @throws {@link NodeError} with `NotFound` if the network has no such parameter
   *
   * @example
   * const { value } = await client.networkParameter("snapshot.interval.length");
   */
  networkParameter(key: string, options?: CallOptions): Promise<NetworkParameter>;
  /**
   * Gets one page of stop orders.
   *
   * @param request which page to get, by default the node's first, and which stop orders
   * @param options a signal, headers and a time limit
   * @returns the page as the node sent it
   * @throws {@link RequestError} if the pagination or the filter is invalid
   *
   * @example
   * const { orders } = await client.listStopOrders({ filter: { liveOnly: true }, pagination: { first: 10 } });
   */
  listStopOrders(
    request?: { readonly pagination?: PaginationRequest | undefined; readonly filter?: StopOrderFilter | undefined },
    options?: CallOptions,
  ): Promise<ListStopOrdersResponse>;
  /**
   * Gets one stop order.
   *
   * @param id identifier of the stop order, 64 hex digits
   * @param options a signal, headers and a time limit
   * @returns the stop order, and the order that is submitted when it triggers
   * @throws {@link RequestError} if the identifier is empty
   * @throws {@link NodeError} with `NotFound` if the node has no such stop order
   *
   * @example
   * const { stopOrder } = await client.stopOrder(id);
   */
  stopOrder(id: string, options?: CallOptions): Promise<StopOrderRecord>;
}

export function createListings(
  service: Client<typeof TradingDataService>,
  listRecords: ListRecords,
  failing: CallErrorMapper,
  requireOrder: RequireOrder,
): Listings {
  const { method } = TradingDataService;

  return {
    async listNetworkParameters(request = {}, options) {
      assertKnownKeys("request", request, { pagination: true });
      const pagination = readPagination(request.pagination ?? {});
      return await service.listNetworkParameters({ pagination }, parseCallOptions(options));
    },

    networkParameters(options = {}) {
      assertKnownKeys("options", options, LIST_OPTIONS);
      return listRecords(method.listNetworkParameters, { pagination: orderOf(options) }, options, {
        isWhole: (node): node is NetworkParameter => node.key !== "",
        idOf: ({ key }) => key,
      });
    },

    async networkParameter(key, options) {
      checkName(key, "key");
      const { networkParameter } = await service.getNetworkParameter({ key }, parseCallOptions(options));
      return networkParameter ?? failing(method.getNetworkParameter, options?.signal)(emptyResponse());
    },

    async listStopOrders(request = {}, options) {
      assertKnownKeys("request", request, { pagination: true, filter: true });
      const { pagination = {}, filter = {} } = request;
      const asked = { pagination: readPagination(pagination), filter: readStopOrderFilter(filter) };
      requireOrder(method.listStopOrders, asked.pagination);
      return await service.listStopOrders(asked, parseCallOptions(options));
    },

    async stopOrder(id, options) {
      checkName(id, "id");
      const { order } = await service.getStopOrder({ orderId: id }, parseCallOptions(options));
      return order !== undefined && isStopOrderRecord(order)
        ? order
        : failing(method.getStopOrder, options?.signal)(emptyResponse());
    },
  };
}

/** The names of {@link ListOptions}. */
export const LIST_OPTIONS = { ...RECORDS_OPTIONS, after: true, newestFirst: true, onDuplicate: true } as const;

function orderOf({ after, newestFirst }: ListOptions<never>) {
  return { after, newestFirst };
}

export function isStopOrderRecord(node: StopOrderEvent): node is StopOrderRecord {
  return node.stopOrder !== undefined;
}

function checkName(text: string, name: string): void {
  if (typeof text !== "string" || text === "") {
    throw invalidValueError(name, text, "a non-empty string");
  }
}

function emptyResponse(): ProtocolError {
  return new ProtocolError("the response does not contain the requested record", {
    advice: "Use another node, and report this to the operator of the node.",
  });
}
