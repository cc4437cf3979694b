import { constants, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import { Code } from "@connectrpc/connect";
import { FileError, RequestError } from "../errors/index.js";
import { fileError, quotedPath, READ_ADVICE, shownPath } from "../errors/node-errors.js";
import { fileExposure } from "./exposure.js";

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
