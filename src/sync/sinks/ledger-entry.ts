import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { SinkError } from "../../base/errors/index.js";
import { isTableName, type TableName } from "../../data/schema/table-names.js";
import type { LedgerEntry } from "../unit.js";

/** A row of a ledger, by column. Numbers are of any type, or decimal. */
export type LedgerRow = {
  readonly [Column in
    | "chain_id"
    | "table_name"
    | "from_block"
    | "to_block"
    | "segment_id"
    | "previous_segment_id"
    | "schema_version"
    | "rows"
    | "bytes"
    | "sha256"
    | "loaded_at"]?: unknown;
};

/**
 * Converts a row of a ledger to an entry.
 *
 * @throws {@link SinkError} if its table does not exist
 */
export function entryOf(row: LedgerRow): LedgerEntry {
  return {
    chainId: String(row.chain_id),
    table: tableOf(row.table_name),
    fromBlock: numberOf(row.from_block),
    toBlock: numberOf(row.to_block),
    segmentId: String(row.segment_id),
    previousSegmentId: String(row.previous_segment_id),
    schemaVersion: numberOf(row.schema_version),
    rows: numberOf(row.rows),
    bytes: numberOf(row.bytes),
    sha256: String(row.sha256),
    loadedAt: String(row.loaded_at),
  };
}

/**
 * Asserts that the name of a table in a ledger is known.
 *
 * @throws {@link SinkError} if it is not
 */
export function tableOf(value: unknown): TableName {
  const name = String(value);
  if (!isTableName(name)) {
    throw new SinkError(`the ledger has a unit of the unknown table ${quoted(name)}`, {
      code: Code.DataLoss,
      advice: "The ledger was changed by another program, or by a newer release. Install the newer release.",
    });
  }
  return name;
}

function numberOf(value: unknown): bigint {
  return BigInt(String(value));
}
