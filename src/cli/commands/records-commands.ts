import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import type { StopOrderEventSchema } from "../../../gen/client/vega/events/v1/events_pb.js";
import { StopOrder_ExpiryStrategySchema, StopOrder_StatusSchema } from "../../../gen/client/vega/vega_pb.js";
import { type AccountBalanceSchema, TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market, MarketSchema } from "../../../gen/vega/markets_pb.js";
import {
  type MarketData,
  Order_Status,
  Order_StatusSchema,
  type OrderSchema,
  type PositionSchema,
  type TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import { RequestError } from "../../base/errors/index.js";
import { readPeriod } from "../../data/listing/listing-filters.js";
import type { Client, ListedRecord } from "../../index.js";
import { MAX_NAMED } from "../../trade/market/record-names.js";
import { commandClient, reportsTo } from "../client.js";
import { clientOptions } from "../client-options.js";
import { defineCommand, flag, type OptionValues } from "../declarations.js";
import {
  enumOption,
  type ListingType,
  listingOptions,
  maxRecords,
  printedType,
  printListing,
  WIDE_ADVICE,
} from "../listing.js";
import type { CommandContext } from "../output.js";
import { createNames, findRecords, type Names } from "../records/record-names.js";
import {
  accountsType,
  marketsType,
  ordersType,
  positionsType,
  stopOrdersType,
  tradesType,
} from "../records/record-types.js";
import { createWatchOutput, type WatchedRecords, watchOptions, watchRecords } from "../records/watch-records.js";
import { liveOption, marketsOption, partiesOption, rawOption, timeOptions, wideOption } from "../shared-options.js";
import { LISTED } from "../table.js";

const { listAccounts, listAllPositions, listMarkets, listOrders, listStopOrders, listTrades } =
  TradingDataService.method;

const listedOptions = { raw: rawOption, wide: wideOption, ...listingOptions, ...clientOptions };

const recordsOptions = { ...watchOptions, ...listedOptions };

const marketsOptions = { settled: flag("also list settled markets"), ...recordsOptions };

const filterOptions = {
  market: marketsOption,
  party: partiesOption,
  ...recordsOptions,
};

const tradesOptions = { ...filterOptions, ...timeOptions };

const ordersOptions = {
  status: enumOption("<status>", Order_StatusSchema),
  live: liveOption,
  ...filterOptions,
  ...timeOptions,
};

const stopOrdersOptions = {
  status: enumOption("<status>", StopOrder_StatusSchema),
  expiryStrategy: enumOption("<strategy>", StopOrder_ExpiryStrategySchema),
  party: partiesOption,
  market: marketsOption,
  ...timeOptions,
  live: liveOption,
  ...listedOptions,
};

/** The options that all of these commands have. Stop orders have no stream to watch. */
type RecordsOptions = OptionValues<typeof listedOptions> & Partial<OptionValues<typeof watchOptions>>;
type FilterOptions = Pick<OptionValues<typeof filterOptions>, "market" | "party">;

/** Defines the command `markets`. */
export const addMarkets = defineCommand(
  marketsOptions,
  (texts: string[], options: OptionValues<typeof marketsOptions>, context: CommandContext) =>
    runRecords<typeof MarketSchema>(options, context, async (client, names) => {
      const only = await Promise.all(texts.map(names.market));
      const isRequested = (id: string) => only.length === 0 || only.includes(id);
      const service = client.service(TradingDataService);
      const data = new Map<string, MarketData>();
      const markets = new Map<string, Market>();
      async function* list({ limit, signal }: ListOptions) {
        const { marketsData } = await service.listLatestMarketData({}, { signal });
        for (const each of marketsData) {
          data.set(each.market, each);
        }
        const request = { includeSettled: options.settled === true || only.length > 0 };
        const all = client.records(listMarkets, request, { limit: only.length === 0 ? limit : undefined, signal });
        for await (const record of all) {
          if (isRequested(record.node.id)) {
            markets.set(record.node.id, record.node);
            yield record;
          }
        }
      }
      async function* changes(signal: AbortSignal, relist: () => void) {
        // The event bus has the data of all markets, also of those that are created later.
        const events = client.events(
          { types: ["marketData"], marketId: only.length === 1 ? only[0] : undefined },
          { signal },
        );
        for await (const { value: latest } of events) {
          const isNew = !data.has(latest.market);
          data.set(latest.market, latest);
          const market = markets.get(latest.market);
          if (market !== undefined) {
            yield [{ ...market, state: latest.marketState, tradingMode: latest.marketTradingMode }];
          } else if (isNew) {
            relist();
          }
        }
      }
      return {
        type: marketsType(names, data),
        ownersOf: ({ id }) => ({ markets: [id] }),
        list,
        key: ({ id }) => id,
        streams: [changes],
      };
    }),
);

/** Defines the command `orders`, like {@link addMarkets}. */
export const addOrders = defineCommand(
  ordersOptions,
  (ids: string[], options: OptionValues<typeof ordersOptions>, context: CommandContext) =>
    runRecords<typeof OrderSchema>(options, context, async (client, names) => {
      const { marketIds, partyIds } = await filterOf(options, names);
      const { status = [], live = false } = options;
      const filter = { marketIds, partyIds, statuses: [...status], liveOnly: live, ...readPeriod(options) };
      return {
        type: ordersType(names),
        ids: {
          kind: "order",
          texts: ids,
          get: async (orderId) =>
            (await client.service(TradingDataService).getOrder({ orderId }, { signal: context.signal })).order,
        },
        ownersOf: ({ marketId }) => ({ markets: [marketId] }),
        list: (how) => client.records(listOrders, { filter }, how),
        key: ({ id }) => id,
        ageOf: ({ version, createdAt, updatedAt }) => ({ version, updatedAt: updatedAt || createdAt }),
        createdAt: ({ createdAt }) => createdAt,
        matches: ({ status: now }) =>
          (status.length === 0 || status.includes(now)) && (!live || LIVE_STATUSES.includes(now)),
        streams: [
          async function* changes(signal) {
            const request = { marketIds, partyIds };
            for await (const { response } of client.service(TradingDataService).observeOrders(request, { signal })) {
              yield response.case === "updates" ? response.value.orders : [];
            }
          },
        ],
      };
    }),
);

/** The statuses of orders that `liveOnly` lists (v0.78.0, datanode/sqlstore/migrations/0001_initial.sql). */
const LIVE_STATUSES: readonly Order_Status[] = [Order_Status.ACTIVE, Order_Status.PARKED];

/** Defines the command `trades`, like {@link addMarkets}. */
export const addTrades = defineCommand(
  tradesOptions,
  (ids: string[], options: OptionValues<typeof tradesOptions>, context: CommandContext) =>
    runRecords<typeof TradeSchema>(options, context, async (client, names) => {
      const filter = await filterOf(options, names);
      const request = { ...filter, ...readPeriod(options) };
      return {
        type: tradesType(names),
        ids: { kind: "trade", texts: ids },
        ownersOf: ({ marketId }) => ({ markets: [marketId] }),
        list: (how) => client.records(listTrades, request, how),
        key: ({ id }) => id,
        ageOf: ({ timestamp }) => ({ updatedAt: timestamp }),
        createdAt: ({ timestamp }) => timestamp,
        streams: [
          async function* changes(signal) {
            for await (const { trades } of client.service(TradingDataService).observeTrades(filter, { signal })) {
              yield trades;
            }
          },
        ],
      };
    }),
);

/** Defines the command `stop-orders`, like {@link addMarkets}. */
export const addStopOrders = defineCommand(
  stopOrdersOptions,
  (ids: string[], options: OptionValues<typeof stopOrdersOptions>, context: CommandContext) =>
    runRecords<typeof StopOrderEventSchema>(options, context, async (client, names) => {
      const filter = {
        ...(await filterOf(options, names)),
        statuses: [...(options.status ?? [])],
        expiryStrategies: [...(options.expiryStrategy ?? [])],
        ...readPeriod(options),
        liveOnly: options.live === true,
      };
      return {
        type: stopOrdersType(names),
        ids: {
          kind: "stop order",
          texts: ids,
          get: async (orderId) =>
            (await client.service(TradingDataService).getStopOrder({ orderId }, { signal: context.signal })).order,
        },
        ownersOf: ({ stopOrder }) => ({ markets: stopOrder === undefined ? [] : [stopOrder.marketId] }),
        list: (how) => client.records(listStopOrders, { filter }, how),
        key: ({ stopOrder }) => stopOrder?.id ?? "",
        streams: [],
      };
    }),
);

/** Defines the command `positions`, like {@link addMarkets}. */
export const addPositions = defineCommand(filterOptions, (options, context) =>
  runRecords<typeof PositionSchema>(options, context, async (client, names) => {
    const filter = await filterOf(options, names);
    const { marketIds, partyIds } = filter;
    const isRequested = (ids: readonly string[], id: string) => ids.length === 0 || ids.includes(id);
    return {
      type: positionsType(names),
      ownersOf: ({ marketId }) => ({ markets: [marketId] }),
      list: (how) => client.records(listAllPositions, { filter }, how),
      key: ({ marketId, partyId }) => `${marketId} ${partyId}`,
      ageOf: ({ updatedAt }) => ({ updatedAt }),
      streams: each(partyIds).map(
        (partyId) =>
          async function* changes(signal) {
            const request = { ...(partyId !== undefined && { partyId }) };
            const service = client.service(TradingDataService);
            for await (const { response } of service.observePositions(request, { signal })) {
              const changed = response.case === "updates" ? response.value.positions : [];
              yield changed.filter(({ marketId }) => isRequested(marketIds, marketId));
            }
          },
      ),
    };
  }),
);

/** Defines the command `accounts`, like {@link addMarkets}. */
export const addAccounts = defineCommand(filterOptions, (options, context) =>
  runRecords<typeof AccountBalanceSchema>(options, context, async (client, names) => {
    const filter = await filterOf(options, names);
    const { marketIds, partyIds } = filter;
    // A data node streams the balances of one party: without a party, it sends none (v0.78.0, datanode/service/accounts.go).
    if ((options.watch === true || options.follow === true) && partyIds.length === 0) {
      throw new RequestError("accounts --watch and --follow need a party: nodes stream balances by party", {
        advice: "Use --party.",
      });
    }
    return {
      type: accountsType(names),
      ownersOf: ({ marketId, asset }) => ({ markets: marketId === "" ? [] : [marketId], assets: [asset] }),
      list: (how) => client.records(listAccounts, { filter }, how),
      key: ({ owner, type, asset, marketId }) => [owner, type, asset, marketId].join(" "),
      streams: partyIds.map(
        (partyId) =>
          async function* changes(signal) {
            const service = client.service(TradingDataService);
            for await (const { response } of service.observeAccounts({ partyId }, { signal })) {
              const changed = response.case === "updates" ? response.value.accounts : [];
              yield changed.filter(({ marketId }) => marketIds.length === 0 || marketIds.includes(marketId));
            }
          },
      ),
    };
  }),
);

/** Returns the identifiers, or a single undefined one if there are none: the stream of all. */
function each(ids: readonly string[]): readonly (string | undefined)[] {
  return ids.length === 0 ? [undefined] : ids;
}

/** How records are listed. */
interface ListOptions {
  readonly limit: number | undefined;
  readonly signal: AbortSignal;
}

/** The records that a command lists, and the stream of their changes. */
interface Records<M extends DescMessage> extends Pick<WatchedRecords<M>, "key" | "ageOf" | "createdAt" | "streams"> {
  readonly type: ListingType<M>;
  /** The markets and assets whose codes and decimals a record has. */
  readonly ownersOf: (node: MessageShape<M>) => Parameters<Names["load"]>[0];
  /** The identifiers that the user asks for; without any, all records are listed. */
  readonly ids?: {
    readonly kind: "order" | "trade" | "stop order";
    readonly texts: readonly string[];
    readonly get?: (id: string) => Promise<MessageShape<M> | undefined>;
  };
  list(how: ListOptions): AsyncIterable<Pick<ListedRecord<MessageShape<M>>, "node">>;
  /** Returns whether a changed record is still among those that the options select; by default, it is. */
  matches?(node: MessageShape<M>): boolean;
}

/** Lists records after the decimals of their markets were loaded, or prints their changes. */
async function runRecords<M extends DescMessage>(
  options: RecordsOptions,
  context: CommandContext,
  recordsOf: (client: Client, names: Names) => Promise<Records<M>>,
): Promise<void> {
  const { signal } = context;
  const output = createWatchOutput(options, context);
  await using client = commandClient(options, reportsTo(output?.notes ?? context.notes, context));
  const names = createNames(client, options, context);
  const { ownersOf, ids, list: listAll, matches = () => true, streams, ...records } = await recordsOf(client, names);
  const found = new Set<string>();
  const isAsked = (node: MessageShape<M>) => (ids?.texts.length ?? 0) === 0 || found.has(records.key(node));

  async function* list(how: ListOptions) {
    if (ids === undefined || ids.texts.length === 0) {
      yield* listAll(how);
      return;
    }
    const named = { ...ids, idOf: records.key, list: (limit: number) => listAll({ ...how, limit }) };
    for await (const record of findRecords(ids.texts, named)) {
      found.add(records.key(record.node));
      yield record;
    }
  }

  async function named(nodes: readonly MessageShape<M>[]): Promise<readonly MessageShape<M>[]> {
    for (const node of nodes) {
      await names.load(ownersOf(node));
    }
    return nodes;
  }
  async function* listed(how: ListOptions) {
    for await (const { node } of list(how)) {
      yield* await named([node]);
    }
  }

  if (output === undefined) {
    const how = { limit: maxRecords(options, context), signal };
    await printListing(listed(how), { advice: WIDE_ADVICE, ...records.type }, options, context);
    return;
  }
  const limit = options.limit ?? (options.all === true ? undefined : LISTED);
  const watched = {
    ...records,
    type: printedType(records.type, options),
    matches: (node: MessageShape<M>) => isAsked(node) && matches(node),
    list: (ending: AbortSignal) => listed({ limit, signal: ending }),
    streams: streams.map(
      (changes) =>
        async function* namedChanges(connection: AbortSignal, relist: () => void) {
          for await (const nodes of changes(connection, relist)) {
            yield await named(nodes);
          }
        },
    ),
    limit: output.kind === "table" ? (limit ?? MAX_NAMED) : Math.max(limit ?? MAX_NAMED, MAX_NAMED),
  };
  await watchRecords(watched, output, context);
}

async function filterOf({ market = [], party = [] }: FilterOptions, names: Names) {
  return {
    marketIds: await Promise.all(market.map(names.market)),
    partyIds: await Promise.all(party.map(names.party)),
  };
}
