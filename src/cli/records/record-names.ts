import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import type { Client, MarketUnits } from "../../index.js";
import type { KnownDecimals } from "../../trade/market/field-units.js";
import { createRecordNames, findRecord, MAX_NAMED, marketCode } from "../../trade/market/record-names.js";
import { shortId } from "../listing.js";
import { type CommandContext, printable } from "../output.js";

const { listAssets, listMarkets } = TradingDataService.method;

/** How to name a record of a node that has too many of them to search. */
const ADVICE_ON_MANY = "Use all 64 digits of the ID, which lists print with --wide or --output jsonl.";

/** The names and decimals of markets, and how identifiers are read and shown. */
export interface Names {
  /** Loads all markets, once. */
  markets(): Promise<ReadonlyMap<string, Market>>;
  /** Finds the market that the user named by its code, its identifier, or the start of it. */
  readonly market: (text: string) => Promise<string>;
  /** Finds the party that the user named by its identifier or the start of it. */
  readonly party: (text: string) => Promise<string>;
  /** Finds the asset that the user named by its symbol, its identifier, or the start of it. */
  readonly asset: (text: string) => Promise<string>;
  /** Loads the decimals of a market, once. */
  load(marketId: string): Promise<void>;
  /** Loads the decimals of a market, once. A node that lacks them is reported, but is not an error. */
  loadIfOffered(marketId: string): Promise<void>;
  /** The decimals of the markets that were loaded. */
  readonly known: KnownDecimals;
  /** The code of a market, or its identifier. */
  code(marketId: string): string;
  id(text: string): string;
}

/** Creates the names of a node's markets and parties. Nothing is loaded before it is needed. */
export function createNames(
  client: Client,
  wide: boolean,
  { signal, notes }: Pick<CommandContext, "signal" | "notes">,
): Names {
  const loaded = new Map<string, Market>();
  const units = new Map<string, MarketUnits>();
  const withoutUnits = new Set<string>();
  const id = (text: string) => shortId(text, wide);
  let loading: Promise<void> | undefined;
  const load = async () => {
    const limit = MAX_NAMED + 1;
    for await (const { node } of client.records(listMarkets, { includeSettled: true }, { limit, signal })) {
      loaded.set(node.id, node);
    }
  };
  const markets = async () => {
    loading ??= load();
    await loading;
    return loaded;
  };
  const namedMarkets = async () =>
    [...(await markets()).values()].map((market) => ({ id: market.id, code: marketCode(market) }));

  async function namedAssets() {
    const assets: { readonly id: string; readonly code: string | undefined }[] = [];
    for await (const { node } of client.records(listAssets, {}, { limit: MAX_NAMED + 1, signal })) {
      assets.push({ id: node.id, code: node.details?.symbol });
    }
    return assets;
  }

  async function loadUnits(marketId: string): Promise<void> {
    if (!units.has(marketId)) {
      await markets();
      units.set(marketId, await client.marketUnits(marketId, { signal }));
    }
  }

  return {
    markets,
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
    load: loadUnits,
    async loadIfOffered(marketId) {
      if (withoutUnits.has(marketId)) {
        return;
      }
      try {
        await loadUnits(marketId);
      } catch (reason) {
        if (signal.aborted || !(reason instanceof TradewireError)) {
          throw reason;
        }
        withoutUnits.add(marketId);
        const note = `the decimals of market ${id(marketId)} cannot be loaded: ${reason.summary}; its prices and sizes are left out. Use --raw for the integers of the network`;
        notes.write(`tradewire: ${printable(note)}\n`);
      }
    },
    known: { market: (marketId) => units.get(marketId), asset: () => undefined },
    code(marketId) {
      const market = loaded.get(marketId);
      const code = market === undefined ? "" : marketCode(market);
      return code === "" ? id(marketId) : code;
    },
    id,
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
    if (node === undefined) {
      throw new RequestError(`no ${kind} has the ID ${JSON.stringify(text)}`, { advice });
    }
    yield { node };
  }
}
