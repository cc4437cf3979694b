import { TradingDataService } from "../../../gen/datanode/api/v2/trading_data_pb.js";
import type { Market } from "../../../gen/vega/markets_pb.js";
import { RequestError, TradewireError } from "../../base/errors/index.js";
import type { Client, MarketUnits } from "../../index.js";
import { shortId } from "../listing.js";
import { type CommandContext, printable } from "../output.js";

const { listMarkets, listParties } = TradingDataService.method;

/** Maximum number of records that are loaded to find a name or an identifier. */
export const MAX_NAMED = 5000;

/** The minimum number of digits of an identifier that names it. */
const MIN_DIGITS = 4;

/** The digits of an identifier in tables, which hardly ever begin two identifiers. */
const SHOWN_DIGITS = 8;

const FULL_ID = /^[0-9a-f]{64}$/i;

/** The names and decimals of markets, and how identifiers are read and shown. */
export interface Names {
  /** Loads all markets, once. */
  markets(): Promise<ReadonlyMap<string, Market>>;
  /** Finds the market that the user named by its code, its identifier, or the start of it. */
  readonly market: (text: string) => Promise<string>;
  /** Finds the party that the user named by its identifier or the start of it. */
  readonly party: (text: string) => Promise<string>;
  /** Loads the decimals of a market, once. */
  load(marketId: string): Promise<void>;
  /** Loads the decimals of a market, once. A node that lacks them is reported, but is not an error. */
  loadIfOffered(marketId: string): Promise<void>;
  /** The decimals of a market that was loaded. */
  unitsOf(marketId: string): MarketUnits | undefined;
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
    for await (const { node } of client.records(listMarkets, { includeSettled: true }, { limit: MAX_NAMED, signal })) {
      loaded.set(node.id, node);
    }
  };
  const markets = async () => {
    loading ??= load();
    await loading;
    return loaded;
  };
  async function* parties() {
    for await (const { node } of client.records(listParties, {}, { limit: MAX_NAMED + 1, signal })) {
      yield node.id;
    }
  }

  async function loadUnits(marketId: string): Promise<void> {
    if (!units.has(marketId)) {
      await markets();
      units.set(marketId, await client.marketUnits(marketId, { signal }));
    }
  }

  return {
    markets,
    async market(text) {
      if (FULL_ID.test(text)) {
        return text.toLowerCase();
      }
      const start = idStart(text);
      const found = [...(await markets()).values()].filter(
        (market) => marketCode(market) === text || (start !== undefined && market.id.startsWith(start)),
      );
      return onlyOf(
        found.map((market) => market.id),
        {
          missing: `no market has the code or ID ${JSON.stringify(text)}`,
          several: `${found.length} markets have the code or ID ${JSON.stringify(text)}`,
          advice: "Run `tradewire markets` to list the codes and IDs.",
        },
      );
    },
    party: (text) =>
      text === "network" ? Promise.resolve(text) : findId(text, parties(), "party", "Use all 64 digits of its ID."),
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
        const note = `the decimals of market ${id(marketId)} cannot be loaded: ${reason.summary}; its prices and sizes are in units`;
        notes.write(`tradewire: ${printable(note)}\n`);
      }
    },
    unitsOf: (marketId) => units.get(marketId),
    code(marketId) {
      const market = loaded.get(marketId);
      const code = market === undefined ? "" : marketCode(market);
      return code === "" ? id(marketId) : code;
    },
    id,
  };
}

export function marketCode({ tradableInstrument }: Market): string {
  return tradableInstrument?.instrument?.code ?? "";
}

/**
 * Finds the identifier that begins with given digits.
 *
 * @throws {@link RequestError} if none or several begin with the digits, or there are too many identifiers to search
 */
export async function findId(text: string, ids: AsyncIterable<string>, what: string, advice: string): Promise<string> {
  if (FULL_ID.test(text)) {
    return text.toLowerCase();
  }
  const missing = `no ${what} has the ID ${JSON.stringify(text)}`;
  const start = idStart(text);
  if (start === undefined) {
    throw new RequestError(missing, { advice });
  }
  const all = new Set<string>();
  for await (const id of ids) {
    all.add(id.toLowerCase());
  }
  const found = [...all].filter((id) => id.startsWith(start));
  // More digits than that belong to one record, even if the others were not searched.
  const isSafe = start.length >= SHOWN_DIGITS && found.length === 1;
  if (all.size > MAX_NAMED && !isSafe) {
    throw new RequestError(
      `cannot find the ${what} ${JSON.stringify(text)} by the start of its ID: the node has more than the ${MAX_NAMED} that are searched`,
      { advice: "Use all 64 digits of the ID, which lists print with --wide or --output jsonl." },
    );
  }
  return onlyOf(found, { missing, several: `${found.length} IDs begin with ${JSON.stringify(text)}`, advice });
}

/** Returns the digits of the start of an identifier, without the ellipsis of tables; undefined if they name none. */
function idStart(text: string): string | undefined {
  const digits = text.replace(/…$/, "").toLowerCase();
  return digits.length >= MIN_DIGITS && /^[0-9a-f]*$/.test(digits) ? digits : undefined;
}

/** Returns the only identifier that was found. */
function onlyOf(
  found: readonly string[],
  texts: { readonly missing: string; readonly several: string; readonly advice: string },
): string {
  const [only, ...others] = found;
  if (only === undefined) {
    throw new RequestError(texts.missing, { advice: texts.advice });
  }
  if (others.length > 0) {
    const advice = `Use more digits of one of the IDs: ${found.slice(0, 3).join(", ")}.`;
    throw new RequestError(texts.several, { advice });
  }
  return only;
}
