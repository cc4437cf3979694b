import { createHash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { failedWith, fileError } from "../errors/file-error.js";
import { RequestError } from "../errors/index.js";
import type { MadeBlock } from "./core/chain.js";

/** The blocks of a local node, kept in a file: what makes them again after a restart. */
export interface Journal extends Disposable {
  /**
   * Read blocks that the file holds, one after the other.
   *
   * @param position where to begin: one that {@link Journal.position} gave; at the first block by default
   * @throws {@link RequestError} where a line is no block
   */
  read(position?: number): Iterable<MadeBlock>;
  /** Keep a block. It is on its way to the disk when this returns. */
  add(block: MadeBlock): void;
  /** Where the first block begins. */
  readonly start: number;
  /** Where the file ends, to come back to. */
  position(): number;
  /** @throws {@link RequestError} where the journal was disposed of, or its lock was lost: the folder may be that of another node then */
  requireOpen(): void;
  /** Forget all blocks that came behind a position. */
  truncate(position: number): void;
  /**
   * Make a mark of what stands before a position, to tell later whether the same stands there.
   *
   * @returns a hash of the last bytes before it; `undefined` where the file ends earlier
   */
  mark(position: number): string | undefined;
}

const FILE = "blocks.jsonl";
/** The longest line, in bytes: a block of some 40 transactions of the largest size. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
/** How much is read at once. */
const PIECE_BYTES = 256 * 1024;
/** How much a mark is made of, at most. */
const MARK_BYTES = 64 * 1024;
const NEWLINE = 10;

/**
 * Open the journal in a folder that exists. The caller holds the folder's lock.
 *
 * @param folder the folder's path
 * @param settings what the blocks depend on besides their transactions; those of a folder cannot change
 * @param options the longest line, in bytes, {@link MAX_LINE_BYTES} by default; and what is called before each write, and
 *   throws where the lock is not held any more
 * @returns the journal
 * @throws {@link RequestError} where the folder is that of a node with other settings
 * @throws {@link FileError} where it cannot be read or written
 */
export function openJournal(
  folder: string,
  settings: Readonly<Record<string, unknown>>,
  {
    maxLineBytes = MAX_LINE_BYTES,
    requireLock = () => undefined,
  }: { readonly maxLineBytes?: number; readonly requireLock?: () => void } = {},
): Journal {
  const path = join(folder, FILE);
  let file: number | undefined;
  try {
    const header = Buffer.from(`${JSON.stringify(settings)}\n`);
    const opened = openOrBegin(path, header);
    file = opened;
    // What a process that was killed wrote half is no block, and no header.
    let end = wholeLines(opened);
    if (end === 0 && header.subarray(0, fstatSync(opened).size).equals(readAt(opened, 0, header.length))) {
      end = writeSync(opened, header, 0, header.length, 0);
    }
    const [found = Buffer.alloc(0)] = readLines(opened, 0, maxLineBytes, path);
    if (!header.subarray(0, -1).equals(found)) {
      throw new RequestError(
        `${folder} holds the blocks of a node with other settings: ${found.toString("utf8", 0, 500)}`,
        {
          advice: "Start the node with those settings, or give another folder.",
        },
      );
    }
    ftruncateSync(opened, end);
    let isOpen = true;
    const requireOpen = () => {
      if (!isOpen) {
        throw new RequestError("the node of the folder is closed", { advice: "Start it again to go on." });
      }
      requireLock();
    };
    return {
      start: header.length,
      *read(position = header.length) {
        let at = position;
        for (const line of readLines(opened, position, maxLineBytes, path)) {
          yield parse(line) ?? refuse(path, at, "is no block");
          at += line.length + 1;
        }
      },
      add({ height, time, transactions }) {
        requireOpen();
        const line = Buffer.from(
          `${JSON.stringify({
            height: String(height),
            time: String(time),
            transactions: transactions.map((bytes) => Buffer.from(bytes).toString("base64")),
          })}\n`,
        );
        if (line.length > maxLineBytes) {
          throw new RequestError(`block ${height} takes ${line.length} bytes in ${path}`, {
            advice: `Send fewer transactions a block: ${maxLineBytes} bytes are the most.`,
          });
        }
        for (let written = 0; written < line.length; ) {
          written += writeSync(opened, line, written, line.length - written, end + written);
        }
        end += line.length;
      },
      position: () => end,
      requireOpen,
      truncate(position) {
        requireOpen();
        end = position;
        ftruncateSync(opened, end);
      },
      mark(position) {
        const from = Math.max(0, position - MARK_BYTES);
        return position > end
          ? undefined
          : createHash("sha256")
              .update(readAt(opened, from, position))
              .digest("hex");
      },
      [Symbol.dispose]() {
        if (isOpen) {
          isOpen = false;
          closeSync(opened);
        }
      },
    };
  } catch (reason) {
    if (file !== undefined) {
      closeSync(file);
    }
    throw reason instanceof RequestError ? reason : fileError(reason, path);
  }
}

function openOrBegin(path: string, header: Buffer): number {
  try {
    return openSync(path, "r+");
  } catch (reason) {
    if (failedWith(reason, "ENOENT")) {
      writeFileSync(path, header, { mode: 0o600 });
      return openSync(path, "r+");
    }
    throw reason;
  }
}

/** Read the bytes from a place to another one; fewer where the file ends before. */
function readAt(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  for (let count = -1; count !== 0 && length < bytes.length; length += count) {
    count = readSync(file, bytes, length, bytes.length - length, from + length);
  }
  return bytes.subarray(0, length);
}

/** Where the last whole line of a file ends. */
function wholeLines(file: number): number {
  for (let to = fstatSync(file).size; to > 0; ) {
    const from = Math.max(0, to - PIECE_BYTES);
    const at = readAt(file, from, to).lastIndexOf(NEWLINE);
    if (at >= 0) {
      return from + at + 1;
    }
    to = from;
  }
  return 0;
}

/** Read the whole lines of a file, without their ends, some at a time. */
function* readLines(file: number, from: number, maxBytes: number, path: string): Generator<Buffer> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for (let at = from; ; ) {
    const piece = readAt(file, at, at + PIECE_BYTES);
    let start = 0;
    for (let newline = piece.indexOf(NEWLINE); newline >= 0; newline = piece.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...begun, piece.subarray(start, newline)]);
      [begun, begunBytes, start] = [[], 0, newline + 1];
    }
    begun.push(piece.subarray(start));
    begunBytes += piece.length - start;
    at += piece.length;
    if (begunBytes > maxBytes) {
      refuse(path, at - begunBytes, `is longer than ${maxBytes} bytes`);
    }
    if (piece.length < PIECE_BYTES) {
      return;
    }
  }
}

function refuse(path: string, position: number, problem: string): never {
  throw new RequestError(`${path}: the line at byte ${position} ${problem}`, {
    advice: "The file was changed by another program; give another folder.",
  });
}

function parse(line: Buffer): MadeBlock | undefined {
  try {
    const { height, time, transactions }: Record<string, unknown> = JSON.parse(line.toString());
    if (typeof height !== "string" || typeof time !== "string" || !Array.isArray(transactions)) {
      return undefined;
    }
    return {
      height: BigInt(height),
      time: BigInt(time),
      transactions: transactions.map((text) => new Uint8Array(Buffer.from(String(text), "base64"))),
    };
  } catch {
    return undefined;
  }
}
