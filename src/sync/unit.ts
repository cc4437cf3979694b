import type { BlockRange } from "../history/segments.js";
import type { TableName } from "../schema/tables.js";

/** A segment of network history as a node lists it, checked. */
export interface Segment extends BlockRange {
  /** Identifier of the segment: a hash of its content, so nodes of one network have the same ones. */
  readonly id: string;
  /** Identifier of the segment before it; empty for the first of a chain. */
  readonly previousId: string;
  /** Version of the database schema. */
  readonly schemaVersion: bigint;
}

/** The history that a node holds: segments without a gap, each knowing the one before it. */
export interface NodeHistory {
  readonly chainId: string;
  /** Oldest first; empty where the node has no history yet. */
  readonly segments: readonly Segment[];
}

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
  /** SHA-256 of the CSV file, 64 lower-case hex digits. */
  readonly sha256: string;
}

/** What a sink's ledger says of a unit that was loaded. */
export interface LedgerEntry extends Unit, Measures {
  /** When it was loaded, ISO 8601 in UTC. */
  readonly loadedAt: string;
}
