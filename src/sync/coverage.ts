import { compareBigints, max, min } from "../base/bigints.js";
import { Code } from "../base/errors/code.js";
import { SinkError } from "../base/errors/index.js";
import { withJson } from "../base/json-result.js";
import { monotonicMs } from "../base/runtime/index.js";
import type { BlockRange } from "../data/history/segments.js";
import { type TableName, tableNames } from "../data/schema/table-names.js";
import type { MergedHistory } from "./node-history.js";
import type { CoverageComparison, CoverageQuery, Divergence, Sink, TableRange, TableSummary } from "./sink.js";
import type { LedgerEntry, MissingSegment, Segment } from "./unit.js";
import { firstEndingAt, segmentEndingAt } from "./unit.js";

/**
 * The relation of a ledger entry to a node's history: it matches its segments, lies before or after all of them, begins
 * with one of them and ends after the last, or diverges.
 */
export type EntryRelation = "matching" | "before" | "after" | "overhanging" | "diverged";

/** A step of {@link matchLedger}, in block order. */
export type LedgerMatch =
  | { readonly kind: "entry"; readonly entry: LedgerEntry; readonly relation: EntryRelation; readonly foreign: boolean }
  /** A segment within the range that no matching entry covers. */
  | { readonly kind: "missing"; readonly segment: Segment }
  /** Blocks within the range that no entry covers, and that are not in the segments. */
  | { readonly kind: "gap"; readonly blocks: BlockRange };

/**
 * Walks through the ledger of a table and the segments of a node in parallel. Memory does not grow with the ledger.
 *
 * @throws {@link SinkError} if entries overlap or are out of order; errors of `entries` unchanged
 */
export async function* matchLedger(
  entries: AsyncIterable<LedgerEntry>,
  segments: readonly Segment[],
  range: BlockRange,
  { replaceFrom, from }: { readonly replaceFrom?: bigint | undefined; readonly from?: bigint | undefined } = {},
): AsyncGenerator<LedgerMatch, void, undefined> {
  let next = 0;
  let before: LedgerEntry | undefined;
  let covered = from === undefined ? undefined : from - 1n;
  function* gapsUpTo(toBlock: bigint): Generator<LedgerMatch> {
    if (covered !== undefined) {
      const gaps = blocksBeyond({ fromBlock: covered + 1n, toBlock }, segments, range);
      yield* gaps.map((blocks) => ({ kind: "gap", blocks }) as const);
    }
  }
  function* missingUpTo(end: number): Generator<LedgerMatch> {
    for (; next < end; next += 1) {
      const segment = segments[next];
      if (segment && range.fromBlock <= segment.fromBlock && segment.toBlock <= range.toBlock) {
        yield { kind: "missing", segment };
      }
    }
  }
  for await (const entry of entries) {
    if (before !== undefined && entry.fromBlock <= before.toBlock) {
      throw disordered(before, entry);
    }
    before = entry;
    const relation = relationOf(entry, segments);
    const replaced = replaceFrom !== undefined && entry.fromBlock >= replaceFrom && segments.length > 0;
    const foreign = replaced && relation !== "matching" && relation !== "before";
    if (relation === "matching" || (relation === "overhanging" && !foreign)) {
      yield* missingUpTo(firstEndingAt(segments, entry.fromBlock));
      next = Math.max(next, firstEndingAt(segments, entry.toBlock + 1n));
    }
    if (!foreign) {
      yield* gapsUpTo(entry.fromBlock - 1n);
      covered = covered === undefined || entry.toBlock > covered ? entry.toBlock : covered;
    }
    yield { kind: "entry", entry, relation, foreign };
  }
  yield* missingUpTo(segments.length);
  const [first] = segments;
  if (first !== undefined) {
    yield* gapsUpTo(first.fromBlock - 1n);
  }
}

/**
 * Returns the parts of some blocks that lie within a range, and before the first or after the last of a node's segments.
 */
