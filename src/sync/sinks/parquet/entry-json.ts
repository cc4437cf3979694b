import * as z from "zod";
import { isTableName } from "../../../schema/tables.js";
import type { LedgerEntry } from "../../unit.js";

const block = z.number().int().nonnegative();
const count = z.number().int().nonnegative();

/** An entry of the ledger as JSON. Numbers are such that JSON keeps them: below 2^53. */
export const entryJson = z.object({
  chain_id: z.string(),
  table: z.string().refine(isTableName),
  from_block: block,
  to_block: block,
  segment_id: z.string(),
  previous_segment_id: z.string(),
  schema_version: count,
  rows: count,
  bytes: count,
  sha256: z.string(),
  loaded_at: z.string(),
});

/** An entry of the ledger as JSON. */
export type EntryJson = z.infer<typeof entryJson>;

/**
 * Write an entry as JSON.
 *
 * @param entry of the ledger
 * @returns the object
 */
export function toJson(entry: LedgerEntry): EntryJson {
  return {
    chain_id: entry.chainId,
    table: entry.table,
    from_block: Number(entry.fromBlock),
    to_block: Number(entry.toBlock),
    segment_id: entry.segmentId,
    previous_segment_id: entry.previousSegmentId,
    schema_version: Number(entry.schemaVersion),
    rows: Number(entry.rows),
    bytes: Number(entry.bytes),
    sha256: entry.sha256,
    loaded_at: entry.loadedAt,
  };
}

/**
 * Read an entry from its JSON.
 *
 * @param json the object
 * @returns the entry
 */
export function fromJson(json: EntryJson): LedgerEntry {
  return {
    chainId: json.chain_id,
    table: json.table,
    fromBlock: BigInt(json.from_block),
    toBlock: BigInt(json.to_block),
    segmentId: json.segment_id,
    previousSegmentId: json.previous_segment_id,
    schemaVersion: BigInt(json.schema_version),
    rows: BigInt(json.rows),
    bytes: BigInt(json.bytes),
    sha256: json.sha256,
    loadedAt: json.loaded_at,
  };
}
