import { ProtocolError } from "../errors.js";

const END_RECORD = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const END_RECORD_SIZE = 22;
const ZIP64_LOCATOR = 0x07064b50;
const ZIP64_LOCATOR_SIZE = 20;
const ZIP64_END_RECORD = 0x06064b50;
/** How far back a record is looked for that belongs to the one just found. */
const LOOK_BACK = 1024;
/** How much of what follows an archive is kept: an error object is no longer. */
const MAX_TRAILING = 1024 * 1024;

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
  let misplaced: { readonly record: number; readonly expected: number } | undefined;
  const pieces: Uint8Array[] = [];
  let trailingSize = 0;

  /** Look for the end record where it would be whole. */
  function search(view: Buffer, viewStart: number): void {
    for (let at = view.indexOf(END_RECORD); at !== -1; at = view.indexOf(END_RECORD, at + 1)) {
      if (at + END_RECORD_SIZE > view.length) {
        return;
      }
      const record = readEndRecord(view, at, viewStart);
      if (record.directoryEnd === record.start) {
        end = record.end;
        return;
      }
      misplaced = { record: record.start, expected: record.directoryEnd };
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
        search(joined, start - recent.length);
        if (end === undefined && chunk.length > LOOK_BACK) {
          search(chunk, start);
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
    finish() {
      if (end !== undefined && position >= end) {
        return;
      }
      if (end === undefined && misplaced !== undefined && misplaced.record > misplaced.expected) {
        throw corrupt(position, misplaced.record - misplaced.expected);
      }
      throw new ProtocolError(
        `the archive is truncated: the stream ended after ${position} bytes, before the archive did`,
        {
          advice:
            "Rows are missing from it. Export again; if it persists, the node or something before it cuts streams short.",
        },
      );
    },
  };
}

/** What an end record says: where it stands, where the archive ends, and where the central directory must have ended. */
function readEndRecord(view: Buffer, at: number, viewStart: number) {
  const start = viewStart + at;
  const record = {
    start,
    end: start + END_RECORD_SIZE + view.readUInt16LE(at + 20),
    directoryEnd: view.readUInt32LE(at + 12) + view.readUInt32LE(at + 16),
  };
  return zip64(view, at, viewStart) ? { ...record, directoryEnd: start } : record;
}

/** Whether ZIP64's records stand, as they must, between the central directory and the end record at `at`. */
function zip64(view: Buffer, at: number, viewStart: number): boolean {
  const locator = at - ZIP64_LOCATOR_SIZE;
  if (locator < 0 || view.readUInt32LE(locator) !== ZIP64_LOCATOR) {
    return false;
  }
  const recordStart = view.readBigUInt64LE(locator + 8);
  const record = Number(recordStart - BigInt(viewStart));
  if (record < 0 || record + 56 > locator || view.readUInt32LE(record) !== ZIP64_END_RECORD) {
    return false;
  }
  return view.readBigUInt64LE(record + 40) + view.readBigUInt64LE(record + 48) === recordStart;
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