export function blocksBeyond(blocks: BlockRange, segments: readonly Segment[], range: BlockRange): BlockRange[] {
  const [first, last] = [segments[0], segments.at(-1)];
  const fromBlock = max(blocks.fromBlock, range.fromBlock);
  const toBlock = min(blocks.toBlock, range.toBlock);
  const parts =
    first === undefined || last === undefined
      ? [{ fromBlock, toBlock }]
      : [
          { fromBlock, toBlock: min(toBlock, first.fromBlock - 1n) },
          { fromBlock: max(fromBlock, last.toBlock + 1n), toBlock },
        ];
  return parts.filter((part) => part.fromBlock <= part.toBlock);
}

/** The maximum number of gaps that are listed. */
export const MAX_GAPS = 1000;

/** Sorts gaps of several tables by blocks, and limits their number. */
export function oldestGaps(gaps: readonly TableRange[]): readonly TableRange[] {
  // Sorting is stable, so that tables keep their order.
  return [...gaps].sort((a, b) => compareBigints(a.fromBlock, b.fromBlock)).slice(0, MAX_GAPS);
}

/** Returns the tables that syncs were asked for: those that the sink remembers, and those with units. */
export async function askedTables(sink: Pick<Sink, "entries" | "asked">): Promise<ReadonlyMap<TableName, bigint>> {
  const asked = (await sink.asked?.()) ?? new Map<TableName, bigint>();
  const found = new Map<TableName, bigint>();
  for (const table of tableNames) {
    const start = asked.get(table);
    for await (const { fromBlock } of sink.entries(table)) {
      found.set(table, start === undefined ? fromBlock : min(start, fromBlock));
      break;
    }
    if (start !== undefined && !found.has(table)) {
      found.set(table, start);
    }
  }
  return found;
}

/**
 * Returns the relation of a ledger entry to a node's history. If the node has dropped an entry's first segments, the remaining
 * ones decide.
 */
function relationOf(entry: LedgerEntry, segments: readonly Segment[]): EntryRelation {
  const [first, last] = [segments[0], segments.at(-1)];
  if (first === undefined || last === undefined || entry.fromBlock > last.toBlock) {
    return "after";
  }
  if (entry.toBlock < first.fromBlock) {
    const adjacent = entry.toBlock === first.fromBlock - 1n;
    return adjacent && entry.segmentId !== first.previousId ? "diverged" : "before";
  }
  const start = segments[firstEndingAt(segments, entry.fromBlock)];
  const begins =
    entry.fromBlock < first.fromBlock ||
    (start?.fromBlock === entry.fromBlock && start.previousId === entry.previousSegmentId);
  if (entry.toBlock > last.toBlock) {
    return begins ? "overhanging" : "diverged";
  }
  return begins && segmentEndingAt(segments, entry.toBlock)?.id === entry.segmentId ? "matching" : "diverged";
}

/** Describes where a ledger entry diverges from a history. */
export function divergenceAt(entry: LedgerEntry, segments: readonly Segment[]): Divergence {
  const segment = segmentEndingAt(segments, entry.toBlock);
  return { entry, ...(segment && { segment }) };
}

function disordered(before: LedgerEntry, { table, fromBlock }: LedgerEntry): SinkError {
  return new SinkError(
    `the ledger of ${table} has a unit that starts at block ${fromBlock} after the unit of blocks ${before.fromBlock} to ${before.toBlock}`,
    {
      code: Code.DataLoss,
      advice: "Another program changed the ledger. Restore it, or sync into a new target.",
    },
  );
}

/**
 * Compares a sink with a history: with the sink's own `compareCoverage`, or by reading its ledger once, table by table. Time
 * grows with the number of entries and segments, but memory only with `limit`.
 *
 * @param sink the sink, opened
 * @param query the history, the tables, the range, the limit of the lists, and the block from which another history is replaced
 * @returns the coverage, the missing segments, and where the histories diverge
 * @throws `SinkError` if the ledger cannot be read or is broken
 *
 * @example
 * const range = { fromBlock: 1n, toBlock: 2n ** 63n - 1n };
 * const { missing, divergence } = await compareCoverage(sink, { history, tables: ["trades"], range, limit: 1000 });
 */
