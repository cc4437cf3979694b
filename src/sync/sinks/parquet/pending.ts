import { readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { failedWith } from "../../../errors/file-error.js";
import { SinkError } from "../../../errors/index.js";
import { type Lock, sweepLocks, takeLock } from "../../../file/lock.js";
import { randomUUID } from "../../../runtime/index.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { writeWhole } from "./durable.js";
import { entryJson, fromJson, toJson } from "./entry-json.js";
import { onPath, rangeName } from "./layout.js";

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
export interface Held {
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
export async function holdUnit(folder: string, unit: Unit, apply: ApplyChange): Promise<Held | undefined> {
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
      await writeWhole(files.change, JSON.stringify(json), "replace");
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
 * @param folder of the files of {@link holdUnit}
 * @param apply does a change
 */
export async function recover(folder: string, apply: ApplyChange): Promise<void> {
  await onPath(folder, sweepLocks(folder));
  for (const name of await namesIn(folder)) {
    await finishFree(filesOf(folder, name), apply);
  }
}

/**
 * Tell whether a change to a unit was committed and is not done yet: it is being done, or its process was killed.
 *
 * @param folder of the files of {@link holdUnit}
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
    if (failedWith(reason, "ENOENT")) {
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
