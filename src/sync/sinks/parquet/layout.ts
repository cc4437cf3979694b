import { join } from "node:path";
import { fileError } from "../../../errors/file-error.js";
import { SinkError, TradewireError } from "../../../errors/index.js";
import type { TableName } from "../../../schema/tables.js";
import type { Unit } from "../../unit.js";

/** Digits of a block in names, so that names sort as the blocks do. Chains are far from the block 10,000,000,000. */
const DIGITS = 10;

/**
 * The version of a folder's form. In version 1, which is refused, all amounts and decimals are text. In version 2 the
 * tables are beside `_tradewire` and not in `data`.
 */
export const FORMAT = 3;

/** Where things are in the folder of a sink. */
export interface Layout {
  /** What tells the chain, and the form of the ledger. */
  readonly about: string;
  /** Intents, and files that are being written. */
  readonly pending: string;
  readonly ledger: string;
  /** The ledger of a table. */
  manifest(table: TableName): string;
  /** The folder of a table. */
  table(table: TableName): string;
  /** The folder of a unit's file. */
  folder(unit: Unit): string;
  /** The file of a unit. */
  file(unit: Unit): string;
  /** What stands beside it while it takes the place of others. */
  notice(unit: Unit): string;
}

/**
 * Say where things are in the folder of a sink. The folder of the tables has nothing but Parquet files, since Polars reads
 * a folder only where all files in it and below have one extension, whatever their names begin with.
 *
 * @param folder of the sink
 * @param format the version of its form
 * @returns the paths
 */
export function layoutOf(folder: string, format: number = FORMAT): Layout {
  const own = join(folder, "_tradewire");
  const ledger = join(own, "ledger");
  const tables = format < 3 ? folder : join(folder, "data");
  const tableFolder = (table: TableName) => join(tables, `table=${table}`);
  const folderOf = ({ table, fromBlock }: Unit) => join(tableFolder(table), `from=${block(fromBlock)}`);
  return {
    about: join(own, "sync.json"),
    pending: join(own, "pending"),
    ledger,
    manifest: (table) => join(ledger, `${table}.jsonl`),
    table: tableFolder,
    folder: folderOf,
    file: (unit) => join(folderOf(unit), `${rangeName(unit)}.parquet`),
    notice: (unit) => join(folderOf(unit), `${rangeName(unit)}.unfinished-change.parquet`),
  };
}

/** Name the blocks of a unit, such as `0000000001-0000001000`. */
export function rangeName({ fromBlock, toBlock }: Pick<Unit, "fromBlock" | "toBlock">): string {
  return `${block(fromBlock)}-${block(toBlock)}`;
}

function block(number: bigint): string {
  return String(number).padStart(DIGITS, "0");
}

/**
 * Await work on files.
 *
 * @param path of the file, for errors
 * @param work what is awaited
 * @returns what it returns
 * @throws {@link SinkError} where it fails
 */
export async function onPath<T>(path: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (reason) {
    if (reason instanceof TradewireError) {
      throw reason;
    }
    const { summary, code, advice } = fileError(reason, path);
    throw new SinkError(summary, { code, advice, cause: reason });
  }
}
