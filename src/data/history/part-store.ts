import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rm, rmdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import * as v from "valibot";
import type { HistorySegment } from "../../../gen/client/datanode/api/v2/trading_data_pb.js";
import { Code } from "../../base/errors/code.js";
import { quoted } from "../../base/errors/error-text.js";
import { CanceledError, ProtocolError, RequestError } from "../../base/errors/index.js";
import { fileError, hasErrorCode, quotedPath, READ_ADVICE } from "../../base/errors/node-errors.js";
import { createFolder, type SavedFile, saveUnverified } from "../../base/file/atomic-file.js";
import { type Lock, STALE_MS, sweepLocks, takeLock } from "../../base/file/lock-file.js";
import { sweepTemporary, temporaryName } from "../../base/file/temporary-files.js";
import { jsonObject, wholeNumber } from "../../base/input/schemas.js";
import type { ExportedRange } from "../archive/export-names.js";
import type { ExpectedFile } from "./expected-file.js";
import { rangeError } from "./export-request.js";
import { checkHistory, type Segment, segmentText } from "./segment-chain.js";
import { findRange } from "./segments.js";

/** Stores the parts of an export until they are joined. Disposing of it ends its use. */
export interface PartStore extends AsyncDisposable {
  /**
   * Starts an export.
   *
   * @throws {@link RequestError} if the store contains parts of another export
   */
  begin(plan: PartPlan): Promise<void>;
  /** Returns whether an earlier run has fetched a part. */
  has(part: RangePart, signal: AbortSignal): Promise<boolean>;
  /** Returns the path of a part's archive. */
  pathOf(part: RangePart): string;
  /** Records a part that was fetched and verified. */
  add(part: RangePart, saved: SavedFile): Promise<void>;
  /** Records that parts cannot be joined, so that they are fetched again. */
  reject(parts: readonly RangePart[]): Promise<void>;
  /** Records that a part was joined. */
  joined(part: RangePart): Promise<void>;
  /** Records that the complete archive is written and about to get its name. */
  archiveWritten(saved: SavedFile): Promise<void>;
  /** Finds the complete archive if an earlier run ended after the archive got its name. */
  findArchive(target: string, signal: AbortSignal): Promise<SavedFile | undefined>;
  /** Removes the parts, since the archive is complete. */
  finish(): Promise<void>;
}

/**
 * Creates a store in a temporary folder. A part is removed once it is joined, and the folder with the rest when the store
 * is disposed of. The folder of a killed process is removed as `saveAtomically` describes.
 *
 * @throws {@link FileError} if the folder cannot be created
 */
export async function temporaryPartStore(parent: string): Promise<PartStore> {
  await sweepTemporary(parent);
  const folder = join(parent, await temporaryName());
  await mkdir(folder).catch((reason: unknown) => {
    throw fileError(reason, parent);
  });
  const pathOf = (part: RangePart) => join(folder, partName(part));
  const nothing = async () => undefined;
  return {
    begin: nothing,
    has: async () => false,
    pathOf,
    add: nothing,
    reject: nothing,
    joined: (part) => rm(pathOf(part), { force: true }).catch(nothing), // It is removed with the folder at the latest.
    archiveWritten: nothing,
    findArchive: nothing,
    finish: nothing,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }).catch(nothing),
  };
}

/**
 * Opens a store in a folder that keeps the parts of an export until it is complete. One process uses it at a time.
 *
 * @throws {@link RequestError} if another export uses the folder, it contains parts of another export, or the target has the
 *   name of a part
 * @throws {@link FileError} if the folder cannot be read or written
 */
export async function resumablePartStore(path: string, requested: ExportedRange, target: string): Promise<PartStore> {
  const folder = resolve(path);
  if (dirname(resolve(target)) === folder && RESERVED_NAME.test(basename(target))) {
    throw new RequestError(`${quotedPath(target)} is reserved for a temporary file of the export`, {
      advice: "Use another name for the archive.",
    });
  }
  createFolder(folder);
  const lock = await lockFolder(folder);
  try {
    const manifest = await openManifest(join(folder, MANIFEST));
    requireSameExport(folder, manifest.content(), requested);
    return storeOf(folder, lock, manifest, requested);
  } catch (reason) {
    await lock[Symbol.asyncDispose]();
    throw reason;
  }
}

