import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";

export type { NodeHistory, Segment } from "../history/segment-chain.js";

/**
 * What is loaded at once, or not at all: one table of one segment, or of several adjacent segments of one schema
 * version, where one export brings several.
 */
export interface Unit extends BlockRange {
  readonly chainId: string;
  readonly table: TableName;
  /** Identifier of its last segment. */
  readonly segmentId: string;
  /** Identifier of the segment before its first one; empty for the first of a chain. */
  readonly previousSegmentId: string;
  readonly schemaVersion: bigint;
}

/** How much a unit is. */
export interface Measures {
  /** Rows, without the header. */
  readonly rows: bigint;
  /** Size of the CSV file in bytes, header included. */
  readonly bytes: bigint;
  /** SHA-256 of the CSV file, 64 lower-case hex digits; empty for a unit that was joined of others, which has no such file. */
  readonly sha256: string;
}

/** What a sink's ledger says of a unit that was loaded. */
export interface LedgerEntry extends Unit, Measures {
  /** When it was loaded, ISO 8601 in UTC. */
  readonly loadedAt: string;
}