export async function compareCoverage(
  sink: Pick<Sink, "entries" | "compareCoverage">,
  query: CoverageQuery,
): Promise<CoverageComparison> {
  return sink.compareCoverage === undefined ? compareLedger(sink, query) : withJson(await sink.compareCoverage(query));
}

/**
 * Does the same as {@link compareCoverage} by reading the ledger. A sink can test its own comparison against this one.
 *
 * @param sink the sink, opened
 * @param query as for `compareCoverage`
 * @returns as `compareCoverage`
 * @throws `SinkError` as `compareCoverage`
 */
export async function compareLedger(sink: Pick<Sink, "entries">, query: CoverageQuery): Promise<CoverageComparison> {
  const tables: TableSummary[] = [];
  let missing: MissingSegment[] = [];
  let gaps: TableRange[] = [];
  let foreign: LedgerEntry[] = [];
  let divergence: Divergence | undefined;
  for (const table of query.tables) {
    const found = await compareTable(sink, table, query);
    tables.push(found.survey);
    missing = missing.concat(found.missing);
    gaps = gaps.concat(found.gaps);
    foreign = foreign.concat(found.foreign);
    if (
      found.divergence !== undefined &&
      (divergence === undefined || isBefore(found.divergence.entry, divergence.entry))
    ) {
      divergence = found.divergence;
    }
  }
  // Sorting is stable, so that tables keep their order.
  missing.sort((a, b) => compareBigints(a.segment.fromBlock, b.segment.fromBlock));
  foreign.sort((a, b) => compareBigints(a.fromBlock, b.fromBlock));
  return withJson({
    tables,
    missing: missing.slice(0, query.limit),
    gaps: oldestGaps(gaps),
    foreign: foreign.slice(0, query.limit),
    ...(divergence && { divergence }),
  });
}

async function compareTable(
  sink: Pick<Sink, "entries">,
  table: TableName,
  { history: { segments }, range, limit, replaceFrom, asked, behind }: CoverageQuery,
) {
  const missing: MissingSegment[] = [];
  const gaps: TableRange[] = [];
  const foreign: LedgerEntry[] = [];
  let divergence: Divergence | undefined;
  let [units, rows, bytes, absent, gapBlocks] = [0, 0n, 0n, 0n, 0n];
  let [first, last]: (LedgerEntry | undefined)[] = [];
  for await (const step of matchLedger(sink.entries(table, behind), segments, range, {
    replaceFrom,
    from: asked?.get(table),
  })) {
    if (step.kind === "gap") {
      gapBlocks += step.blocks.toBlock - step.blocks.fromBlock + 1n;
      if (gaps.length < MAX_GAPS) {
        gaps.push({ table, ...step.blocks });
      }
      continue;
    }
    if (step.kind === "missing") {
      absent += 1n;
      if (missing.length < limit) {
        missing.push({ table, segment: step.segment });
      }
      continue;
    }
    const { entry, relation } = step;
    [units, rows, bytes] = [units + 1, rows + entry.rows, bytes + entry.bytes];
    first ??= entry;
    last = entry;
    if (step.foreign && foreign.length < limit) {
      foreign.push(entry);
    } else if (!step.foreign && relation === "diverged" && divergence === undefined) {
      divergence = divergenceAt(entry, segments);
    }
  }
  const survey: TableSummary = {
    table,
    units,
    rows,
    bytes,
    ...(first && { fromBlock: first.fromBlock }),
    ...(last && { toBlock: last.toBlock }),
    missing: absent,
    gapBlocks,
  };
  return { survey, missing, gaps, foreign, divergence };
}

function isBefore(a: LedgerEntry, b: LedgerEntry): boolean {
  return a.fromBlock < b.fromBlock;
}

/** How often the whole ledger is compared, in milliseconds, as other programs may have changed it. */
const WHOLE_MS = 3_600_000;

/** A block up to which all tables are complete, so that only later blocks are compared. */
interface CompletePrefix {
  readonly block: bigint;
  /** First block of the history that was compared. Older segments may appear later. */
  readonly fromBlock: bigint;
  readonly tables: ReadonlyMap<TableName, TableSummary>;
  readonly gaps: readonly TableRange[];
  /** The identity of the sink. */
  readonly identity: string | undefined;
  /** When the whole ledger was compared. */
  readonly wholeAt: number;
}

