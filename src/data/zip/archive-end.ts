import { ProtocolError } from "../../base/errors/index.js";
import {
  END_RECORD,
  END_RECORD_SIZE,
  signatureBytes,
  truncated,
  ZIP64_END_RECORD,
  ZIP64_END_RECORD_SIZE,
  ZIP64_LOCATOR,
  ZIP64_LOCATOR_SIZE,
} from "./zip-format.js";

const SIGNATURE = signatureBytes(END_RECORD);

/** Number of trailing bytes that are retained: ZIP64's records fit into them. */
const LOOK_BACK = 16 * 1024;
/** Size of the window that retains them: with small chunks they are moved only once in a while. */
const WINDOW_SIZE = 4 * LOOK_BACK;
/** Maximum number of bytes that are read after an archive, which is known to be invalid by then. */
const MAX_TRAILING = 1024 * 1024;
/** The longest line end that a gateway may add after the end record. */
const LINE_END_SIZE = 2;

/**
 * Watches a stream for the end of the ZIP archive that it carries.
 *
 * ZIP readers search for the end record from the end of the file and accept the first one that they find, whatever
 * follows it. Here the record is found as it passes: its central directory must end exactly where the record begins.
 */
export interface ArchiveEnd {
  /**
   * Adds the next bytes of the stream.
   *
   * @throws {@link ProtocolError} if more than 1 MiB follows the archive
   */
  push(bytes: Uint8Array): Uint8Array;
  /** Number of bytes that followed the archive. */
  readonly trailingSize: number;
  trailing(): Uint8Array;
  /**
   * Signals the end of the stream.
   *
   * @throws {@link ProtocolError} if the archive is truncated
   */
  finish(): void;
}

/** Whether the archive's end has been found, and what is known in either case. */
type EndState =
  | {
      readonly kind: "searching";
      /** The last end record not at its own position: that of an archive inside, or of one to which bytes were added. */
      readonly misplaced: EndRecord | undefined;
    }
  | {
      readonly kind: "found";
      /** Position at which the archive ends. */
      readonly end: number;
    };

export function createArchiveEnd(): ArchiveEnd {
  /** Position of the next byte in the stream. */
  let position = 0;
  let state: EndState = { kind: "searching", misplaced: undefined };
  const recent = createRecentBytes();
  const trailingChunks: Uint8Array[] = [];
  let trailingSize = 0;

  function search(view: Buffer, viewStart: number, from: number): void {
    const zip64RecordBefore = lastBefore(view, signatureBytes(ZIP64_END_RECORD));
    for (let at = view.indexOf(SIGNATURE, Math.max(from, 0)); at !== -1; at = view.indexOf(SIGNATURE, at + 1)) {
      if (at + END_RECORD_SIZE > view.length) {
        return;
      }
      const record = readEndRecord(view, at, viewStart, zip64RecordBefore);
      if (record.expectedStart === record.start) {
        state = { kind: "found", end: record.end };
        return;
      }
      state = { kind: "searching", misplaced: record };
    }
  }

  /** Searches the next chunk, which begins at `start`, for the end record. */
  function searchChunk(chunk: Buffer, start: number): EndState {
    // A record may begin before this chunk, or depend on bytes before it, so both are searched together.
    const first = chunk.subarray(0, LOOK_BACK);
    const isLarge = chunk.length > LOOK_BACK;
    if (!isLarge || mayBeginRecord(recent.last(END_RECORD_SIZE - 1), first)) {
      const view = recent.append(first);
      search(view, start + first.length - view.length, view.length - first.length - END_RECORD_SIZE);
    }
    if (state.kind === "searching" && isLarge) {
      search(chunk, start, LOOK_BACK - END_RECORD_SIZE);
      recent.replace(chunk);
    }
    return state;
  }

  return {
    push(bytes) {
      const start = position;
      position += bytes.length;
      const now =
        state.kind === "found" ? state : searchChunk(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), start);
      if (now.kind === "searching") {
        return bytes;
      }
      const archiveSize = Math.max(now.end - start, 0);
      const rest = bytes.subarray(archiveSize);
      trailingSize += rest.length;
      if (trailingSize > MAX_TRAILING) {
        throw followed(Buffer.concat([...trailingChunks, rest]), `more than ${MAX_TRAILING} bytes follow`);
      }
      trailingChunks.push(Buffer.from(rest)); // A copy, which slice() of a Buffer does not make.
      return bytes.subarray(0, archiveSize);
    },
    get trailingSize() {
      return trailingSize;
    },
    trailing: () => Buffer.concat(trailingChunks),
    finish() {
      if (state.kind === "found" && position >= state.end) {
        return;
      }
      const misplaced = state.kind === "searching" ? state.misplaced : undefined;
      if (misplaced !== undefined && position <= misplaced.end + LINE_END_SIZE) {
        const added = misplaced.start - misplaced.expectedStart;
        if (added > 0) {
          throw bytesAdded(position, added);
        }
      }
      throw truncated(position);
    },
  };
}

