import { link, mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { SinkError, TradewireError } from "../../../errors/index.js";
import { fileError, hasErrorCode } from "../../../errors/node-errors.js";
import { sweepTemporary, temporaryName } from "../../../file/temporary-files.js";
import type { TableName } from "../../../schema/table-names.js";
import type { SinkOpening } from "../../sink.js";
import type { Unit } from "../../unit.js";
import { otherChainError } from "../duckdb/duckdb-ledger.js";

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

/**
 * Write a file that other processes see whole or not at all, also after a crash of the machine.
 *
 * @param path of the file
 * @param text its content
 * @param how `create` fails where there is one, `replace` takes its place
 * @returns whether it was written
 */
export async function writeFileAtomically(path: string, text: string, how: "create" | "replace"): Promise<boolean> {
  const temporary = join(dirname(path), await temporaryName());
  return await onPath(path, write());

  async function write(): Promise<boolean> {
    try {
      const file = await open(temporary, "wx");
      await file
        .writeFile(text)
        .then(() => file.sync())
        .finally(() => file.close());
      await (how === "replace" ? rename(temporary, path) : link(temporary, path));
      await syncFolder(dirname(path));
      return true;
    } catch (reason) {
      if (how === "create" && hasErrorCode(reason, "EEXIST")) {
        return false;
      }
      throw reason;
    } finally {
      await rm(temporary, { force: true }).catch(() => undefined); // It is swept.
    }
  }
}

/**
 * Append lines to a file in one write, and sync it to disk. Where a process was killed, or the disk was full, in the
 * middle of a line, that line is ended first.
 *
 * @param path of the file, which is made where it is missing
 * @param lines the lines, without their ends
 */
export async function appendLines(path: string, lines: readonly string[]): Promise<void> {
  await onPath(path, append());

  async function append(): Promise<void> {
    const file = await open(path, "a+");
    try {
      const { size } = await file.stat();
      const last = Buffer.alloc(1);
      if (size > 0) {
        await file.read(last, 0, 1, size - 1);
      }
      const torn = size > 0 && last.toString() !== "\n";
      await file.writeFile(`${torn ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`);
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(dirname(path));
  }
}

/**
 * Write a file to disk.
 *
 * @param path of the file
 */
export async function syncFile(path: string): Promise<void> {
  const file = await onPath(path, open(path, "r+"));
  await onPath(path, file.sync()).finally(() => file.close());
}

/**
 * Write a folder to disk, so that the names in it survive a crash of the machine.
 *
 * @param folder its path
 */
export async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, "r");
    await handle.sync().finally(() => handle.close());
  } catch {
    // Windows cannot open folders.
  }
}

/** The oldest version of a folder's form that can be used. */
const MIN_FORMAT = 2;

const aboutJson = z.object({ format: z.number(), chain_id: z.string().optional() });

/**
 * Make the folder of a sink ready. The folder is made, the one that it stands in is not.
 *
 * @param path of the folder
 * @param name of the sink, for errors
 * @param opening the chain that it is to hold, and the tables
 * @returns where things are in it
 * @throws {@link RequestError} where it holds another chain; {@link SinkError} where it cannot be written, or is of a
 *   another form
 */
export async function createFolder(path: string, name: string, { chainId, tables }: SinkOpening): Promise<Layout> {
  await onPath(path, mkdir(path).catch(unlessThere));
  const place = await onPath(path, realpath(path));
  const { about, pending, ledger } = layoutOf(place);
  await onPath(path, mkdir(pending, { recursive: true }));
  await onPath(path, mkdir(ledger, { recursive: true }));
  await sweepTemporary(dirname(about));
  await sweepTemporary(pending);
  await writeFileAtomically(about, `${JSON.stringify({ format: FORMAT, chain_id: chainId })}\n`, "create");
  const { layout, chainId: claim } = await readFolder(place, name);
  if (claim !== undefined && claim !== chainId) {
    throw otherChainError(name, claim, chainId);
  }
  for (const table of tables) {
    await onPath(path, mkdir(layout.table(table), { recursive: true }));
  }
  return layout;
}

/** Another sync may have made the folder meanwhile. What stands there and is no folder is told when it is used. */
function unlessThere(reason: unknown): void {
  if (!hasErrorCode(reason, "EEXIST")) {
    throw reason;
  }
}

/**
 * Read which chain a folder holds, and in which form.
 *
 * @param path of the folder
 * @param name of the sink, for errors
 * @returns where things are in it, and the chain; no chain where it holds nothing yet
 * @throws {@link SinkError} where it cannot be read, or is of a form that cannot be used
 */
export async function readFolder(
  path: string,
  name: string,
): Promise<{ readonly layout: Layout; readonly chainId?: string | undefined }> {
  const { about } = layoutOf(path);
  try {
    const { format, chain_id } = aboutJson.parse(JSON.parse(await readFile(about, "utf8")));
    if (format < MIN_FORMAT || format > FORMAT) {
      throw unsupportedFormat(name, format);
    }
    return { layout: layoutOf(path, format), chainId: chain_id };
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT") || hasErrorCode(reason, "ENOTDIR")) {
      return { layout: layoutOf(path) };
    }
    return await onPath(about, Promise.reject(reason));
  }
}

function unsupportedFormat(name: string, format: number): SinkError {
  const [how, advice] =
    format < MIN_FORMAT
      ? [
          "whose amounts are text, and this release writes numbers",
          "Nothing was changed, and its files can be read as before. Sync into a new folder: one column never has two types.",
        ]
      : ["which this release does not know", "Install a newer release."];
  return new SinkError(`${name} has the form ${format}, ${how}`, { code: Code.FailedPrecondition, advice });
}
