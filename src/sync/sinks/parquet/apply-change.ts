import { mkdir, readdir, rename, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { failedWith } from "../../../errors/file-error.js";
import type { TableName } from "../../../schema/tables.js";
import { syncFolder } from "./durable.js";
import { type Layout, onPath } from "./layout.js";
import type { Manifest } from "./manifest.js";
import type { Change } from "./pending.js";

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
  const path = load && layout.file(load);
  for (const entry of remove) {
    const old = layout.file(entry);
    if (old !== path) {
      await onPath(old, rm(old, { force: true }));
      await rmdir(layout.folder(entry)).catch(() => undefined); // It has other files, or is gone.
    } // Else the new file takes its place, and may have done so.
    await manifest(entry.table).append({ case: "removed", entry });
  }
  if (load !== undefined && path !== undefined) {
    const folder = layout.folder(load);
    await onPath(path, mkdir(folder, { recursive: true }));
    await onPath(path, rename(part, path).catch(hasItsName));
    // A folder has the file of one unit. Another one is of a unit that the ledger has lost.
    for (const name of await onPath(folder, readdir(folder))) {
      const stray = join(folder, name);
      if (name.endsWith(".parquet") && stray !== path) {
        await onPath(stray, rm(stray, { force: true }));
      }
    }
    await syncFolder(folder);
    await manifest(load.table).append({ case: "loaded", entry: load });
  }

  async function hasItsName(reason: unknown): Promise<void> {
    if (path === undefined || !failedWith(reason, "ENOENT")) {
      throw reason;
    }
    await stat(path);
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
