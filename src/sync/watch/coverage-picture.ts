import { yieldToEventLoop } from "../../base/runtime/index.js";
import { firstIndex } from "../../base/signal/collections.js";
import type { BlockRange } from "../../data/history/segments.js";
import type { TableName } from "../../data/schema/table-names.js";
import type { Sink, TableCoverage } from "../sink.js";

const MAX_COLUMNS = 600;

/** One table of the picture. */
export interface PictureRow {
  readonly table: TableName;
  /** The coverage of each column in whole percent: 100 only if nothing is missing, 0 only if everything is. */
  readonly there: readonly number[];
  /** The columns with units in flight. */
  readonly underWay: readonly number[];
  /** The columns with failed units. */
  readonly failed: readonly number[];
}

/** The coverage of tables by blocks, with units in flight and failed ones. */
export interface Picture extends BlockRange {
  /** Column `i` begins with the block `fromBlock + i * blocksPerColumn`; the last one ends with `toBlock`. */
  readonly blocksPerColumn: number;
  readonly columns: number;
  readonly rows: readonly PictureRow[];
}

/** The part of the sink's coverage that a picture needs. */
export interface PictureQuery {
  readonly tables: readonly TableName[];
  readonly range: BlockRange;
  readonly parts: number;
}

type Place = BlockRange & { readonly table: TableName };

/** The number of covered blocks in each column, by table. */
type Rows = ReadonlyMap<TableName, Float64Array>;

/** The columns of a history, and what is covered in each. */
interface Grid extends BlockRange {
  /** The number of blocks of a column. */
  readonly width: number;
  /** For each column, the number of blocks of the history before its end. */
  readonly ends: Float64Array;
  readonly rows: Rows;
}

/**
 * Creates the picture of a history that grows. If it would have more than `MAX_COLUMNS` columns, every two are merged into one,
 * so that the counts stay exact.
 */
export function createPicture(tables: readonly TableName[]) {
  let grid: Grid | undefined;
  /** While the sink is read: what was loaded since, which the result may lack. */
  let meanwhile: Rows | undefined;

  return {
    /** Extends the picture to a history whose segments have about `blocks` blocks, an integer. */
    extend(range: BlockRange, blocks: number): void {
      const begun = grid !== undefined && range.fromBlock >= grid.fromBlock ? grid : emptyGrid(tables, range, blocks);
      grid = extendedTo(range.toBlock, begun);
    },
    /** Adds a loaded unit. */
    add(place: Place): void {
      if (grid !== undefined) {
        addPlace(grid.rows.get(place.table), grid, place);
        addPlace(meanwhile?.get(place.table), grid, place);
      }
    },
    /** Replaces the coverage by the sink's. A second call does nothing while the first one is running. */
    async cover(read: (query: PictureQuery) => Promise<readonly TableCoverage[]>): Promise<boolean> {
      if (grid === undefined || meanwhile !== undefined) {
        return false;
      }
      const { fromBlock, width, ends } = grid;
      const parts = ends.length;
      const since = emptyRows(tables);
      meanwhile = since;
      try {
        const found = await read({
          tables,
          range: { fromBlock, toBlock: fromBlock + BigInt(parts * width) - 1n },
          parts,
        });
        if (grid.fromBlock === fromBlock && grid.width === width) {
          for (const { table, blocks } of found) {
            const loaded = since.get(table);
            grid.rows.get(table)?.forEach((_, column, row) => {
              row[column] = Math.max(loaded?.[column] ?? 0, blocks[column] ?? 0);
            });
          }
        }
        return true;
      } finally {
        meanwhile = undefined;
      }
    },
    /** Returns the picture; `undefined` without a history. */
    show: (underWay: readonly Place[], failed: readonly Place[]): Picture | undefined =>
      grid && pictureOf(grid, underWay, failed),
  };
}

function emptyRows(tables: readonly TableName[]): Rows {
  return new Map(tables.map((table) => [table, new Float64Array(MAX_COLUMNS)]));
}

