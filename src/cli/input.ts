import { createReadStream } from "node:fs";
import { addAbortSignal, type Readable } from "node:stream";
import { fileError } from "../errors/file-error.js";
import type { CommandContext } from "./output.js";

/** What stands for standard input in a file's place, and for standard output. */
export const STANDARD = "-";

/** Standard input; it ends with the signal. */
export function standardInput({ in: input, signal }: CommandContext): Readable {
  return addAbortSignal(signal, input);
}

/** The bytes of a file, or of standard input. */
export async function* bytesOf(file: string, context: CommandContext): AsyncGenerator<Uint8Array> {
  if (file === STANDARD) {
    yield* standardInput(context);
    return;
  }
  try {
    yield* createReadStream(file, { signal: context.signal });
  } catch (reason) {
    throw fileError(reason, file);
  }
}
