import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { createFolder, replaceFileSync } from "../base/file/atomic-file.js";
import { monotonicMs } from "../base/runtime/index.js";
import type { RecordedBlocks, RecordedSegment } from "./history/recorded-segments.js";
import type { Journal } from "./journal.js";
import type { NetworkState } from "./local-network.js";

/**
 * Stores the state of a network next to its journal, so that a restart need not replay all blocks. The journal is
 * authoritative: a checkpoint that does not match it, or is damaged, is ignored.
 */
export interface Checkpoints {
  /** Reads the last checkpoint and its position in the journal; `undefined` if there is no valid one. */
  read(): { readonly state: NetworkState; readonly position: number } | undefined;
  /**
   * Records that a block was executed and stored. Writes a checkpoint if the blocks since the last one took long
   * enough.
   */
  blockAdded(milliseconds: number, save: () => NetworkState): void;
  /** Writes a checkpoint when the node closes, if there was a block since the last one. */
  finish(save: () => NetworkState): void;
  /** Deletes the checkpoint if it is after a position of the journal. */
  truncate(position: number): void;
}

const FOLDER = "checkpoint";
const FILE = "state";
/** The prefix of the files of segments. The hash of the content follows. */
const PREFIX = "segment-";
/** Incremented with each change of {@link NetworkState} or its parts: checkpoints of other formats are ignored. */
const FORMAT = 9;
/** The maximum execution time of the blocks that a restart replays, in milliseconds. */
const MAX_REPLAY_MS = 2000;
/** The minimum execution time of the blocks between two checkpoints, as a multiple of the time to write one. */
const MIN_WORK_RATIO = 4;

/** The content of a checkpoint file. The completed segments are in separate files, named in `segments`. */
interface Content {
  readonly key: string;
  readonly position: number;
  readonly fingerprint: string | undefined;
  readonly state: NetworkState;
  readonly segments: readonly string[];
}

/** The blocks that were executed or dropped since the last checkpoint. */
interface Unsaved {
  /** The execution time of the blocks since the last checkpoint, or since the last attempt to write one, in milliseconds. */
  readonly ms: number;
}

export function openCheckpoints(
  folder: string,
  settings: unknown,
  journal: Journal,
  {
    maxReplayMs = MAX_REPLAY_MS,
    minWorkRatio = MIN_WORK_RATIO,
  }: { readonly maxReplayMs?: number; readonly minWorkRatio?: number } = {},
): Checkpoints {
  const path = join(folder, FOLDER);
  const key = hashOf(serialize([FORMAT, settings]));
  const segmentFiles = createSegmentFiles(path);
  /** The journal position of the stored checkpoint; infinite if none is known. */
  let storedPosition = Number.POSITIVE_INFINITY;
  /** `undefined` if the last checkpoint is up to date. */
  let unsaved: Unsaved | undefined;
  let dueMs = maxReplayMs;

  function write(state: NetworkState): void {
    journal.requireOpen();
    const startMs = monotonicMs();
    const { history } = state;
    const position = journal.position();
    createFolder(path);
    const segments = history.completed.map(segmentFiles.store);
    const content: Content = {
      ...{ key, position, fingerprint: journal.fingerprint(position), segments },
      state: { ...state, history: { ...history, completed: [] } },
    };
    const bytes = serialize(content);
    replaceFileSync(join(path, FILE), [Buffer.from(`${hashOf(bytes)}\n`), bytes]);
    storedPosition = position;
    segmentFiles.deleteOthers(segments);
    unsaved = undefined;
    dueMs = Math.max(maxReplayMs, minWorkRatio * (monotonicMs() - startMs));
  }

  function writeOrWarn(save: () => NetworkState): void {
    try {
      write(save());
    } catch (reason) {
      unsaved = { ms: 0 }; // Does not retry with each block.
      process.emitWarning(
        `the next start of the local node will take longer, because ${path} cannot be written: ${String(reason)}`,
      );
    }
  }

  return {
    read() {
      try {
        const { segments, position, fingerprint, state, ...content } = readContent(join(path, FILE));
        if (content.key !== key || fingerprint === undefined || fingerprint !== journal.fingerprint(position)) {
          return undefined;
        }
        const completed = segments.map(segmentFiles.read);
        const history = { ...state.history, completed, open: copyOf(state.history.open) };
        storedPosition = position;
        unsaved = undefined;
        return { position, state: { ...state, history } };
      } catch {
        return undefined; // Regardless of the reason, the journal can be replayed.
      }
    },

    blockAdded(milliseconds, save) {
      unsaved = { ms: (unsaved?.ms ?? 0) + milliseconds };
      if (unsaved.ms >= dueMs) {
        writeOrWarn(save);
      }
    },

    finish(save) {
      if (unsaved !== undefined) {
        writeOrWarn(save);
      }
    },

    truncate(position) {
      journal.requireOpen();
      unsaved ??= { ms: 0 };
      if (position < storedPosition) {
        rmSync(join(path, FILE), { force: true });
        storedPosition = Number.POSITIVE_INFINITY;
        unsaved = { ms: dueMs }; // The next block writes a new checkpoint.
      }
    },
  };
}

/** The files of completed segments. Each is written once. */
interface SegmentFiles {
  /** Writes a segment's file unless it exists; returns its name. */
  store(segment: RecordedSegment): string;
  read(name: string): RecordedSegment;
  /** Deletes the files of segments that were dropped or reverted: all but these. */
  deleteOthers(names: readonly string[]): void;
}

function createSegmentFiles(path: string): SegmentFiles {
  /** The names of the files by the segments' identifiers. */
  const files = new Map<string, string>();
  return {
    store(segment) {
      const { id } = segment.segment;
      const known = files.get(id);
      if (known !== undefined) {
        return known;
      }
      const bytes = serialize(segment);
      const name = `${PREFIX}${hashOf(bytes)}`;
      replaceFileSync(join(path, name), [bytes]);
      files.set(id, name);
      return name;
    },

    read(name) {
      const segment: RecordedSegment = deserialize(
        requireHash(readFileSync(join(path, name)), name.slice(PREFIX.length)),
      );
      files.set(segment.segment.id, name);
      return segment;
    },

    deleteOthers(names) {
      const kept = new Set([FILE, ...names]);
      for (const name of readdirSync(path).filter((each) => !kept.has(each))) {
        rmSync(join(path, name), { force: true });
      }
      for (const [id, name] of files) {
        if (!kept.has(name)) {
          files.delete(id);
        }
      }
    },
  };
}

/** Copies the bytes of rows, which are views of the entire file and would keep it in memory. */
function copyOf({ fromHeight, rows }: RecordedBlocks): RecordedBlocks {
  return {
    fromHeight,
    rows: new Map(
      [...rows].map(([table, stored]) => [
        table,
        { ...stored, chunks: stored.chunks.map((chunk) => Buffer.from(chunk)) },
      ]),
    ),
  };
}

function readContent(path: string): Content {
  const bytes = readFileSync(path);
  const end = bytes.indexOf("\n");
  return deserialize(requireHash(bytes.subarray(end + 1), bytes.toString("latin1", 0, end)));
}

function requireHash(bytes: Buffer, hash: string): Buffer {
  if (hashOf(bytes) !== hash) {
    throw new Error("the file is corrupt");
  }
  return bytes;
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
