import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { ExportedRange } from "../../archive/names.js";
import { fileError, quotedPath } from "../../errors/file-error.js";
import { CanceledError, RequestError } from "../../errors/index.js";
import { quoted } from "../../errors/quoted.js";
import { STALE_MS, sweepLocks, takeLock } from "../../file/lock.js";
import { makeFolder } from "../../file/make-folder.js";
import type { SavedFile } from "../../file/save-whole.js";
import { type PartFolder, partName } from "./part-folder.js";
import { type PartEntry, type PartManifest, readManifest, writeManifest } from "./part-manifest.js";
import type { PartPlan, RangePart } from "./part-plan.js";

const MANIFEST = "tradewire-parts.json";
/** The names of what is kept in the folder. */
const OWN_NAME = /^tradewire-part-\d+-\d+\.zip$|^tradewire-parts\.json$|^tradewire\.lock$/;

/**
 * Open a folder that keeps the parts of an export until it is complete. One process has it at a time.
 *
 * @param path of the folder, which is made where it does not exist
 * @param asked the table and the range that are exported
 * @param target the folder or file that the archive is written to
 * @returns the folder; disposing of it lets others open it
 * @throws {@link RequestError} where another export has the folder, it holds parts of another one, or the target has the
 *   name of a part
 * @throws {@link FileError} where it cannot be read or written
 */
export async function keptParts(path: string, asked: ExportedRange, target: string): Promise<PartFolder> {
  const folder = resolve(path);
  if (dirname(resolve(target)) === folder && OWN_NAME.test(basename(target))) {
    throw new RequestError(`${quotedPath(target)} is the name of what is kept there until the export is complete`, {
      advice: "Give the archive another name.",
    });
  }
  makeFolder(folder);
  const lockPath = join(folder, "tradewire.lock");
  await sweepLocks(folder).catch(() => undefined); // What cannot be read is said below.
  const lock = await takeLock(lockPath).catch((reason: unknown) => {
    throw fileError(reason, lockPath);
  });
  if (!lock.held) {
    throw new RequestError(`${quotedPath(folder)} is in use by another export`, {
      advice: `Wait until it has ended, or give another folder. If it was killed on another machine or in another container, the folder is free within ${STALE_MS / 1000} seconds.`,
    });
  }
  const manifestPath = join(folder, MANIFEST);
  const pathOf = (part: Pick<RangePart, "fromBlock" | "toBlock">) => join(folder, partName(part));
  let manifest: PartManifest | undefined;
  let writing: Promise<unknown> = Promise.resolve();

  /** Change the manifest, one change after the other. */
  function change(make: (before: PartManifest) => PartManifest): Promise<void> {
    const changed = writing.then(async () => {
      if (manifest !== undefined) {
        manifest = make(manifest);
        await writeManifest(manifestPath, manifest);
      }
    });
    writing = changed.catch(() => undefined);
    return changed;
  }

  const entries = new Map<string, PartEntry>();
  try {
    manifest = await readManifest(manifestPath);
    requireSameExport(folder, manifest, asked);
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
  return {
    async begin(plan) {
      for (const entry of manifest?.parts ?? []) {
        entries.set(partName(readBlocks(entry)), entry);
      }
      requireSameSegments(folder, manifest, plan);
      const { table, fromBlock, toBlock } = asked;
      manifest ??= {
        version: 1,
        chainId: plan.chainId,
        table,
        fromBlock: String(fromBlock),
        toBlock: String(toBlock),
        parts: [],
      };
    },
    async has(part, signal) {
      const entry = entries.get(partName(part));
      return entry !== undefined && (await isOfBytes({ ...entry, path: pathOf(part) }, signal));
    },
    pathOf,
    add: ({ fromBlock, toBlock, segmentId, previousSegmentId }, { bytes, sha256 }) =>
      change((before) => {
        const blocks = { fromBlock: String(fromBlock), toBlock: String(toBlock) };
        const others = before.parts.filter((entry) => entry.fromBlock !== blocks.fromBlock);
        return { ...before, parts: [...others, { ...blocks, segmentId, previousSegmentId, bytes, sha256 }] };
      }),
    async reject(parts) {
      const names = new Set(parts.map(partName));
      for (const name of names) {
        entries.delete(name);
      }
      await change((before) => ({
        ...before,
        parts: before.parts.filter((entry) => !names.has(partName(readBlocks(entry)))),
      }));
    },
    joined: async () => undefined,
    written: ({ path: saved, bytes, sha256 }) =>
      change((before) => ({ ...before, saved: { path: saved, bytes, sha256 } })),
    async whole(target, signal) {
      const saved = manifest?.saved;
      const isThere = saved !== undefined && [saved.path, dirname(saved.path)].includes(resolve(target));
      return isThere && (await isOfBytes(saved, signal)) ? saved : undefined;
    },
    async finish() {
      const paths = (manifest?.parts ?? []).map((part) => pathOf(readBlocks(part)));
      for (const each of [...paths, manifestPath]) {
        await rm(each, { force: true }).catch(() => undefined); // The archive is whole; that is what counts.
      }
      manifest = undefined;
    },
    async [Symbol.asyncDispose]() {
      await writing;
      await lock[Symbol.asyncDispose]();
      if (manifest === undefined) {
        await rmdir(folder).catch(() => undefined); // There may be more in it.
      }
    },
  };
}

function readBlocks({ fromBlock, toBlock }: Pick<PartEntry, "fromBlock" | "toBlock">) {
  return { fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock) };
}

