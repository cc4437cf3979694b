import { randomUUID } from "node:crypto";
import { readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import * as z from "zod";
import { failedWith } from "../../../errors/file-error.js";
import { SinkError } from "../../../errors/index.js";
import { hasEnded, processMark } from "../../../file/temporary.js";
import type { LedgerEntry, Unit } from "../../unit.js";
import { writeWhole } from "./durable.js";
import { entryJson, fromJson, toJson } from "./entry-json.js";
import { onPath, rangeName } from "./layout.js";

/** How often whoever holds a unit says that it lives. */
const BEAT_MS = 20_000;
/** Who has not said so for that long is taken for dead, also where its process cannot be looked for. */
const STALE_MS = 5 * 60_000;

const intentJson = z.object({
  id: z.string(),
  /** The process; absent where the system does not name it. */
  process: z.string().optional(),
  /** What is to be done, once it is certain that it will be. */
  change: z.object({ load: entryJson.optional(), remove: z.array(entryJson) }).optional(),
});

/** What is done to a table at once. */
export interface Change {
  /** The unit whose file takes its name and whose entry is written. */
  readonly load?: LedgerEntry | undefined;
  /** Units whose files and entries are removed before. */
  readonly remove: readonly LedgerEntry[];
}

/** A unit that is held against other syncs. */
export interface Held {
  /** Where the unit's file is written. No glob for `*.parquet` finds it. */
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
 * Hold a unit by a file of its own. Whoever finds the file of a process that has ended finishes what that process was
 * about to do: that makes a change of several files happen as one.
 *
 * @param folder of such files
 * @param unit the unit
 * @param apply does a change
 * @returns the hold; `undefined` where another one holds the unit or a part of it
 * @throws {@link SinkError} where files cannot be written
 */
export async function holdUnit(folder: string, unit: Unit, apply: ApplyChange): Promise<Held | undefined> {
  const name = `${unit.table}.${rangeName(unit)}`;
  const path = join(folder, `${name}.json`);
  const part = join(folder, `${name}.part`);
  const own = { id: randomUUID(), process: await processMark() };
  const take = () => writeWhole(path, JSON.stringify(own), "create");
  if (!(await take()) && !((await recoverOne(path, part, apply)) && (await take()))) {
    return undefined;
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => undefined); // commit() finds out.
  }, BEAT_MS);
  beat.unref();
  const release = async () => {
    clearInterval(beat);
    if (await isOwn()) {
      await rm(part, { force: true });
      await rm(path, { force: true });
    }
  };
  const isOwn = async () => (await readIntent(path))?.id === own.id;
  let committed = false;
  for (const other of await namesIn(folder)) {
    if (
      other !== name &&
      overlaps(other, unit) &&
      !(await recoverOne(join(folder, `${other}.json`), join(folder, `${other}.part`), apply))
    ) {
      await release();
      return undefined;
    }
  }
  return {
    part,
    async commit(change) {
      if (!(await isOwn())) {
        throw new SinkError(`${name} was taken over by another sync, as this one stood still for too long`, {
          code: Code.Aborted,
          advice: "Nothing is wrong: try the same again.",
        });
      }
      const { load, remove } = change;
      const json = { ...(load && { load: toJson(load) }), remove: remove.map(toJson) };
      await writeWhole(path, JSON.stringify({ ...own, change: json }), "replace");
      committed = true;
      await apply(change, part);
      committed = false;
    },
    async release() {
      // What was committed and could not be done for want of disk, say, is done by whoever finds the file.
      await (committed ? clearInterval(beat) : release());
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
  for (const name of await namesIn(folder)) {
    await recoverOne(join(folder, `${name}.json`), join(folder, `${name}.part`), apply);
  }
}

/** Return whether the unit is free now. */
async function recoverOne(path: string, part: string, apply: ApplyChange): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  const intent = await readIntent(path);
  if (found === undefined || intent === undefined) {
    return true; // It was given back meanwhile.
  }
  const stale = Date.now() - found.mtimeMs > STALE_MS;
  if (!stale && (intent.process === undefined || !(await hasEnded(intent.process)))) {
    return false;
  }
  if (intent.change !== undefined) {
    const { load, remove } = intent.change;
    await apply({ load: load && fromJson(load), remove: remove.map(fromJson) }, part);
  }
  await rm(part, { force: true });
  await rm(path, { force: true });
  return true;
}

async function readIntent(path: string) {
  try {
    return intentJson.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (reason) {
    if (failedWith(reason, "ENOENT")) {
      return undefined;
    }
    return await onPath(path, Promise.reject(reason));
  }
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await onPath(folder, readdir(folder));
  return names
    .filter((name) => !name.startsWith(".") && name.endsWith(".json"))
    .map((name) => name.slice(0, -".json".length));
}

function overlaps(name: string, { table, fromBlock, toBlock }: Unit): boolean {
  const [, of, from = "", to = ""] = /^([a-z_]+)\.(\d+)-(\d+)$/.exec(name) ?? [];
  return of === table && BigInt(from) <= toBlock && fromBlock <= BigInt(to);
}
