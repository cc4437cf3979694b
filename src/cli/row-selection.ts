import { RequestError } from "../base/errors/index.js";
import { assertOwned, type RowFilter } from "../data/archive/row-filter.js";
import { type BlockTimes, type ReadTimes, readBlockTimes } from "../data/history/block-times.js";
import type { TableName } from "../data/schema/table-names.js";
import type { BlockRange, Client, ExportOptions } from "../index.js";
import type { OptionValues } from "./declarations.js";
import type { CommandContext } from "./output.js";
import type { ParsedBlocks } from "./parsers.js";
import { createNames } from "./records/record-names.js";
import type { partOptions, rowOptions } from "./shared-options.js";

type OwnerOptions = Pick<OptionValues<typeof rowOptions>, "market" | "party">;
type PartOptions = OptionValues<ReturnType<typeof partOptions>>;

export function blocksIn({ fromBlock, toBlock, blocks }: PartOptions): ParsedBlocks {
  return blocks ?? { ...(fromBlock !== undefined && { fromBlock }), ...(toBlock !== undefined && { toBlock }) };
}

/**
 * Checks that the rows of a table name the markets and parties that the options select.
 *
 * @throws {@link RequestError} if they do not
 */
export function checkOwners({ market, party }: OwnerOptions, table: TableName): void {
  if (market !== undefined) {
    assertOwned(table, "market");
  }
  if (party !== undefined) {
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
  { market, party }: OwnerOptions,
  client: Client,
  context: Pick<CommandContext, "signal" | "err">,
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
export function identifiedOwners({ market, party }: OwnerOptions): Owners {
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
