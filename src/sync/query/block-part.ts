import type { DuckDBConnection } from "@duckdb/node-api";
import { Code } from "../../base/errors/code.js";
import { RequestError, SinkError } from "../../base/errors/index.js";
import type { BlockRange } from "../../data/history/segments.js";
import { type TableName, tableNames } from "../../data/schema/table-names.js";
import { FROM_BLOCK, identifier } from "../sink-columns.js";
import type { NodeHistory } from "../unit.js";

/** The part of a history that statements read. */
export interface BlockPart {
  /** The range whose segments are loaded: those that have some of the blocks. */
  readonly range: BlockRange;
  /** The blocks that are read, if these segments have others too. The table `blocks`, which says when blocks were made, must be loaded then. */
  readonly blocks?: BlockRange;
}

/**
 * Finds the segments of a history that have some blocks of a range.
 *
 * @throws {@link SinkError} if there is no history; {@link RequestError} if no segment has such a block
 */
export function partOf({ chainId, segments }: NodeHistory, asked: BlockRange): BlockPart {
  const [oldest, newest] = [segments[0], segments.at(-1)];
  if (chainId === "" || oldest === undefined || newest === undefined) {
    throw new SinkError("the node has no history yet", {
      code: Code.FailedPrecondition,
      advice: "Wait until it has made its first segment: `tradewire segments` lists them.",
    });
  }
  const within = segments.filter(({ fromBlock, toBlock }) => fromBlock <= asked.toBlock && asked.fromBlock <= toBlock);
  const [first, last] = [within[0], within.at(-1)];
  if (first === undefined || last === undefined) {
    throw new RequestError("the node has no block between --from-block and --to-block", {
      errorCode: "TW_BLOCK_RANGE",
      advice: `Its history has blocks ${oldest.fromBlock} to ${newest.toBlock}.`,
    });
  }
  const [starts, ends] = [first.fromBlock < asked.fromBlock, asked.toBlock < last.toBlock];
  const range = {
    fromBlock: starts ? first.fromBlock : asked.fromBlock,
    toBlock: ends ? last.toBlock : asked.toBlock,
  };
  return { range, ...((starts || ends) && { blocks: asked }) };
}

/**
 * Returns the function that returns the rows of a loaded table that belong to some blocks, as a query. Most tables have no heights, but the
 * times of blocks. The ledger and what was asked for have these blocks only, so that
 * others count neither as loaded nor as missing.
 *
 * @param from the prefix of the loaded tables, with a dot
 * @throws {@link SinkError} if the table `blocks` has none of the blocks; errors of DuckDB
 */
export async function rowsOfBlocks(
  connection: DuckDBConnection,
  from: string,
  { fromBlock, toBlock }: BlockRange,
): Promise<(table: string) => string> {
  const found = await connection.runAndReadAll(
    `SELECT epoch_us(min(vega_time)), epoch_us(max(vega_time)) FROM ${from}blocks WHERE height BETWEEN ${fromBlock} AND ${toBlock}`,
  );
  const [first, last] = found.getRows()[0] ?? [];
  if (typeof first !== "bigint" || typeof last !== "bigint") {
    throw new SinkError(`the node does not say when the blocks ${fromBlock} to ${toBlock} were made`, {
      code: Code.DataLoss,
      advice: "Its table blocks lacks them. Select complete segments, or use another node.",
    });
  }
  const isTable = (name: string): name is TableName => tableNames.some((table) => table === name);
  const clamped = (name: string) => `greatest(${name}, ${fromBlock}) AS ${name}`;
  return (table) => {
    if (table === "tradewire_ledger") {
      return `SELECT * REPLACE (${clamped("from_block")}, least(to_block, ${toBlock}) AS to_block) FROM ${from}${table}`;
    }
    if (table === "tradewire_tables") {
      return `SELECT * REPLACE (${clamped("from_block")}) FROM ${from}${table}`;
    }
    const times = `vega_time BETWEEN make_timestamptz(${first}) AND make_timestamptz(${last})`;
    return isTable(table)
      ? `SELECT * REPLACE (${clamped(FROM_BLOCK)}) FROM ${from}${table} WHERE ${times}`
      : `FROM ${from}${identifier(table)}`;
  };
}
