import type { DescMessage, DescService, Message } from "@bufbuild/protobuf";
import {
  type Order_Status,
  Order_StatusSchema,
  type StopOrder_ExpiryStrategy,
  StopOrder_ExpiryStrategySchema,
  type StopOrder_Status,
  StopOrder_StatusSchema,
} from "../../../gen/client/vega/vega_pb.js";
import type { AccountBalance } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import type { Order, Position, Trade } from "../../../gen/vega/vega_pb.js";
import { assertKnownKeys, assertOneOf } from "../../base/input/assert.js";
import { type CallOptions, validateCallOptions } from "../../base/input/call-options.js";
import { parseEnumValue } from "../../base/input/message-init.js";
import {
  type EnumName,
  type ExpiryStrategyName,
  listOf,
  readPeriod,
  type StatusName,
} from "../../data/listing/listing-filters.js";
import { isStopOrderRecord, LIST_OPTIONS, type StopOrderRecord } from "../../data/listing/listings.js";
import type { PaginationRequest } from "../../data/listing/pagination.js";
import type { ListedRecord, ListOptions, ListRecords, Paging } from "../../data/listing/paging.js";
import { recordTypeOf } from "../../data/listing/paging-method.js";
import { readPageOptions } from "../../data/listing/sent-pages.js";
import { jsonOf } from "../../wire/json/message-json.js";
import type { ServiceClient } from "../../wire/transport/service-client.js";
import { loadDefinitions } from "../live/load-definitions.js";
import {
  type DecimalFields,
  decimalFields,
  type InUnits,
  inUnits,
  type KnownDecimals,
  ownersIn,
} from "./field-units.js";
import { createLoadedDecimals, decimalsOfMarket, type LoadedDecimals } from "./market-units.js";
import { createRecordNames } from "./record-names.js";

/**
 * A record of a listing: the node's message with {@link Units} in place of its prices, sizes and amounts, and these as decimal numbers.
 * `JSON.stringify` writes it as Protobuf's JSON, with `decimals` and `cursor`.
 */
export type UnitsRecord<M extends Message> = InUnits<M> & {
  /** The prices, sizes and amounts as decimal numbers, under the names of their fields. */
  readonly decimals: DecimalFields<M>;
  /** Its position: a listing with this as `after` starts after the record. */
  readonly cursor: string;
};

/**
 * Which records to list. Filters of different kinds are combined with "and", values of one kind with "or". A filter that is omitted,
 * or is an empty list, matches all records.
 */
export interface RecordFilter {
  /** Only records of these markets: each by its code, its identifier, or at least 4 digits of the start of it. */
  readonly markets?: Iterable<string> | undefined;
  /** Only records of these parties: each by its public key, at least 4 digits of the start of it, or `network`. */
  readonly parties?: Iterable<string> | undefined;
}

/** Which trades to list. */
export interface TradesFilter extends RecordFilter {
  /** Only trades from this time on: Unix nanoseconds, or a date. */
  readonly since?: bigint | Date | undefined;
  /** Only trades before this time: Unix nanoseconds, or a date. */
  readonly until?: bigint | Date | undefined;
}

/** Which orders or stop orders to list. */
interface LiveFilter extends RecordFilter {
  /** Only those whose last change was at this time or later: Unix nanoseconds, or a date. */
  readonly since?: bigint | Date | undefined;
  /** Only those whose last change was before this time: Unix nanoseconds, or a date. */
  readonly until?: bigint | Date | undefined;
  /** Only live ones. */
  readonly live?: boolean | undefined;
}

/** The name of an order's status, in full (`STATUS_ACTIVE`) or without its prefix (`ACTIVE`). */
export type OrderStatusName = EnumName<typeof Order_Status, "STATUS">;

/** Which orders to list. */
export interface OrdersFilter extends LiveFilter {
  /** Only orders with one of these statuses: enum members or names. */
  readonly statuses?: Iterable<Order_Status | OrderStatusName> | undefined;
}