/**
 * Returns a function that compares a sink with a history that only grows. Blocks that were complete in all tables are compared
 * again only once an hour, or when the history begins earlier (because a node with older segments has recovered), or when the
 * sink has another identity (for example after a reconnect). Later blocks are compared in each call.
 */
export function createIncrementalComparison(
  sink: Pick<Sink, "entries" | "identity" | "compareCoverage">,
): (query: Omit<CoverageQuery, "behind">) => Promise<CoverageComparison> {
  let settled: CompletePrefix | undefined;
  return async (query) => {
    const now = monotonicMs();
    const fromBlock = query.history.segments[0]?.fromBlock ?? 0n;
    // Read before the ledger, so that a change in between is noticed in the next call.
    const identity = await sink.identity?.();
    if (
      settled !== undefined &&
      (now - settled.wholeAt >= WHOLE_MS || fromBlock < settled.fromBlock || identity !== settled.identity)
    ) {
      settled = undefined;
    }
    const found = await compareCoverage(sink, settled === undefined ? query : behind(query, settled));
    const tables = found.tables.map((table) => sum(settled?.tables.get(table.table), table));
    const gaps = joined(settled?.gaps ?? [], found.gaps);
    const complete = completeUpTo(query, found);
    if (complete !== undefined) {
      const byName = new Map(tables.map((table) => [table.table, table]));
      settled = { block: complete, fromBlock, tables: byName, gaps, identity, wholeAt: settled?.wholeAt ?? now };
    }
    return { ...found, tables, gaps };
  };
}

/** Joins gaps that end where later ones begin. */
function joined(before: readonly TableRange[], later: readonly TableRange[]): readonly TableRange[] {
  const gaps = [...before];
  for (const gap of later) {
    const at = gaps.findIndex(({ table, toBlock }) => table === gap.table && toBlock + 1n === gap.fromBlock);
    const earlier = gaps[at];
    if (earlier === undefined) {
      gaps.push(gap);
    } else {
      gaps[at] = { ...earlier, toBlock: gap.toBlock };
    }
  }
  return oldestGaps(gaps);
}

function behind(query: CoverageQuery, { block, tables }: CompletePrefix): CoverageQuery {
  const { chainId, segments } = query.history;
  const left = segments.slice(firstEndingAt(segments, block + 1n));
  const asked = new Map<TableName, bigint>();
  for (const table of query.tables) {
    const start = query.asked?.get(table) ?? tables.get(table)?.fromBlock;
    if (start !== undefined) {
      asked.set(table, max(start, block + 1n));
    }
  }
  return { ...query, history: { chainId, segments: left }, asked, behind: block };
}

/** Returns the block up to which nothing is missing and after which the tables are empty, if there is one. */
function completeUpTo({ history, replaceFrom, limit }: CoverageQuery, found: CoverageComparison): bigint | undefined {
  const { missing, divergence, tables } = found;
  const [oldest] = missing;
  const isListed = oldest !== undefined || (limit > 0 && tables.every((table) => table.missing === 0n));
  if (replaceFrom !== undefined || divergence !== undefined || !isListed) {
    return undefined;
  }
  const block = oldest === undefined ? history.segments.at(-1)?.toBlock : oldest.segment.fromBlock - 1n;
  return tables.every(({ toBlock = 0n }) => toBlock <= (block ?? 0n)) ? block : undefined;
}

function sum(before: TableSummary | undefined, now: TableSummary): TableSummary {
  if (before === undefined || (before.units === 0 && before.gapBlocks === 0n)) {
    return now;
  }
  return {
    ...before,
    ...now,
    units: before.units + now.units,
    rows: before.rows + now.rows,
    bytes: before.bytes + now.bytes,
    gapBlocks: before.gapBlocks + now.gapBlocks,
    ...(before.fromBlock !== undefined && { fromBlock: before.fromBlock }),
  };
}

