import { rangeError } from "../data/history/export-request.js";
import { findRange } from "../data/history/segments.js";
import { absoluteRange } from "../data/history/select-blocks.js";
import { type Estimated, type ExportsEstimate, estimateSegments } from "../sync/estimate.js";
import { type ExportedPart, selectPart } from "./export-rows.js";
import { grouped, size, span } from "./formatting.js";
import { type CommandContext, printable } from "./output.js";
import type { Report } from "./output-format.js";
import type { SyncTarget } from "./sync/target.js";
import { createTables, type Tables } from "./table.js";

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
  return await estimateSegments(client, { table, segments: found.segments }, { parallel, signal });
}

/** The size of a target by what is loaded: a factor of the CSV or of the archives, and bytes for each export or table. */
const TARGETS: {
  readonly [kind in SyncTarget["kind"]]: {
    readonly of: "csvBytes" | "zipBytes";
    readonly factor: Estimated;
    readonly each: "calls" | "tables";
    readonly bytes: Estimated;
  };
} = {
  parquet: {
    of: "zipBytes",
    factor: { low: 0.3, likely: 0.8, high: 1.5 },
    each: "calls",
    bytes: { low: 2000, likely: 9000, high: 20_000 },
  },
  duckdb: {
    of: "csvBytes",
    factor: { low: 0.1, likely: 0.4, high: 1 },
    each: "tables",
    bytes: { low: 100_000, likely: 300_000, high: 1_000_000 },
  },
  postgres: {
    of: "csvBytes",
    factor: { low: 0.4, likely: 1.5, high: 4 },
    each: "tables",
    bytes: { low: 8192, likely: 100_000, high: 400_000 },
  },
};

/** Estimates by how much a target grows, from what targets of its kind have taken. */
export function targetBytes(kind: SyncTarget["kind"], { tables, total }: ExportsEstimate): Estimated {
  const { of, factor, each, bytes } = TARGETS[kind];
  const count = each === "calls" ? total.calls : tables.length;
  const grown = (end: keyof Estimated) => Math.round(total[of][end] * factor[end] + count * bytes[end]);
  return { low: grown("low"), likely: grown("likely"), high: grown("high") };
}

const bytes = (number: number) => size(Math.round(number));

const cell = ({ low, likely, high }: Estimated, text: (number: number) => string) =>
  low === high ? text(likely) : `${text(likely)} (${text(low)} to ${text(high)})`;

/** What the exports are loaded into, and by how much it is expected to grow. */
interface GrownTarget {
  readonly name: string;
  readonly bytes: Estimated;
}

/**
 * Returns the output of a command with `--estimate`: a table of the expected amounts, each with its range, the size of the target, and what
 * the estimate cost.
 */
export function estimateReport(
  estimate: ExportsEstimate,
  target: GrownTarget | undefined,
  context: CommandContext,
): Report {
  return {
    table() {
      const tables = createTables(context);
      context.out.write(estimateText(estimate, target, tables.format));
      tables.printOmissions();
    },
    object: () => ({ ...estimate, ...(target && { targetBytes: target.bytes }) }),
  };
}

function estimateText(
  { tables, total, cost }: ExportsEstimate,
  target: GrownTarget | undefined,
  format: Tables["format"],
): string {
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
  const header = ["table", "exports", "rows", "CSV", "ZIP", "duration"];
  const grown = target === undefined ? "" : `\n${printable(target.name)} would grow by ${cell(target.bytes, bytes)}.\n`;
  const spent = `${grouped(cost.exports)} exports, ${bytes(cost.zipBytes)} in ${cost.seconds.toFixed(1)} s`;
  return `${format(header, all)}${grown}\nThe estimate cost ${spent}. Nothing was changed.\n`;
}