async function lockFolder(folder: string): Promise<Lock> {
  const path = join(folder, "tradewire.lock");
  await sweepLocks(folder);
  const lock = await takeLock(path).catch((reason: unknown) => {
    throw fileError(reason, path);
  });
  if (!lock.held) {
    throw new RequestError(`${quotedPath(folder)} is in use by another export`, {
      advice: `Wait until it has ended, or use another folder. If it was killed on another machine or in another container, the folder becomes free within ${STALE_MS / 1000} seconds.`,
    });
  }
  return lock;
}

function storeOf(folder: string, lock: Lock, manifest: ManifestFile, requested: ExportedRange): PartStore {
  /** The parts of earlier runs. */
  const stored = new Map<string, PartEntry>();
  const pathOf = (part: Pick<RangePart, "fromBlock" | "toBlock">) => join(folder, partName(part));
  return {
    async begin(plan) {
      const content = manifest.content();
      for (const entry of content?.parts ?? []) {
        stored.set(partName(blocksOf(entry)), entry);
      }
      requireSameSegments(folder, content, plan);
      const { table, fromBlock, toBlock } = requested;
      const range = { table, fromBlock: String(fromBlock), toBlock: String(toBlock) };
      manifest.initialize({ version: 1, chainId: plan.chainId, ...range, parts: [] });
    },
    async has(part, signal) {
      const entry = stored.get(partName(part));
      return entry !== undefined && (await hasContent({ ...entry, path: pathOf(part) }, signal));
    },
    pathOf,
    add: ({ fromBlock, toBlock, segmentId, previousSegmentId }, { bytes, sha256 }) =>
      manifest.change((before) => {
        const blocks = { fromBlock: String(fromBlock), toBlock: String(toBlock) };
        const others = before.parts.filter((entry) => entry.fromBlock !== blocks.fromBlock);
        return { ...before, parts: [...others, { ...blocks, segmentId, previousSegmentId, bytes, sha256 }] };
      }),
    async reject(parts) {
      const names = new Set(parts.map(partName));
      for (const name of names) {
        stored.delete(name);
      }
      await manifest.change((before) => ({
        ...before,
        parts: before.parts.filter((entry) => !names.has(partName(blocksOf(entry)))),
      }));
    },
    joined: async () => undefined,
    archiveWritten: ({ path, bytes, sha256 }) =>
      manifest.change((before) => ({ ...before, saved: { path, bytes, sha256 } })),
    async findArchive(target, signal) {
      const saved = manifest.content()?.saved;
      const isTarget = saved !== undefined && [saved.path, dirname(saved.path)].includes(resolve(target));
      return isTarget && (await hasContent(saved, signal)) ? saved : undefined;
    },
    finish: () => manifest.remove((manifest.content()?.parts ?? []).map((part) => pathOf(blocksOf(part)))),
    async [Symbol.asyncDispose]() {
      await manifest.settled();
      await lock[Symbol.asyncDispose]();
      if (manifest.content() === undefined) {
        await rmdir(folder).catch(() => undefined); // It may contain other files.
      }
    },
  };
}

const MANIFEST = "tradewire-parts.json";
/** The names of the files in the folder. */
const RESERVED_NAME = /^tradewire-part-\d+-\d+\.zip$|^tradewire-parts\.json$|^tradewire\.lock$/;

function partName({ fromBlock, toBlock }: Pick<RangePart, "fromBlock" | "toBlock">): string {
  return `tradewire-part-${fromBlock}-${toBlock}.zip`;
}

function blocksOf({ fromBlock, toBlock }: Pick<PartEntry, "fromBlock" | "toBlock">) {
  return { fromBlock: BigInt(fromBlock), toBlock: BigInt(toBlock) };
}

function requireSameExport(folder: string, manifest: PartManifest | undefined, requested: ExportedRange): void {
  if (manifest === undefined) {
    return;
  }
  const { fromBlock, toBlock } = blocksOf(manifest);
  if (manifest.table !== requested.table || fromBlock !== requested.fromBlock || toBlock !== requested.toBlock) {
    throw otherExport(
      folder,
      `${quoted(manifest.table)}, blocks ${fromBlock} to ${toBlock}`,
      `${requested.table}, blocks ${requested.fromBlock} to ${requested.toBlock}, was requested`,
    );
  }
}

