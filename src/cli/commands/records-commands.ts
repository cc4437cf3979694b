import type { DescMessage, JsonObject, MessageShape } from "@bufbuild/protobuf";
import type { Command } from "commander";
import {
  type AccountBalance,
  AccountBalanceSchema,
  TradingDataService,
} from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import {
  type Market,
  Market_StateSchema,
  Market_TradingModeSchema,
  MarketSchema,
} from "../../../gen/vega/markets_pb.js";
import {
  AccountTypeSchema,
  type MarketData,
  type Order,
  Order_StatusSchema,
  Order_TimeInForceSchema,
  Order_TypeSchema,
  OrderSchema,
  type Position,
  PositionSchema,
  PositionStatusSchema,
  SideSchema,
  type Trade,
  Trade_TypeSchema,
  TradeSchema,
} from "../../../gen/vega/vega_pb.js";
import { RequestError } from "../../errors/index.js";
import { type Client, formatDecimal, type ListedRecord, type MarketUnits } from "../../index.js";
import { commandClient } from "../client.js";
import { clientOptions } from "../client-options.js";
import { addOptions, flag, type OptionValues, repeatedText } from "../declarations.js";
import { isoTime } from "../formatting.js";
import {
  enumOption,
  type ListingType,
  listingOptions,
  maxRecords,
  printListing,
  shortId,
  valueName,
} from "../listing.js";
import type { CommandContext } from "../output.js";

const { listAccounts, listAllPositions, listAssets, listMarkets, listOrders, listTrades } = TradingDataService.method;

/** Maximum number of markets and of assets that are loaded for their names. */
const MAX_NAMED = 5000;

/** The minimum number of digits of a market's identifier that names it. */
const MIN_DIGITS = 4;

const recordsOptions = {
  wide: flag("print full IDs"),
  ...listingOptions,
  ...clientOptions,
};

const marketsOptions = { settled: flag("also list settled markets"), ...recordsOptions };

const filterOptions = {
  market: repeatedText("<market>", "only this market: its code, its ID, or the start of its ID; may be repeated"),
  party: repeatedText("<id>", "only this party; may be repeated"),
  ...recordsOptions,
};

const ordersOptions = {
  status: enumOption("<status>", Order_StatusSchema),
  live: flag("only live orders"),
  ...filterOptions,
};

/** The options that all of these commands have. */
type RecordsOptions = OptionValues<typeof recordsOptions>;
type FilterOptions = OptionValues<typeof filterOptions>;

/**
 * Defines the command `markets`.
 *
 * @param command the command, which gets its options and action
 * @param context the streams of the command, and the signal that interrupts it
 */
export function addMarkets(command: Command, context: CommandContext): void {
  addOptions(command, marketsOptions).action(async (options: OptionValues<typeof marketsOptions>) => {
    await using client = commandClient(options, context);
    const names = createNames(client, options, context.signal);
    const { marketsData } = await client
      .service(TradingDataService)
      .listLatestMarketData({}, { signal: context.signal });
    const data = new Map(marketsData.map((each) => [each.market, each]));
    const request = { includeSettled: options.settled === true };
    await printNamed(client.records(listMarkets, request, pageOptions(options, context)), names, {
      options,
      context,
      marketOf: ({ id }) => id,
      type: marketsType(names, data),
    });
  });
}

/** Defines the command `orders`, like {@link addMarkets}. */
export function addOrders(command: Command, context: CommandContext): void {
  addOptions(command, ordersOptions).action(async (options: OptionValues<typeof ordersOptions>) => {
    await using client = commandClient(options, context);
    const names = createNames(client, options, context.signal);
    const { status, live } = options;
    const filter = { ...(await filterOf(options, names)), statuses: [...(status ?? [])], liveOnly: live === true };
    await printNamed(client.records(listOrders, { filter }, pageOptions(options, context)), names, {
      options,
      context,
      marketOf: ({ marketId }) => marketId,
      type: ordersType(names),
    });
  });
}

/** Defines the command `trades`, like {@link addMarkets}. */
export function addTrades(command: Command, context: CommandContext): void {
  addOptions(command, filterOptions).action(async (options: FilterOptions) => {
    await using client = commandClient(options, context);
    const names = createNames(client, options, context.signal);
    const request = await filterOf(options, names);
    await printNamed(client.records(listTrades, request, pageOptions(options, context)), names, {
      options,
      context,
      marketOf: ({ marketId }) => marketId,
      type: tradesType(names),
    });
  });
}

