import type { BlockRange } from "../../history/segments.js";
import type { TableName } from "../../schema/tables.js";
import type { TableCoverage } from "../sink.js";
import { addBlocks } from "./coverage.js";

/** The most columns of the picture. */
export const MAX_COLUMNS = 600;

/** A table's row of the picture. */
export interface PictureRow {
  readonly table: TableName;
  /** For each column, how much of it is there, in whole percent: 100 only where nothing is missing, 0 only where all is. */
  readonly there: readonly number[];
  /** The columns that have units under way. */
  readonly underWay: readonly number[];
  /** The columns that have units that failed. */
  readonly failed: readonly number[];
}

/** What is there, missing, under way and failed: tables by blocks. */
export interface Picture extends BlockRange {
  /** Column `i` begins with the block `fromBlock + i * blocksPerColumn`; the last one ends with `toBlock`. */
  readonly blocksPerColumn: number;
  readonly columns: number;
  readonly rows: readonly PictureRow[];
}

/** What a picture asks to be read of the sink. */
export interface CoverageQuestion {
  readonly tables: readonly TableName[];
  readonly range: BlockRange;
  readonly parts: number;
}

/** A unit's place in the picture. */
type Place = BlockRange & { readonly table: TableName };

/**
 * Keep the picture of a history that grows. It never has more than `MAX_COLUMNS` columns: where it would, each two
 * become one, so what a column says stays exact.
 *
 * @param tables its rows
 * @returns functions that change and show it
 */
export function createPicture(tables: readonly TableName[]) {
  const emptyRows = () => new Map(tables.map((table) => [table, new Float64Array(MAX_COLUMNS)]));
  let rows = emptyRows();
  /** While the sink is asked: what has been loaded since, which its answer may lack. */
  let meanwhile: typeof rows | undefined;
  let range: BlockRange | undefined;
  let width = 1;
  let ends = new Float64Array();

  const add = (row: Float64Array | undefined, { fromBlock, toBlock }: Place) => {
    if (row !== undefined && range !== undefined) {
      const columns = row.subarray(0, ends.length);
      addBlocks(columns, ends, Number(fromBlock - range.fromBlock), Number(toBlock - range.fromBlock));
    }
  };
  const halve = () => {
    width *= 2;
    for (const row of rows.values()) {
      row.set(row.map((_, column) => (row[2 * column] ?? 0) + (row[2 * column + 1] ?? 0)));
    }
  };
  const touched = (places: readonly Place[], table: TableName): number[] => {
    const own = places.filter((place) => place.table === table);
    if (own.length === 0) {
      return [];
    }
    const row = new Float64Array(ends.length);
    for (const place of own) {
      add(row, place);
    }
    return [...row.keys()].filter((column) => row[column] !== 0);
  };

  return {
    /** Let the picture hold a history whose segments have about `blocks` blocks, a whole number. */
    extend({ fromBlock, toBlock }: BlockRange, blocks: number): void {
      if (range === undefined || fromBlock < range.fromBlock) {
        const segments = (Number(toBlock - fromBlock) + 1) / blocks;
        range = { fromBlock, toBlock };
        width = blocks * Math.ceil(segments / MAX_COLUMNS);
        rows = emptyRows();
      }
      range = { fromBlock: range.fromBlock, toBlock };
      const length = Number(toBlock - range.fromBlock) + 1;
      while (length > width * MAX_COLUMNS) {
        halve();
      }
      ends = Float64Array.from({ length: Math.ceil(length / width) }, (_, column) => (column + 1) * width);
    },
    /** A unit is there. */
    add(place: Place): void {
      add(rows.get(place.table), place);
      add(meanwhile?.get(place.table), place);
    },
    /**
     * Draw anew what is there, by asking the sink. One question at a time: a second one does nothing.
     *
     * @returns whether the sink was asked: not where there is no history yet
     */
    async cover(read: (question: CoverageQuestion) => Promise<readonly TableCoverage[]>): Promise<boolean> {
      if (range === undefined || meanwhile !== undefined) {
        return false;
      }
      const [{ fromBlock }, asked, parts] = [range, width, ends.length];
      const since = emptyRows();
      meanwhile = since;
      try {
        const found = await read({
          tables,
          range: { fromBlock, toBlock: fromBlock + BigInt(parts * width) - 1n },
          parts,
        });
        if (range.fromBlock === fromBlock && width === asked) {
          for (const { table, blocks } of found) {
            const loaded = since.get(table);
            rows.get(table)?.forEach((_, column, row) => {
              row[column] = Math.max(loaded?.[column] ?? 0, blocks[column] ?? 0);
            });
          }
        }
        return true;
      } finally {
        meanwhile = undefined;
      }
    },
    /** Show the picture; `undefined` where there is no history yet. */
    show(underWay: readonly Place[], failed: readonly Place[]): Picture | undefined {
      if (range === undefined) {
        return undefined;
      }
      const length = Number(range.toBlock - range.fromBlock) + 1;
      const percent = (blocks: number, column: number) => {
        const of = Math.min(width, length - column * width);
        return blocks <= 0 ? 0 : blocks >= of ? 100 : Math.min(99, Math.max(1, Math.round((blocks / of) * 100)));
      };
      return {
        ...range,
        blocksPerColumn: width,
        columns: ends.length,
        rows: [...rows].map(([table, row]) => ({
          table,
          there: [...row.subarray(0, ends.length).map(percent)],
          underWay: touched(underWay, table),
          failed: touched(failed, table),
        })),
      };
    },
  };
}
