import { createReadStream } from "node:fs";
import { open, stat } from "node:fs/promises";
import { addAbortSignal, type Readable } from "node:stream";
import { FileError, ProtocolError, RequestError } from "../base/errors/index.js";
import { fileError, READ_ADVICE, shownPath } from "../base/errors/node-errors.js";
import { refuseDevice } from "../base/file/device.js";
import { type Extension, readTarget } from "../base/file/save-target.js";
import { monotonicMs } from "../base/runtime/index.js";
import type { SavedArchive } from "../data/archive/index.js";
import { openPipe } from "../data/zip/archive-source.js";
import { size } from "./formatting.js";
import { type CommandContext, type InputContext, printable } from "./output.js";
import { type OutputFormat, printReport } from "./output-format.js";
import { printTable } from "./table.js";

/** The argument that names standard input or standard output in place of a file. */
export const STANDARD = "-";

/** Returns standard input, which is destroyed when the signal is aborted. */
function standardInput({ in: input, signal }: InputContext): Readable {
  return addAbortSignal(signal, input);
}

/**
 * Reads an archive from standard input.
 *
 * @throws {@link ProtocolError} if there are none
 */
export async function* standardArchive(context: InputContext): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const chunk of standardInput(context)) {
    isEmpty &&= chunk.length === 0;
    yield chunk;
  }
  if (isEmpty) {
    throw new ProtocolError("standard input is empty", {
      advice: "Check the program that writes the archive into the pipe, or use the path of an archive.",
      errorCode: "TW_INVALID_ARCHIVE",
    });
  }
}

/**
 * Checks that a file begins like an archive. Pipes can be read only once, and are not checked.
 *
 * @throws {@link ProtocolError} if it is not a ZIP archive
 * @throws {@link FileError} if it cannot be read, or is a device
 */
export async function assertArchive(path: string): Promise<void> {
  try {
    const stats = await stat(path);
    refuseDevice(path, stats);
    if (!stats.isFile()) {
      return;
    }
    await using file = await open(path);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0);
    if (bytesRead < 2 || buffer.toString("latin1") !== "PK") {
      const what = bytesRead === 0 ? "the file is empty" : "not a ZIP archive";
      throw new ProtocolError(`${shownPath(path)}: ${what}`, {
        advice:
          "Use an archive that `tradewire export` saved. To build one from a captured export, use `tradewire assemble`.",
        errorCode: "TW_INVALID_ARCHIVE",
      });
    }
  } catch (reason) {
    throw reason instanceof ProtocolError || reason instanceof FileError
      ? reason
      : fileError(reason, path, READ_ADVICE);
  }
}

/**
 * Reads a file or standard input.
 *
 * @throws {@link FileError} if the file cannot be read or is a device, or the signal is aborted while it is read
 */
export async function* readBytes(file: string, context: InputContext): AsyncGenerator<Uint8Array> {
  if (file === STANDARD) {
    yield* standardInput(context);
    return;
  }
  try {
    const stats = await stat(file);
    refuseDevice(file, stats);
    yield* stats.isFIFO()
      ? addAbortSignal(context.signal, openPipe(file))
      : createReadStream(file, { signal: context.signal });
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, file, READ_ADVICE);
  }
}

/** The maximum size of a request or a command from a file or standard input, in bytes. */
export const MAX_TEXT_BYTES = 64 * 1024 * 1024;

/**
 * Reads a text from a file or standard input.
 *
 * @throws {@link FileError} as {@link readBytes} does
 * @throws {@link RequestError} if it is too large
 */
export async function readText(file: string, source: string, context: InputContext): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of readBytes(file, context)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > MAX_TEXT_BYTES) {
      throw new RequestError(`${source} exceeds the request limit of ${MAX_TEXT_BYTES} bytes`, {
        advice: "Send less in one request.",
      });
    }
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/**
 * Parses the value of `--to`.
 *
 * @throws {@link RequestError} if it is neither a folder nor the name of a file with that extension
 */
export function parseSavePath(path: string, extension: Extension): Promise<string> {
  return readTarget(path, extension, () => ".");
}

/** Prints the result of saving an archive: in a table, the path on standard output and a note about the rest. */
export async function printSavedArchive(
  saved: SavedArchive,
  { start, format }: { readonly start: number; readonly format: OutputFormat },
  context: CommandContext,
): Promise<void> {
  const { out, notes, environment } = context;
  const table = () => {
    out.write(`${saved.path}\n`);
    const seconds = (monotonicMs() - start) / 1000;
    notes.write(
      `${size(saved.bytes)} in ${seconds.toFixed(1)} s, SHA-256 ${saved.sha256}, ${saved.verified} verified\n`,
    );
    printTable(
      ["file", "bytes"],
      saved.entries.map((entry) => [printable(entry.name), String(entry.size)]),
      { out: notes, notes, environment },
    );
  };
  await printReport({ table, object: () => saved }, format, context);
}
