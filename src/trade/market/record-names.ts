import type { Market } from "../../../gen/vega/markets_pb.js";
import { closestName, quoted } from "../../base/errors/error-text.js";
import { RequestError } from "../../base/errors/index.js";
import { assertText } from "../../base/input/assert.js";
import type { CallOptions } from "../../base/input/call-options.js";
import type { Paging } from "../../data/listing/paging.js";
import { loadDefinitions } from "../live/load-definitions.js";

/** Maximum number of records that are loaded to find a name or an identifier. */
export const MAX_NAMED = 5000;

/** The minimum number of digits of an identifier that names it. */
const MIN_DIGITS = 4;

/** The digits of an identifier in tables, which hardly ever begin two identifiers. */
const SHOWN_DIGITS = 8;

const FULL_ID = /^[0-9a-f]{64}$/i;

/** A record that can be named by its identifier, the start of it, or its code. */
interface NamedRecord {
  readonly id: string;
  readonly code?: string | undefined;
}

/** What is searched, and what to do if it is not found. */
interface Searched {
  readonly kind: "asset" | "market" | "order" | "party" | "stop order" | "trade";
  /** What to do if no record has the name. */
  readonly advice?: string;
  /** What to do if there are too many records to search. */
  readonly adviceOnMany?: string;
}

/**
 * Finds the record that a text names: by its identifier, the start of it, or the code of a market or an asset. A complete identifier is returned
 * in lower case, and nothing is listed.
 *
 * @throws {@link RequestError} if no or several records have the name, or there are too many to search
 */
export async function findRecord(
  text: string,
  load: () => Promise<readonly NamedRecord[]>,
  { kind, ...advice }: Searched,
): Promise<string> {
  if (FULL_ID.test(text)) {
    return text.toLowerCase();
  }
  const name = kind === "market" ? "code" : kind === "asset" ? "symbol" : undefined;
  const fullId = "Use all 64 digits of the ID.";
  const start = idStart(text);
  const records = start !== undefined || name !== undefined ? await load() : [];
  const isNamed = ({ id, code }: NamedRecord) =>
    code === text || (start !== undefined && id.toLowerCase().startsWith(start));
  const found = new Set(records.filter(isNamed).map(({ id }) => id.toLowerCase()));
  // More digits than that belong to one record, even if the others were not searched.
  const isSafe = start !== undefined && start.length >= SHOWN_DIGITS && found.size === 1;
  if (records.length > MAX_NAMED && !isSafe) {
    const by = `${name === undefined ? "" : `its ${name} or `}the start of its ID`;
    throw new RequestError(
      `cannot find the ${kind} ${quoted(text)} by ${by}: the node has more than the ${MAX_NAMED} that are searched`,
      { advice: advice.adviceOnMany ?? fullId },
    );
  }
  const [only, ...others] = found;
  if (only === undefined) {
    const codes = records.flatMap(({ code }) => code ?? []);
    const near = codes.find((code) => code.toLowerCase() === text.toLowerCase()) ?? closestName(text, codes);
    throw new RequestError(`no ${kind} has the ${name === undefined ? "" : `${name} or `}ID ${quoted(text)}`, {
      errorCode: "TW_NOT_LISTED",
      advice: `${near === undefined ? "" : `Did you mean ${near}? `}${advice.advice ?? fullId}`,
    });
  }
  if (others.length > 0) {
    throw new RequestError(`${found.size} IDs fit the ${kind} ${quoted(text)}`, {
      advice: `Use more digits of one of the IDs: ${[...found].slice(0, 3).join(", ")}.`,
    });
  }
  return only;
}

/** Returns the digits of the start of an identifier, without the ellipsis of tables; undefined if they name none. */
function idStart(text: string): string | undefined {
  const digits = text.replace(/…$/, "").toLowerCase();
  return digits.length >= MIN_DIGITS && /^[0-9a-f]*$/.test(digits) ? digits : undefined;
}

/** Finds markets and parties by the names that a user gives them. */
export interface RecordNames {
  /** Finds a market by its code, its identifier, or the start of it, as {@link findRecord} does. */
  market(text: string): Promise<string>;
  /** Finds a party by its public key, or the start of it, or as `network`. */
  party(text: string): Promise<string>;
}

/** Creates the names of a node's records, which are listed at most once. */
export function createRecordNames(records: Paging["records"], options: CallOptions): RecordNames {
  const how = { ...options, limit: MAX_NAMED + 1 };
  let markets: Promise<readonly NamedRecord[]> | undefined;
  let parties: Promise<readonly NamedRecord[]> | undefined;

  async function loadMarkets(): Promise<readonly NamedRecord[]> {
    const { listMarkets } = (await loadDefinitions()).TradingDataService.method;
    return named(records(listMarkets, { includeSettled: true }, how), (market) => marketCode(market));
  }

  async function loadParties(): Promise<readonly NamedRecord[]> {
    const { listParties } = (await loadDefinitions()).TradingDataService.method;
    return named(records(listParties, {}, how), () => undefined);
  }

  return {
    async market(text) {
      assertText("market", text, "BTCUSD.PERP");
      const load = () => {
        markets ??= loadMarkets();
        return markets;
      };
      return findRecord(text, load, { kind: "market", advice: "Use the code of a market, or its ID." });
    },
    async party(text) {
      assertText("party", text, "network");
      const load = () => {
        parties ??= loadParties();
        return parties;
      };
      return text === "network" ? text : findRecord(text, load, { kind: "party" });
    },
  };
}

async function named<N extends { readonly id: string }>(
  records: AsyncIterable<{ readonly node: N }>,
  codeOf: (node: N) => string | undefined,
): Promise<readonly NamedRecord[]> {
  const all: NamedRecord[] = [];
  for await (const { node } of records) {
    all.push({ id: node.id, code: codeOf(node) });
  }
  return all;
}

export function marketCode({ tradableInstrument }: Market): string {
  return tradableInstrument?.instrument?.code ?? "";
}