/**
 * Lists missing segments that some node has, in case all listed ones belong to unreachable nodes: only the oldest are
 * listed, and there may be more than the limit.
 */
export async function includeAvailable(
  sink: Pick<Sink, "entries" | "compareCoverage">,
  query: CoverageQuery & { readonly history: MergedHistory },
  found: CoverageComparison,
): Promise<CoverageComparison> {
  const { range, limit, history } = query;
  const { availableFrom: fromBlock } = history;
  const isHidden = found.missing.length >= limit && found.missing.every(({ segment }) => segment.toBlock < fromBlock);
  if (!isHidden || fromBlock > range.toBlock) {
    return found;
  }
  const { missing } = await compareCoverage(sink, { ...query, range: { ...range, fromBlock } });
  return { ...found, missing: [...missing, ...found.missing.slice(0, 1)] };
}

/**
 * Finds the blocks of gaps that a node has which ends before the others begin. Its segments cannot be compared with theirs, but they
 * belong to the same history if they continue the unit before the gap.
 */
export async function fillGaps(
  sink: Pick<Sink, "entries">,
  gaps: readonly TableRange[],
  { earlier }: Pick<MergedHistory, "earlier">,
  range: BlockRange,
): Promise<{ readonly missing: readonly MissingSegment[]; readonly gaps: readonly TableRange[] }> {
  const missing: MissingSegment[] = [];
  const remaining: TableRange[] = [];
  const before = earlier.length === 0 ? new Map<string, string>() : await segmentsBefore(sink, gaps);
  for (const gap of gaps) {
    let previous = { toBlock: gap.fromBlock - 1n, id: before.get(keyOf(gap)) };
    for (const segment of earlier.flat().sort((a, b) => compareBigints(a.fromBlock, b.fromBlock))) {
      const isNext = segment.fromBlock === previous.toBlock + 1n && segment.previousId === previous.id;
      if (isNext && segment.toBlock <= gap.toBlock && segment.toBlock <= range.toBlock) {
        missing.push({ table: gap.table, segment });
        previous = segment;
      }
    }
    if (previous.toBlock < gap.toBlock) {
      remaining.push({ ...gap, fromBlock: previous.toBlock + 1n });
    }
  }
  missing.sort((a, b) => compareBigints(a.segment.fromBlock, b.segment.fromBlock));
  return { missing, gaps: remaining };
}

/** Returns the identifiers of the last segments of the units directly before gaps. */
async function segmentsBefore(sink: Pick<Sink, "entries">, gaps: readonly TableRange[]): Promise<Map<string, string>> {
  const starts = new Set(gaps.map(keyOf));
  const found = new Map<string, string>();
  for (const table of new Set(gaps.map((gap) => gap.table))) {
    for await (const { toBlock, segmentId } of sink.entries(table)) {
      const key = keyOf({ table, fromBlock: toBlock + 1n });
      if (starts.has(key)) {
        found.set(key, segmentId);
      }
    }
  }
  return found;
}

function keyOf({ table, fromBlock }: Pick<TableRange, "table" | "fromBlock">): string {
  return `${table} ${fromBlock}`;
}

/** Does the same as {@link fillGaps} with a comparison: the segments of such nodes are missing, and no gaps. */
export async function includeEarlier<T extends Pick<CoverageComparison, "tables" | "missing" | "gaps">>(
  sink: Pick<Sink, "entries">,
  { history, range }: { readonly history: Pick<MergedHistory, "earlier">; readonly range: BlockRange },
  found: T,
): Promise<T> {
  const { missing, gaps } = await fillGaps(sink, found.gaps, history, range);
  if (missing.length === 0) {
    return found;
  }
  const tables = found.tables.map((summary) => {
    const own = missing.flatMap(({ table, segment }) => (table === summary.table ? [segment] : []));
    const blocks = own.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1n, 0n);
    return { ...summary, missing: summary.missing + BigInt(own.length), gapBlocks: summary.gapBlocks - blocks };
  });
  return { ...found, tables, gaps, missing: [...missing, ...found.missing] };
}