/** Defines the command `positions`, like {@link addMarkets}. */
export function addPositions(command: Command, context: CommandContext): void {
  addOptions(command, filterOptions).action(async (options: FilterOptions) => {
    await using client = commandClient(options, context);
    const names = createNames(client, options, context.signal);
    const filter = await filterOf(options, names);
    await printNamed(client.records(listAllPositions, { filter }, pageOptions(options, context)), names, {
      options,
      context,
      marketOf: ({ marketId }) => marketId,
      type: positionsType(names),
    });
  });
}

/** Defines the command `accounts`, like {@link addMarkets}. */
export function addAccounts(command: Command, context: CommandContext): void {
  addOptions(command, filterOptions).action(async (options: FilterOptions) => {
    await using client = commandClient(options, context);
    const names = createNames(client, options, context.signal);
    const filter = await filterOf(options, names);
    const assets = await loadAssets(client, context.signal);
    await names.markets();
    await printNamed(client.records(listAccounts, { filter }, pageOptions(options, context)), names, {
      options,
      context,
      marketOf: () => undefined,
      type: accountsType(names, assets),
    });
  });
}

function pageOptions(options: RecordsOptions, context: CommandContext) {
  return { limit: maxRecords(options, context), signal: context.signal };
}

async function filterOf({ market = [], party = [] }: FilterOptions, names: Names) {
  return { marketIds: await Promise.all(market.map(names.resolve)), partyIds: [...party] };
}

/** The names and decimals of markets, and how identifiers are shown. */
interface Names {
  /** Loads all markets, once. */
  markets(): Promise<ReadonlyMap<string, Market>>;
  /** Finds the market that the user named. */
  readonly resolve: (text: string) => Promise<string>;
  /** Loads the decimals of a market, once. */
  load(marketId: string): Promise<void>;
  /** The decimals of a market that was loaded. */
  unitsOf(marketId: string): MarketUnits | undefined;
  /** The code of a market, or its identifier. */
  code(marketId: string): string;
  id(text: string): string;
}

function createNames(client: Client, { wide }: RecordsOptions, signal: AbortSignal): Names {
  const loaded = new Map<string, Market>();
  const units = new Map<string, MarketUnits>();
  const id = (text: string) => shortId(text, wide === true);
  let loading: Promise<void> | undefined;
  const load = async () => {
    for await (const { node } of client.records(listMarkets, { includeSettled: true }, { limit: MAX_NAMED, signal })) {
      loaded.set(node.id, node);
    }
  };
  const markets = async () => {
    loading ??= load();
    await loading;
    return loaded;
  };

  return {
    markets,
    async resolve(text) {
      if (/^[0-9a-f]{64}$/i.test(text)) {
        return text.toLowerCase();
      }
      const found = [...(await markets()).values()].filter(
        (market) => codeOf(market) === text || (text.length >= MIN_DIGITS && market.id.startsWith(text.toLowerCase())),
      );
      const [only, ...others] = found;
      if (only === undefined || others.length > 0) {
        const which = only === undefined ? "no market has" : `${found.length} markets have`;
        throw new RequestError(`${which} the code or ID ${JSON.stringify(text)}`, {
          advice:
            only === undefined
              ? "Run `tradewire markets` to list the codes and IDs."
              : `Give more digits of one of the IDs: ${found
                  .slice(0, 3)
                  .map((market) => market.id)
                  .join(", ")}.`,
        });
      }
      return only.id;
    },
    async load(marketId) {
      if (!units.has(marketId)) {
        await markets();
        units.set(marketId, await client.marketUnits(marketId, { signal }));
      }
    },
    unitsOf: (marketId) => units.get(marketId),
    code(marketId) {
      const market = loaded.get(marketId);
      const code = market === undefined ? "" : codeOf(market);
      return code === "" ? id(marketId) : code;
    },
    id,
  };
}

const codeOf = ({ tradableInstrument }: Market) => tradableInstrument?.instrument?.code ?? "";

/** What is printed, and how. */
interface Printing<M extends DescMessage> {
  readonly options: RecordsOptions;
  readonly context: CommandContext;
  readonly type: ListingType<M>;
  readonly marketOf: (node: MessageShape<M>) => string | undefined;
}

/** Prints records, after the decimals of their markets were loaded. */
async function printNamed<M extends DescMessage>(
  records: AsyncIterable<ListedRecord<MessageShape<M>>>,
  names: Names,
  { options, context, type, marketOf }: Printing<M>,
): Promise<void> {
  async function* nodes() {
    for await (const { node } of records) {
      const marketId = marketOf(node);
      if (marketId !== undefined) {
        await names.load(marketId);
      }
      yield node;
    }
  }
  await printListing(nodes(), type, options, context);
}

