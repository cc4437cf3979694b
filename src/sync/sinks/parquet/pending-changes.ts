import { mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as v from "valibot";
import { Code } from "../../../base/errors/code.js";
import { SinkError } from "../../../base/errors/index.js";
import { hasErrorCode } from "../../../base/errors/node-errors.js";
import { syncFolder } from "../../../base/file/atomic-file.js";
import { type Lock, sweepLocks, takeLock } from "../../../base/file/lock-file.js";
import { jsonObject } from "../../../base/input/schemas.js";
import { randomUUID } from "../../../base/runtime/index.js";
import type { TableName } from "../../../data/schema/table-names.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { entryJson, fromJson, type Manifest, toJson } from "./manifest.js";
import { type FolderLayout, onPath, rangeName, syncFile, writeFileAtomically } from "./parquet-folder.js";

/** The JSON schema of a committed change. Earlier releases derived the name of the part from the unit. */
const changeJson = jsonObject({
  load: v.optional(entryJson),
  remove: v.array(entryJson),
  part: v.optional(v.string()),
});

/** An atomic change of a table. */
export interface PendingChange {
  /** The unit to add, whose file is renamed to its final name. */
  readonly load?: LedgerEntry | undefined;
  /** The units to remove before. */
  readonly remove: readonly LedgerEntry[];
}

/** The exclusive right to a unit. */
export interface UnitClaim {
  /** The path to write the unit's file to: unique for each claim, and not matched by `*.parquet`. */
  readonly part: string;
  /**
   * Commits and applies a change. If this process is killed, the next one applies it.
   *
   * @throws {@link SinkError} if the claim was lost
   */
  commit(change: PendingChange): Promise<void>;
  /** Releases the claim. */
  release(): Promise<void>;
}

/** Applies a change to the files and the ledger. Steps that are done already are skipped. */
export type ApplyChange = (change: PendingChange, part: string) => Promise<void>;

/**
 * Claims a unit with a lock file. The next process that takes the lock completes the change that the previous one has committed,
 * which makes changes of several files atomic.
 *
 * @throws {@link SinkError} if files cannot be written
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
      if (other !== name && overlaps(other, unit) && !(await finishUnclaimed(filesOf(folder, other), apply))) {
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
        throw new SinkError(`${name} was taken over by another sync, because this one was suspended for too long`, {
          code: Code.Aborted,
          advice: "No data is lost. Try again.",
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
      // A committed change that could not be applied, for example on a full disk, is applied by the next process, which
      // needs the part.
      if (!committed) {
        await onPath(part, rm(part, { force: true }));
      }
      await onPath(files.lock, Promise.resolve(lock[Symbol.asyncDispose]()));
    },
  };
}

/** Completes the changes of processes that have ended, and deletes their temporary files. */
export async function recoverChanges(folder: string, apply: ApplyChange): Promise<void> {
  await onPath(folder, sweepLocks(folder));
  for (const name of await namesIn(folder)) {
    await finishUnclaimed(filesOf(folder, name), apply);
  }
}

/** Reports whether there is a pending change of a unit: it is being applied, or its process was killed. */
export async function isChanging(folder: string, unit: Unit): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  return names.some((name) => name.endsWith(".json") && overlaps(name.slice(0, -".json".length), unit));
}

interface UnitFiles {
  /** The prefix of their names. */
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

/** Completes the change of a unit, unless it is claimed. Returns whether it was not. */
async function finishUnclaimed(files: UnitFiles, apply: ApplyChange): Promise<boolean> {
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

/** Applies the committed change of a unit, if there is one, and deletes the parts of claims that did not commit. */
async function finish({ path, change }: UnitFiles, apply: ApplyChange): Promise<void> {
  const folder = dirname(path);
  const committed = await readChange(change);
  if (committed !== undefined) {
    const part = committed.part === undefined ? `${path}.part` : join(folder, basename(committed.part));
    await apply({ load: committed.load && fromJson(committed.load), remove: committed.remove.map(fromJson) }, part);
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
    return v.parse(changeJson, JSON.parse(await readFile(path, "utf8")));
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

/** The text of a notice. It is not a Parquet file, so readers fail with an error that names it. */
const NOTICE =
  "Files of this table are being merged or replaced. If this file remains, the process was killed: run tradewire sync compact or tradewire sync to complete the change.\n";

/**
 * Applies a change to the files and the ledger. It is idempotent: an interrupted change is applied again from its beginning, and
 * completed steps have no effect.
 *
 * @throws {@link SinkError} if files cannot be written
 */
export async function applyChange(
  layout: FolderLayout,
  manifest: (table: TableName) => Manifest,
  { load, remove }: PendingChange,
  part: string,
): Promise<void> {
  const removed = remove.map((entry) => layout.file(entry));
  if (load === undefined) {
    await removeFiles(removed);
  } else {
    await replaceFiles(layout, load, removed, part);
  }
  const table = load?.table ?? remove[0]?.table;
  if (table !== undefined) {
    const lines = remove.map((entry) => ({ kind: "removed", entry }) as const);
    await manifest(table).append([...lines, ...(load === undefined ? [] : [{ kind: "loaded", entry: load } as const])]);
  }
}

/**
 * Replaces files with another one. Files can be renamed and deleted only one by one, so that a reader could find both the old
 * files and the new one, or neither. Therefore the new file's folder contains an unreadable notice during the change. Readers
 * list the files and then open them: a reader that listed them before the notice fails because the first old file is deleted
 * before the others; one that listed them during the change fails because of the notice; and one that listed them afterwards
 * finds the new file.
 */
async function replaceFiles(
  layout: FolderLayout,
  load: LedgerEntry,
  removed: readonly string[],
  part: string,
): Promise<void> {
  const [path, folder, notice] = [layout.file(load), layout.folder(load), layout.notice(load)];
  await onPath(path, mkdir(folder, { recursive: true }));
  // A folder has the file of one unit. Any other file belongs to a unit that is removed, or that the ledger does not have.
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
  await onPath(path, rename(part, path).catch(assertRenamed));
  await syncFolder(folder);
  await onPath(notice, rm(notice, { force: true }));

  async function assertRenamed(reason: unknown): Promise<void> {
    if (!hasErrorCode(reason, "ENOENT")) {
      throw reason;
    }
    await stat(path);
  }
}

async function removeFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await onPath(path, rm(path, { force: true }));
    await rmdir(dirname(path)).catch(() => undefined); // It contains other files, or is deleted already.
  }
}

export function fileExists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
