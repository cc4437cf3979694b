import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Asset } from "../../../gen/vega/assets_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { quoted } from "../../base/errors/error-text.js";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import { remembered } from "../../base/input/lazy.js";
import { monotonicMs } from "../../base/runtime/index.js";
import type { Client, MarketUnits } from "../../index.js";
import type { KnownDecimals } from "../../trade/market/field-units.js";
import { createRecordNames, findRecord, MAX_NAMED, marketCode } from "../../trade/market/record-names.js";
import { shortId } from "../listing.js";
import { type CommandContext, printable } from "../output.js";

const { listAssets, listMarkets } = TradingDataService.method;

/** How to name a record of a node that has too many of them to search. */
const ADVICE_ON_MANY = "Use all 64 digits of the ID, which lists print with --wide or --output jsonl.";

/** The maximum number of markets and of assets that are listed. */
const LISTED = MAX_NAMED + 1;

/** How long a market or an asset that could not be loaded is not requested again, in milliseconds. */
const RETRY_MS = 10_000;

/** The names and decimals of markets and assets, and how identifiers are read and shown. */
export interface Names {
  /** Finds the market that the user named by its code, its identifier, or the start of it. */
  readonly market: (text: string) => Promise<string>;
  /** Finds the party that the user named by its identifier or the start of it. */
  readonly party: (text: string) => Promise<string>;
  /** Finds the asset that the user named by its symbol, its identifier, or the start of it. */
  readonly asset: (text: string) => Promise<string>;
  /** Loads codes and decimals, each once. A node that lacks decimals is reported, but is not an error. */
  load(owners: { readonly markets?: Iterable<string>; readonly assets?: Iterable<string> }): Promise<void>;
  /** The decimals that were loaded. */
  readonly known: KnownDecimals;
  /** The code of a market, or its identifier. */
  code(marketId: string): string;
  /** The symbol of an asset, or its identifier. */
  symbol(assetId: string): string;
}

/** Creates the names of a node's records. Nothing is loaded before it is needed; with `raw`, no decimals are. */
export function createNames(
  client: Client,
  { raw = false }: { readonly raw?: boolean | undefined },
  { signal, err }: Pick<CommandContext, "signal" | "err">,
): Names {
  const [markets, assets] = [new Map<string, Market>(), new Map<string, Asset>()];
  const units = new Map<string, MarketUnits>();

  async function loadMarkets() {
    for await (const { node } of client.records(listMarkets, { includeSettled: true }, { limit: LISTED, signal })) {
      markets.set(node.id, node);
    }
  }
  async function loadAssets() {
    for await (const { node } of client.records(listAssets, {}, { limit: LISTED, signal })) {
      assets.set(node.id, node);
    }
  }
  const listedMarkets = remembered(loadMarkets);
  const listedAssets = remembered(loadAssets);
  async function namedMarkets() {
    await listedMarkets();
    return [...markets.values()].map((market) => ({ id: market.id, code: marketCode(market) }));
  }
  async function namedAssets() {
    await listedAssets();
    return [...assets.values()].map(({ id, details }) => ({ id, code: details?.symbol }));
  }

  const loadMarket = offered("market", "prices and sizes", async (marketId) => {
    await listedMarkets();
    if (!markets.has(marketId)) {
      await loadMarkets(); // It is new.
    }
    if (!raw) {
      units.set(marketId, await client.marketUnits(marketId, { signal }));
    }
    return true;
  });
  const loadAsset = offered("asset", "amounts", async (assetId) => {
    await listedAssets();
    if (!assets.has(assetId)) {
      await loadAssets();
    }
    return assets.has(assetId);
  });

  /** Creates a function that loads what identifiers name, once for each; again after a while where it failed. */
  function offered(kind: string, numbers: string, load: (id: string) => Promise<boolean>) {
    const loaded = new Set<string>();
    const failedAt = new Map<string, number>();
    return async (id: string) => {
      const failed = failedAt.get(id);
      if (loaded.has(id) || (failed !== undefined && monotonicMs() - failed < RETRY_MS)) {
        return;
      }
      let why = "the node does not list it";
      try {
        if (await load(id)) {
          loaded.add(id);
          return;
        }
      } catch (reason) {
        if (signal.aborted || !(reason instanceof TradewireError)) {
          throw reason;
        }
        why = reason.summary;
      }
      failedAt.set(id, monotonicMs());
      if (failed === undefined && !raw) {
        const note = `the decimals of ${kind} ${shortId(id, false)} cannot be loaded: ${why}; its ${numbers} are left out. Use --raw for the integers of the network`;
        err.write(`tradewire: ${printable(note)}\n`);
      }
    };
  }

  return {
    market: (text) =>
      findRecord(text, namedMarkets, {
        kind: "market",
        advice: "Run `tradewire markets` to list the codes and IDs.",
        adviceOnMany: ADVICE_ON_MANY,
      }),
    party: createRecordNames(client.records, { signal }).party,
    asset: (text) =>
      findRecord(text, namedAssets, {
        kind: "asset",
        advice: "Run `tradewire call ListAssets --all` to list the symbols and IDs.",
        adviceOnMany: ADVICE_ON_MANY,
      }),
    async load({ markets: marketIds = [], assets: assetIds = [] }) {
      for (const marketId of marketIds) {
        await loadMarket(marketId);
      }
      for (const assetId of assetIds) {
        await loadAsset(assetId);
      }
    },
    known: {
      market: (marketId) => units.get(marketId),
      asset(assetId) {
        const details = assets.get(assetId)?.details;
        return details && { decimals: Number(details.decimals) };
      },
    },
    code(marketId) {
      const market = markets.get(marketId);
      return (market && marketCode(market)) || marketId;
    },
    symbol: (assetId) => assets.get(assetId)?.details?.symbol || assetId,
  };
}