function marketsType(names: Names, data: ReadonlyMap<string, MarketData>): ListingType<typeof MarketSchema> {
  const prices = ({ id }: Market): JsonObject => {
    const [units, latest] = [names.unitsOf(id), data.get(id)];
    const price = (value = "") => (value === "" || value === "0" ? "" : (units?.price.format(value) ?? ""));
    return {
      markPrice: price(latest?.markPrice),
      bestBidPrice: price(latest?.bestBidPrice),
      bestOfferPrice: price(latest?.bestOfferPrice),
      openInterest: units?.size.format(latest?.openInterest ?? 0n) ?? "",
    };
  };
  return {
    desc: MarketSchema,
    name: "markets",
    header: "code id state mode mark bid offer open_interest name".split(" "),
    ranked: "code id state mark bid offer mode open_interest name".split(" "),
    decimals: prices,
    cells(market) {
      const { markPrice, bestBidPrice, bestOfferPrice, openInterest } = prices(market);
      return [
        codeOf(market),
        names.id(market.id),
        valueName(Market_StateSchema, market.state),
        valueName(Market_TradingModeSchema, market.tradingMode),
        ...[markPrice, bestBidPrice, bestOfferPrice, openInterest].map(String),
        market.tradableInstrument?.instrument?.name ?? "",
      ];
    },
  };
}

function ordersType(names: Names): ListingType<typeof OrderSchema> {
  const decimals = (order: Order) => names.unitsOf(order.marketId)?.decimalsOf(order);
  return {
    desc: OrderSchema,
    name: "orders",
    header: "id market status side price size remaining type tif created party reference".split(" "),
    ranked: "id market side price size remaining status type tif created party reference".split(" "),
    decimals,
    cells(order) {
      const { price = "", size = "", remaining = "" } = decimals(order) ?? {};
      return [
        names.id(order.id),
        names.code(order.marketId),
        valueName(Order_StatusSchema, order.status),
        valueName(SideSchema, order.side),
        ...[price, size, remaining],
        valueName(Order_TypeSchema, order.type),
        valueName(Order_TimeInForceSchema, order.timeInForce),
        isoTime(order.createdAt),
        names.id(order.partyId),
        order.reference,
      ];
    },
  };
}

function tradesType(names: Names): ListingType<typeof TradeSchema> {
  const decimals = (trade: Trade) => names.unitsOf(trade.marketId)?.decimalsOf(trade);
  return {
    desc: TradeSchema,
    name: "trades",
    header: "id market price size aggressor time type buyer seller".split(" "),
    ranked: "id market price size aggressor time buyer seller type".split(" "),
    decimals,
    cells(trade) {
      const { price = "", size = "" } = decimals(trade) ?? {};
      return [
        names.id(trade.id),
        names.code(trade.marketId),
        ...[price, size],
        valueName(SideSchema, trade.aggressor),
        isoTime(trade.timestamp),
        valueName(Trade_TypeSchema, trade.type),
        names.id(trade.buyer),
        names.id(trade.seller),
      ];
    },
  };
}

function positionsType(names: Names): ListingType<typeof PositionSchema> {
  const decimals = (position: Position) => names.unitsOf(position.marketId)?.decimalsOf(position);
  return {
    desc: PositionSchema,
    name: "positions",
    header: "market party open_volume entry_price realised_pnl unrealised_pnl status updated".split(" "),
    ranked: "market party open_volume entry_price unrealised_pnl realised_pnl status updated".split(" "),
    decimals,
    cells(position) {
      const shown = decimals(position);
      return [
        names.code(position.marketId),
        names.id(position.partyId),
        ...[shown?.openVolume, shown?.averageEntryPrice, shown?.realisedPnl, shown?.unrealisedPnl].map(
          (value) => value ?? "",
        ),
        valueName(PositionStatusSchema, position.positionStatus),
        isoTime(position.updatedAt),
      ];
    },
  };
}

function accountsType(names: Names, assets: ReadonlyMap<string, Asset>): ListingType<typeof AccountBalanceSchema> {
  const decimals = ({ balance, asset }: AccountBalance) => {
    const details = assets.get(asset)?.details;
    return { balance: details === undefined ? "" : formatDecimal(balance, Number(details.decimals)) };
  };
  return {
    desc: AccountBalanceSchema,
    name: "accounts",
    header: "party type asset balance market".split(" "),
    ranked: "party asset balance type market".split(" "),
    decimals,
    cells(account) {
      return [
        names.id(account.owner),
        valueName(AccountTypeSchema, account.type),
        assets.get(account.asset)?.details?.symbol ?? names.id(account.asset),
        decimals(account).balance,
        account.marketId === "" ? "" : names.code(account.marketId),
      ];
    },
  };
}

async function loadAssets(client: Client, signal: AbortSignal): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  for await (const { node } of client.records(listAssets, {}, { limit: MAX_NAMED, signal })) {
    assets.set(node.id, node);
  }
  return assets;
}
