import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { SinkError } from "../../../errors/index.js";
import { hasErrorCode } from "../../../errors/node-errors.js";
import { type Lock, sweepLocks, takeLock } from "../../../file/lock-file.js";
import { randomUUID } from "../../../runtime/index.js";
import type { TableName } from "../../../schema/table-names.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { entryJson, fromJson, type Manifest, toJson } from "./manifest.js";
import { type Layout, onPath, rangeName, syncFile, syncFolder, writeFileAtomically } from "./parquet-folder.js";

/** What is to be done, once it is certain that it will be. Earlier releases named the part by the unit. */
const changeJson = z.object({ load: entryJson.optional(), remove: z.array(entryJson), part: z.string().optional() });

/** What is done to a table at once. */
export interface Change {
  /** The unit whose file takes its name and whose entry is written. */
  readonly load?: LedgerEntry | undefined;
  /** Units whose files and entries are removed before. */
  readonly remove: readonly LedgerEntry[];
}

/** A unit that is held against other syncs. */
export interface UnitClaim {
  /** Where the unit's file is written: a name that no other holder has. No glob for `*.parquet` finds it. */
  readonly part: string;
  /**
   * Do something to the table. From here on it is done, if not by this process, then by the next one.
   *
   * @throws {@link SinkError} where the unit is not held any more
   */
  commit(change: Change): Promise<void>;
  /** Give the unit back. */
  release(): Promise<void>;
}

/** Does a change to the files and the ledger; what is done already is left. */
export type ApplyChange = (change: Change, part: string) => Promise<void>;

/**
 * Hold a unit by a lock of its own. Whoever takes the lock next finishes the change that its last holder had begun: that
 * makes a change of several files happen as one.
 *
 * @param folder of the locks and changes
 * @param unit the unit
 * @param apply does a change
 * @returns the hold; `undefined` where another one holds the unit or a part of it
 * @throws {@link SinkError} where files cannot be written
 */
export async function claimUnit(folder: string, unit: Unit, apply: ApplyChange): Promise<UnitClaim | undefined> {
  const name = `${unit.table}.${rangeName(unit)}`;
  const files = filesOf(folder, name);
  const lock = await lockOf(files);
  if (lock === undefined) {
    return undefined;
  }
  try {
    await finish(files, apply);
    for (const other of await namesIn(folder)) {
      if (other !== name && overlaps(other, unit) && !(await finishFree(filesOf(folder, other), apply))) {
        await lock[Symbol.asyncDispose]();
        return undefined;
      }
    }
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
  let committed = false;
  const part = `${files.path}.${randomUUID()}.part`;
  return {
    part,
    async commit(change) {
      if (!(await onPath(files.lock, Promise.resolve().then(lock.isHeld)))) {
        throw new SinkError(`${name} was taken over by another sync, as this one stood still for too long`, {
          code: Code.Aborted,
          advice: "Nothing is wrong: try the same again.",
        });
      }
      const { load, remove } = change;
      const json = { ...(load && { load: toJson(load) }), remove: remove.map(toJson), part: basename(part) };
      await writeFileAtomically(files.change, JSON.stringify(json), "replace");
      committed = true;
      await finish(files, apply);
      committed = false;
    },
    async release() {
      // What was committed and could not be done for want of disk, say, is done by the next holder, who needs the part.
      if (!committed) {
        await onPath(part, rm(part, { force: true }));
      }
      await onPath(files.lock, Promise.resolve(lock[Symbol.asyncDispose]()));
    },
  };
}

/**
 * Finish what processes that have ended were about to do, and remove what they left.
 *
 * @param folder of the files of {@link claimUnit}
 * @param apply does a change
 */
export async function recoverChanges(folder: string, apply: ApplyChange): Promise<void> {
  await onPath(folder, sweepLocks(folder));
  for (const name of await namesIn(folder)) {
    await finishFree(filesOf(folder, name), apply);
  }
}

/**
 * Tell whether a change to a unit was committed and is not done yet: it is being done, or its process was killed.
 *
 * @param folder of the files of {@link claimUnit}
 * @param unit the unit
 * @returns whether there is one of the unit or of a part of it
 */
export async function isChanging(folder: string, unit: Unit): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => name.endsWith(".json") && overlaps(name.slice(0, -".json".length), unit));
}

interface UnitFiles {
  /** What their names begin with. */
  readonly path: string;
  readonly lock: string;
  readonly change: string;
}

function filesOf(folder: string, name: string): UnitFiles {
  const path = join(folder, name);
  return { path, lock: `${path}.lock`, change: `${path}.json` };
}

async function lockOf(files: UnitFiles): Promise<Lock | undefined> {
  const lock = await onPath(files.lock, takeLock(files.lock));
  return lock.held ? lock : undefined;
}

/** Finish what was begun with a unit that nobody holds. Return whether nobody does. */
async function finishFree(files: UnitFiles, apply: ApplyChange): Promise<boolean> {
  const lock = await lockOf(files);
  if (lock === undefined) {
    return false;
  }
  try {
    await finish(files, apply);
    return true;
  } finally {
    await onPath(files.lock, Promise.resolve(lock[Symbol.asyncDispose]()));
  }
}

/** Do the change that a holder of a unit committed, if there is one, and remove the parts of those that did not come so far. */
async function finish({ path, change }: UnitFiles, apply: ApplyChange): Promise<void> {
  const folder = dirname(path);
  const begun = await readChange(change);
  if (begun !== undefined) {
    const part = begun.part === undefined ? `${path}.part` : join(folder, basename(begun.part));
    await apply({ load: begun.load && fromJson(begun.load), remove: begun.remove.map(fromJson) }, part);
  }
  for (const name of await onPath(folder, readdir(folder))) {
    if (name.startsWith(`${basename(path)}.`) && name.endsWith(".part")) {
      await onPath(folder, rm(join(folder, name), { force: true }));
    }
  }
  await onPath(change, rm(change, { force: true }));
}

async function readChange(path: string) {
  try {
    return changeJson.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT")) {
      return undefined;
    }
    return await onPath(path, Promise.reject(reason));
  }
}

async function namesIn(folder: string): Promise<Set<string>> {
  const names = await onPath(folder, readdir(folder));
  return new Set(names.flatMap((name) => /^([^.].*)\.(?:json|lock)$/.exec(name)?.slice(1) ?? []));
}

function overlaps(name: string, { table, fromBlock, toBlock }: Unit): boolean {
  const [, of, from = "", to = ""] = /^([a-z_]+)\.(\d+)-(\d+)$/.exec(name) ?? [];
  return of === table && BigInt(from) <= toBlock && fromBlock <= BigInt(to);
}

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
    const lines = remove.map((entry) => ({ kind: "removed", entry }) as const);
    await manifest(table).append([...lines, ...(load === undefined ? [] : [{ kind: "loaded", entry: load } as const])]);
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
    if (!hasErrorCode(reason, "ENOENT")) {
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
export function fileExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