/** Which stop orders to list. */
export interface StopOrdersFilter extends LiveFilter {
  /** Only stop orders with one of these statuses: enum members or names. */
  readonly statuses?: Iterable<StopOrder_Status | StatusName> | undefined;
  /**
   * Only stop orders with one of these expiry strategies: enum members or names. For nodes, a stop order that does not expire
   * has `EXPIRY_STRATEGY_UNSPECIFIED`.
   */
  readonly expiryStrategies?: Iterable<StopOrder_ExpiryStrategy | ExpiryStrategyName> | undefined;
}

/** Which markets to list. */
export interface MarketsFilter extends Pick<RecordFilter, "markets"> {
  /** Whether settled markets are listed, too; `false` by default, but those in `markets` always are. */
  readonly settled?: boolean | undefined;
}

/**
 * The listings of a node's records, page after page.
 *
 * Nothing is sent before the records are requested. The decimals of markets and assets, which never change, are loaded once. Each method
 * throws {@link RequestError} immediately if the filter or an option is invalid, and while iterating if no or several markets or
 * parties have a name; {@link NodeError}, {@link ConnectionError}, {@link ProtocolError} and {@link CanceledError} while iterating,
 * as any call does.
 */
export interface RecordListings {
  /**
   * Lists orders.
   *
   * @param filter the markets, the parties, the statuses, and the time of the last change
   * @param options the size of a page, where to start and stop, a signal
   * @returns the orders, newest first; the price of a market order is 0
   *
   * @example
   * for await (const order of client.orders({ markets: ["BTCUSD.PERP"], statuses: ["ACTIVE"] }, { limit: 100 })) {
   *   console.log(order.id, order.decimals.price, order.price.valueOf());
   * }
   */
  orders(filter?: OrdersFilter, options?: ListOptions<UnitsRecord<Order>>): AsyncIterable<UnitsRecord<Order>>;
  /**
   * Lists stop orders, each with the order that is submitted when it triggers. Their times stay in the unit of the network; deployed
   * nodes use Unix nanoseconds.
   *
   * @param filter the markets, the parties, the statuses, the expiry strategies, and the time of the last change
   * @param options the size of a page, where to start and stop, a signal
   * @returns the stop orders, newest first
   *
   * @example
   * for await (const { stopOrder, decimals } of client.stopOrders({ statuses: ["PENDING"] }, { limit: 100 })) {
   *   console.log(stopOrder.id, decimals.stopOrder?.price, decimals.submission?.size);
   * }
   */
  stopOrders(
    filter?: StopOrdersFilter,
    options?: ListOptions<UnitsRecord<StopOrderRecord>>,
  ): AsyncIterable<UnitsRecord<StopOrderRecord>>;
  /**
   * Lists trades.
   *
   * @param filter the markets, the parties, and the time
   * @param options the size of a page, where to start and stop, a signal
   * @returns the trades, newest first by default
   *
   * @example
   * for await (const { decimals, aggressor } of client.trades({ markets: ["BTCUSD.PERP"] }, { limit: 100 })) {
   *   console.log(decimals.price, decimals.size, aggressor);
   * }
   */
  trades(filter?: TradesFilter, options?: ListOptions<UnitsRecord<Trade>>): AsyncIterable<UnitsRecord<Trade>>;
  /**
   * Lists positions, including closed ones.
   *
   * @param filter the markets and the parties
   * @param options the size of a page, where to start and stop, a signal
   * @returns the positions
   *
   * @example
   * for await (const { marketId, decimals } of client.positions({ parties: [party] })) {
   *   console.log(marketId, decimals.openVolume, decimals.unrealisedPnl);
   * }
   */
  positions(filter?: RecordFilter, options?: ListOptions<UnitsRecord<Position>>): AsyncIterable<UnitsRecord<Position>>;
  /**
   * Lists accounts with their balances.
   *
   * @param filter the markets and the parties
   * @param options the size of a page, where to start and stop, a signal
   * @returns the accounts
   *
   * @example
   * for await (const { asset, decimals } of client.accounts({ parties: [party] })) console.log(asset, decimals.balance);
   */
  accounts(
    filter?: RecordFilter,
    options?: ListOptions<UnitsRecord<AccountBalance>>,
  ): AsyncIterable<UnitsRecord<AccountBalance>>;
  /**
   * Lists markets.
   *
   * @param filter which markets, and whether settled ones are listed, too
   * @param options the size of a page, where to start and stop, a signal
   * @returns the markets
   *
   * @example
   * for await (const { id, tradableInstrument } of client.markets()) console.log(id, tradableInstrument?.instrument?.code);
   */
  markets(filter?: MarketsFilter, options?: ListOptions<UnitsRecord<Market>>): AsyncIterable<UnitsRecord<Market>>;
}

