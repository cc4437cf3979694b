import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { fileError, readingAdvice } from "../errors/file-error.js";
import { FileError } from "../errors/index.js";
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
