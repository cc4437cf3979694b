import { mkdir, open, readFile, realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as v from "valibot";
import { Code } from "../../../base/errors/code.js";
import { SinkError, TradewireError } from "../../../base/errors/index.js";
import { fileError, hasErrorCode } from "../../../base/errors/node-errors.js";
import { syncFolder, writeAtomically } from "../../../base/file/atomic-file.js";
import { takeLock } from "../../../base/file/lock-file.js";
import { sweepTemporary } from "../../../base/file/temporary-files.js";
import { jsonObject, wholeNumber } from "../../../base/input/schemas.js";
import { wait } from "../../../base/signal/wait.js";
import { type TableName, tableNames } from "../../../data/schema/table-names.js";
import type { Sink, SinkOpening } from "../../sink.js";
import type { Unit } from "../../unit.js";
import { otherChainError } from "../duckdb/duckdb-ledger.js";

/** The number of digits of a block in names, so that names sort like blocks. No chain will reach block 10,000,000,000 soon. */
const DIGITS = 10;

/**
 * The version of a folder's format. In version 1, which is not supported, all amounts and decimals are text. In version 2, the
 * folders of the tables are next to `_tradewire` instead of in `data`.
 */
const FORMAT = 3;

/** The paths in the folder of a sink. */
export interface FolderLayout {
  /** The file with the chain and the format. */
  readonly about: string;
  /** The folder of locks, of pending changes and of files that are being written. */
  readonly pending: string;
  readonly ledger: string;
  /** The folder with a file for each table that syncs were asked for. */
  readonly asked: string;
  /** The file with the marks of the history. */
  readonly marks: string;
  /** The folder with a file for each table of what nodes list. */
  readonly listed: string;
  /** The ledger of a table. */
  manifest(table: TableName): string;
  table(table: TableName): string;
  /** The folder of a unit's file. */
  folder(unit: Unit): string;
  file(unit: Unit): string;
  /** The notice next to a unit's file while it replaces other files. */
  notice(unit: Unit): string;
}

/**
 * Returns the paths in the folder of a sink. The folder of the tables contains only Parquet files, since Polars reads a folder
 * only if all files in it and its subfolders have the same extension.
 */
export function layoutOf(folder: string, format: number = FORMAT): FolderLayout {
  const own = join(folder, "_tradewire");
  const ledger = join(own, "ledger");
  const tables = format < 3 ? folder : join(folder, "data");
  const tableFolder = (table: TableName) => join(tables, `table=${table}`);
  const folderOf = ({ table, fromBlock }: Unit) => join(tableFolder(table), `from=${block(fromBlock)}`);
  return {
    about: join(own, "sync.json"),
    pending: join(own, "pending"),
    ledger,
    asked: join(own, "tables"),
    marks: join(own, "history.json"),
    listed: join(own, "listed"),
    manifest: (table) => join(ledger, `${table}.jsonl`),
    table: tableFolder,
    folder: folderOf,
    file: (unit) => join(folderOf(unit), `${rangeName(unit)}.parquet`),
    notice: (unit) => join(folderOf(unit), `${rangeName(unit)}.unfinished-change.parquet`),
  };
}

/** Returns the blocks of a unit as part of a file name, such as `0000000001-0000001000`. */
export function rangeName({ fromBlock, toBlock }: Pick<Unit, "fromBlock" | "toBlock">): string {
  return `${block(fromBlock)}-${block(toBlock)}`;
}

function block(number: bigint): string {
  return String(number).padStart(DIGITS, "0");
}

/**
 * Awaits a file operation, and converts its errors.
 *
 * @throws {@link SinkError} if it fails
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

/** Writes a file atomically: other processes see it completely or not at all, also after a crash of the machine. */
export function writeFileAtomically(path: string, text: string, how: "create" | "replace"): Promise<boolean> {
  return onPath(path, writeAtomically(path, text, how));
}

/**
 * Appends lines to a file with one write, and syncs it to disk. If the last line is incomplete, because a process was killed or
 * the disk was full, it is terminated first.
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
      const isIncomplete = size > 0 && last.toString() !== "\n";
      await file.writeFile(`${isIncomplete ? "\n" : ""}${lines.map((line) => `${line}\n`).join("")}`);
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(dirname(path));
  }
}

export async function syncFile(path: string): Promise<void> {
  const file = await onPath(path, open(path, "r+"));
  await onPath(path, file.sync()).finally(() => file.close());
}

/** The oldest supported version of a folder's format. */
const MIN_FORMAT = 2;

const aboutJson = jsonObject({ format: v.number(), chain_id: v.optional(v.string()) });

/**
 * Prepares the folder of a sink. It is created if it does not exist; its parent folder must exist.
 *
 * @throws {@link RequestError} if it holds another chain; {@link SinkError} if it cannot be written, or has an unsupported format
 */
export async function createFolder(
  path: string,
  name: string,
  { chainId, tables, fromBlock }: SinkOpening,
): Promise<FolderLayout> {
  await onPath(path, mkdir(path).catch(ignoreExisting));
  const place = await onPath(path, realpath(path));
  const { about, pending, ledger } = layoutOf(place);
  await onPath(path, mkdir(pending, { recursive: true }));
  await onPath(path, mkdir(ledger, { recursive: true }));
  await sweepTemporary(dirname(about));
  await sweepTemporary(pending);
  await writeFileAtomically(about, `${JSON.stringify({ format: FORMAT, chain_id: chainId })}\n`, "create");
  const { layout, chainId: held } = await readFolder(place, name);
  if (held !== undefined && held !== chainId) {
    throw otherChainError(name, held, chainId);
  }
  for (const table of tables) {
    await onPath(path, mkdir(layout.table(table), { recursive: true }));
  }
  if (fromBlock !== undefined) {
    await rememberAsked(layout, tables, fromBlock);
  }
  return layout;
}

const askedJson = jsonObject({ from_block: v.number() });

async function rememberAsked({ asked }: FolderLayout, tables: readonly TableName[], fromBlock: bigint): Promise<void> {
  await onPath(asked, mkdir(asked, { recursive: true }));
  const known = await readAsked(asked);
  for (const table of tables.filter((each) => fromBlock < (known.get(each) ?? fromBlock + 1n))) {
    const json = JSON.stringify({ from_block: Number(fromBlock) });
    await writeFileAtomically(join(asked, `${table}.json`), `${json}\n`, "replace");
  }
}

export async function readAsked(folder: string): Promise<Map<TableName, bigint>> {
  const found = new Map<TableName, bigint>();
  for (const table of tableNames) {
    const text = await readIfExists(join(folder, `${table}.json`));
    if (text !== undefined) {
      found.set(table, BigInt(v.parse(askedJson, JSON.parse(text)).from_block));
    }
  }
  return found;
}

const marksJson = v.array(jsonObject({ to_block: wholeNumber, segment_id: v.string() }));

/** The time between attempts to get the lock of a file, in milliseconds. It is held while one is read and written. */
const LOCK_MS = 20;

/** Runs an action while no other sync does the same. */
export async function withLock<T>({ pending }: FolderLayout, name: string, action: () => Promise<T>): Promise<T> {
  const lockPath = join(pending, `${name}.lock`);
  let lock = await onPath(lockPath, takeLock(lockPath));
  while (!lock.held) {
    await wait(LOCK_MS);
    lock = await onPath(lockPath, takeLock(lockPath));
  }
  try {
    return await action();
  } finally {
    await onPath(lockPath, Promise.resolve(lock[Symbol.asyncDispose]()));
  }
}

/** Changes the marks of the history while no other sync does so. */
export async function changeMarks(
  layout: FolderLayout,
  next: Parameters<NonNullable<Sink["markHistory"]>>[0],
): Promise<void> {
  const { marks: path } = layout;
  await withLock(layout, "history", async () => {
    const known = v.parse(marksJson, JSON.parse((await readIfExists(path)) ?? "[]"));
    const marks = next(known.map((mark) => ({ toBlock: BigInt(mark.to_block), segmentId: mark.segment_id })));
    if (marks !== undefined) {
      const json = marks.map(({ toBlock, segmentId }) => ({ to_block: Number(toBlock), segment_id: segmentId }));
      await writeFileAtomically(path, `${JSON.stringify(json)}\n`, "replace");
    }
  });
}

function readIfExists(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").catch((reason: unknown) => {
    return hasErrorCode(reason, "ENOENT") ? undefined : onPath(path, Promise.reject(reason));
  });
}

/** Ignores that a path exists: another sync may have created the folder. If it is not a folder, its first use fails. */
function ignoreExisting(reason: unknown): void {
  if (!hasErrorCode(reason, "EEXIST")) {
    throw reason;
  }
}

/**
 * Reads the chain and the format of a folder.
 *
 * @throws {@link SinkError} if it cannot be read, or has an unsupported format
 */
export async function readFolder(
  path: string,
  name: string,
): Promise<{ readonly layout: FolderLayout; readonly chainId?: string | undefined }> {
  const { about } = layoutOf(path);
  try {
    const { format, chain_id } = v.parse(aboutJson, JSON.parse(await readFile(about, "utf8")));
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
          "in which amounts are text, but this release writes numbers",
          "Nothing was changed, and the files remain readable. Sync into a new folder, so that no column has two types.",
        ]
      : ["which this release does not support", "Install a newer release."];
  return new SinkError(`${name} has the format ${format}, ${how}`, { code: Code.FailedPrecondition, advice });
}
