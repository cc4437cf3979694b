import { RequestError } from "../base/errors/index.js";
import { assertOwned, type RowFilter } from "../data/archive/row-filter.js";
import type { BlockTimes, ReadTimes } from "../data/history/block-times.js";
import { readBlockTimes } from "../data/history/block-times.js";
import type { ExportOptions } from "../data/history/network-history-export.js";
import { readPeriod } from "../data/listing/listing-filters.js";
import type { TableName } from "../data/schema/table-names.js";
import type { BlockRange, Client } from "../index.js";
import type { OptionValues } from "./declarations.js";
import type { CommandContext } from "./output.js";
import type { ParsedBlocks } from "./parsers.js";
import { createNames } from "./records/record-names.js";
import type { partOptions, rowOptions } from "./shared-options.js";

/** The values of {@link rowOptions}; a command may have only some. */
export type RowOptions = OptionValues<typeof rowOptions>;

type PartOptions = OptionValues<ReturnType<typeof partOptions>>;

/** The name of the first option that leaves out rows of complete segments; `undefined` if none is set. */
export function rowOptionIn(options: RowOptions): keyof RowOptions | undefined {
  return (["since", "until", "market", "party"] as const).find((name) => options[name] !== undefined);
}

export function blocksIn({ fromBlock, toBlock, blocks }: PartOptions): ParsedBlocks {
  return blocks ?? { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
}

/**
 * Checks the options that select rows, as far as possible without their source.
 *
 * @throws {@link RequestError} if the times are reversed, or the rows of the table have no market or no party
 */
export function checkRowOptions({ since, until, market, party }: RowOptions, table: TableName | undefined): void {
  readPeriod({ since, until });
  if (table !== undefined && market !== undefined) {
    assertOwned(table, "market");
  }
  if (table !== undefined && party !== undefined) {
    assertOwned(table, "party");
  }
}

type Owners = Pick<RowFilter, "markets" | "parties">;

/**
 * Finds the markets and parties that the options name, with the help of a node.
 *
 * @throws {@link RequestError} if the node knows none or several of a name; errors of the calls
 */
export async function namedOwners(
  { market, party }: Pick<RowOptions, "market" | "party">,
  client: Client,
  context: Pick<CommandContext, "signal" | "notes">,
): Promise<Owners> {
  const names = createNames(client, { raw: true }, context);
  return {
    markets: market && (await Promise.all(market.map(names.market))),
    parties: party && (await Promise.all(party.map(names.party))),
  };
}

const FULL_ID = /^[0-9a-f]{64}$/i;

/**
 * Reads the markets and parties that the options name where there is no node.
 *
 * @throws {@link RequestError} if one is not a complete identifier
 */
export function identifiedOwners({ market, party }: Pick<RowOptions, "market" | "party">): Owners {
  for (const [option, ids = []] of [
    ["market", market],
    ["party", party],
  ] as const) {
    const wrong = ids.find((id) => !FULL_ID.test(id) && !(option === "party" && id === "network"));
    if (wrong !== undefined) {
      throw new RequestError(`must be a complete ID of 64 hex digits (got ${JSON.stringify(wrong)})`, {
        option,
        advice:
          "An archive does not contain codes. `tradewire markets --wide` lists codes and IDs of a node's markets.",
      });
    }
  }
  return { markets: market, parties: party };
}

/** Returns a function that asks a node when blocks of a segment were made, each question once. */
export function timesOf(client: Client, options: ExportOptions): ReadTimes {
  const asked = new Map<string, Promise<BlockTimes>>();
  return (segment: BlockRange, range: BlockRange) => {
    const key = [segment, range].map(({ fromBlock, toBlock }) => `${fromBlock}-${toBlock}`).join();
    const times = asked.get(key) ?? readBlockTimes(client, segment, range, options);
    asked.set(key, times);
    return times;
  };
}
