import type { TableName } from "tradewire";
import type { LedgerEntry, NodeHistory, SyncEvent, Unit } from "tradewire/sync";

/** The chain of the histories below. */
export const CHAIN = "watched-chain";

/** Make up a history of segments of 1000 blocks. */
export function historyOf(count: number): NodeHistory {
  const segments = Array.from({ length: count }, (_, index) => ({
    id: `segment-${index}`,
    previousId: index === 0 ? "" : `segment-${index - 1}`,
    schemaVersion: 1n,
    fromBlock: BigInt(index * 1000 + 1),
    toBlock: BigInt((index + 1) * 1000),
  }));
  return { chainId: CHAIN, segments };
}

/** Make up the plan of a sink that has the first segments of a history, each with 10 rows and 100 bytes. */
export function planned(count: number, there: Partial<Record<TableName, number>>): SyncEvent {
  const tables = Object.entries(there).map(([table, units]) => ({
    table: table as TableName,
    units,
    rows: BigInt(units * 10),
    bytes: BigInt(units * 100),
    ...(units === 0 ? {} : { fromBlock: 1n, toBlock: BigInt(units * 1000) }),
    missing: BigInt(count - units),
    gapBlocks: 0n,
  }));
  return { kind: "planned", history: historyOf(count), tables, gaps: [] };
}

/** The unit of a table and a segment; the first segment is 0. */
export function unitOf(table: TableName, segment: number): Unit {
  return {
    chainId: CHAIN,
    table,
    fromBlock: BigInt(segment * 1000 + 1),
    toBlock: BigInt((segment + 1) * 1000),
    segmentId: `segment-${segment}`,
    previousSegmentId: segment === 0 ? "" : `segment-${segment - 1}`,
    schemaVersion: 1n,
  };
}

/** The ledger's entry of a unit with 10 rows and 100 bytes. */
export function entryOf(table: TableName, segment: number): LedgerEntry {
  return {
    ...unitOf(table, segment),
    ...{ rows: 10n, bytes: 100n, sha256: "00".repeat(32), loadedAt: "2024-01-01T00:00:00.000Z" },
  };
}

/** The events of a unit that is fetched and loaded. */
export function loadOf(table: TableName, segment: number, node = "node-a"): SyncEvent[] {
  return [
    { kind: "began", unit: unitOf(table, segment), node },
    { kind: "arrived", unit: unitOf(table, segment), bytes: 60 },
    { kind: "loaded", entry: entryOf(table, segment), ms: 5 },
  ];
}