function requireSameExport(folder: string, manifest: PartManifest | undefined, asked: ExportedRange): void {
  if (manifest === undefined) {
    return;
  }
  const { fromBlock, toBlock } = readBlocks(manifest);
  if (manifest.table !== asked.table || fromBlock !== asked.fromBlock || toBlock !== asked.toBlock) {
    throw ofAnother(
      folder,
      `${quoted(manifest.table)}, blocks ${fromBlock} to ${toBlock}`,
      `${asked.table}, blocks ${asked.fromBlock} to ${asked.toBlock}, are exported`,
    );
  }
}

/** Parts of two histories do not go together. */
function requireSameSegments(folder: string, manifest: PartManifest | undefined, plan: PartPlan): void {
  if (manifest !== undefined && manifest.chainId !== plan.chainId) {
    throw ofAnother(folder, `the chain ${quoted(manifest.chainId)}`, `the node is of ${quoted(plan.chainId)}`);
  }
  const planned = new Map(plan.parts.map((part) => [partName(part), part]));
  for (const entry of manifest?.parts ?? []) {
    const { fromBlock, toBlock } = readBlocks(entry);
    const part = planned.get(partName({ fromBlock, toBlock }));
    if (part?.segmentId !== entry.segmentId || part.previousSegmentId !== entry.previousSegmentId) {
      throw ofAnother(
        folder,
        `blocks ${fromBlock} to ${toBlock} up to the segment ${quoted(entry.segmentId)} behind ${quoted(entry.previousSegmentId)}`,
        part === undefined
          ? "the node has no segments that begin and end there"
          : `the node has ${quoted(part.segmentId)} behind ${quoted(part.previousSegmentId)}`,
      );
    }
  }
}

function ofAnother(folder: string, held: string, asked: string): RequestError {
  return new RequestError(`${quotedPath(folder)} holds parts of ${held}, but ${asked}`, {
    advice: "Nothing was changed. Export what the folder is of, give another folder, or remove this one.",
  });
}

/** Whether a file is there, with the size and the checksum that it is to have. */
async function isOfBytes({ path, bytes, sha256 }: SavedFile, signal: AbortSignal): Promise<boolean> {
  try {
    if ((await stat(path)).size !== bytes) {
      return false;
    }
    const hash = createHash("sha256");
    for await (const piece of createReadStream(path, { signal, highWaterMark: 1024 * 1024 })) {
      hash.update(piece);
    }
    return hash.digest("hex") === sha256;
  } catch {
    if (signal.aborted) {
      throw new CanceledError({ cause: signal.reason });
    }
    return false; // What cannot be read is fetched again.
  }
}
