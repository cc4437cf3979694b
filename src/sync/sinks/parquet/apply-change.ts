import { mkdir, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { failedWith } from "../../../errors/file-error.js";
import type { TableName } from "../../../schema/tables.js";
import type { LedgerEntry } from "../../unit.js";
import { syncFile, syncFolder } from "./durable.js";
import { type Layout, onPath } from "./layout.js";
import type { Manifest } from "./manifest.js";
import type { Change } from "./pending.js";

/** What a notice says. It is no Parquet file, so whoever reads it fails with its name. */
const NOTICE =
  "Files of this table are being joined or replaced. If this file stays, the process that did it was killed: run tradewire sync compact or tradewire sync, which finish it.\n";

/**
 * Do a change to the files and the ledger. What is done already is left: a change is done again from its beginning
 * where it was broken off, wherever that was.
 *
 * @param layout of the folder
 * @param manifest gives the ledger of a table
 * @param change what is loaded and removed
 * @param part the file that takes its name
 * @throws {@link SinkError} where files cannot be written
 */
export async function applyChange(
  layout: Layout,
  manifest: (table: TableName) => Manifest,
  { load, remove }: Change,
  part: string,
): Promise<void> {
  const removed = remove.map((entry) => layout.file(entry));
  if (load === undefined) {
    await removeFiles(removed);
  } else {
    await exchange(layout, load, removed, part);
  }
  const table = load?.table ?? remove[0]?.table;
  if (table !== undefined) {
    const lines = remove.map((entry) => ({ case: "removed", entry }) as const);
    await manifest(table).append([...lines, ...(load === undefined ? [] : [{ case: "loaded", entry: load } as const])]);
  }
}

/**
 * Puts a file in the place of others. A file system takes and gives names one by one, so that a reader could find both
 * the old files and the new one, or neither. A notice therefore stands in the new file's folder meanwhile, which no
 * reader can read. Readers list the files and then open them: those that listed before the notice find the first old
 * file gone, as it goes before the others; those that listed in between find the notice; and those that listed after
 * it find the new file.
 */
async function exchange(layout: Layout, load: LedgerEntry, removed: readonly string[], part: string): Promise<void> {
  const [path, folder, notice] = [layout.file(load), layout.folder(load), layout.notice(load)];
  await onPath(path, mkdir(folder, { recursive: true }));
  // A folder has the file of one unit. Another one is of a unit that is removed, or that the ledger has lost.
  const others = (await onPath(folder, readdir(folder)))
    .filter((name) => name.endsWith(".parquet"))
    .map((name) => join(folder, name));
  const old = [...new Set([...others, ...removed])].filter((other) => other !== path && other !== notice);
  if (old.length > 0) {
    await onPath(notice, writeFile(notice, NOTICE));
    await syncFile(notice);
    await syncFolder(folder);
    await removeFiles(old);
  }
  await onPath(path, rename(part, path).catch(hasItsName));
  await syncFolder(folder);
  await onPath(notice, rm(notice, { force: true }));

  async function hasItsName(reason: unknown): Promise<void> {
    if (!failedWith(reason, "ENOENT")) {
      throw reason;
    }
    await stat(path);
  }
}

async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await onPath(path, rm(path, { force: true }));
    await rmdir(dirname(path)).catch(() => undefined); // It has other files, or is gone.
  }
}

/**
 * Tell whether there is a file.
 *
 * @param path of the file
 * @returns whether there is
 */
export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