/** How the records of a listing are read from the node. */
interface Plan<N extends Message> {
  readonly desc: DescMessage;
  read(pagination: PaginationRequest, options: ListOptions<ListedRecord<N>>): AsyncIterable<ListedRecord<N>>;
  /** Which of the node's records are listed; by default all. */
  readonly where?: ((node: N) => boolean) | undefined;
  /** The decimals that a record contains itself. */
  readonly decimalsIn?: (node: N) => KnownDecimals;
}

type Methods = Awaited<ReturnType<typeof loadDefinitions>>["TradingDataService"]["method"];

/** The market and party identifiers that a filter names. */
interface FilterIds {
  readonly marketIds: string[];
  readonly partyIds: string[];
}

const RECORD_FILTER = { markets: true, parties: true } as const;
const TRADES_FILTER = { ...RECORD_FILTER, since: true, until: true } as const;
const ORDERS_FILTER = { ...TRADES_FILTER, live: true, statuses: true } as const;
const STOP_ORDERS_FILTER = { ...ORDERS_FILTER, expiryStrategies: true } as const;
const MARKETS_FILTER = { markets: true, settled: true } as const;

/** Creates the listings of a node. */
export function createRecordListings(
  service: <S extends DescService>(service: S) => ServiceClient<S>,
  records: Paging["records"],
  listRecords: ListRecords,
): RecordListings {
  let loaded: LoadedDecimals | undefined;

  /** Returns the records of a plan, which is made when they are requested. What the caller passed was read before. */
  function list<N extends Message>(
    { markets = [], parties = [] }: RecordFilter,
    options: ListOptions<UnitsRecord<N>>,
    planOf: (methods: Methods, ids: FilterIds) => Plan<N>,
  ): AsyncIterable<UnitsRecord<N>> {
    checkListOptions(options);
    const [marketNames, partyNames] = [listOf(markets, "markets"), listOf(parties, "parties")];
    const { onDuplicate, after, newestFirst, limit = Number.POSITIVE_INFINITY, ...how } = options;
    const { signal, headers, timeoutMs } = how;
    const callOptions: CallOptions = { signal, headers, timeoutMs };
    return {
      async *[Symbol.asyncIterator]() {
        const { TradingDataService } = await loadDefinitions();
        loaded ??= createLoadedDecimals(service(TradingDataService));
        const decimals = loaded;
        const names = createRecordNames(records, callOptions);
        const { desc, read, where, decimalsIn } = planOf(TradingDataService.method, {
          marketIds: await Promise.all(marketNames.map(names.market)),
          partyIds: await Promise.all(partyNames.map(names.party)),
        });
        let isDuplicate = false;
        const listed = read(
          { after, newestFirst },
          {
            ...how,
            limit: where === undefined ? options.limit : undefined,
            onDuplicate:
              onDuplicate &&
              (() => {
                isDuplicate = true;
              }),
          },
        );
        let left = limit;
        for await (const { cursor, node } of listed) {
          if (where?.(node) === false) {
            continue;
          }
          const known = decimalsIn?.(node) ?? (await decimals.load(ownersIn(desc, node), callOptions));
          const record = recordOf(desc, node, cursor, known);
          if (isDuplicate) {
            isDuplicate = false;
            onDuplicate?.(record);
          }
          yield record;
          left -= 1;
          if (left === 0) {
            return;
          }
        }
      },
    };
  }

  return {
    orders(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, ORDERS_FILTER);
      const { statuses = [] } = filter;
      const only = {
        ...readLiveFilter(filter),
        statuses: listOf(statuses, "statuses").map((each, at) =>
          parseEnumValue(Order_StatusSchema, each, `statuses[${at}]`),
        ),
      };
      return list<Order>(filter, options, ({ listOrders }, ids) => ({
        desc: recordTypeOf(listOrders),
        read: (pagination, how) =>
          listRecords(listOrders, { filter: { ...only, ...ids }, pagination }, how, {
            isWhole: (node): node is Order => node.id !== "",
            idOf: ({ id }) => id,
          }),
      }));
    },

    stopOrders(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, STOP_ORDERS_FILTER);
      const { statuses = [], expiryStrategies = [] } = filter;
      const only = {
        ...readLiveFilter(filter),
        statuses: listOf(statuses, "statuses").map((each, at) =>
          parseEnumValue(StopOrder_StatusSchema, each, `statuses[${at}]`),
        ),
        expiryStrategies: listOf(expiryStrategies, "expiryStrategies").map((each, at) =>
          parseEnumValue(StopOrder_ExpiryStrategySchema, each, `expiryStrategies[${at}]`),
        ),
      };
      return list<StopOrderRecord>(filter, options, ({ listStopOrders }, ids) => ({
        desc: recordTypeOf(listStopOrders),
        read: (pagination, how) =>
          listRecords(listStopOrders, { filter: { ...only, ...ids }, pagination }, how, {
            isWhole: isStopOrderRecord,
            idOf: ({ stopOrder }) => stopOrder.id,
          }),
      }));
    },

    trades(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, TRADES_FILTER);
      const dateRange = readPeriod(filter);
      return list<Trade>(filter, options, ({ listTrades }, ids) => ({
        desc: recordTypeOf(listTrades),
        read: (pagination, how) =>
          listRecords(listTrades, { ...dateRange, ...ids, pagination }, how, {
            isWhole: (node): node is Trade => node.id !== "",
            idOf: ({ id }) => id,
          }),
      }));
    },

    positions(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, RECORD_FILTER);
      return list<Position>(filter, options, ({ listAllPositions }, ids) => ({
        desc: recordTypeOf(listAllPositions),
        read: (pagination, how) =>
          listRecords(listAllPositions, { filter: ids, pagination }, how, {
            isWhole: (node): node is Position => node.marketId !== "",
            idOf: ({ marketId, partyId }) => `${marketId} ${partyId}`,
          }),
      }));
    },

    accounts(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, RECORD_FILTER);
      return list<AccountBalance>(filter, options, ({ listAccounts }, ids) => ({
        desc: recordTypeOf(listAccounts),
        read: (pagination, how) =>
          listRecords(listAccounts, { filter: ids, pagination }, how, {
            isWhole: (node): node is AccountBalance => node.asset !== "",
            idOf: ({ owner, type, asset, marketId }) => [owner, type, asset, marketId].join(" "),
          }),
      }));
    },

    markets(filter = {}, options = {}) {
      assertKnownKeys("filter", filter, MARKETS_FILTER);
      const { settled = false } = filter;
      assertOneOf("settled", settled, [true, false]);
      return list<Market>(filter, options, ({ listMarkets }, { marketIds }) => {
        const isNamed = marketIds.length > 0;
        return {
          desc: recordTypeOf(listMarkets),
          read: (pagination, how) =>
            listRecords(listMarkets, { includeSettled: settled || isNamed, pagination }, how, {
              isWhole: (node): node is Market => node.id !== "",
              idOf: ({ id }) => id,
            }),
          where: isNamed ? ({ id }) => marketIds.includes(id) : undefined,
          decimalsIn: decimalsOfMarket,
        };
      });
    },
  };
}

function recordOf<N extends Message>(desc: DescMessage, node: N, cursor: string, known: KnownDecimals): UnitsRecord<N>;
function recordOf(desc: DescMessage, node: Message, cursor: string, known: KnownDecimals): object {
  const record = { ...inUnits(desc, node), decimals: decimalFields(desc, node, known), cursor };
  const { decimals } = record;
  return Object.defineProperty(record, "toJSON", {
    value: () => Object.assign({}, jsonOf(desc, node), { decimals, cursor }),
  });
}

function readLiveFilter(filter: LiveFilter) {
  const { live = false } = filter;
  assertOneOf("live", live, [true, false]);
  return { ...readPeriod(filter), liveOnly: live };
}

function checkListOptions(options: ListOptions<never>): void {
  assertKnownKeys("options", options, LIST_OPTIONS);
  validateCallOptions(options);
  readPageOptions(options, { by: "cursors" });
  assertOneOf("newestFirst", options.newestFirst, [true, false]);
}
