import { createHash } from "node:crypto";
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { RequestError } from "../base/errors/index.js";
import { fileError, hasErrorCode } from "../base/errors/node-errors.js";
import type { MadeBlock } from "./core/local-chain.js";

/** The append-only file of a local node's blocks, which a restart replays. */
export interface Journal extends Disposable {
  /**
   * Reads the stored blocks in order.
   *
   * @throws {@link RequestError} if a line is not a block
   */
  read(position?: number): Iterable<MadeBlock>;
  /** Appends a block. The operating system has it when this returns. */
  add(block: MadeBlock): void;
  /** The position of the first block. */
  readonly start: number;
  /** Returns the position of the file's end. */
  position(): number;
  /** @throws {@link RequestError} if the journal was disposed of, or its lock was lost and another node may use the folder */
  requireOpen(): void;
  /** Deletes all blocks after a position. */
  truncate(position: number): void;
  /** Returns a fingerprint of the content before a position, to detect later whether it is still the same. */
  fingerprint(position: number): string | undefined;
}

const FILE = "blocks.jsonl";
/** The maximum line length, in bytes: a block of some 40 transactions of maximum size. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;
/** The size of a read, in bytes. */
const CHUNK_BYTES = 256 * 1024;
/** The maximum number of bytes that a fingerprint covers. */
const FINGERPRINT_BYTES = 64 * 1024;
const NEWLINE = 10;

/**
 * Opens the journal in an existing folder, and creates it if it does not exist. The caller holds the folder's lock.
 *
 * @throws {@link RequestError} if the folder belongs to a node with other settings
 * @throws {@link FileError} if the file cannot be read or written
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
    const opened = openOrCreate(path, header);
    file = opened;
    // Ignores an incomplete last line, which a killed process may have left.
    let end = endOfLastLine(opened);
    if (end === 0 && header.subarray(0, fstatSync(opened).size).equals(readAt(opened, 0, header.length))) {
      end = writeSync(opened, header, 0, header.length, 0);
    }
    const [found = Buffer.alloc(0)] = readLines(opened, 0, maxLineBytes, path);
    if (!header.subarray(0, -1).equals(found)) {
      throw new RequestError(
        `${folder} contains the blocks of a node with other settings: ${found.toString("utf8", 0, 500)}`,
        {
          advice: "Start the node with those settings, or use another folder.",
        },
      );
    }
    ftruncateSync(opened, end);
    let isOpen = true;
    const requireOpen = () => {
      if (!isOpen) {
        throw new RequestError("the node of the folder is closed", { advice: "Start it again to continue." });
      }
      requireLock();
    };
    return {
      start: header.length,
      *read(position = header.length) {
        let at = position;
        for (const line of readLines(opened, position, maxLineBytes, path)) {
          yield parseBlock(line) ?? rejectLine(path, at, "is not a block");
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
          throw new RequestError(
            `block ${height} needs ${line.length} bytes in ${path}, which exceeds the maximum of ${maxLineBytes}`,
            {
              advice: "Send fewer transactions per block.",
            },
          );
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
      fingerprint(position) {
        const from = Math.max(0, position - FINGERPRINT_BYTES);
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

function openOrCreate(path: string, header: Buffer): number {
  try {
    return openSync(path, "r+");
  } catch (reason) {
    if (hasErrorCode(reason, "ENOENT")) {
      writeFileSync(path, header, { mode: 0o600 });
      return openSync(path, "r+");
    }
    throw reason;
  }
}

/** Reads the bytes between two positions; fewer if the file ends earlier. */
function readAt(file: number, from: number, to: number): Buffer {
  const bytes = Buffer.alloc(to - from);
  let length = 0;
  for (let count = -1; count !== 0 && length < bytes.length; length += count) {
    count = readSync(file, bytes, length, bytes.length - length, from + length);
  }
  return bytes.subarray(0, length);
}

/** Returns where the last complete line of a file ends. */
function endOfLastLine(file: number): number {
  for (let to = fstatSync(file).size; to > 0; ) {
    const from = Math.max(0, to - CHUNK_BYTES);
    const at = readAt(file, from, to).lastIndexOf(NEWLINE);
    if (at >= 0) {
      return from + at + 1;
    }
    to = from;
  }
  return 0;
}

/** Reads the complete lines of a file in chunks, without their line endings. */
function* readLines(file: number, from: number, maxBytes: number, path: string): Generator<Buffer> {
  let partial: Buffer[] = [];
  let partialBytes = 0;
  for (let at = from; ; ) {
    const chunk = readAt(file, at, at + CHUNK_BYTES);
    let start = 0;
    for (let newline = chunk.indexOf(NEWLINE); newline >= 0; newline = chunk.indexOf(NEWLINE, start)) {
      yield Buffer.concat([...partial, chunk.subarray(start, newline)]);
      [partial, partialBytes, start] = [[], 0, newline + 1];
    }
    partial.push(chunk.subarray(start));
    partialBytes += chunk.length - start;
    at += chunk.length;
    if (partialBytes > maxBytes) {
      rejectLine(path, at - partialBytes, `exceeds ${maxBytes} bytes`);
    }
    if (chunk.length < CHUNK_BYTES) {
      return;
    }
  }
}

function rejectLine(path: string, position: number, problem: string): never {
  throw new RequestError(`${path}: the line at byte ${position} ${problem}`, {
    advice: "Another program changed the file. Use another folder.",
  });
}

function parseBlock(line: Buffer): MadeBlock | undefined {
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
