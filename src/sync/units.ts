import type { MissingSegment } from "./sink.js";
import type { Segment, Unit } from "./unit.js";

/**
 * Make the units that bring missing segments: adjacent segments of a table that have one schema version go together.
 *
 * @param chainId the chain
 * @param missing the segments, in the order of their blocks; those of several tables may stand among each other
 * @param segmentsPerExport the most segments of a unit, at least 1
 * @param isHeld whether some node has a unit as a whole: segments that no node has together are not put together
 * @returns the units, in the order of their first segments
 *
 * @example
 * const units = unitsOf(history.chainId, survey.missing, 10);
 */
export function unitsOf(
  chainId: string,
  missing: readonly MissingSegment[],
  segmentsPerExport: number,
  isHeld: (unit: Unit) => boolean = () => true,
): Unit[] {
  const units: Unit[] = [];
  const open = new Map<string, { readonly index: number; last: Segment; size: number }>();
  for (const { table, segment } of missing) {
    const group = open.get(table);
    const before = group && units[group.index];
    const grown = before && { ...before, toBlock: segment.toBlock, segmentId: segment.id };
    if (group && grown && group.size < segmentsPerExport && joins(group.last, segment) && isHeld(grown)) {
      units[group.index] = grown;
      group.last = segment;
      group.size += 1;
    } else {
      open.set(table, { index: units.length, last: segment, size: 1 });
      units.push(firstOf(chainId, { table, segment }));
    }
  }
  return units;
}

/**
 * Tell whether a segment can follow another one in the same unit.
 *
 * @param before the last segment of the unit
 * @param after the next one
 * @returns whether it follows without a gap, knows the one before it, and has the same schema version
 */
export function joins(before: Segment, after: Segment): boolean {
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
