import type { BlockRange } from "../../history/segments.js";
import { yieldToEventLoop } from "../../runtime/index.js";
import type { TableName } from "../../schema/tables.js";
import type { Sink, TableCoverage } from "../sink.js";

/** How many entries are read before others have their turn: a ledger of millions may come from memory. */
const ENTRIES_AT_ONCE = 1000;

/**
 * Tell how much of a range of blocks a sink has, cut into parts: what the picture of the coverage is made of. A sink that
 * knows it answers itself; of others the ledger is read once, and nothing of it is kept.
 *
 * @param sink the sink, opened or inspected; its errors are thrown unchanged
 * @param tables the tables
 * @param range the blocks, both ends inclusive
 * @param parts in how many parts the range is cut, at least 1
 * @returns one for each of the tables, in their order, with the number of blocks that are there in each part
 *
 * @example
 * const [trades] = await coverageOf(sink, ["trades"], { fromBlock: 1n, toBlock: 3000n }, 3);
 * console.log(trades?.blocks); // [1000, 1000, 0]: the third part is missing
 */
export async function coverageOf(
  sink: Sink,
  tables: readonly TableName[],
  range: BlockRange,
  parts: number,
): Promise<TableCoverage[]> {
  if (sink.coverage !== undefined) {
    return await sink.coverage(tables, range, parts);
  }
  const ends = endsOfParts(range, parts);
  const found: TableCoverage[] = [];
  for (const table of tables) {
    const blocks = new Float64Array(parts);
    let read = 0;
    for await (const entry of sink.entries(table)) {
      read += 1;
      if (read % ENTRIES_AT_ONCE === 0) {
        await yieldToEventLoop();
      }
      addBlocks(blocks, ends, Number(entry.fromBlock - range.fromBlock), Number(entry.toBlock - range.fromBlock));
    }
    found.push({ table, blocks: [...blocks] });
  }
  return found;
}

/**
 * Find where the parts of a range end.
 *
 * @returns for each part, how many blocks of the range lie before its end
 */
export function endsOfParts({ fromBlock, toBlock }: BlockRange, parts: number): Float64Array {
  const length = Number(toBlock - fromBlock) + 1;
  return Float64Array.from({ length: parts }, (_, part) => Math.floor(((part + 1) * length) / parts));
}

/**
 * Add blocks to the parts that they lie in.
 *
 * @param blocks the number of blocks of each part
 * @param ends where the parts end; see `endsOfParts`
 * @param first the first block, counted from the first of the range; it may lie outside
 * @param last the last block, inclusive
 */
export function addBlocks(blocks: Float64Array, ends: Float64Array, first: number, last: number): void {
  for (let part = firstBehind(ends, first); part < blocks.length; part += 1) {
    const [start, end] = [ends[part - 1] ?? 0, ends[part] ?? 0];
    if (start > last) {
      return;
    }
    blocks[part] = (blocks[part] ?? 0) + Math.max(0, Math.min(end, last + 1) - Math.max(start, first));
  }
}

/** Find the first of ascending ends that lies behind a block. */
export function firstBehind(ends: Float64Array, block: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ends[middle] ?? 0) > block) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
