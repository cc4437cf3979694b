import type { DuckDBConnection } from "@duckdb/node-api";
import type { TableName } from "../../data/schema/table-names.js";
import { MAX_GAPS } from "../coverage.js";
import type { TableRange } from "../sink.js";
import { literal } from "../sinks/duckdb/csv-columns.js";
import { tableOf } from "../sinks/ledger-entry.js";

/**
 * Finds the blocks that tables lack by the ledger of a database: those that syncs were asked for before the first unit of a table, and
 * those between its units.
 *
 * @param hasAsked whether the database knows what syncs were asked for: those of earlier releases do not
 * @returns at most 1000, the oldest first
 * @throws errors of DuckDB
 */
export async function ledgerGaps(
  connection: DuckDBConnection,
  tables: readonly TableName[],
  hasAsked: boolean,
): Promise<readonly TableRange[]> {
  if (tables.length === 0) {
    return [];
  }
  const units = ["SELECT table_name, from_block, to_block FROM tradewire_ledger"];
  if (hasAsked) {
    // As if there were a unit that ends before the first block.
    units.push("SELECT table_name, from_block - 1, from_block - 1 FROM tradewire_tables");
  }
  const found = await connection.runAndReadAll(`SELECT table_name, covered + 1, from_block - 1 FROM (
  SELECT *, max(to_block) OVER (PARTITION BY table_name ORDER BY from_block ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
  FROM (${units.join(" UNION ALL ")}) AS units WHERE table_name IN (${tables.map(literal).join(", ")})
) AS found WHERE covered + 1 < from_block ORDER BY covered, table_name LIMIT ${MAX_GAPS}`);
  return found.getRows().map(([table, fromBlock, toBlock]) => ({
    table: tableOf(table),
    fromBlock: BigInt(String(fromBlock)),
    toBlock: BigInt(String(toBlock)),
  }));
}