/** Records that have identifiers. */
interface NamedRecords<T> {
  readonly kind: "order" | "trade" | "stop order";
  readonly idOf: (node: T) => string;
  readonly list: (limit: number) => AsyncIterable<{ readonly node: T }>;
  /** Reads the record with a complete identifier, if the node can do so. */
  readonly get?: ((id: string) => Promise<T | undefined>) | undefined;
}

/**
 * Finds the records that the user named by their identifiers, or by the starts of them.
 *
 * @throws {@link RequestError} as {@link findRecord} does
 */
export async function* findRecords<T>(
  texts: readonly string[],
  { kind, idOf, list, get }: NamedRecords<T>,
): AsyncGenerator<{ readonly node: T }> {
  const wrong = texts.find((text) => !/^[0-9a-f]+…?$/i.test(text));
  if (wrong !== undefined) {
    const command = `tradewire ${kind.replace(" ", "-")}s`;
    const option = wrong.includes(",") ? "--columns" : "--market";
    throw new RequestError(
      `${quoted(wrong)} is no ID of ${kind === "order" ? "an" : "a"} ${kind}: an ID is hex digits`,
      {
        advice: /^(all|list|ls|show)$/i.test(wrong)
          ? `To list all, run \`${command}\`.`
          : `Did you mean \`${command} ${option} ${wrong}\`?`,
      },
    );
  }
  const nodes = new Map<string, T>();
  const advice = "Use at least 4 digits of its ID, and check the other options. To filter, use --market or --party.";
  async function listed() {
    if (nodes.size === 0) {
      for await (const { node } of list(MAX_NAMED + 1)) {
        nodes.set(idOf(node).toLowerCase(), node);
      }
    }
    return [...nodes.keys()].map((id) => ({ id }));
  }
  for (const text of texts) {
    const id = await findRecord(text, listed, { kind, advice, adviceOnMany: ADVICE_ON_MANY });
    if (get === undefined && nodes.size === 0) {
      await listed(); // A complete identifier is found without a listing.
    }
    const node = nodes.get(id) ?? (await get?.(id));
    if (node === undefined && nodes.size > MAX_NAMED) {
      throw new RequestError(`cannot find the ${kind} ${JSON.stringify(text)} among the last ${MAX_NAMED}`, {
        advice: "Limit the search with --market, --party, --since or --until.",
      });
    }
    if (node === undefined) {
      throw new RequestError(`no ${kind} has the ID ${JSON.stringify(text)}`, { errorCode: "TW_NOT_LISTED", advice });
    }
    yield { node };
  }
}
