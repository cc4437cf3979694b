import { closeSync, constants, createReadStream, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { open, stat } from "node:fs/promises";
import { Code } from "../errors/code.js";
import { FileError, RequestError } from "../errors/index.js";
import { fileError, hasErrorCode, quotedPath, READ_ADVICE, shownPath } from "../errors/node-errors.js";
import { monotonicMs } from "../runtime/index.js";
import { refuseDevice } from "./device.js";
import { fileExposure } from "./exposure.js";

/**
 * Reads a file that a user named, and that must be neither empty nor too large.
 *
 * @throws {@link FileError} if the file cannot be read, or is a device
 * @throws {@link RequestError} if it is empty or larger than `maxBytes`
 */
export async function readBoundedFile(
  path: string,
  options: {
    readonly maxBytes: number;
    readonly kind: string;
    readonly advice: string;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<Buffer> {
  const { maxBytes, kind, advice, signal } = options;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    refuseDevice(path, await stat(path));
    for await (const chunk of createReadStream(path, { signal })) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) {
        break;
      }
    }
  } catch (reason) {
    throw reason instanceof FileError ? reason : fileError(reason, path, READ_ADVICE);
  }
  if (size === 0 || size > maxBytes) {
    const what = size === 0 ? "is empty" : `exceeds the limit of ${maxBytes} bytes for ${kind}`;
    throw new RequestError(`${quotedPath(path)} ${what}`, { advice });
  }
  return Buffer.concat(chunks);
}

/** The kind of a file, and its maximum size. */
export interface TrustedFileOptions {
  /** The kind of the file, with its article, such as `a policy`. */
  readonly kind: string;
  /** Maximum size in bytes. */
  readonly maxBytes: number;
}

/**
 * Reads a file that decides what is signed or trusted: nobody but the user and root may be able to change or replace it.
 *
 * @throws {@link FileError} if the file cannot be read, is a folder, a pipe or a device, or others can change it
 * @throws {@link RequestError} if it is empty or too large
 */
export async function readTrustedFile(path: string, { kind, maxBytes }: TrustedFileOptions): Promise<string> {
  try {
    // Without O_NONBLOCK, the opening of a pipe waits for a writer. The check and the read use the same descriptor.
    await using file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    requireTrusted(path, await file.stat(), kind);
    const bytes = Buffer.alloc(maxBytes + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    if (bytesRead === 0 || bytesRead > maxBytes) {
      const what = bytesRead === 0 ? "is empty" : `exceeds the limit of ${maxBytes} bytes for ${kind}`;
      throw new RequestError(`${quotedPath(path)} ${what}`, { advice: "Check the path." });
    }
    return new TextDecoder().decode(bytes.subarray(0, bytesRead));
  } catch (reason) {
    throw reason instanceof FileError || reason instanceof RequestError ? reason : fileError(reason, path, READ_ADVICE);
  }
}

function requireTrusted(path: string, stats: Stats, kind: string): void {
  if (!stats.isFile()) {
    throw new FileError(`${shownPath(path)}: not a regular file`, {
      code: Code.InvalidArgument,
      advice: `Use the path of ${kind}.`,
    });
  }
  const found = fileExposure(path, stats);
  if (found !== undefined) {
    throw new FileError(`${quotedPath(path)} is not trusted: ${found}`, {
      code: Code.PermissionDenied,
      advice: "Move the file to a folder that only you can write to, or correct the permissions: chmod go-w, chown.",
    });
  }
}

/** How long the writer of a pipe may take in total, in milliseconds. Meanwhile, the process does nothing else. */
const PIPE_TIMEOUT_MS = 10_000;

/** How long to wait before reading again from a pipe without new data, in milliseconds. */
const PIPE_POLL_MS = 10;

/** The maximum size of a configuration, a certificate or a key, in bytes. */
const MAX_BYTES = 16 * 2 ** 20;

/**
 * Reads a file that the user named, synchronously. It may be a pipe with a writer, such as `<(command)` of a shell.
 *
 * @throws {@link RequestError} if it is a device or a pipe without a writer, the writer takes too long, or there is more than 16 MiB
 * @throws the error of Node if the file cannot be read
 */
export function readFileOrPipe(path: string): Buffer {
  // Without O_NONBLOCK, opening a pipe waits for a writer, and nothing can interrupt the wait.
  const descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = fstatSync(descriptor, { bigint: true }); // As of standard output.
    if (!stats.isFile() && !stats.isFIFO() && !stats.isDirectory()) {
      throw pipeError(path, "is neither a file nor a pipe"); // Reading from a terminal would wait for its user.
    }
    const deadline = monotonicMs() + PIPE_TIMEOUT_MS;
    const chunks: Buffer[] = [];
    for (let size = 0; size <= MAX_BYTES; ) {
      const chunk = readAvailable(descriptor);
      if (chunk?.length === 0) {
        if (size === 0 && stats.isFIFO()) {
          throw pipeError(path, "is a pipe without a writer");
        }
        return Buffer.concat(chunks);
      }
      if (chunk !== undefined) {
        chunks.push(chunk);
        size += chunk.length;
      } else if (monotonicMs() > deadline) {
        throw pipeError(path, `is a pipe whose writer has not finished within ${PIPE_TIMEOUT_MS / 1000} s`);
      } else {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_POLL_MS);
      }
    }
    throw new RequestError(`${quotedPath(path)} exceeds the limit of ${MAX_BYTES} bytes`, {
      advice: "Use the path of a configuration file, a certificate or a key.",
    });
  } finally {
    closeSync(descriptor);
  }
}

/** Reads what there is now: undefined if the writer of a pipe has written nothing yet, empty at the end. */
function readAvailable(descriptor: number): Buffer | undefined {
  const chunk = Buffer.alloc(64 * 1024);
  try {
    return chunk.subarray(0, readSync(descriptor, chunk));
  } catch (reason) {
    if (hasErrorCode(reason, "EAGAIN")) {
      return undefined;
    }
    throw reason;
  }
}

function pipeError(path: string, problem: string): RequestError {
  return new RequestError(`${quotedPath(path)} ${problem}`, {
    advice: "Use the path of a file, or start the program that writes to the pipe first.",
  });
}
