import { ProtocolError } from "../errors/index.js";

const END_RECORD = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const END_RECORD_SIZE = 22;
const ZIP64_LOCATOR = 0x07064b50;
const ZIP64_LOCATOR_SIZE = 20;
const ZIP64_END_RECORD = Buffer.from([0x50, 0x4b, 0x06, 0x06]);
const ZIP64_END_RECORD_SIZE = 56;
/** How far back a record is looked for that belongs to the one just found, and an error object at the end of the stream. */
const LOOK_BACK = 16 * 1024;
/** How much of what follows an archive is kept: an error object is no longer. */
const MAX_TRAILING = 1024 * 1024;
/** What may follow the end record of an archive that something adds line ends to. */
const LINE_END_SIZE = 2;

/**
 * Watch a stream for the end of the ZIP archive that it carries.
 *
 * A reader of ZIP files looks for the end record from behind and takes what it finds, whatever stands after it. Here the
 * record is found as it passes: it is the one that says that its central directory ends where the record begins.
 */
export interface ArchiveEnd {
  /** Take the next bytes; what is given back are those of them that belong to the archive. */
  push(bytes: Uint8Array): Uint8Array;
  /** How many bytes followed the archive. */
  readonly trailingSize: number;
  /** What followed the archive, up to 1 MiB of it. */
  trailing(): Uint8Array;
  /** The last bytes of an archive that has not ended, up to 16 KiB of them. */
  recent(): Uint8Array;
  /**
   * Take the end of the stream.
   *
   * @throws {@link ProtocolError} where the archive has not ended
   */
  finish(): void;
}

/** Start to watch a stream from its first byte. */
export function createArchiveEnd(): ArchiveEnd {
  /** Where the stream stands, in bytes. */
  let position = 0;
  /** The last bytes before `position`. */
  let recent: Buffer = Buffer.alloc(0);
  /** Where the archive ends, once that is known. */
  let end: number | undefined;
  /** The last end record that stands elsewhere than it says: that of an archive inside, or of one that was added to. */
  let misplaced: EndRecord | undefined;
  const pieces: Uint8Array[] = [];
  let trailingSize = 0;

  /** Look for the end record where it would be whole. */
  function search(view: Buffer, viewStart: number, from: number): void {
    for (let at = view.indexOf(END_RECORD, from); at !== -1; at = view.indexOf(END_RECORD, at + 1)) {
      if (at + END_RECORD_SIZE > view.length) {
        return;
      }
      const record = readEndRecord(view, at, viewStart);
      if (record.expectedStart === record.start) {
        end = record.end;
        return;
      }
      misplaced = record;
    }
  }

  return {
    push(bytes) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      const start = position;
      position += chunk.length;
      if (end === undefined) {
        // Records that begin before this chunk, or need what stands before it, are looked for where both are joined.
        const joined = Buffer.concat([recent, chunk.subarray(0, LOOK_BACK)]);
        search(joined, start - recent.length, 0);
        if (end === undefined && chunk.length > LOOK_BACK) {
          search(chunk, start, LOOK_BACK - END_RECORD_SIZE + 1);
        }
        recent = Buffer.from(
          chunk.length >= LOOK_BACK ? chunk.subarray(-LOOK_BACK) : Buffer.concat([recent, chunk]).subarray(-LOOK_BACK),
        );
      }
      if (end === undefined || position <= end) {
        return bytes;
      }
      const own = Math.max(end - start, 0);
      const rest = bytes.subarray(own);
      if (trailingSize < MAX_TRAILING) {
        pieces.push(rest.slice(0, MAX_TRAILING - trailingSize));
      }
      trailingSize += rest.length;
      return bytes.subarray(0, own);
    },
    get trailingSize() {
      return trailingSize;
    },
    trailing: () => Buffer.concat(pieces),
    recent: () => recent,
    finish() {
      if (end !== undefined && position >= end) {
        return;
      }
      if (end === undefined && misplaced !== undefined && position <= misplaced.end + LINE_END_SIZE) {
        const added = misplaced.start - misplaced.expectedStart;
        if (added > 0) {
          throw corrupt(position, added);
        }
      }
      throw truncated(position);
    },
  };
}

interface EndRecord {
  /** Where it stands. */
  readonly start: number;
  /** Where it must stand by what it says: behind the central directory and, where there are any, ZIP64's records. */
  readonly expectedStart: number;
  /** Where it ends, and the archive with it. */
  readonly end: number;
}

function readEndRecord(view: Buffer, at: number, viewStart: number): EndRecord {
  const start = viewStart + at;
  return {
    start,
    expectedStart: zip64ExpectedStart(view, at) ?? view.readUInt32LE(at + 12) + view.readUInt32LE(at + 16),
    end: start + END_RECORD_SIZE + view.readUInt16LE(at + 20),
  };
}

/** Where the end record at `at` must stand by ZIP64's records, which are then straight before it. */
function zip64ExpectedStart(view: Buffer, at: number): number | undefined {
  const locator = at - ZIP64_LOCATOR_SIZE;
  if (locator < ZIP64_END_RECORD_SIZE || view.readUInt32LE(locator) !== ZIP64_LOCATOR) {
    return undefined;
  }
  const record = view.lastIndexOf(ZIP64_END_RECORD, locator - ZIP64_END_RECORD_SIZE);
  const recordStart = view.readBigUInt64LE(locator + 8);
  if (record === -1 || view.readBigUInt64LE(record + 40) + view.readBigUInt64LE(record + 48) !== recordStart) {
    return undefined;
  }
  // The record says its own size but for the 12 bytes up to there; the locator comes straight behind it.
  return Number(recordStart + 12n + view.readBigUInt64LE(record + 4)) + ZIP64_LOCATOR_SIZE;
}

/** The error for an archive of which the end is missing. */
export function truncated(size: number): ProtocolError {
  return new ProtocolError(`the archive is truncated: the stream ended after ${size} bytes, before the archive did`, {
    advice:
      "Rows are missing from it. Export again; if it persists, the node or something before it cuts streams short.",
  });
}

function corrupt(size: number, inserted: number): ProtocolError {
  return new ProtocolError(
    `the archive is corrupt: in its ${size} bytes ${inserted} more stand before its end record than its directory says`,
    {
      advice:
        "Something on the way adds bytes; a gateway that adds a line feed after each chunk does. Use gRPC, or have it mended.",
    },
  );
}
