import { withJson } from "../base/json-result.js";
import { firstIndex } from "../base/signal/collections.js";
import type { Segment } from "../data/history/segment-chain.js";
import type { BlockRange } from "../data/history/segments.js";
import type { TableName } from "../data/schema/table-names.js";

export type { NodeHistory, Segment } from "../data/history/segment-chain.js";

/**
 * The smallest part of a history that is loaded, completely or not at all: one table of one segment, or of several
 * adjacent segments of one schema version if one export fetches several.
 */
export interface Unit extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  /** Identifier of its last segment. */
  readonly segmentId: string;
  /** Identifier of the segment before its first one; empty for the first unit of a chain. */
  readonly previousSegmentId: string;
  readonly schemaVersion: bigint;
}

/** The size and checksum of a unit. */
export interface Measures {
  /** Number of rows, without the header. */
  readonly rows: bigint;
  /** Size of the CSV file in bytes, including the header. */
  readonly bytes: bigint;
  /**
   * SHA-256 of the CSV file, 64 lower-case hex digits; empty for a unit that was merged from others and has no such
   * file.
   */
  readonly sha256: string;
}

/** The entry of a loaded unit in a sink's ledger. */
export interface LedgerEntry extends Unit, Measures {
  /** When it was loaded, ISO 8601 in UTC. */
  readonly loadedAt: string;
}

/** A segment of a table that the sink does not have. */
export interface MissingSegment {
  readonly table: TableName;
  readonly segment: Segment;
}

/**
 * Groups missing segments into units: adjacent segments of a table with the same schema version form one unit.
 *
 * @param chainId the chain
 * @param missing the segments, in block order; tables may be mixed
 * @param segmentsPerExport maximum number of segments of a unit, at least 1
 * @param isAvailable whether some node has all of a unit: segments that no single node has are not grouped
 * @returns the units, in the order of their first segments
 *
 * @example
 * const units = unitsOf(history.chainId, comparison.missing, 10);
 */
export function unitsOf(
  chainId: string,
  missing: readonly MissingSegment[],
  segmentsPerExport: number,
  isAvailable: (unit: Unit) => boolean = () => true,
): Unit[] {
  const units: Unit[] = [];
  const open = new Map<string, { readonly index: number; last: Segment; size: number }>();
  for (const { table, segment } of missing) {
    const group = open.get(table);
    const before = group && units[group.index];
    const grown = before && { ...before, toBlock: segment.toBlock, segmentId: segment.id };
    if (group && grown && group.size < segmentsPerExport && canJoin(group.last, segment) && isAvailable(grown)) {
      units[group.index] = grown;
      group.last = segment;
      group.size += 1;
    } else {
      open.set(table, { index: units.length, last: segment, size: 1 });
      units.push(firstOf(chainId, { table, segment }));
    }
  }
  return withJson(units);
}

export function canJoin(before: Segment, after: Segment): boolean {
  return (
    after.fromBlock === before.toBlock + 1n &&
    after.previousId === before.id &&
    after.schemaVersion === before.schemaVersion
  );
}

function firstOf(chainId: string, { table, segment }: MissingSegment): Unit {
  const { fromBlock, toBlock, id, previousId, schemaVersion } = segment;
  return { chainId, table, fromBlock, toBlock, segmentId: id, previousSegmentId: previousId, schemaVersion };
}

export function segmentEndingAt(segments: readonly Segment[], block: bigint): Segment | undefined {
  const found = segments[firstEndingAt(segments, block)];
  return found?.toBlock === block ? found : undefined;
}

/** Returns the index of the first segment that ends with a block or after it, by binary search. */
export function firstEndingAt(segments: readonly Segment[], block: bigint): number {
  return firstIndex(segments, ({ toBlock }) => toBlock < block);
}