/** Parts of two divergent histories must not be joined. */
function requireSameSegments(folder: string, manifest: PartManifest | undefined, plan: PartPlan): void {
  if (manifest !== undefined && manifest.chainId !== plan.chainId) {
    throw otherExport(folder, `the chain ${quoted(manifest.chainId)}`, `the node is on chain ${quoted(plan.chainId)}`);
  }
  const planned = new Map(plan.parts.map((part) => [partName(part), part]));
  for (const entry of manifest?.parts ?? []) {
    const { fromBlock, toBlock } = blocksOf(entry);
    const part = planned.get(partName({ fromBlock, toBlock }));
    if (part?.segmentId !== entry.segmentId || part.previousSegmentId !== entry.previousSegmentId) {
      throw otherExport(
        folder,
        `blocks ${fromBlock} to ${toBlock} up to the segment ${quoted(entry.segmentId)} after ${quoted(entry.previousSegmentId)}`,
        part === undefined
          ? "the node has no segments with these boundaries"
          : `the node has ${quoted(part.segmentId)} after ${quoted(part.previousSegmentId)}`,
      );
    }
  }
}

function otherExport(folder: string, stored: string, requested: string): RequestError {
  return new RequestError(`${quotedPath(folder)} contains parts of ${stored}, but ${requested}`, {
    advice: "Nothing was changed. Export the range of the folder, use another folder, or delete this one.",
  });
}

async function hasContent({ path, bytes, sha256 }: SavedFile, signal: AbortSignal): Promise<boolean> {
  try {
    if ((await stat(path)).size !== bytes) {
      return false;
    }
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(path, { signal, highWaterMark: 1024 * 1024 })) {
      hash.update(chunk);
    }
    return hash.digest("hex") === sha256;
  } catch {
    if (signal.aborted) {
      throw new CanceledError({ cause: signal.reason });
    }
    return false; // A file that cannot be read is fetched again.
  }
}

/** Maximum size of a manifest: that of a thousand parts is smaller. */
const MAX_MANIFEST_BYTES = 1024 * 1024;

const blockJson = v.pipe(v.string(), v.regex(/^\d{1,19}$/));
const sha256Json = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

const manifestJson = jsonObject({
  /** Version of the manifest's format and of the way in which ranges are split. */
  version: v.literal(1),
  chainId: v.string(),
  table: v.string(),
  fromBlock: blockJson,
  toBlock: blockJson,
  parts: v.array(
    jsonObject({
      fromBlock: blockJson,
      toBlock: blockJson,
      segmentId: v.string(),
      previousSegmentId: v.string(),
      bytes: wholeNumber,
      sha256: sha256Json,
    }),
  ),
  /** The complete archive, once it was about to get its name. */
  saved: v.optional(jsonObject({ path: v.string(), bytes: wholeNumber, sha256: sha256Json })),
});

/** The parts in a folder. An entry counts only if the part's bytes have its checksum. */
type PartManifest = v.InferOutput<typeof manifestJson>;
type PartEntry = PartManifest["parts"][number];

interface ManifestFile {
  /** Returns the current content; `undefined` if there is none. */
  content(): PartManifest | undefined;
  /** Sets the content if there is none. It is written with the next change. */
  initialize(content: PartManifest): void;
  /** Changes the content and writes the file, one change after the other. */
  change(update: (before: PartManifest) => PartManifest): Promise<void>;
  /** Removes the file and others; the content is `undefined` afterwards. */
  remove(others: readonly string[]): Promise<void>;
  /** Resolves once all changes are written, or have failed. */
  settled(): Promise<unknown>;
}

async function openManifest(path: string): Promise<ManifestFile> {
  let content = await readManifest(path);
  let writing: Promise<unknown> = Promise.resolve();
  return {
    content: () => content,
    initialize(initial) {
      content ??= initial;
    },
    change(update) {
      const changed = writing.then(async () => {
        if (content !== undefined) {
          content = update(content);
          await writeManifest(path, content);
        }
      });
      writing = changed.catch(() => undefined);
      return changed;
    },
    async remove(others) {
      for (const each of [...others, path]) {
        await rm(each, { force: true }).catch(() => undefined); // The archive is complete, so a failure does no harm.
      }
      content = undefined;
    },
    settled: () => writing,
  };
}

async function readManifest(path: string): Promise<PartManifest | undefined> {
  const text = await readLimited(path);
  try {
    return text === undefined ? undefined : v.parse(manifestJson, JSON.parse(text));
  } catch (cause) {
    throw new RequestError(`${quotedPath(path)} does not identify the export of the parts next to it`, {
      advice: "Use another folder, or delete this file: all parts are then fetched again.",
      cause,
    });
  }
}