/** Retains the last bytes of a stream, at least {@link LOOK_BACK} of them. */
interface RecentBytes {
  /** Returns up to `size` of the last bytes. */
  last(size: number): Buffer;
  /** Appends up to {@link LOOK_BACK} bytes. Returns the retained bytes, which end with them. */
  append(bytes: Buffer): Buffer;
  /** Retains a chunk of more than {@link LOOK_BACK} bytes instead. Its end is copied only if more bytes are appended. */
  replace(chunk: Buffer): void;
}

function createRecentBytes(): RecentBytes {
  const window = Buffer.alloc(WINDOW_SIZE);
  let filled = 0;
  let large: Buffer | undefined;
  return {
    last: (size) => (large ?? window.subarray(0, filled)).subarray(-size),
    append(bytes) {
      if (large !== undefined) {
        filled = large.subarray(-LOOK_BACK).copy(window);
        large = undefined;
      }
      if (filled + bytes.length > window.length) {
        window.copyWithin(0, filled - LOOK_BACK, filled);
        filled = LOOK_BACK;
      }
      filled += bytes.copy(window, filled);
      return window.subarray(0, filled);
    },
    replace(chunk) {
      large = chunk;
    },
  };
}

/** Whether an end record begins in the last bytes, where it was incomplete, or in the bytes that follow them. */
function mayBeginRecord(last: Buffer, bytes: Buffer): boolean {
  return bytes.indexOf(SIGNATURE) !== -1 || Buffer.concat([last, bytes.subarray(0, 3)]).indexOf(SIGNATURE) !== -1;
}

interface EndRecord {
  readonly start: number;
  /** Where its own fields place it: after the central directory and ZIP64's records, if any. */
  readonly expectedStart: number;
  readonly end: number;
}

/** Returns the last position of a signature at or before a limit; -1 if there is none. */
type LastBefore = (limit: number) => number;

/** Searches from the front, for increasing limits: searching back from each would take quadratic time. */
function lastBefore(view: Buffer, signature: Buffer): LastBefore {
  let last = -1;
  let next: number | undefined;
  return (limit) => {
    next ??= view.indexOf(signature);
    while (next !== -1 && next <= limit) {
      last = next;
      next = view.indexOf(signature, next + 1);
    }
    return last;
  };
}

function readEndRecord(view: Buffer, at: number, viewStart: number, zip64RecordBefore: LastBefore): EndRecord {
  const start = viewStart + at;
  return {
    start,
    expectedStart:
      zip64ExpectedStart(view, at, zip64RecordBefore) ?? view.readUInt32LE(at + 12) + view.readUInt32LE(at + 16),
    end: start + END_RECORD_SIZE + view.readUInt16LE(at + 20),
  };
}

/** Where ZIP64's records, if they directly precede the end record at `at`, place that record. */
function zip64ExpectedStart(view: Buffer, at: number, zip64RecordBefore: LastBefore): number | undefined {
  const locator = at - ZIP64_LOCATOR_SIZE;
  if (locator < ZIP64_END_RECORD_SIZE || view.readUInt32LE(locator) !== ZIP64_LOCATOR) {
    return undefined;
  }
  const record = zip64RecordBefore(locator - ZIP64_END_RECORD_SIZE);
  const recordStart = view.readBigUInt64LE(locator + 8);
  if (record === -1 || view.readBigUInt64LE(record + 40) + view.readBigUInt64LE(record + 48) !== recordStart) {
    return undefined;
  }
  // The record's size excludes its first 12 bytes; the locator follows the record directly.
  return Number(recordStart + 12n + view.readBigUInt64LE(record + 4)) + ZIP64_LOCATOR_SIZE;
}

/**
 * Checks that a stream ended with its archive.
 *
 * @throws {@link ProtocolError} if the archive is truncated, or other bytes follow it
 */
export function checkEnd(end: ArchiveEnd): void {
  end.finish();
  if (end.trailingSize > 0) {
    throw followed(end.trailing(), end.trailingSize === 1 ? "1 byte follows" : `${end.trailingSize} bytes follow`);
  }
}

function followed(trailing: Uint8Array, bytes: string): ProtocolError {
  const quote = JSON.stringify(Buffer.from(trailing.subarray(0, 60)).toString("latin1"));
  return new ProtocolError(`${bytes} the archive's end: ${quote}`, {
    advice:
      "Rows may be missing. A gateway that adds a line feed after each chunk causes this: use gRPC, or fix the gateway.",
    errorCode: "TW_INVALID_ARCHIVE",
  });
}

function bytesAdded(size: number, added: number): ProtocolError {
  return new ProtocolError(`the archive is corrupt: its directory does not cover ${added} of the ${size} bytes`, {
    advice:
      "A proxy adds bytes. A gateway that adds a line feed after each chunk causes this: use gRPC, or fix the gateway.",
    errorCode: "TW_INVALID_ARCHIVE",
  });
}
