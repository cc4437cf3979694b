import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { fileError, quotedPath, readingAdvice } from "../errors/file-error.js";
import { FileError, ProtocolError } from "../errors/index.js";
import { openPipe } from "../zip/pipe.js";
import type { CommandContext } from "./output.js";

/** The argument that stands for standard input or standard output in place of a file. */
export const STANDARD = "-";

/**
 * Get standard input, which is destroyed when the signal is aborted.
 *
 * @param context the input stream and the signal
 * @returns the input stream
 */
export function standardInput({ in: input, signal }: CommandContext): Readable {
  return addAbortSignal(signal, input);
}

/**
 * Check that a file begins as an archive does. What is no regular file, such as a pipe, can be read but once, and passes.
 *
 * @param path path of the file
 * @throws {@link ProtocolError} if it is no ZIP archive
 * @throws {@link FileError} if it cannot be read
 */
export async function requireArchive(path: string): Promise<void> {
  try {
    if (!(await stat(path)).isFile()) {
      return;
    }
    await using file = await open(path);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || buffer.toString("latin1") !== "PK") {
      const what = bytesRead === 0 ? "it is empty" : "it is no ZIP archive";
      throw new ProtocolError(`${quotedPath(path)}: ${what}`, {
        advice:
          "Give an archive that `tradewire export` has saved; `tradewire assemble` makes one of a captured export.",
        section: "protocolerror-archive",
      });
    }
  } catch (reason) {
    throw reason instanceof ProtocolError ? reason : fileError(reason, path, readingAdvice);
  }
}

/**
 * Read the bytes of a file or of standard input.
 *
 * @param file path of the file; `-` for standard input
 * @param context the input stream and the signal
 * @returns the bytes, in pieces
 * @throws {@link FileError} if the file cannot be read, or the signal is aborted while it is read
 */
export async function* bytesOf(file: string, context: CommandContext): AsyncGenerator<Uint8Array> {
  if (file === STANDARD) {
    yield* standardInput(context);
    return;
  }
  try {
    const isPipe = (await stat(file)).isFIFO();
    yield* isPipe ? addAbortSignal(context.signal, openPipe(file)) : createReadStream(file, { signal: context.signal });
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, file, readingAdvice);
  }
}
