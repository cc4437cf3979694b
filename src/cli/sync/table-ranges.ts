import type { TableRange } from "../../sync/index.js";
import { grouped } from "../formatting.js";

/** The maximum number of ranges that are listed. */
const MAX_NAMED = 20;

/** The heading of blocks that a target lacks and that no sync can load. */
export const GAPS_HEADING =
  "Missing blocks that no node has, so that no sync can load them (nodes drop old segments; add a node that has them, or start with --from-block)";

/** Lists blocks of tables for a person. */
export function rangesText(heading: string, ranges: readonly TableRange[]): string {
  const lines = ranges
    .slice(0, MAX_NAMED)
    .map(({ table, fromBlock, toBlock }) => `  ${table} of blocks ${fromBlock} to ${toBlock}\n`);
  const more = ranges.length > MAX_NAMED ? `  and ${grouped(ranges.length - MAX_NAMED)} more\n` : "";
  return ranges.length === 0 ? "" : `${heading}:\n${lines.join("")}${more}`;
}
