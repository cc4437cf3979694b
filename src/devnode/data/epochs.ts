import type { MessageInitShape } from "@bufbuild/protobuf";
import type { PGlite } from "@electric-sql/pglite";
import type { EpochTimestampsSchema } from "../../../gen/vega/vega_pb.js";
import { EPOCH_BLOCKS } from "../tables/entities.js";
import { type Row, readRow } from "./row.js";

/** How long an epoch is meant to last, in nanoseconds: the history has a block a second. */
const EPOCH_NANOSECONDS = BigInt(EPOCH_BLOCKS) * 1_000_000_000n;

/**
 * Find the epoch of a block.
 *
 * @param height the block's height
 * @returns the epoch's number
 */
export function epochOf(height: bigint): bigint {
  return height / BigInt(EPOCH_BLOCKS);
}

/**
 * Read when an epoch began, and when it ended or is to end.
 *
 * @param pg the database with the chain's blocks
 * @param epoch the epoch's number; it must have begun
 * @returns times in Unix nanoseconds and heights; 0 for the end of an epoch that has not ended
 */
export async function epochTimestamps(
  pg: PGlite,
  epoch: bigint,
): Promise<
  Required<Pick<MessageInitShape<typeof EpochTimestampsSchema>, "startTime" | "expiryTime">> &
    MessageInitShape<typeof EpochTimestampsSchema>
> {
  const firstBlock = epoch === 0n ? 1n : epoch * BigInt(EPOCH_BLOCKS);
  const lastBlock = (epoch + 1n) * BigInt(EPOCH_BLOCKS) - 1n;
  const { rows } = await pg.query<Row>("SELECT height, vega_time FROM chain_block WHERE height IN ($1, $2)", [
    firstBlock,
    lastBlock,
  ]);
  const times = new Map(rows.map(readRow).map(({ integer }) => [integer("height"), integer("vega_time")]));
  const startTime = times.get(firstBlock) ?? 0n;
  const endTime = times.get(lastBlock);
  return {
    startTime,
    expiryTime: startTime + EPOCH_NANOSECONDS,
    firstBlock,
    ...(endTime === undefined ? {} : { endTime, lastBlock }),
  };
}
