import { ProtocolError } from "../errors/index.js";
import { truncated } from "./archive-error.js";
import {
  END_RECORD,
  END_RECORD_SIZE,
  signatureBytes,
  ZIP64_END_RECORD,
  ZIP64_END_RECORD_SIZE,
  ZIP64_LOCATOR,
  ZIP64_LOCATOR_SIZE,
} from "./signatures.js";

const SIGNATURE = signatureBytes(END_RECORD);

/** How many of the last bytes are kept: ZIP64's records fit into them. */
const LOOK_BACK = 16 * 1024;
/** The size of the window in which they are kept: small pieces move them once in a while only, not one by one. */
const WINDOW_SIZE = 4 * LOOK_BACK;
/** How many bytes behind an archive are read: it is known to be bad, whatever follows. */
const MAX_TRAILING = 1024 * 1024;
/** The longest line end that a gateway may add behind the end record. */
const LINE_END_SIZE = 2;

/**
 * Watches a stream for the end of the ZIP archive that it carries.
 *
 * A reader of ZIP files looks for the end record from behind, and takes the first one it finds, whatever stands after
 * it. Here the record is found as it passes: its central directory must end exactly where the record begins.
 */
export interface ArchiveEnd {
  /**
   * Take the next bytes of the stream.
   *
   * @param bytes the bytes, split anywhere
   * @returns those of them that belong to the archive
   * @throws {@link ProtocolError} where more than 1 MiB follows the archive
   */
  push(bytes: Uint8Array): Uint8Array;
  /** How many bytes followed the archive. */
  readonly trailingSize: number;
  /** @returns the bytes that followed the archive */
  trailing(): Uint8Array;
  /**
   * Take the end of the stream.
   *
   * @throws {@link ProtocolError} where the archive has not ended
   */
  finish(): void;
}

/**
 * Start to watch a stream from its first byte.
 *
 * @returns the watch, to which every byte of the stream must be pushed
 */
export function createArchiveEnd(): ArchiveEnd {
  /** Where the stream stands, in bytes. */
  let position = 0;
  /** The last bytes before `position`, at the end of the window's filled part. */
  const window = Buffer.alloc(WINDOW_SIZE);
  let filled = 0;
  /** A large piece at whose end they stand instead. They are copied only where they may be needed. */
  let large: Buffer | undefined;
  /** Where the archive ends, once that is known. */
  let end: number | undefined;
  /** The last end record not at its own position: that of an archive inside, or of one to which bytes were added. */
  let misplaced: EndRecord | undefined;
  const pieces: Uint8Array[] = [];
  let trailingSize = 0;

  /** Put bytes, up to {@link LOOK_BACK} of them, behind those in the window. */
  function append(bytes: Buffer): void {
    if (large !== undefined) {
      filled = large.subarray(-LOOK_BACK).copy(window);
      large = undefined;
    }
    if (filled + bytes.length > window.length) {
      window.copyWithin(0, filled - LOOK_BACK, filled);
      filled = LOOK_BACK;
    }
    filled += bytes.copy(window, filled);
  }

  /** Look for the end record where it would be whole. */
  function search(view: Buffer, viewStart: number, from: number): void {
    const wideBefore = lastBefore(view, signatureBytes(ZIP64_END_RECORD));
    for (let at = view.indexOf(SIGNATURE, Math.max(from, 0)); at !== -1; at = view.indexOf(SIGNATURE, at + 1)) {
      if (at + END_RECORD_SIZE > view.length) {
        return;
      }
      const record = readEndRecord(view, at, viewStart, wideBefore);
      if (record.expectedStart === record.start) {
        end = record.end;
        return;
      }
      misplaced = record;
    }
  }

  /** Whether an end record begins in the last bytes, where it was not whole yet, or in those that follow them. */
  function mayBegin(bytes: Buffer): boolean {
    const last = (large ?? window.subarray(0, filled)).subarray(1 - END_RECORD_SIZE);
    return bytes.includes(SIGNATURE) || Buffer.concat([last, bytes.subarray(0, 3)]).includes(SIGNATURE);
  }

  return {
    push(bytes) {
      const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      const start = position;
      position += chunk.length;
      if (end === undefined) {
        // A record may begin before this chunk, or depend on bytes before it, so both are searched joined.
        const first = chunk.subarray(0, LOOK_BACK);
        const isLarge = chunk.length > LOOK_BACK;
        if (!isLarge || mayBegin(first)) {
          append(first);
          search(window.subarray(0, filled), start + first.length - filled, filled - first.length - END_RECORD_SIZE);
        }
        if (end === undefined && isLarge) {
          search(chunk, start, LOOK_BACK - END_RECORD_SIZE);
          large = chunk;
        }
      }
      if (end === undefined) {
        return bytes;
      }
      const own = Math.max(end - start, 0);
      const rest = bytes.subarray(own);
      trailingSize += rest.length;
      if (trailingSize > MAX_TRAILING) {
        throw followed(Buffer.concat([...pieces, rest]), `more than ${MAX_TRAILING} bytes follow`);
      }
      pieces.push(Buffer.from(rest)); // A copy: a Buffer's slice() would be none.
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
      if (end === undefined && misplaced !== undefined && position <= misplaced.end + LINE_END_SIZE) {
        const added = misplaced.start - misplaced.expectedStart;
        if (added > 0) {
          throw bytesAdded(position, added);
        }
      }
      throw truncated(position);
    },
  };
}

