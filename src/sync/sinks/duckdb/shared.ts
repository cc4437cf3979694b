import { Code } from "@connectrpc/connect";
import type { DuckDBConnection } from "@duckdb/node-api";
import { SinkError } from "../../../errors/index.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { unitName } from "./plan.js";
import type { SpooledCsv } from "./spool.js";

/**
 * Check that as many rows were written as the CSV has.
 *
 * @param unit the unit
 * @param rows how many were written
 * @param spooled the CSV
 * @throws {@link SinkError} where they are not as many
 */
export function checkCount(unit: Unit, rows: bigint, { measures }: SpooledCsv): void {
  if (rows !== measures.rows) {
    throw new SinkError(`${unitName(unit)}: DuckDB has read ${rows} rows where the file has ${measures.rows}`, {
      code: Code.Internal,
      advice: "Nothing was kept. Install another version of @duckdb/node-api, and tell who makes tradewire.",
    });
  }
}

/**
 * Make the error of a unit that cannot be removed as another sync holds it.
 *
 * @param name of the sink
 * @param unit the unit
 * @returns the error
 */
export function heldByOther(name: string, unit: Unit): SinkError {
  return new SinkError(`${name}: ${unitName(unit)} is being loaded by another sync`, {
    code: Code.Unavailable,
    advice: "Wait until it has done so.",
  });
}

/**
 * Tell whether an entry is of a unit, and not of another history or of other segments.
 *
 * @param entry of the ledger
 * @param unit the unit
 * @returns whether it is
 */
export function isSame(entry: LedgerEntry, unit: Unit): boolean {
  return entry.fromBlock === unit.fromBlock && entry.toBlock === unit.toBlock && entry.segmentId === unit.segmentId;
}

/**
 * Count the rows by which two queries differ.
 *
 * @param connection to the database
 * @param held the query of the sink's rows
 * @param fresh the query of the node's rows, with the same columns
 * @returns how many of the node's the sink lacks, and how many it has beyond
 */
export async function difference(
  connection: DuckDBConnection,
  held: string,
  fresh: string,
): Promise<{ missing: bigint; extra: bigint }> {
  const count = async (of: string, but: string) => {
    const result = await connection.runAndReadAll(`SELECT count(*) FROM (${of} EXCEPT ALL ${but})`);
    return BigInt(String(result.getRows()[0]?.[0]));
  };
  return { missing: await count(fresh, held), extra: await count(held, fresh) };
}
