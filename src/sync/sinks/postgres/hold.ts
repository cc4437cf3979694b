import { createHash } from "node:crypto";
import type { PoolClient } from "pg";
import type { Unit } from "../../unit.js";

/** A lock's number has 16 bits of the table, one that tells the last block from the first, and 47 of the block. */
const BLOCK_BITS = 47n;

/** Units that others load, as their locks tell, of the table `$1` and with blocks from `$2` to `$3`. */
const OTHERS = `
  WITH held AS (
    SELECT pid, (classid::int8 >> 15) & 1 AS is_last, ((classid::int8 & 32767) << 32) | objid::int8 AS block
    FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid() AND classid::int8 >> 16 = $1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  )
  SELECT pid FROM held GROUP BY pid
  HAVING min(block) FILTER (WHERE is_last = 0) <= $3 AND max(block) FILTER (WHERE is_last = 1) >= $2`;

/**
 * Hold a unit against other syncs until the transaction ends. The locks are numbers that tell the unit's blocks, so that
 * others see which blocks are being loaded, whatever their own units are. Two that begin at once with units which
 * overlap, but neither begin nor end with the same block, may both find the other: both then come back later.
 *
 * @param client in a transaction
 * @param schema the schema's number
 * @param unit the unit
 * @returns whether it is held; if not, another transaction has it or a part of it
 */
export async function holdUnit(
  client: PoolClient,
  schema: string,
  { table, fromBlock, toBlock }: Unit,
): Promise<boolean> {
  const hash = createHash("sha256").update(`tradewire ${schema} ${table}`).digest().readUInt16BE();
  const keys = [fromBlock, (1n << BLOCK_BITS) | toBlock].map((end) =>
    String(BigInt.asIntN(64, (BigInt(hash) << (BLOCK_BITS + 1n)) | end)),
  );
  const { rows } = await client.query<{ held: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1::int8) AND pg_try_advisory_xact_lock($2::int8) AS held",
    keys,
  );
  if (rows[0]?.held !== true) {
    return false;
  }
  const others = await client.query(OTHERS, [hash, String(fromBlock), String(toBlock)]);
  return others.rowCount === 0;
}