/** Returns the columns of a history without any known coverage. */
function emptyGrid(tables: readonly TableName[], range: BlockRange, blocks: number): Grid {
  const segments = (Number(range.toBlock - range.fromBlock) + 1) / blocks;
  const width = blocks * Math.ceil(segments / MAX_COLUMNS);
  return { ...range, width, ends: new Float64Array(), rows: emptyRows(tables) };
}

/** Extends a grid to a later end; merges its columns if there would be too many. */
function extendedTo(toBlock: bigint, grid: Grid): Grid {
  const { fromBlock, rows } = grid;
  const length = Number(toBlock - fromBlock) + 1;
  let { width } = grid;
  while (length > width * MAX_COLUMNS) {
    width *= 2;
    for (const row of rows.values()) {
      row.set(row.map((_, column) => (row[2 * column] ?? 0) + (row[2 * column + 1] ?? 0)));
    }
  }
  const ends = Float64Array.from({ length: Math.ceil(length / width) }, (_, column) => (column + 1) * width);
  return { fromBlock, toBlock, width, ends, rows };
}

function addPlace(row: Float64Array | undefined, grid: Grid, { fromBlock, toBlock }: Place): void {
  const columns = row?.subarray(0, grid.ends.length);
  if (columns !== undefined) {
    addBlocks(columns, grid.ends, Number(fromBlock - grid.fromBlock), Number(toBlock - grid.fromBlock));
  }
}

function pictureOf(grid: Grid, underWay: readonly Place[], failed: readonly Place[]): Picture {
  const { fromBlock, toBlock, width, ends } = grid;
  const length = Number(toBlock - fromBlock) + 1;
  const percent = (blocks: number, column: number) => {
    const of = Math.min(width, length - column * width);
    return blocks <= 0 ? 0 : blocks >= of ? 100 : Math.min(99, Math.max(1, Math.round((blocks / of) * 100)));
  };
  return {
    fromBlock,
    toBlock,
    blocksPerColumn: width,
    columns: ends.length,
    rows: [...grid.rows].map(([table, row]) => ({
      table,
      there: [...row.subarray(0, ends.length).map(percent)],
      underWay: columnsWith(underWay, grid, table),
      failed: columnsWith(failed, grid, table),
    })),
  };
}

function columnsWith(places: readonly Place[], grid: Grid, table: TableName): number[] {
  const own = places.filter((place) => place.table === table);
  if (own.length === 0) {
    return [];
  }
  const row = new Float64Array(grid.ends.length);
  for (const place of own) {
    addPlace(row, grid, place);
  }
  return [...row.keys()].filter((column) => row[column] !== 0);
}

/** How many entries are read before the event loop continues: a ledger of millions may come from memory. */
const ENTRIES_AT_ONCE = 1000;

/**
 * Counts the covered blocks of each part of a range: the data of the picture. A sink with its own `coverage` computes it; for
 * others, the ledger is read once, in constant memory.
 *
 * @param sink the sink, opened or inspected; its errors are thrown unchanged
 * @param tables the tables
 * @param range the blocks, both ends inclusive
 * @param parts number of parts that the range is divided into, at least 1
 * @returns for each table, in the same order, the number of covered blocks of each part
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

function endsOfParts({ fromBlock, toBlock }: BlockRange, parts: number): Float64Array {
  const length = Number(toBlock - fromBlock) + 1;
  return Float64Array.from({ length: parts }, (_, part) => Math.floor(((part + 1) * length) / parts));
}

function addBlocks(blocks: Float64Array, ends: Float64Array, first: number, last: number): void {
  for (let part = firstBehind(ends, first); part < blocks.length; part += 1) {
    const [start, end] = [ends[part - 1] ?? 0, ends[part] ?? 0];
    if (start > last) {
      return;
    }
    blocks[part] = (blocks[part] ?? 0) + Math.max(0, Math.min(end, last + 1) - Math.max(start, first));
  }
}

/** Returns the index of the first of ascending ends that lies after a block. */
export function firstBehind(ends: Float64Array, block: number): number {
  return firstIndex(ends, (end) => end <= block);
}