async function readLimited(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path);
    const { size: length } = await file.stat();
    return length > MAX_MANIFEST_BYTES ? "" : await file.readFile("utf8");
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT")) {
      return undefined;
    }
    throw fileError(reason, path, READ_ADVICE);
  }
}

async function writeManifest(path: string, manifest: PartManifest): Promise<void> {
  const bytes = [Buffer.from(`${JSON.stringify(manifest, undefined, 1)}\n`)];
  async function* content() {
    yield* bytes;
  }
  await saveUnverified(content(), { target: path, fileName: () => dirname(path), force: true });
}

/**
 * Maximum number of parts of a range, except those that schema changes add. Each part costs a call, and a part that fails
 * repeats only 1/500 of a long range.
 */
const MAX_PARTS = 500;

/** A part of a range: adjacent segments of one schema version, which one call exports. */
export interface RangePart extends ExpectedFile {
  /** Identifier of its last segment. */
  readonly segmentId: string;
  /** Identifier of the segment before its first one; empty for the first of a chain. */
  readonly previousSegmentId: string;
}

/** How a range is split. */
export interface PartPlan {
  readonly chainId: string;
  /** The segments of the range, which form a chain. */
  readonly segments: readonly Segment[];
  /** At least one, in block order. They do not depend on how many are fetched in parallel. */
  readonly parts: readonly RangePart[];
}

/**
 * Splits a range at segment boundaries: into one part for each segment, or for several segments if the range has more than
 * 500. A part also ends where the schema version changes.
 *
 * @throws {@link RequestError} if the segments do not form the range
 * @throws {@link ProtocolError} if those of the range do not form a chain of one network; the error names both segments
 */
export function planParts(listed: readonly HistorySegment[], asked: ExportedRange): PartPlan {
  const found = findRange(listed, asked, { snap: false });
  if (!found.valid) {
    throw rangeError(found, listed, asked);
  }
  const { chainId, segments } = checkHistory(found.segments);
  const maxSize = Math.ceil(segments.length / MAX_PARTS);
  const groups: Segment[][] = [];
  for (const segment of segments) {
    const group = groups.at(-1);
    if (group !== undefined && group.length < maxSize && group[0]?.schemaVersion === segment.schemaVersion) {
      group.push(segment);
    } else {
      groups.push([segment]);
    }
  }
  if (groups.length > 2 * MAX_PARTS) {
    throw new ProtocolError(`the schema versions of the node's segments split the export into ${groups.length} files`, {
      code: Code.ResourceExhausted,
      advice: "The schema does not change that often. Use another node, and report this to the operator of the node.",
    });
  }
  const parts = groups.flatMap((group) => {
    const [first, last] = [group[0], group.at(-1)];
    return first && last ? [partOf(first, last, chainId, asked)] : [];
  });
  return { chainId, segments, parts };
}

function partOf(first: Segment, last: Segment, chainId: string, { table }: ExportedRange): RangePart {
  return {
    chainId,
    table,
    schemaVersion: first.schemaVersion,
    fromBlock: first.fromBlock,
    toBlock: last.toBlock,
    segmentId: last.id,
    previousSegmentId: first.previousId,
  };
}

/**
 * Checks that a node still has the history that it had when the range was split. It may have dropped its oldest segments.
 *
 * @throws {@link ProtocolError} if it has other segments; the error names both
 */
export function requireUnchanged({ segments }: PartPlan, listed: readonly HistorySegment[]): void {
  const oldest = listed[0]?.fromHeight;
  const byEnd = new Map(listed.map((segment) => [segment.toHeight, segment]));
  for (const segment of segments) {
    const now = byEnd.get(segment.toBlock);
    const isDropped = now === undefined && oldest !== undefined && segment.toBlock < oldest;
    if (!isDropped && (now?.historySegmentId !== segment.id || now.fromHeight !== segment.fromBlock)) {
      const found = now && segmentText({ fromBlock: now.fromHeight, toBlock: now.toHeight, id: now.historySegmentId });
      throw new ProtocolError(
        `the node's history has changed: it listed ${segmentText(segment)}, and now ${found ?? "has none there"}`,
        {
          code: Code.FailedPrecondition,
          advice: "Nothing was saved, because the parts may belong to two histories. Export again.",
        },
      );
    }
  }
}
