import { allOf, type RowFilter, type RowTest, rowTest } from "../data/archive/row-filter.js";
import type { ReadTimes } from "../data/history/block-times.js";
import type { BlockRange } from "../data/history/segments.js";
import { absoluteBlock, blockFilter, firstBlockSince } from "../data/history/select-blocks.js";
import { microsFrom } from "../data/schema/time-text.js";
import type { Client, FollowedRows } from "../index.js";
import type { ParsedBlocks, Since } from "./parsers.js";

/** The part of a table that is followed. */
export interface FollowedPart extends ParsedBlocks {
  readonly since?: Since | undefined;
  /** Whether a cursor says where to start; what counts from now or from the last block then selects nothing. */
  readonly isResumed: boolean;
}

/** Where following a table starts and ends, and from which time on its rows count. */
export interface FollowedRange extends ParsedBlocks {
  readonly since: bigint | undefined;
}

/**
 * Finds where to start and to end. The node is asked only if a block counts from its last, or for a time.
 *
 * @throws errors of the calls
 */
export async function followedRange(
  { fromBlock, toBlock, since, isResumed }: FollowedPart,
  client: Pick<Client, "listSegments">,
  readTimes: ReadTimes,
  signal: AbortSignal,
): Promise<FollowedRange> {
  const start = isResumed && fromBlock !== undefined && fromBlock < 0n ? undefined : fromBlock;
  const time = since === undefined || (isResumed && !since.isFixed) ? undefined : since.time;
  const isKnown = (start ?? 0n) >= 0n && (toBlock ?? 0n) >= 0n && (time === undefined || isResumed);
  const segments = isKnown ? [] : await client.listSegments({ signal });
  const first = segments[0]?.fromHeight ?? 1n;
  const asked = start === undefined ? undefined : absoluteBlock(segments, start, first);
  const sinceBlock = time === undefined || isKnown ? undefined : await firstBlockSince(segments, time, readTimes);
  const from = sinceBlock !== undefined && sinceBlock > (asked ?? 0n) ? sinceBlock : asked;
  return {
    ...(from !== undefined && { fromBlock: from }),
    ...(toBlock !== undefined && { toBlock: absoluteBlock(segments, toBlock, 1n) }),
    since: time,
  };
}

/** Returns a function that returns the test of followed rows. A segment that the range cuts costs a question to the node. */
export function followedTests(
  { fromBlock = 1n, toBlock = 2n ** 63n - 1n, since }: FollowedRange,
  owners: RowFilter,
  readTimes: ReadTimes,
): (rows: Pick<FollowedRows<unknown>, "segment" | "columns">) => Promise<RowTest | undefined> {
  const filter = { ...owners, ...(since !== undefined && { from: microsFrom(since) }) };
  let known: { readonly of: readonly string[]; readonly id: string; readonly test: RowTest | undefined } | undefined;
  return async ({ segment, columns }) => {
    if (known?.of !== columns || known.id !== segment.id) {
      const { table } = segment;
      const blocks: BlockRange = { fromBlock: segment.fromBlock, toBlock: segment.toBlock };
      const cut = await blockFilter({ fromBlock, toBlock }, [blocks, blocks], readTimes);
      const file = { name: `${table}, blocks ${blocks.fromBlock} to ${blocks.toBlock}`, table, columns };
      known = { of: columns, id: segment.id, test: allOf([rowTest(filter, file), rowTest(cut, file)]) };
    }
    return known.test;
  };
}