interface EndRecord {
  readonly start: number;
  /** Where its own fields place it: behind the central directory and, where there are any, ZIP64's records. */
  readonly expectedStart: number;
  /** Where it ends, and the archive with it. */
  readonly end: number;
}

/** Finds the last place of a signature at or before a limit; -1 where there is none. */
type LastBefore = (limit: number) => number;

/** Search from the front, for limits that rise: searching back from each would take a time that grows with its square. */
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

function readEndRecord(view: Buffer, at: number, viewStart: number, wideBefore: LastBefore): EndRecord {
  const start = viewStart + at;
  return {
    start,
    expectedStart: zip64ExpectedStart(view, at, wideBefore) ?? view.readUInt32LE(at + 12) + view.readUInt32LE(at + 16),
    end: start + END_RECORD_SIZE + view.readUInt16LE(at + 20),
  };
}

/** Where ZIP64's records, if they stand straight before the end record at `at`, place that record. */
function zip64ExpectedStart(view: Buffer, at: number, wideBefore: LastBefore): number | undefined {
  const locator = at - ZIP64_LOCATOR_SIZE;
  if (locator < ZIP64_END_RECORD_SIZE || view.readUInt32LE(locator) !== ZIP64_LOCATOR) {
    return undefined;
  }
  const record = wideBefore(locator - ZIP64_END_RECORD_SIZE);
  const recordStart = view.readBigUInt64LE(locator + 8);
  if (record === -1 || view.readBigUInt64LE(record + 40) + view.readBigUInt64LE(record + 48) !== recordStart) {
    return undefined;
  }
  // The record's size does not count its first 12 bytes; the locator comes straight behind it.
  return Number(recordStart + 12n + view.readBigUInt64LE(record + 4)) + ZIP64_LOCATOR_SIZE;
}

/**
 * Check that a stream ended with its archive.
 *
 * @param end the watch over the stream, which has ended
 * @throws {@link ProtocolError} where the archive has not ended, or other bytes follow it
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
      "The archive may lack rows. A gateway that adds a line feed after each chunk does this; use gRPC, or have it mended.",
    section: "protocolerror-archive",
  });
}

function bytesAdded(size: number, added: number): ProtocolError {
  return new ProtocolError(
    `the archive is corrupt: in its ${size} bytes ${added} more stand before its end record than its directory says`,
    {
      advice:
        "Something on the way adds bytes; a gateway that adds a line feed after each chunk does. Use gRPC, or have it mended.",
      section: "protocolerror-archive",
    },
  );
}
