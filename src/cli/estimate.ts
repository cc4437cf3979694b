import { rangeError } from "../data/history/export-request.js";
import { checkHistory } from "../data/history/segment-chain.js";
import { findRange } from "../data/history/segments.js";
import { absoluteRange } from "../data/history/select-blocks.js";
import { type Estimated, type ExportsEstimate, estimateUnits } from "../sync/estimate.js";
import { unitsOf } from "../sync/unit.js";
import { type ExportedPart, selectPart } from "./export-rows.js";
import { grouped, size, span } from "./formatting.js";
import type { CommandContext } from "./output.js";
import type { Tables } from "./table.js";

/**
 * Estimates the export of a part of a table from a few of its segments.
 *
 * @throws {@link RequestError} if the node's segments do not form the range; errors of the calls
 */
export async function estimateExport(
  asked: ExportedPart,
  { isExact, parallel }: { readonly isExact: boolean; readonly parallel: number },
  { signal }: Pick<CommandContext, "signal">,
): Promise<ExportsEstimate> {
  const { client, table, part } = asked;
  const listed = await client.listSegments({ signal });
  const isTimed = part.since !== undefined || part.until !== undefined;
  const range = isTimed ? await selectPart(asked) : absoluteRange(listed, part);
  const found = findRange(listed, range, { snap: !isExact });
  if (!found.valid) {
    throw rangeError(found, listed, range);
  }
  const { chainId, segments } = checkHistory(found.segments);
  const missing = segments.map((segment) => ({ table, segment }));
  return await estimateUnits([client], unitsOf(chainId, missing, 1), { parallel, signal, isJoined: true });
}

/** Formats an estimate as a table of the expected amounts, each with its range, and a line about its cost. */
export function estimateText({ tables, total, cost }: ExportsEstimate, format: Tables["format"]): string {
  const bytes = (number: number) => size(Math.round(number));
  const cell = ({ low, likely, high }: Estimated, text: (number: number) => string) =>
    low === high ? text(likely) : `${text(likely)} (${text(low)} to ${text(high)})`;
  const line = (name: string, { calls, ...amounts }: ExportsEstimate["total"]) => [
    name,
    grouped(calls),
    cell(amounts.rows, grouped),
    cell(amounts.csvBytes, bytes),
    cell(amounts.zipBytes, bytes),
    cell(amounts.seconds, span),
  ];
  const lines = tables.map((table) => line(table.table, table));
  const all = tables.length === 1 ? lines : [...lines, line("all tables", total)];
  const header = ["table", "segments", "rows", "CSV", "ZIP", "duration"];
  return `${format(header, all)}\nThe estimate cost ${grouped(cost.exports)} exports, ${bytes(cost.zipBytes)} in ${cost.seconds.toFixed(1)} s.\n`;
}
