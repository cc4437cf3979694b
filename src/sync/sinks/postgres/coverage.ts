import type { PoolClient } from "pg";
import { RequestError } from "../../../errors/index.js";
import type { BlockRange } from "../../../history/segments.js";
import type { TableName } from "../../../schema/tables.js";
import type { TableCoverage } from "../../sink.js";

/** The most parts that a range is cut into. */
const MAX_PARTS = 10_000;
/** The largest number that the database's arithmetic takes. */
const MAX_INT8 = 2n ** 63n - 1n;

/**
 * Count the blocks of each part of a range that units cover.
 *
 * @param client in a transaction
 * @param within the schema
 * @param tables the tables
 * @param range the blocks, both ends inclusive
 * @param parts in how many parts the range is cut, 1 to 10,000
 * @returns one for each table, in their order
 * @throws {@link RequestError} where there are too many parts, or too many blocks for so many parts
 */
export async function coverageOf(
  client: PoolClient,
  within: string,
  tables: readonly TableName[],
  { fromBlock, toBlock }: BlockRange,
  parts: number,
): Promise<TableCoverage[]> {
  const length = toBlock - fromBlock + 1n;
  if (!Number.isInteger(parts) || parts < 1 || parts > MAX_PARTS || length < 1n || length * BigInt(parts) > MAX_INT8) {
    throw new RequestError(`blocks ${fromBlock} to ${toBlock} cannot be counted in ${parts} parts`, {
      advice: `Give a range of blocks that there are, and 1 to ${MAX_PARTS} parts.`,
    });
  }
  // The part whose beginning is the last one that is not behind the place.
  const partOf = (place: string) => `((${place} + 1) * ${parts} - 1) / ${length}`;
  const begin = (part: string) => `(${part} * ${length} / ${parts})`;
  const { rows } = await client.query<{ table_name: string; part: string; blocks: string }>(
    `WITH placed AS (
       SELECT table_name, greatest(from_block, ${fromBlock}) - ${fromBlock} AS first,
         least(to_block, ${toBlock}) - ${fromBlock} AS last
       FROM ${within}.tradewire_ledger
       WHERE table_name = ANY ($1::text[]) AND to_block >= ${fromBlock} AND from_block <= ${toBlock}
     ), parted AS (
       SELECT table_name, first, last, ${partOf("first")} AS low, ${partOf("last")} AS high FROM placed
     ), counted AS (
       SELECT table_name, low AS part, sum(last - first + 1) AS blocks FROM parted WHERE low = high GROUP BY 1, 2
       UNION ALL
       SELECT table_name, part, sum(least(last + 1, ${begin("(part + 1)")}) - greatest(first, ${begin("part")}))
       FROM parted, generate_series(low, high) AS part WHERE low < high GROUP BY 1, 2
     )
     SELECT table_name, part::text, sum(blocks)::text AS blocks FROM counted GROUP BY 1, 2`,
    [tables],
  );
  const counted = new Map(tables.map((table) => [String(table), new Array<number>(parts).fill(0)]));
  for (const { table_name, part, blocks } of rows) {
    const counts = counted.get(table_name);
    if (counts !== undefined) {
      counts[Number(part)] = Number(blocks);
    }
  }
  return tables.map((table) => ({ table, blocks: counted.get(table) ?? [] }));
}
