import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { makeFolder } from "../file/make-folder.js";
import { monotonicMs } from "../runtime/index.js";
import type { RecordedBlocks, RecordedSegment } from "./history/recorded.js";
import type { Journal } from "./journal.js";
import type { NetworkState } from "./local-network.js";

/**
 * Keeps how a network stood beside the blocks that led there, so that a restart need not make them again. The blocks are
 * the truth: what does not fit them, or is broken, counts as nothing.
 */
export interface Checkpoints {
  /** Read how the network stood last, and where the blocks go on from there; `undefined` where that is not known. */
  read(): { readonly state: NetworkState; readonly position: number } | undefined;
  /**
   * Note that a block was made and kept. Now and then this keeps how the network stands.
   *
   * @param milliseconds how long it took
   * @param save gives how the network stands
   */
  made(milliseconds: number, save: () => NetworkState): void;
  /** Keep how the network stands at the end, if there was a block since the last time. */
  finish(save: () => NetworkState): void;
  /** Forget what was kept of blocks behind a position. */
  truncate(position: number): void;
}

const FOLDER = "checkpoint";
const FILE = "state";
/** Behind it, the name of a segment's file has the hash of what is in it. */
const PREFIX = "segment-";
/** Raised with each change of {@link NetworkState} or of anything in it: what another version of the node kept is not read. */
const FORMAT = 6;
/** How long the blocks may have taken, in milliseconds, that a restart makes again. */
const MAX_REMADE_MS = 2000;
/** How much longer than keeping how the network stands the blocks in between take, at least. */
const SHARE = 4;

/** What the file holds: how the network stood, with the names of its segments' files in the place of the segments. */
interface Content {
  readonly key: string;
  readonly position: number;
  readonly mark: string | undefined;
  readonly state: NetworkState;
  readonly segments: readonly string[];
}

/**
 * Open the checkpoints in a journal's folder.
 *
 * @param folder the folder's path
 * @param facts what the network's state depends on besides its blocks: what was kept with other facts is not read
 * @param journal the blocks
 * @param limits how long the blocks may have taken that a restart makes again, in milliseconds; and how much longer than
 *   keeping how the network stands the blocks in between take
 * @returns the checkpoints
 */
export function openCheckpoints(
  folder: string,
  facts: unknown,
  journal: Journal,
  { maxRemadeMs = MAX_REMADE_MS, share = SHARE }: { readonly maxRemadeMs?: number; readonly share?: number } = {},
): Checkpoints {
  const path = join(folder, FOLDER);
  const key = hashOf(serialize([FORMAT, facts]));
  /** The position of the blocks that were kept, at most. */
  let kept = Number.POSITIVE_INFINITY;
  /** The files of segments that are whole, by the segment's identifier. */
  const files = new Map<string, string>();
  let sinceMs = 0;
  let dueMs = maxRemadeMs;
  let isCurrent = true;

  function fileOf(segment: RecordedSegment): string {
    const { id } = segment.segment;
    const known = files.get(id);
    if (known !== undefined) {
      return known;
    }
    const bytes = serialize(segment);
    const name = `${PREFIX}${hashOf(bytes)}`;
    writeWhole(join(path, name), [bytes]);
    files.set(id, name);
    return name;
  }

  function readSegment(name: string): RecordedSegment {
    const segment: RecordedSegment = deserialize(
      requireHash(readFileSync(join(path, name)), name.slice(PREFIX.length)),
    );
    files.set(segment.segment.id, name);
    return segment;
  }

  function write(state: NetworkState): void {
    journal.requireOpen();
    const began = monotonicMs();
    const { history } = state;
    const position = journal.position();
    makeFolder(path);
    const segments = history.closed.map(fileOf);
    const content: Content = {
      ...{ key, position, mark: journal.mark(position), segments },
      state: { ...state, history: { ...history, closed: [] } },
    };
    const bytes = serialize(content);
    writeWhole(join(path, FILE), [Buffer.from(`${hashOf(bytes)}\n`), bytes]);
    kept = position;
    // Segments that made room for later ones, or were taken back.
    const named = new Set([FILE, ...segments]);
    for (const name of readdirSync(path).filter((each) => !named.has(each))) {
      rmSync(join(path, name), { force: true });
    }
    for (const [id, name] of files) {
      if (!named.has(name)) {
        files.delete(id);
      }
    }
    isCurrent = true;
    sinceMs = 0;
    dueMs = Math.max(maxRemadeMs, share * (monotonicMs() - began));
  }

  function tryToWrite(save: () => NetworkState): void {
    try {
      write(save());
    } catch (reason) {
      sinceMs = 0; // It is not tried with each block.
      process.emitWarning(`the local node's next start takes longer: ${path} cannot be written: ${String(reason)}`);
    }
  }

  return {
    read() {
      try {
        const { segments, position, mark, state, ...content } = readContent(join(path, FILE));
        if (content.key !== key || mark === undefined || mark !== journal.mark(position)) {
          return undefined;
        }
        const history = { ...state.history, closed: segments.map(readSegment), open: copyOf(state.history.open) };
        kept = position;
        isCurrent = true;
        return { position, state: { ...state, history } };
      } catch {
        return undefined; // Whatever the reason is, the blocks say the same.
      }
    },

    made(milliseconds, save) {
      isCurrent = false;
      sinceMs += milliseconds;
      if (sinceMs >= dueMs) {
        tryToWrite(save);
      }
    },

    finish(save) {
      if (!isCurrent) {
        tryToWrite(save);
      }
    },

    truncate(position) {
      journal.requireOpen();
      isCurrent = false;
      if (position < kept) {
        rmSync(join(path, FILE), { force: true });
        kept = Number.POSITIVE_INFINITY;
        sinceMs = dueMs; // The blocks before it are kept with the next one.
      }
    },
  };
}

/** The bytes of rows are parts of the file as it was read: as copies they do not keep all of it in memory. */
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
    throw new Error("the file is broken");
  }
  return bytes;
}

/** Write a file, which takes its name when it is whole. */
function writeWhole(path: string, parts: readonly Uint8Array[]): void {
  const temporary = `${path}.part`;
  rmSync(temporary, { force: true }); // Of a process that was killed.
  for (const part of parts) {
    writeFileSync(temporary, part, { flag: "a", mode: 0o600 });
  }
  renameSync(temporary, path);
}

function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
