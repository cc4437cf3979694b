import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { RequestError } from "../errors/index.js";
import { hasErrorCode, quotedPath } from "../errors/node-errors.js";
import { monotonicMs } from "../runtime/index.js";

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
