import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { fileError, readingAdvice } from "../errors/file-error.js";

/**
 * Read a named pipe. Node's reading of files waits for a pipe's writer in a thread, which nothing ends; a socket waits
 * without one, and ends when it is destroyed.
 *
 * @param path of the pipe
 * @returns the socket, which waits for a writer
 * @throws {@link FileError} where the pipe cannot be opened
 */
export function openPipe(path: string): Socket {
  try {
    // Without O_NONBLOCK, the opening waits for a writer.
    const fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    return new Socket({ fd, readable: true, writable: false });
  } catch (reason) {
    throw fileError(reason, path, readingAdvice);
  }
}
